/** The columns of `catalog diff`, and how its values are spelled for a person. */
import type { CatalogName, Change } from "../../catalogs/index.ts";
import { compareDecimals, type Decimal, formatDecimal, parseDecimal, shifted } from "../../decimal.ts";
import type { Column } from "../../output/index.ts";

/** A change, and which of several catalogs it is in. */
export type ChangeRow = Change & { readonly catalog: CatalogName | null };

/** How a price is spelled: powers of ten between the wire's and a person's, by its name. */
export type PlacesFor = (name: string) => number;

type ChangeColumn = Column<ChangeRow>;

/** The columns. `sides` are the two catalogs where these are compared with one another. */
export const changeColumns = ({
  placesFor,
  sides,
  several,
}: {
  readonly placesFor: PlacesFor;
  readonly sides: { readonly from: string; readonly to: string } | undefined;
  readonly several: boolean;
}): readonly ChangeColumn[] => [
  text("id", { rank: 0, cell: ({ id }) => id }),
  text("change", { rank: 0, cell: ({ change }) => wordsOf(change, sides) }),
  text("field", { rank: 0, heading: "of", cell: ({ field }) => fieldName(field ?? "") }),
  text("from", { rank: 1, cell: ({ field, from }) => valueText(field ?? "", from, placesFor) }),
  text("to", { rank: 1, cell: ({ field, to }) => valueText(field ?? "", to, placesFor) }),
  text("difference", { rank: 2, cell: differenceText }),
  ...(several ? [text("catalog", { rank: 3, cell: ({ catalog }) => catalog ?? "" })] : []),
];

const text = (
  name: string,
  { heading = name, rank, cell }: { heading?: string; rank: number; cell: (row: ChangeRow) => string },
): ChangeColumn => ({ name, heading, rank, cell, value: cell });

const wordsOf = (
  change: Change["change"],
  sides: { readonly from: string; readonly to: string } | undefined,
): string =>
  sides !== undefined && (change === "added" || change === "gone")
    ? `only in ${change === "added" ? sides.to : sides.from}`
    : change;

/** The part of a fact's name that its kind does not say. */
const fieldName = (field: string): string => {
  if (field.startsWith("pricing.")) return field.slice("pricing.".length);
  return /^(input|output)_modalities$/.exec(field)?.[1] ?? "";
};

/** A value of a fact for a person: prices with their unit, lists with commas. */
export const valueText = (field: string, value: unknown, placesFor: PlacesFor): string => {
  if (value === null) return "";
  if (field.startsWith("pricing.")) return priceText(field.slice("pricing.".length), value, placesFor);
  if (Array.isArray(value)) return value.map(plainText).join(", ");
  return plainText(value);
};

const plainText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** A price of the wire for a person, with its unit; what is no price stays as it is. */
export const priceText = (name: string, value: unknown, placesFor: PlacesFor): string => {
  const amount = amountOf(value);
  if (amount === undefined || amount.digits < 0n) return plainText(value);
  const places = placesFor(name);
  return `${formatDecimal(shifted(amount, places))} ${places === 6 ? "$/M" : "$"}`;
};

const amountOf = (value: unknown): Decimal | undefined =>
  typeof value === "string" || typeof value === "number" ? parseDecimal(String(value).trim()) : undefined;

const differenceText = ({ change, from, to }: ChangeRow): string => {
  if (Array.isArray(from) || Array.isArray(to)) return membersText(listOf(from), listOf(to));
  if (change === "price") return percentText(amountOf(from), amountOf(to));
  if (typeof from !== "number" || typeof to !== "number") return "";
  return Number.isSafeInteger(from) && Number.isSafeInteger(to) ? signed(String(to - from)) : "";
};

const listOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.map(plainText) : value === null ? [] : [plainText(value)];

const membersText = (from: readonly string[], to: readonly string[]): string =>
  [
    ...to.filter((one) => !from.includes(one)).map((one) => `+${one}`),
    ...from.filter((one) => !to.includes(one)).map((one) => `-${one}`),
  ].join(" ");

const signed = (number: string): string => (number.startsWith("-") ? number : `+${number}`);

/** By how many percent a price rose or fell, to a tenth; nothing where it was free or is not known. */
export const percentText = (from: Decimal | undefined, to: Decimal | undefined): string => {
  if (from === undefined || to === undefined || from.digits <= 0n || to.digits < 0n) return "";
  const places = Math.max(from.places, to.places);
  const [was, is] = [shifted(from, places).digits, shifted(to, places).digits];
  const change = is > was ? is - was : was - is;
  const tenths = (change * 2000n + was) / (2n * was);
  const sign = compareDecimals(to, from) < 0 ? "-" : "+";
  return `${sign}${formatDecimal({ digits: tenths, places: 1 })}%`;
};
