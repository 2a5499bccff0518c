/** The words of what the local service and the files rollcall keeps can end with. */
import type { ReasonsOf } from "../../failure.ts";
import { isDatabaseAddress } from "../../files.ts";
import { didYouMean, systemWords, type Words } from "./sentences.ts";

/** What names another place for a file, by its title: for all others, the folder of all data. */
const placesNamed: Readonly<Record<string, string>> = {
  "the ledger": "ROLLCALL_DATA_DIR or --ledger",
  "the lock of the ledger": "ROLLCALL_DATA_DIR or --ledger",
  "the store of the local service": "--store, --data-dir or ROLLCALL_DATA_DIR",
  "the key of the local service": "ROLLCALL_DATA_DIR or --data-dir",
  "the lock of the settings": "ROLLCALL_CONFIG_DIR",
};

/** The variable that an address stands in with its password. */
const addressVariable = (title: string): string =>
  title === "the store of the local service" ? "ROLLCALL_STORE" : "ROLLCALL_LEDGER";

const elsewhere = (title: string): string => `name another place: ${placesNamed[title] ?? "ROLLCALL_DATA_DIR"}`;

/** What a database at an address refuses, by its code. */
const refusals: Readonly<Record<string, string>> = {
  "3D000": "has no such database",
  "42501": "does not let this user make or write its tables",
};

const databaseCodes: Readonly<Record<string, string>> = {
  "25006": "it takes no writes (25006)",
};

/** What helps where a database at an address failed; undefined for a file. */
const failedHint = (code: string, path: string): string | undefined => {
  if (!isDatabaseAddress(path)) return undefined;
  if (Object.hasOwn(databaseCodes, code))
    return "it is a replica, or was set to be read-only: give the address of the server that takes writes";
  if (/CERT|TLS|SSL/.test(code))
    return "the certificate of the server is checked: NODE_EXTRA_CA_CERTS names a file with one's own authority's";
  return "the log of the database says more; the same command again is safe";
};

export const serviceWords: Words<ReasonsOf["service"]> = {
  "database-locked": ({ path, title }) => ({
    message: `${title}, ${path}, stayed locked by another process`,
    hint: "wait for the other rollcall to end, then run the same command again",
  }),
  "database-corrupt": ({ path, title }) => ({
    message: `${title}, ${path}, is damaged`,
    hint: `move it away (mv ${path} ${path}.damaged) to start a new one, or put a copy back`,
  }),
  "database-foreign": ({ path, title }) => ({
    message: `${path} is not ${title.replace(/^the /, "a rollcall ")}: another program wrote it`,
    hint: isDatabaseAddress(path)
      ? "name another database: the schema rollcall of this one is another program's"
      : `move it away, or ${elsewhere(title)}`,
  }),
  "database-version": ({ path, title, version, expected }) => ({
    message: `${title}, ${path}, has version ${version}, but this rollcall expects version ${expected}`,
    hint:
      version > expected
        ? "use the rollcall that wrote it, or update this one"
        : isDatabaseAddress(path)
          ? "name another database: an older version is not migrated"
          : `move it away (mv ${path} ${path}.old) to start a new one: an older version is not migrated`,
  }),
  "database-away": ({ path, title, code, waitedMs }) => ({
    message: `${title}, ${path}, did not answer${waitedMs < 1000 ? "" : ` for ${Math.round(waitedMs / 1000)} s`}: ${systemWords(code)}`,
    hint:
      title === "the store of the local service"
        ? "nothing is stored while it is away; the same command again is safe"
        : "nothing is sent that can't be written down there; the same command again is safe, and --max-wait says how long is waited",
  }),
  "database-refused": ({ path, title, code }) => ({
    message: `${title}, ${path}, ${refusals[code] ?? "lets nobody in with this user and password"} (${code})`,
    hint:
      code === "3D000"
        ? "what stands behind the last / of the address is the name of the database: it has to be there, made with `createdb` or by whoever runs the server"
        : `the password is looked for in ${addressVariable(title)}'s address, in PGPASSWORD, in ~/.pgpass and with credential_command; the user needs to make and write the schema \`rollcall\``,
  }),
  "password-file-open": ({ path, title, file }) => ({
    message: `${title}, ${path}, asks for a password, and the one in ${file} is not used: others may read that file`,
    hint: `chmod 600 ${file}`,
  }),
  "database-address": ({ path, title, wanted }) => ({
    message: `${path} is no address that ${title} can be kept at`,
    hint: `it takes ${wanted}; a password stands in ${addressVariable(title)}, PGPASSWORD or ~/.pgpass, never on a command line`,
  }),
  "key-exists": ({ name }) => ({
    message: `${name} has a key already`,
    hint: `give another name, or \`rollcall serve keys revoke ${name}\` first`,
  }),
  "key-unknown": ({ name, suggestion }) => ({
    message: `${name} has no key that is taken`,
    ...didYouMean(suggestion, "`rollcall serve keys list` lists them"),
  }),
  "store-unsure": ({ path, title }) => ({
    message: `${title}, ${path}, went away as it wrote: nobody knows whether it stored the request`,
    hint: "once it is back, a request with an Idempotency-Key may be sent once more: it is stored once",
  }),
  "lease-lost": ({ path }) => ({
    message: `this run was without word from the ledger, ${path}, for so long that others may send its groups`,
    hint: "run the same command again: it sends what nobody else did",
  }),
  "database-failed": ({ path, title, code }) => ({
    message: `${title}, ${path}, can't be used: ${databaseCodes[code] ?? systemWords(code)}`,
    hint: failedHint(code, path) ?? `look at the disk under it, or ${elsewhere(title)}`,
  }),
  "folder-unusable": ({ path, title, code }) => ({
    message: `${title} can't be kept at ${path}: ${systemWords(code)}`,
    hint: `make the folder writable, or ${elsewhere(title)}`,
  }),
  "disk-full": ({ path, title }) => ({
    message: `the disk is full: ${title}, ${path}, can't be written`,
    hint: `make room, or ${elsewhere(title)}`,
  }),
  "local-key-unusable": ({ path }) => ({
    message: `the key of the local service, ${path}, holds no key`,
    hint: `delete it (rm ${path}); the next start makes a new one`,
  }),
  "address-unusable": ({ server, address, port, code }) => ({
    message: `${server} can't listen on ${address}, port ${port}: ${systemWords(code)}`,
    hint:
      code === "EADDRINUSE"
        ? "stop what listens there, or give another --port (0: any free one)"
        : server === "the page" || code === "EACCES"
          ? "give another --port (0: any free one)"
          : "give another --host",
  }),
  "host-unnamed": ({ address }) => ({
    message: `${address} can be reached from other machines`,
    hint: "say by which name they will ask for it: --allow-host <name>",
  }),
};
