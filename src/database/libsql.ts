/**
 * Speaks to a libSQL server: its pipeline over HTTP (Hrana 2), a request for each question, which keeps nothing on the
 * server between two. Its own client asks for the server's version first, knows no time limits, and weighs 80 kB.
 */
import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from "node:http";
import { Agent as SecureAgent, request as secureRequest } from "node:https";
import { Failure } from "../failure.ts";
import { codeOf } from "../files.ts";
import { isLoopback } from "../host.ts";
import { isObject, memberOf, parsedJson } from "../json/walk.ts";
import type { TitledFile } from "./file.ts";
import { type Row, rowOf, type Value } from "./open.ts";
import {
  answerMs,
  type DatabaseServer,
  type InTheWay,
  passwordOf,
  persistence,
  type Question,
  type RemoteOptions,
  type VersionTable,
} from "./remote.ts";

const versions: VersionTable = {
  name: "rollcall_version",
  thereSql: "SELECT count(*) AS there FROM sqlite_master WHERE name = 'rollcall_version'",
  before: [
    "CREATE TABLE IF NOT EXISTS rollcall_version (part TEXT NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (part, number))",
  ],
};

/** Opens a database; nothing is asked of it yet. @throws Failure `database-address` */
export const openLibsql = (options: RemoteOptions): DatabaseServer => {
  const about = { path: options.path, title: options.title };
  const url = pipelineOf(about);
  const isSecure = url.protocol === "https:";
  const agent = new (isSecure ? SecureAgent : PlainAgent)({
    keepAlive: true,
    maxSockets: options.connections ?? connectionsOfARun,
  });
  const { persistently, hasten } = persistence(options, {
    passing,
    failureOf: (thrown) => failureOf(thrown, about),
  });
  const password = passwordOf(options);
  const post = async (body: string): Promise<string> => {
    const token = password.current();
    const signal = AbortSignal.timeout(answerMs);
    const headers = {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const send = isSecure ? secureRequest : plainRequest;
      send(url, { method: "POST", agent, headers, signal }, resolve).once("error", reject).end(body);
    });
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString("utf8");
    if (response.statusCode !== 401) password.taken();
    else if (await password.renew(token)) return await post(body);
    if (response.statusCode === 200) return text;
    throw new Refusal(`HTTP ${response.statusCode}`, text);
  };
  const asked = async (
    steps: readonly Step[],
    onDoubt: () => void = () => undefined,
  ): Promise<readonly (readonly Row[])[]> => {
    const body = JSON.stringify({ requests: [{ type: "batch", batch: { steps } }, { type: "close" }] });
    const answers = await persistently(async () => {
      const answer = await post(body).catch((thrown: unknown) => {
        if (isInDoubt(thrown)) onDoubt();
        throw thrown;
      });
      return resultsIn(answer, about);
    });
    return answers.map((rows) => rows.map((row) => rowOf(row, about)));
  };
  return {
    versions,
    ask: async (sql, values = []) => {
      requireFit([{ sql, values }], about);
      return (await asked([stepOf({ sql, values })]))[0] ?? [];
    },
    together: async (questions, onDoubt) => {
      requireFit(questions, about);
      return (await asked(transactionOf(questions), onDoubt)).slice(1, 1 + questions.length);
    },
    hasten,
    close: async () => {
      hasten();
      agent.destroy();
    },
  };
};

/**
 * Connections of a run: the server writes one transaction at a time, and of those that wait for their turn each keeps a
 * processor busy. With three, sixteen runs brought it to a stand; with one they ended in 25 s.
 */
const connectionsOfARun = 1;

/** Bytes of a value: the server takes none of 5 MB. */
const mostValueBytes = 4 * 2 ** 20;

/** @throws Failure `database-failed` for what the server would take at no other time either */
const requireFit = (questions: readonly Question[], about: TitledFile): void => {
  const isLong = (value: Value): boolean =>
    value !== null && typeof value !== "number" && Buffer.byteLength(value) > mostValueBytes;
  if (questions.some(({ values = [] }) => values.some(isLong))) {
    throw new Failure("database-failed", { ...about, code: "SQLITE_TOOBIG" });
  }
};

/** One statement of a request, and the earlier one that it waits for. */
interface Step {
  readonly stmt: { readonly sql: string; readonly args: readonly unknown[] };
  readonly condition?: unknown;
}

const stepOf = ({ sql, values = [] }: Question, condition?: unknown): Step => ({
  stmt: { sql, args: values.map(sent) },
  ...(condition === undefined ? {} : { condition }),
});

const done = (step: number) => ({ type: "ok", step });

/** A transaction that nobody else writes beside: the server has one at a time. Each step waits for the one before. */
const transactionOf = (questions: readonly Question[]): readonly Step[] => {
  const committed = questions.length + 1;
  return [
    stepOf({ sql: "BEGIN IMMEDIATE" }),
    ...questions.map((question, at) => stepOf(question, done(at))),
    stepOf({ sql: "COMMIT" }, done(committed - 1)),
    stepOf({ sql: "ROLLBACK" }, { type: "and", conds: [done(0), { type: "not", cond: done(committed) }] }),
  ];
};

const sent = (value: Value): unknown => {
  if (value === null) return { type: "null" };
  if (typeof value === "string") return { type: "text", value };
  if (typeof value === "number") return { type: "integer", value: String(value) };
  return { type: "blob", base64: Buffer.from(value).toString("base64") };
};

/** What the server answered that is no rows. */
class Refusal extends Error {
  readonly code: string;
  constructor(code: string, said: string) {
    super(said);
    this.code = code;
  }
}

/** The rows of each step, as objects. @throws Refusal for the first step that failed; Failure `database-address` where no libSQL server answered */
const resultsIn = (text: string, about: TitledFile): readonly (readonly object[])[] => {
  const answer = parsedJson(text)?.value;
  const [first] = listIn(answer, "results");
  refuse(memberOf(first, "error"));
  const result = memberOf(memberOf(first, "response"), "result");
  listIn(result, "step_errors").forEach(refuse);
  if (!isObject(result)) {
    throw new Failure("database-address", {
      ...about,
      wanted: "the address of a libSQL server, and what answers is none",
    });
  }
  return listIn(result, "step_results").map(rowsIn);
};

const listIn = (value: unknown, name: string): readonly unknown[] => {
  const list = memberOf(value, name);
  return Array.isArray(list) ? list : [];
};

const refuse = (error: unknown): void => {
  if (!isObject(error)) return;
  throw new Refusal(typeof error.code === "string" ? error.code : "unknown", String(error.message));
};

/** The rows of a step; none where it was not done. */
const rowsIn = (result: unknown): readonly object[] => {
  const names = listIn(result, "cols").map((column) => String(memberOf(column, "name")));
  return listIn(result, "rows").map((row) =>
    Object.fromEntries(names.map((name, at) => [name, cellOf(Array.isArray(row) ? row[at] : undefined)])),
  );
};

const cellOf = (cell: unknown): unknown => {
  const [type, value, base64] = [memberOf(cell, "type"), memberOf(cell, "value"), memberOf(cell, "base64")];
  if (type === "null") return null;
  if (type === "integer") return Number(value);
  return type === "blob" && typeof base64 === "string" ? Buffer.from(base64, "base64") : value;
};

/** Where questions go. `libsql:` is encrypted, but on the machine itself or where that was said. @throws Failure `database-address` */
const pipelineOf = ({ path, title }: TitledFile): URL => {
  const url = URL.canParse(path) ? new URL(path) : undefined;
  const other = [...(url?.searchParams.keys() ?? [])].find((key) => key !== "tls");
  if (url === undefined || url.hostname === "" || other !== undefined) {
    throw new Failure("database-address", {
      path,
      title,
      wanted: other === undefined ? "libsql://host" : `no ${other}, only tls`,
    });
  }
  const isPlain = url.protocol === "http:" || (url.protocol === "libsql:" && isUnencrypted(url));
  const folder = url.pathname.replace(/\/*$/, "");
  return new URL(`${isPlain ? "http" : "https"}://${url.host}${folder}/v2/pipeline`);
};

const isUnencrypted = (url: URL): boolean => {
  const said = url.searchParams.get("tls");
  return said === "0" || (said === null && isLoopback(url.hostname));
};

/** What is in the way of what may go through at another try: another transaction, a server that stops, starts or is full, a connection. */
const passing = (thrown: unknown): InTheWay | undefined => {
  if (thrown instanceof Failure || !(thrown instanceof Error)) return undefined;
  if (thrown.name === "TimeoutError" || thrown.name === "AbortError") return { code: "ETIMEDOUT", isConflict: false };
  const code = codeOf(thrown);
  if (/CERT|TLS|SSL/.test(code)) return undefined;
  if (!(thrown instanceof Refusal)) return /^(E|HPE_)/.test(code) ? { code, isConflict: false } : undefined;
  const isConflict = /BUSY|LOCKED|STREAM|TRANSACTION/.test(code);
  return isConflict || /^HTTP (408|429|5\d\d)$/.test(code) ? { code, isConflict } : undefined;
};

/** Whether what was asked may have been done although no answer came: it was sent, and not refused. */
const isInDoubt = (thrown: unknown): boolean => {
  if (thrown instanceof Failure) return false;
  if (thrown instanceof Refusal) return /^HTTP 5/.test(thrown.code);
  return !/^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$|CERT|TLS|SSL/.test(codeOf(thrown));
};

const failureOf = (thrown: unknown, about: TitledFile): unknown => {
  if (!(thrown instanceof Error) || thrown instanceof Failure) return thrown;
  const code = codeOf(thrown);
  if (code === "unknown" && !(thrown instanceof Refusal)) return thrown;
  if (code === "SQLITE_FULL") return new Failure("disk-full", about);
  const reason = /^HTTP 40[134]$/.test(code) ? "database-refused" : "database-failed";
  return new Failure(reason, { ...about, code }, { cause: thrown });
};
