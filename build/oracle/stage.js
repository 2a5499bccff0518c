/** Plays a case with one build: runs command lines in a folder and records everything that can be observed of them. */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { decompress } from "fzstd";
import Database from "libsql";
import { normalized } from "./normalize.js";

/** The clock of each run starts at this time. */
export const startTime = Date.parse("2025-11-20T10:00:00Z");

/** Time between the starts of two runs of a case. */
const stepMs = 60_000;

/**
 * Opens a stage: the same folder, service and times for each build, so that nothing that differs is due to them.
 * `programOf` gives the program of the nth run, `missing` the first word of a command line that a build does not know.
 */
export const openStage = ({ folder, service, programOf, missing }) => {
  rmSync(folder, { recursive: true, force: true });
  const home = join(folder, "home");
  const cwd = join(folder, "work");
  for (const path of [home, cwd, join(folder, "tmp")]) mkdirSync(path, { recursive: true });
  service.reset();
  const env = {
    PATH: process.env.PATH,
    TMPDIR: join(folder, "tmp"),
    HOME: home,
    XDG_CONFIG_HOME: join(home, "config"),
    XDG_DATA_HOME: join(home, "data"),
    ROLLCALL_BASE_URL: service.url,
    ROLLCALL_INFERENCE_BASE_URL: service.url,
    ROLLCALL_API_KEY: "key-123456789",
    ROLLCALL_PROJECT: "team/project",
    ROLLCALL_ANALYSIS_PROVIDER: "a",
    ROLLCALL_ROUTER_PROVIDER: "r",
  };
  const seen = [];
  const inputs = [];
  let now = startTime;
  let runs = 0;
  const path = (name) => join(cwd, name);
  const stage = {
    seen,
    inputs,
    service,
    path,
    /** Copies an input into the folder of the runs, and gives its name there. */
    copy(file) {
      copyFileSync(file, path(basename(file)));
      return stage.made(basename(file));
    },
    write(name, content) {
      writeFileSync(path(name), content);
      return stage.made(name);
    },
    made(name) {
      utimesSync(path(name), startTime / 1000, startTime / 1000);
      if (!inputs.includes(name)) inputs.push(name);
      return name;
    },
    /** Moves the clock of the next runs. */
    wait(ms) {
      now += ms;
    },
    /** Records a value under the words of the last run. */
    note(part, value) {
      seen.at(-1)?.parts.push([part, typeof value === "string" ? normalized(value) : value]);
    },
    /**
     * Runs a command line and records its exit code and what it printed. `columns` makes standard output a terminal.
     * A line is a text, or a list of words. A line with a command or an option that one of the builds lacks is run by neither.
     */
    async run(line, { columns, stdin = "", env: more = {}, meanwhile, quiet = false } = {}) {
      const args = wordsOf(line);
      const lacking = missing(args);
      if (lacking !== undefined) {
        seen.push({ args, lacking, parts: [] });
        return { code: 2, stdout: "", stderr: "", lacking };
      }
      const asked = {
        args,
        cwd,
        env: withoutAbsent({ ...env, ...more }),
        stdin: Buffer.from(stdin),
        columns,
        now,
        seed: runs,
      };
      const ran = await programOf(runs).run(asked, meanwhile);
      now += stepMs;
      runs++;
      seen.push({ args, columns, parts: [] });
      if (quiet) return ran;
      stage.note("exit code", ran.code);
      stage.note("stdout", ran.stdout);
      stage.note("stderr", ran.stderr);
      return ran;
    },
    /** Records files that a run wrote, or that they are missing. */
    files(...names) {
      for (const name of names) {
        stage.note(
          `file ${name.replace(/^.*\.(?=rejected|reasons)/, "*.")}`,
          existsSync(path(name)) ? contentOf(path(name)) : "(no file)",
        );
      }
    },
    /** Records the names of all files next to the inputs. */
    listing() {
      stage.note("folder", readdirSync(cwd).sort().join("\n"));
    },
    /** Records the requests that the service received; sorted if several were under way at once. */
    requests({ sorted = false } = {}) {
      const taken = service
        .take()
        .map(({ line, headers, body }) => ({ line, headers: toCompare(headers), body: textOf(headers, body) }));
      if (sorted) taken.sort((a, b) => (a.body < b.body ? -1 : 1));
      stage.note("requests", taken);
    },
    /** Records the tables of the ledger, by their names and columns. */
    ledger(file = join(home, "data/rollcall/ledger.db")) {
      stage.note("ledger", existsSync(file) ? tablesOf(file) : {});
    },
  };
  return stage;
};

/** The words of a command line; white space is kept between single quotes. */
const wordsOf = (line) =>
  typeof line === "string" ? Array.from(line.matchAll(/'([^']*)'|\S+/g), ([word, quoted]) => quoted ?? word) : line;

const withoutAbsent = (env) => Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));

/** Headers without the address of this run's service. */
const toCompare = ({ host, ...headers }) => headers;

const textOf = (headers, body) => {
  if (typeof body === "string") return body;
  const bytes = { gzip: gunzipSync, zstd: decompress }[headers["content-encoding"]]?.(body) ?? body;
  return Buffer.from(bytes).toString("utf8");
};

/** The data of a page, or the content of another file. */
const contentOf = (path) => {
  const bytes = readFileSync(path);
  if (!path.endsWith(".html")) return bytes.toString("utf8");
  const blocks = bytes.toString("utf8").matchAll(/<script type="application\/json" id="([\w-]+)">(.*?)<\/script>/gs);
  return `{${Array.from(blocks, ([, id, text]) => `${JSON.stringify(id)}:${text}`).join(",\n")}}`;
};

/** Each table's columns and rows; blobs as hexadecimal digits, times of the run without their value. */
const tablesOf = (file) => {
  const database = new Database(file, { readonly: true });
  try {
    const [{ user_version: version }] = database.prepare("PRAGMA user_version").all();
    const tables = database
      .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
      .all();
    const entries = tables.map(({ name }) => {
      const columns = database
        .prepare(`PRAGMA table_info("${name}")`)
        .all()
        .map((column) => column.name);
      const rows = database.prepare(`SELECT * FROM "${name}" ORDER BY 1, 2`).all();
      return [
        name,
        {
          columns,
          rows: rows.map((row) => Object.fromEntries(columns.map((column) => [column, cellOf(row[column])]))),
        },
      ];
    });
    return { version, tables: Object.fromEntries(entries) };
  } finally {
    database.close();
  }
};

/** A time of a run lies within a day of the start time. */
const dayMs = 86_400_000;

const cellOf = (value) => {
  if (value instanceof Uint8Array || value instanceof ArrayBuffer) return Buffer.from(value).toString("hex");
  if (typeof value === "number" && Math.abs(value - startTime) < dayMs * 3)
    return `<time ${Math.floor((value - startTime) / stepMs)}>`;
  return value;
};
