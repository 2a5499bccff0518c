/** Which catalog a reply is: of which service, which kind, which provider (interface 4.4 and 4.5). */
import { hash } from "node:crypto";

/** The kinds of catalog, in the order they are shown. */
export const catalogNames = ["analysis", "router"] as const;

/** A kind of catalog. */
export type CatalogName = (typeof catalogNames)[number];

/** What tells a catalog from any other. */
export interface CatalogPlace {
  /** The service's main address; `local` for the service inside the program. */
  readonly address: string;
  readonly catalog: CatalogName;
  readonly provider: string;
}

/** A file name that stands for the place. */
export const fileNameOf = ({ address, catalog, provider }: CatalogPlace): string =>
  `${catalog}-${hash("sha256", JSON.stringify([address, catalog, provider]), "hex").slice(0, nameLength)}`;

/** Digits of a digest that tell one place from another. */
const nameLength = 24;
