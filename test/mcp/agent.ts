/** An agent of `rollcall mcp`: the SDK's client over a server in this process, or lines for the built program. */
import { PassThrough } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { onTestFinished } from "vitest";
import { runCommandLine } from "../../src/run.ts";
import { testHost } from "../support/host.ts";
import { newHome, type RunResult, runRollcall } from "../support/run.ts";

export interface ToolResult {
  readonly isError: boolean;
  /** The parsed result or error document. */
  readonly value: unknown;
  /** `value` as JSON text. */
  readonly text: string;
  /** The error document next to a result; undefined without an error document. */
  readonly also: unknown;
}

export interface Agent {
  readonly client: Client;
  call(name: string, args?: Readonly<Record<string, unknown>>): Promise<ToolResult>;
  said(): string;
}

export interface AgentOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Serves in this process, and connects to it until the test is finished. */
export const openAgent = async ({ args = [], env = {} }: AgentOptions = {}): Promise<Agent> => {
  const client = new Client({ name: "test", version: "1" });
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const host = {
    ...testHost({ env: { ...newHome(), ...env } }),
    ...{ stdin, stdout, now: Date.now, elapsed: () => performance.now() },
    sleep: async (ms: number, signal?: AbortSignal) => await setTimeout(ms, undefined, { signal }),
  };
  const served = runCommandLine({ ...host, argv: ["mcp", ...args] }).then((code) => {
    if (code !== 0) throw new Error(host.said());
  });
  onTestFinished(async () => {
    await client.close();
    stdin.end();
    await served.catch(() => undefined);
  });
  // Both sides of the protocol write lines, so a client can use the transport of the server.
  const connect = async () => await client.connect(new StdioServerTransport(stdout, stdin));
  await Promise.race([connect().then(async () => await client.listTools()), served]);
  return {
    client,
    said: host.said,
    call: async (name, given = {}) => {
      const { content, isError } = await client.callTool({ name, arguments: given });
      const [text = "", more] = Array.isArray(content) ? content.map((part) => String(part.text)) : [];
      const also: unknown = more === undefined ? undefined : JSON.parse(more);
      return { isError: isError === true, value: JSON.parse(text), text, also };
    },
  };
};

/** The first lines of every client. */
const greeting = [
  {
    jsonrpc: "2.0",
    id: "hello",
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
  },
  { jsonrpc: "2.0", method: "notifications/initialized" },
];

/** Returns the line of a request for a tool. */
export const request = (id: number, name: unknown, args: unknown = {}): string =>
  JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } });

/** Runs the built server with these lines as its whole standard input. */
export const runLines = async (
  lines: readonly string[],
  { args = [], env = {} }: AgentOptions = {},
): Promise<
  RunResult & { readonly answers: readonly { readonly id: unknown; readonly error?: { readonly code: number } }[] }
> => {
  const stdin = [...greeting.map((line) => JSON.stringify(line)), ...lines].map((line) => `${line}\n`).join("");
  const ran = await runRollcall(["mcp", ...args], { env, stdin });
  const answers = ran.stdout
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
  return { ...ran, answers };
};
