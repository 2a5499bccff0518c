/** Reads the columns of a driver's row. @throws Failure `database-corrupt` */
import { isArrayBuffer, isUint8Array } from "node:util/types";
import { databaseCorrupt, type TitledFile } from "./failures.ts";

export type Row = ReturnType<typeof toRow>;

export const toRow = (row: unknown, about: TitledFile) => {
  const damage = () => databaseCorrupt(about);
  if (typeof row !== "object" || row === null) throw damage();
  const column = <Kind>(name: string, parse: (value: unknown) => Kind | undefined): Kind => {
    const value = parse(Reflect.get(row, name));
    if (value === undefined) throw damage();
    return value;
  };
  return {
    text: (name: string) => column(name, (value) => (typeof value === "string" ? value : undefined)),
    integer: (name: string) => column(name, (value) => (typeof value === "number" ? value : undefined)),
    // libsql returns an `ArrayBuffer`, and pg returns a `Buffer`.
    bytes: (name: string) =>
      column(name, (value) => (isArrayBuffer(value) ? new Uint8Array(value) : isUint8Array(value) ? value : undefined)),
    isNull: (name: string) => Reflect.get(row, name) === null,
  };
};
