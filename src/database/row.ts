/** A row as a driver returns it, with columns of known types. */
import { isArrayBuffer, isUint8Array } from "node:util/types";
import { Failure } from "../failure.ts";
import type { Row } from "./index.ts";
import type { TitledFile } from "./own-file.ts";

/** Wraps the row of a driver. */
export const toRow = (row: unknown, about: TitledFile): Row => {
  const damage = () => new Failure("database-corrupt", about, { where: { file: about.path } });
  if (typeof row !== "object" || row === null) throw damage();
  const column = <Kind>(name: string, parse: (value: unknown) => Kind | undefined): Kind => {
    const value = parse(Reflect.get(row, name));
    if (value === undefined) throw damage();
    return value;
  };
  return {
    text: (name) => column(name, (value) => (typeof value === "string" ? value : undefined)),
    integer: (name) => column(name, (value) => (typeof value === "number" ? value : undefined)),
    bytes: (name) => column(name, toBytes),
    isNull: (name) => Reflect.get(row, name) === null,
  };
};

/** libsql returns an `ArrayBuffer`, pg a buffer. */
const toBytes = (value: unknown): Uint8Array | undefined => {
  if (isUint8Array(value)) return value;
  return isArrayBuffer(value) ? new Uint8Array(value) : undefined;
};
