/** The catalogs that there are (interface 4.4 and 4.5), and what tells one service's from another's. */

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
