/** Damaged replies of the interface: each field is absent, null, of another type, or has an unknown value. */

/** Values as JSON text, so that digits stay; undefined omits the field. */
export const damages: readonly (string | undefined)[] = [
  undefined,
  "null",
  "true",
  "0",
  "-1",
  "1.5",
  "1e400",
  "9007199254740993",
  '""',
  '"free"',
  '"1e-7"',
  '"-1"',
  '" 0.5 "',
  '"1e99999"',
  '"0,5"',
  '"2026-02-31"',
  '"\\u001b[31mred\\u202e"',
  '"int3 of next year"',
  "[]",
  "{}",
  '["text",7,null]',
  '[{"country_code":7},{"country_code":"DE"},7]',
  '{"prompt":{"deep":[[]]}}',
  `${"[".repeat(300)}${"]".repeat(300)}`,
];

/** An object: the JSON text of each member. */
export type Members = Readonly<Record<string, string | undefined>>;

/** The text of an object; members without a text are omitted. */
export const textOf = (members: Members): string =>
  `{${Object.entries(members)
    .flatMap(([name, text]) => (text === undefined ? [] : [`${JSON.stringify(name)}:${text}`]))
    .join(",")}}`;

/** A complete model (interface 2.5). */
export const wholeModel: Members = {
  id: '"maker/model"',
  name: '"A model"',
  created: "1753228800",
  input_modalities: '["text"]',
  output_modalities: '["text"]',
  quantization: '"fp8"',
  context_length: "131072",
  max_output_length: "8192",
  pricing: '{"prompt":"0.0000003","completion":"0.0000012"}',
  supported_sampling_parameters: '["temperature"]',
  supported_features: '["tools"]',
  datacenters: '[{"country_code":"FI"}]',
  deprecation_date: '"2999-01-31"',
};

/** A model with one value that is damaged. */
export interface DamagedModel {
  readonly id: string;
  readonly members: Members;
  /** Dotted name of the damaged field. */
  readonly field: string;
  readonly value: string | undefined;
}

const prices = ["prompt", "completion", "image", "request", "input_cache_read", "web_search"];

/** A model for each field and each damage to it; the ids distinguish them unless the id is damaged. */
export const damagedModels: readonly DamagedModel[] = [
  ...Object.keys(wholeModel).flatMap((field) => damages.map((value) => ({ field, value, change: { [field]: value } }))),
  ...prices.flatMap((name) =>
    damages.map((value) => ({
      field: `pricing.${name}`,
      value,
      change: { pricing: textOf({ prompt: '"0.0000003"', completion: '"0.0000012"', [name]: value }) },
    })),
  ),
  ...damages.map((value) => ({
    field: "datacenters.country_code",
    value,
    change: { datacenters: `[${textOf({ country_code: value })}]` },
  })),
].map(({ field, value, change }, at) => {
  const id = `${field}/${at}`;
  return { id, field, value, members: { ...wholeModel, id: JSON.stringify(id), ...change } };
});

export const catalogText = (models: readonly { readonly members: Members }[]): string =>
  `{"data":[${models.map(({ members }) => textOf(members)).join(",")}]}`;

/** The exact digits and decimal places of a price; undefined if the value is not a decimal of at least zero. */
export const priceOf = (
  value: string | undefined,
): { readonly digits: bigint; readonly places: number } | undefined => {
  if (value === undefined) return undefined;
  const parsed: unknown = JSON.parse(value);
  const text = typeof parsed === "string" ? parsed.trim() : typeof parsed === "number" ? value : "";
  const [, whole = "", fraction = "", exponent = "0"] = /^(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const power = Number(exponent);
  if (whole === "" || Math.abs(power) > 40) return undefined;
  const places = fraction.length - power;
  const digits = BigInt(whole + fraction);
  return places < 0 ? { digits: digits * 10n ** BigInt(-places), places: 0 } : { digits, places };
};

/** The price of a million units, in decimal notation. */
export const perMillion = (value: string | undefined): string | undefined => {
  const price = priceOf(value);
  if (price === undefined) return undefined;
  const digits = String(price.digits * 10n ** 6n).padStart(price.places + 1, "0");
  const point = digits.length - price.places;
  return `${digits.slice(0, point)}.${digits.slice(point)}`.replace(/\.?0*$/, "");
};
