/** Finds the secrets that a run can know at its start, so that no output shows them. Ignores what it cannot read. */
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { ignoreErrors, readRegularFile } from "../files.ts";
import type { Host } from "../host.ts";
import { type FolderHost, findSettingsFile } from "./saved.ts";

export const maxSecretBytes = 64 * 1024;

/** Returns the variables whose texts are in files, such as `ROLLCALL_API_KEY` for `ROLLCALL_API_KEY_FILE`. */
export const readVariableFiles = (env: Host["env"]): Host["env"] =>
  Object.fromEntries(
    Object.entries(env).flatMap(([name, file = ""]) => {
      const variable = /^(ROLLCALL_\w+)_FILE$/i.exec(name)?.[1];
      return variable === undefined ? [] : [[variable, ignoreErrors(() => readSecretFile(file))]];
    }),
  );

/** Reads no pipe, which can be read only once, and keeps the position of a file that is also standard input. */
const readSecretFile = (file: string): string | undefined => {
  if (!statSync(file).isFile()) return undefined;
  const opened = openSync(file, "r");
  try {
    const bytes = Buffer.alloc(maxSecretBytes + 1);
    const length = readSync(opened, bytes, 0, bytes.length, 0);
    return length > maxSecretBytes ? undefined : bytes.toString("utf8", 0, length);
  } finally {
    closeSync(opened);
  }
};

/** Returns the keys that `auth login` saved, for all profiles. */
export const listSavedKeys = (host: FolderHost): readonly string[] => {
  const keys: string[] = [];
  ignoreErrors(() => {
    const text = readRegularFile(findSettingsFile(host, "credentials")).toString("utf8");
    JSON.parse(text.replace(/^\ufeff/, ""), (name, value) => {
      if (name === "key" && typeof value === "string") keys.push(value);
    });
  });
  return keys;
};
