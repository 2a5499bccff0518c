/** The catalogs that there are (interface 4.4 and 4.5), and what tells one service's from another's. */
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

/** Digits of a digest that tell one from another. */
export const nameDigits = 24;

/** Tells a reply's bytes from any other. */
export const digestOf = (bytes: Uint8Array): string => hash("sha256", bytes, "hex").slice(0, nameDigits);

/** Name of the file or folder that holds what was saved of a catalog. */
export const folderNameOf = ({ address, catalog, provider }: CatalogPlace): string =>
  `${catalog}-${digestOf(Buffer.from(JSON.stringify([address, catalog, provider])))}`;
