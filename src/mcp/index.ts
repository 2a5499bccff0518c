/** Serves tools to an agent, over the Model Context Protocol: owns its SDK, and confines files to one folder. */
import { Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { version } from "../../package.json" with { type: "json" };
import { Failure } from "../failure.ts";
import { invalidArguments, invalidOptionValue } from "../failures.ts";
import type { Host } from "../host.ts";
import { findNearest } from "../nearest.ts";
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

/** What a client sent, by the names of parameters. */
export type ToolArguments = Readonly<Record<string, unknown>>;

/** A tool that only reads. */
export interface Tool {
  readonly name: string;
  /** For the agent that chooses it: what it gives, in which units, and what bounds it. */
  readonly description: string;
  /** The JSON Schema of its parameters. */
  readonly inputSchema: {
    readonly type: "object";
    readonly properties: Readonly<Record<string, object>>;
    readonly required: string[];
    readonly additionalProperties: false;
  };
  /** Whether it asks a service, or only this machine. */
  readonly usesService: boolean;
  /** What it gives, or what went wrong, so that the agent can fix its call. */
  run(sent: ToolArguments, signal: AbortSignal): Promise<ToolResult>;
}

/** What came of a call: texts, each one JSON document. */
export interface ToolResult {
  readonly texts: readonly string[];
  readonly isError: boolean;
}

/** Length at which a name or a value that is quoted is cut. */
const maxQuotedLength = 100;

/** Refuses what does not fit the schema of a tool. @throws Failure `invalid-arguments`, `invalid-option-value` */
export const validateArguments = (
  { name, inputSchema }: Pick<Tool, "name" | "inputSchema">,
  sent: ToolArguments,
): void => {
  const { properties } = inputSchema;
  const { error } = fromJSONSchema(JSON.parse(JSON.stringify(inputSchema))).safeParse(sent);
  if (error === undefined) return;
  const unknown = error.issues.find((issue) => issue.code === "unrecognized_keys")?.keys[0];
  if (unknown !== undefined) {
    const names = Object.keys(properties);
    const near = findNearest(unknown, names);
    throw invalidArguments({
      text: `${name} has no parameter "${unknown.slice(0, maxQuotedLength)}"`,
      suggestion: near === undefined ? `it takes ${names.join(", ")}` : `did you mean ${near}?`,
      command: "rollcall mcp",
    });
  }
  const option = String(error.issues[0]?.path[0]);
  const { description: _, ...schema }: { description?: string; enum?: readonly string[] } = { ...properties[option] };
  const value = sent[option];
  throw invalidOptionValue({
    option,
    // What is nested is not quoted, however deep it is.
    value: typeof value === "object" ? typeof value : String(value ?? "").slice(0, maxQuotedLength),
    wanted: `what its schema says: ${JSON.stringify(schema)}`,
    suggestion: typeof value === "string" ? findNearest(value, schema.enum ?? []) : undefined,
  });
};

interface ServeOptions {
  readonly host: Host;
  readonly tools: readonly Tool[];
  /** For the agent: what all tools have in common. */
  readonly instructions: string;
  /** Makes JSON text harmless: control and bidi characters as escapes, secrets blotted out. */
  readonly sanitize: (json: string) => string;
  /** Told what a client did that is not of the protocol. */
  readonly notice: (sentence: string) => void;
}

/** Longest message of a client, in bytes: a call of a tool is a few hundred. */
const maxMessageBytes = 1024 * 1024;

/** The SDK asks for one; it would only be used for answers of a client, and rollcall asks it nothing. */
const jsonSchemaValidator = {
  getValidator: () => () => ({ valid: false, data: undefined, errorMessage: "not validated" }) as const,
};

/**
 * Serves until the client closes standard input, and answers what it asked before that; until a signal, or until nobody reads
 * the answers any more.
 * @throws Failure `message-too-long`
 */
export const serveTools = async ({
  host,
  tools,
  instructions,
  sanitize: clean,
  notice,
}: ServeOptions): Promise<void> => {
  const calls = new Set<Promise<ToolResult>>();
  const enqueue = openQueue();
  const server = new Server(
    { name: "rollcall", version },
    { capabilities: { tools: {} }, instructions, jsonSchemaValidator },
  );
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: tools.map(({ name, description, inputSchema, usesService: asksService }) => ({
      name,
      description,
      inputSchema,
      annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: asksService },
    })),
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    const tool = tools.find(({ name }) => name === params.name);
    if (tool === undefined) throw unknownTool(params.name, tools);
    const stop = AbortSignal.any([signal, host.signal]);
    const call = enqueue(stop, async () => await tool.run(params.arguments ?? {}, stop));
    calls.add(call);
    const { texts, isError } = await call.finally(() => calls.delete(call));
    // The text is JSON inside JSON: cleaned here, so that it is harmless when it is taken out.
    return { content: texts.map((text) => ({ type: "text", text: clean(text) })), isError };
  });
  let isReported = false;
  server.onerror = () => {
    if (!isReported) notice("the client sent what the protocol does not have: it was left out");
    isReported = true;
  };
  // The SDK writes each message in one piece. Nothing else ever goes to standard output.
  const answers = new Writable({
    decodeStrings: false,
    write: (message, _, done) => void host.stdout.write(clean(String(message)), done),
  });
  const ended = waitForEnd(server, host, answers);
  await server.connect(new StdioServerTransport(host.stdin, answers, { maxBufferSize: maxMessageBytes }));
  const how = await ended;
  if (how === "closed") {
    // A request that came last is handed over in the same round of the event loop, and so is what comes of it.
    await setImmediate();
    await Promise.allSettled(calls);
    await setImmediate();
    await new Promise<void>((resolve) => answers.once("close", resolve).end());
  }
  if (how === "too long") {
    const message = `a message on standard input is longer than ${maxMessageBytes} bytes`;
    const hint = "write each message on a line of its own";
    throw new Failure("invalid_input", "message-too-long", message, { hint });
  }
  await server.close();
};

/** How serving ends: the client closed its side, a signal or a reader that is gone cut it off, or a message had no end. */
type ServeEnd = "closed" | "cut off" | "too long";

const waitForEnd = (server: Server, { stdin, stdout, signal }: Host, answers: Writable): Promise<ServeEnd> =>
  new Promise((resolve) => {
    stdin.once("end", () => resolve("closed")).once("error", () => resolve("closed"));
    // Both keep their listener for good: an error that comes when all is over is no crash.
    for (const stream of [stdout, answers]) stream.on("error", () => resolve("cut off"));
    signal.addEventListener("abort", () => resolve("cut off"), { once: true });
    if (signal.aborted) resolve("cut off");
    // The transport closes by itself only where a message is longer than it may be.
    server.onclose = () => resolve("too long");
  });

/** Calls that run at the same time: they share one machine, and one service. */
const maxRunning = 4;

/** Makes what runs each call when its turn has come. It throws the signal's reason if it aborts before the call ends. */
const openQueue = () => {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (signal: AbortSignal, work: () => Promise<ToolResult>): Promise<ToolResult> => {
    while (running >= maxRunning) await new Promise<void>((resolve) => waiting.push(resolve));
    running++;
    try {
      signal.throwIfAborted();
      const abort = new Promise<never>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      });
      // Work that nobody waits for any more may go on for a while, but it keeps nobody waiting.
      return await Promise.race([work(), abort]);
    } finally {
      running--;
      waiting.shift()?.();
    }
  };
};

const unknownTool = (name: string, tools: readonly Tool[]): McpError => {
  const names = tools.map((tool) => tool.name);
  const near = findNearest(name, names);
  const hint = near === undefined ? names.join(", ") : `did you mean ${near}?`;
  return new McpError(ErrorCode.InvalidParams, `there is no tool "${name.slice(0, maxQuotedLength)}": ${hint}`);
};
