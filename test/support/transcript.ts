/** Replays a transcript, which has command lines and their output, with a new folder, service and clock. */

import { EventEmitter } from "node:events";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { dirname, join, resolve } from "node:path";
import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { expect, onTestFinished } from "vitest";
import { version } from "../../package.json" with { type: "json" };
import { runCommandLine } from "../../src/run.ts";
import { interrupted } from "../../src/system/failures.ts";
import type { Host } from "../../src/system/host.ts";
import { testHost } from "./host.ts";
import { listenOnLoopback } from "./server.ts";

/** A typed line, and the content of a file, which is in the lines `< …` below it. */
interface Step {
  readonly line: string;
  readonly content: string;
}

const address = "http://service.example";
const repository = resolve(".");
/** Matches text that depends on the machine or the version. */
const ofThisMachine = new RegExp(
  `(?<=rollcall[/ ]|"rollcall": ?")${version}|(?<=linux )${process.arch}|(?<=expected one of identity, gzip)(?:, zstd)?|(?<="folder":")[^"]*`,
  "g",
);
/** A name of the length of a run's folder, because the width of a table depends on its content. */
const folderName = "/tmp/screens-folder";

export interface Replay {
  readonly text: string;
  /** The expectations below titles that are not met. */
  readonly unmet: readonly string[];
}

export const replay = async (text: string): Promise<Replay> => {
  const folder = mkdtempSync("/tmp/screens-");
  mkdirSync(join(folder, "home"));
  const service = await openService();
  const before = process.cwd();
  process.chdir(folder);
  let isOver = false;
  const played = play(text, { folder, service, isOver: () => isOver });
  onTestFinished(async () => {
    isOver = true;
    // A step of a canceled test must not write into the repository.
    await played.catch(() => undefined);
    process.chdir(before);
    rmSync(folder, { recursive: true });
  });
  return await played;
};

interface Session {
  readonly folder: string;
  readonly service: Service;
  readonly isOver: () => boolean;
}

const play = async (text: string, { folder, service, isOver }: Session): Promise<Replay> => {
  const stage = openStage(folder, service);
  const lines: string[] = [];
  const unmet: string[] = [];
  let start = 0;
  for (const block of blocksOf(text)) {
    if (isOver()) throw new Error("the test is over");
    if (block.lines[0] === "") {
      unmet.push(...unmetIn(lines.slice(start)));
      start = lines.length;
    }
    lines.push(...block.lines);
    if (block.step === undefined) continue;
    const said = await stage.play(block.step).catch((thrown) => {
      throw new Error(`$ ${block.step?.line}: ${thrown}`, { cause: thrown });
    });
    const shown = said.map((line) => line.replaceAll(folder, folderName).replaceAll(ofThisMachine, "…"));
    // One of them is that of the ledger's path.
    lines.push(...shown.map((line) => line.replace(/(?<="checksums":\[)[\d,]+/, "…")));
  }
  unmet.push(...unmetIn(lines.slice(start)));
  await stage.stop();
  if (service.unused() > 0) throw new Error(`${service.unused()} answers were not asked for`);
  return { text: `${lines.join("\n")}\n`, unmet };
};

/** `--update` changes results, but not the expectations below a title, of which each section needs one. */
const unmetIn = (lines: readonly string[]): readonly string[] => {
  const expectations = lines.filter(isExpectation);
  if (lines.length > 0 && expectations.length === 0) return [`${lines[1]}: no line states what the title claims`];
  return expectations.flatMap((line) => {
    const [mark = "", wanted] = [line[1], line.slice(3)];
    const results = lines.filter((one) => one.startsWith(`${mark} `));
    const isNone = wanted === "" || line === "#= 0";
    const isMet = isNone ? results.length === 0 : results.some((one) => one.includes(wanted));
    return isMet ? [] : [`${lines[1]}: expected ${isNone ? `no line ${mark}` : line.slice(1)}`];
  });
};

const isExpectation = (line: string) => /^#[>!@=](?: |$)/.test(line);

/** The typed lines of a transcript. All other lines are results. */
const blocksOf = (text: string): readonly { readonly lines: readonly string[]; readonly step?: Step }[] => {
  const blocks: { lines: string[]; step?: Step }[] = [];
  for (const line of text.split("\n")) {
    if (line.startsWith("$ ")) blocks.push({ lines: [line], step: { line: line.slice(2), content: "" } });
    else if (line.startsWith("# ")) blocks.push({ lines: ["", line] });
    else if (isExpectation(line)) blocks.push({ lines: [line] });
    else if (/^<(?: |$)/.test(line)) {
      const last = blocks.at(-1);
      if (last?.step === undefined) throw new Error(`no line before: ${line}`);
      last.lines.push(line);
      last.step = { ...last.step, content: `${last.step.content}${line.slice(2)}\n` };
    }
  }
  return blocks;
};

const openStage = (folder: string, service: Service) => {
  let movedMs = 0;
  let environment: Record<string, string> = {
    HOME: join(folder, "home"),
    ROLLCALL_BASE_URL: address,
    ROLLCALL_INFERENCE_BASE_URL: address,
    ROLLCALL_ANALYSIS_PROVIDER: "a",
    ROLLCALL_ROUTER_PROVIDER: "r",
    ROLLCALL_API_KEY: "key-12345678",
    ROLLCALL_PROJECT: "team/project",
    ROLLCALL_INSECURE_HTTP: "1",
    TERM: "xterm-256color",
    http_proxy: service.url,
  };
  const names = openNames();
  let serving: ServeProcess | undefined;
  const start = async (args: readonly string[], own: Record<string, string>): Promise<readonly string[]> => {
    const end = new AbortController();
    const base = testHost({ env: { ...environment, ...own } });
    const now = () => base.now() + movedMs;
    const host: Host = { ...base, argv: args, now, signal: end.signal, sleep: (_, signal) => neverUnless(signal) };
    const ended = runCommandLine(host);
    const printed = () => base.printed() + base.said();
    let isOver = false;
    void ended.then(() => {
      isOver = true;
    });
    await expect.poll(() => isOver || addressIn(printed()) !== undefined, { interval: 5 }).toBe(true);
    if (isOver) return [...marked(">", base.printed()), ...marked("!", base.said()), `= ${await ended}`];
    const [, url = "", token] = addressIn(printed()) ?? [];
    if (token !== undefined) await untilRead(url, token);
    let told = 0;
    const news = () => {
      // `view` can print its URL before or after the notes about the input.
      const said = marked("!", base.said());
      const all = [...marked(">", base.printed()), ...(told === 0 && token !== undefined ? said.toSorted() : said)];
      const since = all.slice(told);
      told = all.length;
      return since;
    };
    serving = {
      url,
      token,
      news,
      async stop() {
        end.abort(interrupted({ signal: "SIGINT" }));
        const code = await ended;
        return [...news(), ...(code === 0 ? [] : [`= ${code}`])];
      },
    };
    return news();
  };
  const ask = async (
    method: string,
    { path, headers, body }: { readonly path: string; readonly headers: readonly string[]; readonly body: string },
  ): Promise<readonly string[]> => {
    if (serving === undefined) throw new Error("nothing serves");
    const { url, token, news } = serving;
    const bearer = token === undefined ? {} : { authorization: `Bearer ${token}` };
    if (token !== undefined) await untilRead(url, token);
    const request = {
      method,
      headers: { ...bearer, ...Object.fromEntries(headers.map((header) => header.split(": "))) },
      ...(body === "" ? {} : { body }),
    };
    const address = url + path.replace(/(?<=\?query=).*/, encodeURIComponent);
    let response = await fetch(address, request);
    while ((await response.clone().text()).includes('"searched":0')) response = await fetch(address, request);
    const told = ["retry-after", "idempotency-key", "www-authenticate", "allow"].flatMap((name) => {
      const value = response.headers.get(name);
      return value === null ? [] : [`${name}: ${value}`];
    });
    const text = await response.text();
    return [
      `> ${[response.status, ...told].join("  ")}`,
      ...marked(">", text.endsWith("\n") ? text : `${text}\n`),
      ...news(),
    ];
  };
  const rollcall = async (
    args: readonly string[],
    own: Record<string, string>,
    stdin: string | Uint8Array | undefined,
  ) => {
    const { TTY: columns, ...env } = own;
    const screen = { stdin: true, stdout: true, stderr: true, columns: Number(columns) };
    const base = testHost({
      env: Object.fromEntries(Object.entries({ ...environment, ...env }).filter(([, value]) => value !== "")),
      terminal: columns === undefined ? {} : screen,
      ...(stdin === undefined ? {} : { stdin }),
    });
    // A followed file grows by a line in each wait. After the last one, Ctrl-C is pressed.
    const lines = args.includes("--follow") && typeof stdin === "string" ? stdin.trimEnd().split("\n") : undefined;
    const end = new AbortController();
    const host: Host = {
      ...base,
      signal: end.signal,
      ...(columns !== undefined && typeof stdin === "string" ? { stdin: typing(stdin) } : {}),
      argv: args,
      nodeVersion: "20.0.0",
      now: () => base.now() + movedMs,
      elapsed: () => movedMs,
      async sleep(ms, signal) {
        await setImmediate();
        if (columns !== undefined) await neverUnless(signal);
        signal?.throwIfAborted();
        movedMs += ms;
        const line = lines?.shift();
        if (lines !== undefined && line === undefined) end.abort(interrupted({ signal: "SIGINT" }));
        else if (line) appendFileSync(args[2] ?? "", `${line}\n`);
      },
    };
    const code = await runCommandLine(host);
    return [
      ...marked(">", base.printed()),
      ...marked("!", base.said()),
      ...inTellingOrder(service.take()).map((line) => `@ ${line}`),
      ...(code === 0 ? [] : [`= ${code}`]),
    ];
  };
  /** Runs a line. Returns its result in the transcript. */
  const play = async ({ line, content }: Step): Promise<readonly string[]> => {
    const words = wordsOf(names.real(line));
    const from = words.indexOf("<");
    const input = from < 0 ? undefined : readFileSync(words[from + 1] ?? "");
    if (from >= 0) words.splice(from, 2);
    const own: Record<string, string> = {};
    while (/^\w+=/.test(words[0] ?? "")) {
      const [name = "", ...value] = words.shift()?.split("=") ?? [];
      own[name] = value.join("=");
    }
    const [name, ...args] = words;
    const [first = "", second = ""] = args;
    switch (name) {
      case undefined:
        environment = { ...environment, ...own };
        return [];
      case "rollcall":
        return await rollcall(args, own, input ?? (content === "" ? undefined : names.real(content)));
      case "start":
        return await start(args.slice(1), own);
      case "stop": {
        const told = await serving?.stop();
        serving = undefined;
        return told ?? [];
      }
      case "GET":
      case "POST":
      case "DELETE":
        return await ask(name, { path: first, headers: args.slice(1), body: names.real(content.trimEnd()) });
      case "write":
        mkdirSync(dirname(first), { recursive: true });
        writeFileSync(first, first.endsWith(".gz") ? gzipSync(content) : content);
        return [];
      case "append":
        appendFileSync(first, content);
        return [];
      case "groups":
        writeFileSync(first, args.slice(1).map(groupOf).join(""));
        return [];
      case "copy":
        mkdirSync(dirname(second || "."), { recursive: true });
        cpSync(join(repository, "test", first), second, { recursive: true });
        return [];
      case "remove":
        rmSync(first, { recursive: true, force: true });
        return [];
      case "edit":
        writeFileSync(first, readFileSync(first, "utf8").replaceAll(second, args[2] ?? ""));
        return [];
      case "cat":
        return existsSync(first) ? marked(">", readFileSync(first, "utf8")) : ["> (there is no such file)"];
      case "ls":
        // In this process, libsql deletes the files next to a closed database only after a garbage collection.
        return readdirSync(first || ".")
          .filter((file) => !/-(?:shm|wal)$/.test(file))
          .sort()
          .map((file) => `> ${file}`);
      case "clock":
        movedMs += Number(first) * 3_600_000;
        return [];
      case "at":
        service.at(first, content || readFileSync(second, "utf8"));
        return [];
      case "answer":
        service.answer({ status: Number(first), body: second, headers: args.slice(2) });
        return [];
      default:
        throw new Error(`unknown: ${line}`);
    }
  };
  return { play: async (step: Step) => (await play(step)).map(names.shown), stop: async () => await serving?.stop() };
};

interface ServeProcess {
  readonly url: string;
  readonly token: string | undefined;
  /** Returns the output since the last call. */
  readonly news: () => readonly string[];
  readonly stop: () => Promise<readonly string[]>;
}

/** A terminal that answers each question with the next line, and then types Ctrl-D. */
const typing = (text: string): Host["stdin"] => {
  const lines = text.match(/.*\n/g) ?? [];
  const stream = new Readable({ read: () => undefined });
  const on: typeof stream.on = (event, listener) => {
    // Without this, a listener of data would start the stream.
    return EventEmitter.prototype.on.call(stream, event, listener) as typeof stream;
  };
  const resume = () => {
    const line = lines.shift();
    setTimeout(() => (line === undefined ? stream.emit("end") : stream.emit("data", Buffer.from(line))));
    return stream;
  };
  return Object.assign(stream, { on, resume, setRawMode: () => stream });
};

/** Waits until `view` has read and measured its input in the background. */
const untilRead = async (url: string, token: string): Promise<void> => {
  for (let state = ""; !state.includes('"phase":"read"'); ) {
    state = await (await fetch(`${url}/api/state`, { headers: { authorization: `Bearer ${token}` } })).text();
  }
};

const addressIn = (text: string): readonly (string | undefined)[] | undefined =>
  /(http:\/\/127\.0\.0\.1:\d+)(?:\/#token=([\w-]+))?/.exec(text) ?? undefined;

/** Replaces random values by numbers in their order of appearance, such as `id#1`. */
const openNames = () => {
  const seen: string[] = [];
  const random =
    /rollcall-local-[\w-]{32}|(?<=store )[0-9a-f]{32}|rollcall-[\w-]{43}|(?<=token=)[\w-]{32}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
  return {
    shown: (line: string): string =>
      line.replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:8700").replaceAll(random, (own) => {
        if (!seen.includes(own)) seen.push(own);
        return `id#${seen.indexOf(own) + 1}`;
      }),
    real: (line: string): string => line.replaceAll(/id#(\d+)/g, (own, at: string) => seen[Number(at) - 1] ?? own),
  };
};

const neverUnless = async (signal: AbortSignal | undefined): Promise<void> => {
  await new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
};

const marked = (mark: string, text: string): readonly string[] => {
  if (text === "") return [];
  const lines = text.split("\n").map((line) => `${mark} ${visible(line)}`.trimEnd());
  return text.endsWith("\n") ? lines.slice(0, -1) : [...lines.slice(0, -1), `${lines.at(-1)}%`];
};

/** Makes control characters and spaces at the end of a line visible. */
const visible = (line: string): string =>
  line
    .replaceAll("\t", "→")
    .replaceAll(/[\0-\x1f\x7f]/g, (char) => (char === "\x1b" ? "␛" : String.fromCharCode(0x2400 + char.charCodeAt(0))))
    .replace(/ +$/, (spaces) => "·".repeat(spaces.length));

/** The words of a command line: `'…'` and `"…"` are one word. */
const wordsOf = (line: string): string[] =>
  Array.from(line.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g), ([word]) =>
    word.replaceAll(/'([^']*)'|"([^"]*)"/g, "$1$2"),
  );

/** A group of trajectories with these rewards, separated by commas. */
const groupOf = (rewards: string): string => {
  const trajectories = rewards.split(",").map((reward, at) => {
    const message = { role: "assistant", content: `${reward} ${at}` };
    const logprobs = { content: [{ token: "a", logprob: -0.5 }] };
    const choice = { finish_reason: "stop", index: 0, logprobs, message };
    const turns = JSON.stringify([{ role: "user", content: "q" }, choice]);
    return `{"messages_and_choices":${turns},"reward":${reward}}`;
  });
  return `{"trajectories":[${trajectories}]}\n`;
};

/** The body of a request, with its rewards in place of a group that `groups` wrote. */
const shortened = (body: string): string => {
  if (!body.includes('"trajectory_groups":') || JSON.stringify(JSON.parse(body)) !== body) return body;
  const { trajectory_groups: groups, ...others } = JSON.parse(body);
  const told = groups.map((group: { readonly trajectories: readonly { readonly reward: number }[] }) => {
    const rewards = group.trajectories.map(({ reward }) => reward).join();
    return `${JSON.stringify(group)}\n` === groupOf(rewards) ? `(${rewards})` : JSON.stringify(group);
  });
  return `${JSON.stringify(others)} ${told.join(" ")}`;
};

interface Answer {
  readonly status: number;
  readonly body: string;
  /** Lines of the form `Name: value`. */
  readonly headers: readonly string[];
}

type Service = Awaited<ReturnType<typeof openService>>;

/** Opens a service that is used through a proxy, so that its URL is the same in every run. */
const openService = async () => {
  const replies = new Map<string, string>();
  const answers: Answer[] = [];
  const received: string[] = [];
  let calls = 0;
  const answerTo = (path: string, body: string, hasKey: boolean): Answer => {
    const next = answers.shift();
    if (next !== undefined) return next;
    const id = path === "/call/read" ? ` ${JSON.parse(body).id}` : "";
    const reply = replies.get(path + id);
    if (reply !== undefined) return { status: 200, body: reply, headers: [] };
    if (id !== "" && !hasKey) return { status: 401, body: '{"detail":"Not authenticated"}', headers: [] };
    if (!path.endsWith("/log")) return { status: 404, body: '{"detail":"Not Found"}', headers: [] };
    const ids = Array.from(body.matchAll(/"reward":/g), () => `call-${++calls}`);
    return { status: 200, body: JSON.stringify({ metrics: {}, call_ids: ids }), headers: [] };
  };
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const path = (incoming.url ?? "").replace(address, "");
    received.push(toldOf(incoming, path, body));
    const answer = answerTo(path, body, incoming.headers.authorization !== undefined);
    if (answer.status === 0) return void incoming.socket.destroy();
    response.statusCode = answer.status;
    response.sendDate = false;
    response.setHeader("content-type", "application/json");
    for (const header of answer.headers) {
      const [name = "", value = ""] = header.split(": ");
      response.setHeader(name, value === "key" ? String(incoming.headers["idempotency-key"]) : value);
    }
    response.end(answer.body);
  });
  server.on("connect", (_, socket) => {
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    server.emit("connection", socket);
  });
  const { url } = await listenOnLoopback(server);
  return {
    url,
    at: (path: string, body: string) => void replies.set(path, body),
    answer: (answer: Answer) => void answers.push(answer),
    take: () => received.splice(0),
    unused: () => answers.length,
  };
};

/** Headers that are equal in all requests, or differ between machines. */
const ordinary = /^(?:host|connection|proxy-connection|content-length|user-agent|accept|accept-encoding)$/;

const toldOf = ({ method, headers }: IncomingMessage, path: string, body: string): string => {
  const own = Object.entries(headers).flatMap(([name, value]) => (ordinary.test(name) ? [] : [`${name}: ${value}`]));
  const told = own
    .join("; ")
    .replace("content-type: application/json", "json")
    .replace(/(?<=key: \w{8})\w+/, "…");
  return [method, path, `[${told}]`, shortened(body)].join(" ").trimEnd();
};

/** Sorts requests that rollcall sends in parallel, because their order is random. */
const inTellingOrder = (requests: readonly string[]): readonly string[] =>
  requests.every((request) => /^(?:POST \/call\/read|HEAD|GET \S+\.jsonl)/.test(request)) ||
  requests.some((one) => one.startsWith("HEAD"))
    ? requests.toSorted()
    : requests;
