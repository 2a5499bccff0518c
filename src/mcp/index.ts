/** Serves tools to an agent, over the Model Context Protocol: owns its SDK, and confines files to one folder. */

import { Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { version } from "../../package.json" with { type: "json" };
import { Failure } from "../failure.ts";
import type { Host } from "../host.ts";
import { nearest } from "../nearest.ts";
import {
  CallToolRequestSchema,
  ErrorCode,
  fromJSONSchema,
  ListToolsRequestSchema,
  McpError,
  Server,
  StdioServerTransport,
} from "./sdk.ts";

export { openRoot, type Root, type RootFile } from "./root.ts";

/** A tool that only reads. */
export interface Tool {
  readonly name: string;
  /** For the agent that chooses it: what it gives, in which units, and what bounds it. */
  readonly description: string;
  /** JSON Schemas of its parameters, and the names of those that have to be there. */
  readonly parameters: Readonly<Record<string, object>>;
  readonly required: readonly string[];
  /** Whether it asks a service, or only this machine. */
  readonly asksService: boolean;
  /** What it gives, or what went wrong, so that the agent can fix its call. */
  run(sent: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<Given>;
}

/** The parameters of a tool, as they are listed. */
const inputSchemaOf = ({ parameters, required }: Pick<Tool, "parameters" | "required">) =>
  ({ type: "object", properties: parameters, required, additionalProperties: false }) as const;

/** The first parameter that does not fit its schema or is not in it; undefined if all do. */
export const faultIn = (
  tool: Pick<Tool, "parameters" | "required">,
  sent: Readonly<Record<string, unknown>>,
): { readonly parameter: string; readonly isUnknown: boolean } | undefined => {
  const { error } = fromJSONSchema(JSON.parse(JSON.stringify(inputSchemaOf(tool)))).safeParse(sent);
  const unknown = error?.issues.find((issue) => issue.code === "unrecognized_keys");
  if (unknown !== undefined) return { parameter: String(unknown.keys[0]), isUnknown: true };
  return error === undefined ? undefined : { parameter: String(error.issues[0]?.path[0]), isUnknown: false };
};

/** What came of a call: texts, each one JSON document. */
interface Given {
  readonly texts: readonly string[];
  readonly isError: boolean;
}

interface ServeOptions {
  readonly host: Host;
  readonly tools: readonly Tool[];
  /** For the agent: what all tools have in common. */
  readonly instructions: string;
  /** Makes JSON text harmless: control and bidi characters as escapes, secrets blotted out. */
  readonly clean: (json: string) => string;
  /** Told what a client did that is not of the protocol. */
  readonly notice: (sentence: string) => void;
}

/** Longest message of a client, in bytes: a call of a tool is a few hundred. */
const longestMessage = 1024 * 1024;

/**
 * Serves until the client closes standard input, and answers what it asked before that; until a signal, or until nobody reads
 * the answers any more.
 * @throws Failure `message-too-long`
 */
export const serveTools = async ({ host, tools, instructions, clean, notice }: ServeOptions): Promise<void> => {
  const turns = openTurns();
  const server = new Server(
    { name: "rollcall", version },
    { capabilities: { tools: {} }, instructions, jsonSchemaValidator: noValidator },
  );
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: tools.map(listed) }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    const tool = tools.find(({ name }) => name === params.name);
    if (tool === undefined) throw unknownTool(params.name, tools);
    const stop = AbortSignal.any([signal, host.signal]);
    const { texts, isError } = await turns.run(stop, async () => await tool.run(params.arguments ?? {}, stop));
    // The text is JSON inside JSON: cleaned here, so that it is harmless when it is taken out.
    return { content: texts.map((text) => ({ type: "text", text: clean(text) })), isError };
  });
  server.onerror = once(() => notice("the client sent what the protocol does not have: it was left out"));
  const answers = answersTo(host.stdout, clean);
  const ended = endOf(server, host, answers);
  await server.connect(new StdioServerTransport(host.stdin, answers, { maxBufferSize: longestMessage }));
  const how = await ended;
  if (how === "closed") {
    await turns.done();
    await new Promise<void>((resolve) => answers.once("close", resolve).end());
  }
  if (how === "too long") {
    const message = `a message on standard input is longer than ${longestMessage} bytes`;
    throw new Failure("invalid_input", "message-too-long", message, {
      hint: "write each message on a line of its own",
    });
  }
  await server.close();
};

/** How serving ends: the client closed its side, a signal came, nobody reads the answers, or a message had no end. */
type End = "closed" | "signal" | "gone" | "too long";

const endOf = (server: Server, { stdin, stdout, signal }: Host, answers: Writable): Promise<End> =>
  new Promise((resolve) => {
    stdin.once("end", () => resolve("closed")).once("error", () => resolve("closed"));
    // Both keep their listener for good: an error that comes when all is over is no crash.
    stdout.on("error", () => resolve("gone"));
    answers.on("error", () => resolve("gone"));
    signal.addEventListener("abort", () => resolve("signal"), { once: true });
    if (signal.aborted) resolve("signal");
    // The transport closes by itself only where a message is longer than it may be.
    server.onclose = () => resolve("too long");
  });

/** Where the SDK writes its messages, each in one piece: nothing else ever goes to standard output. */
const answersTo = (stdout: Writable, clean: (json: string) => string): Writable =>
  new Writable({
    decodeStrings: false,
    write: (message, _, done) => void stdout.write(clean(String(message)), done),
  });

const listed = (tool: Tool) => ({
  name: tool.name,
  description: tool.description,
  inputSchema: inputSchemaOf(tool),
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: tool.asksService },
});

/** Calls that run at the same time: they share one machine, and one service. */
const atOnce = 4;

const openTurns = () => {
  const waiting: (() => void)[] = [];
  const calls = new Set<Promise<unknown>>();
  let running = 0;
  const inTurn = async (signal: AbortSignal, work: () => Promise<Given>): Promise<Given> => {
    while (running >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve));
    running++;
    try {
      signal.throwIfAborted();
      // Work that nobody waits for any more may go on for a while, but it keeps nobody waiting.
      return await Promise.race([work(), abortOf(signal)]);
    } finally {
      running--;
      waiting.shift()?.();
    }
  };
  return {
    /** Runs work when its turn has come. @throws the signal's reason where it aborts before */
    async run(signal: AbortSignal, work: () => Promise<Given>): Promise<Given> {
      const call = inTurn(signal, work);
      calls.add(call);
      return await call.finally(() => calls.delete(call));
    },
    /** Waits until nothing runs or waits, and what came of it was handed on. */
    async done(): Promise<void> {
      // A request that came last is handed over in the same round of the event loop, and so is what comes of it.
      await setImmediate();
      await Promise.allSettled(calls);
      await setImmediate();
    },
  };
};

const abortOf = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));

/** Longest name that is quoted back. */
const longestName = 100;

const unknownTool = (name: string, tools: readonly Tool[]): McpError => {
  const names = tools.map((tool) => tool.name);
  const near = nearest(name, names);
  return new McpError(
    ErrorCode.InvalidParams,
    `there is no tool "${name.slice(0, longestName)}": ${near === undefined ? names.join(", ") : `did you mean ${near}?`}`,
  );
};

/** The SDK asks for one; it would only be used for answers of a client, and rollcall asks it nothing. */
const noValidator = {
  getValidator: () => () => ({ valid: false, data: undefined, errorMessage: "not validated" }) as const,
};

const once = (tell: () => void): (() => void) => {
  let told = false;
  return () => {
    if (!told) tell();
    told = true;
  };
};
