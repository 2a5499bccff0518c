/** What SQLite and the file system say, as failures that name the file and the mend. */
import { Failure } from "../failure.ts";

interface About {
  readonly path: string;
  readonly title: string;
}

/** The failure that something thrown by SQLite means; other failures and defects pass as they are. */
export const failureOf = (thrown: unknown, about: About): unknown => {
  if (thrown instanceof Failure || !(thrown instanceof Error)) return thrown;
  const code = codeOf(thrown);
  // libsql gives an empty code where the file can't be opened at all.
  if (code === "") return failureOfCode("SQLITE_CANTOPEN", about, thrown);
  if (code === undefined || (!code.startsWith("SQLITE_") && !code.startsWith("UNKNOWN_SQLITE_"))) return thrown;
  return failureOfCode(code, about, thrown);
};

const failureOfCode = (code: string, about: About, cause: Error): Failure => {
  const is = (...names: readonly string[]) => names.some((name) => code === name || code.startsWith(`${name}_`));
  const more = { cause, where: { file: about.path } };
  if (is("SQLITE_BUSY", "SQLITE_LOCKED")) return new Failure("database-locked", about, { ...more, retryable: true });
  if (is("SQLITE_CORRUPT")) return new Failure("database-corrupt", about, more);
  if (is("SQLITE_NOTADB")) return new Failure("database-foreign", about, more);
  if (is("SQLITE_FULL")) return new Failure("disk-full", about, more);
  if (is("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")) {
    return new Failure("folder-unusable", { ...about, code }, more);
  }
  return new Failure("database-failed", { ...about, code }, more);
};

/** Whether SQLite gave up because of another process. */
export const isBusy = (thrown: unknown): boolean =>
  thrown instanceof Error && codeOf(thrown)?.startsWith("SQLITE_BUSY") === true;

/** The failure that something thrown by the file system means; other failures and defects pass as they are. */
export const systemFailure = (thrown: unknown, about: About): unknown => {
  const code = thrown instanceof Error && !(thrown instanceof Failure) ? codeOf(thrown) : undefined;
  if (code === undefined) return thrown;
  const more = { cause: thrown, where: { file: about.path } };
  if (code === "ENOSPC" || code === "EDQUOT") return new Failure("disk-full", about, more);
  return new Failure("folder-unusable", { ...about, code }, more);
};

const codeOf = (error: Error): string | undefined =>
  "code" in error && typeof error.code === "string" ? error.code : undefined;
