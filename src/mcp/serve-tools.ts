/** Serves tools over the Model Context Protocol. */

import { Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { version } from "../../package.json" with { type: "json" };
import { Failure } from "../failure.ts";
import { isObject } from "../json/json-bytes.ts";
import { invalidArguments } from "../system/failures.ts";
import { type Host, waitForAbort } from "../system/host.ts";
import { cutText } from "../text/sentences.ts";
import * as sdk from "./sdk.ts";

export type ToolArguments = Readonly<Record<string, unknown>>;

export type Tool = Readonly<{
  name: string;
  description: string;
  inputSchema: Readonly<{
    type: "object";
    properties: Readonly<Record<string, object>>;
    required: string[];
    additionalProperties: false;
  }>;
  usesService: boolean;
  run: (sent: ToolArguments, signal: AbortSignal) => Promise<{ texts: readonly string[]; isError: boolean }>;
}>;

const maxReasonLength = 300;

/** @throws Failure `invalid-arguments` */
export const validateArguments = ({ name, inputSchema }: Pick<Tool, "name" | "inputSchema">, sent: ToolArguments) => {
  const { error } = sdk.fromJSONSchema(JSON.parse(JSON.stringify(inputSchema))).safeParse(sent);
  if (!error) return;
  throw invalidArguments(
    `invalid arguments of ${name}: ${cutText(sdk.prettifyError(error), maxReasonLength)}`,
    `follow the inputSchema of ${name}, with the parameters ${Object.keys(inputSchema.properties).join(", ")}`,
  );
};

type Schema = Readonly<{ type?: string; items?: Schema }>;

/**
 * Models write null or an empty text for a parameter that they leave out, texts for numbers and lists, numbers for
 * texts in lists, and a list for one value.
 */
export const normalizeArguments = ({ inputSchema }: Pick<Tool, "inputSchema">, sent: ToolArguments): ToolArguments => {
  const isRequired = new Set(inputSchema.required);
  const given = Object.entries(sent).filter(([key, value]) => isRequired.has(key) || !isBlank(value));
  return Object.fromEntries(given.map(([key, value]) => [key, normalize(inputSchema.properties[key] ?? {}, value)]));
};

const isBlank = (value: unknown) => value === null || (typeof value === "string" && value.trim() === "");

const normalize = ({ type, items }: Schema, sent: unknown): unknown => {
  if (type === "array") {
    const listed = [sent].flat().filter((item) => !isBlank(item));
    // A larger number has lost digits.
    return listed.map((item) => (items?.type === "string" && Number.isSafeInteger(item) ? String(item) : item));
  }
  const value: unknown = Array.isArray(sent) && sent.length === 1 ? sent[0] : sent;
  if (typeof value !== "string") return value;
  if (type === "integer" && /^\s*\d{1,15}(\.0+)?\s*$/.test(value)) return Number(value);
  return type === "boolean" && /^(true|false)$/i.test(value) ? value.toLowerCase() === "true" : value;
};

type ServeOptions = Readonly<{
  host: Host;
  tools: readonly Tool[];
  instructions: string;
  /** Escapes control and bidi characters in JSON text, and redacts secrets. */
  sanitize: (json: string) => string;
  notice: (sentence: string) => void;
}>;

/** A usual tool call has a few hundred bytes. */
const maxMessageBytes = 1024 * 1024;

/** Serves until stdin ends, stdout breaks or a signal comes. @throws Failure `message-too-long` */
export const serveTools = async (options: ServeOptions) => {
  const { host, sanitize } = options;
  const calls = new Set<ReturnType<Tool["run"]>>();
  const server = createServer(options, calls);
  // The SDK writes each message in one piece.
  const answers = new Writable({
    decodeStrings: false,
    write: (message, _, done) => void host.stdout.write(sanitize(String(message)), done),
  });
  // The SDK listens once for each answer that waits.
  answers.setMaxListeners(0);
  const isInputDone = new Promise<boolean>((resolve, reject) => {
    const { stdin, stdout, signal } = host;
    for (const event of ["end", "error"]) stdin.once(event, () => resolve(true));
    // The listeners stay, so that a late error does not crash the process.
    for (const stream of [stdout, answers]) stream.on("error", () => resolve(false));
    void waitForAbort(signal).then(() => resolve(false));
    const message = `a message on standard input is longer than ${maxMessageBytes} bytes`;
    const tooLong = new Failure("invalid_input", "message-too-long", message, { hint: "write one message per line" });
    // The transport closes itself only if a message is too long.
    server.onclose = () => reject(tooLong);
  });
  await server.connect(new sdk.StdioServerTransport(host.stdin, answers, { maxBufferSize: maxMessageBytes }));
  if (await isInputDone) {
    // The SDK starts the last tool, and writes answers, in later turns of the event loop.
    await setImmediate();
    await Promise.allSettled(calls);
    await setImmediate();
    await new Promise<void>((resolve) => answers.once("close", resolve).end());
  }
  await server.close();
};

const hints = { readOnlyHint: true, destructiveHint: false, idempotentHint: true };

const createServer = ({ tools, instructions, sanitize, notice }: ServeOptions, calls: Set<ReturnType<Tool["run"]>>) => {
  const server = new sdk.Server({ name: "rollcall", version }, { capabilities: { tools: {} }, instructions });
  const listed = tools.map(({ name, description, inputSchema, usesService }) => {
    return { name, description, inputSchema, annotations: { ...hints, openWorldHint: usesService } };
  });
  // The SDK would answer a request with other parameters with an internal error.
  server.fallbackRequestHandler = async ({ method, params = {} }, { signal }) => {
    if (method === "tools/list") return { tools: listed };
    if (method !== "tools/call") throw new sdk.McpError(sdk.ErrorCode.MethodNotFound, "unknown method");
    const tool = tools.find(({ name }) => name === params.name);
    if (!tool) {
      const names = tools.map(({ name }) => name).join(", ");
      throw new sdk.McpError(sdk.ErrorCode.InvalidParams, `unknown tool: expected ${names}`);
    }
    const sent = params.arguments ?? {};
    if (!isObject(sent)) throw new sdk.McpError(sdk.ErrorCode.InvalidParams, "arguments must be an object");
    const call = tool.run(sent, signal);
    calls.add(call);
    const { texts, isError } = await call.finally(() => calls.delete(call));
    // JSON escapes the text inside the message, where `sanitize` could miss a secret.
    return { content: texts.map((text) => ({ type: "text", text: sanitize(text) })), isError };
  };
  server.onerror = () => {
    server.onerror = () => undefined;
    notice("skipped a message that does not follow the protocol");
  };
  return server;
};
