/** An agent's side of `rollcall mcp`: the SDK's own client over the built program, or lines written by hand. */
import { resolve } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { onTestFinished } from "vitest";
import { newHome, type Ran, runRollcall } from "../support/run.ts";

/** What a tool gave. */
export interface Given {
  readonly isError: boolean;
  /** What it gave, or its error document, as values. */
  readonly value: unknown;
  /** The same as text: JSON. */
  readonly text: string;
  /** The error document beside what it gave; undefined where all went well. */
  readonly also: unknown;
}

/** A connected client. */
export interface Agent {
  readonly client: Client;
  /** Calls a tool. */
  call(name: string, args?: Readonly<Record<string, unknown>>): Promise<Given>;
  /** What the server said on standard error so far. */
  said(): string;
}

/** What a server is started with. */
export interface AgentOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts a server and connects to it, until the test is finished. */
export const openAgent = async ({ args = [], env = {} }: AgentOptions = {}): Promise<Agent> => {
  const client = new Client({ name: "test", version: "1" });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [resolve("bin/rollcall.js"), "mcp", ...args],
    env: { PATH: process.env.PATH ?? "", TMPDIR: process.env.TMPDIR ?? "", ...newHome(), ...env },
    stderr: "pipe",
  });
  let said = "";
  transport.stderr?.on("data", (chunk: Buffer) => {
    said += chunk.toString();
  });
  onTestFinished(async () => await client.close());
  await client.connect(transport);
  await client.listTools();
  return {
    client,
    said: () => said,
    call: async (name, given = {}) => {
      const { content, isError } = await client.callTool({ name, arguments: given });
      const [text = "", more] = Array.isArray(content) ? content.map((part) => String(part.text)) : [];
      const also: unknown = more === undefined ? undefined : JSON.parse(more);
      return { isError: isError === true, value: JSON.parse(text), text, also };
    },
  };
};

/** The lines that every client begins with. */
const greeting = [
  {
    jsonrpc: "2.0",
    id: "hello",
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
  },
  { jsonrpc: "2.0", method: "notifications/initialized" },
];

/** A request for a tool, as a line. */
export const request = (id: number, name: unknown, args: unknown = {}): string =>
  JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } });

/** Runs a server with these lines as its whole standard input. */
export const runLines = async (
  lines: readonly string[],
  { args = [], env = {} }: AgentOptions = {},
): Promise<
  Ran & { readonly answers: readonly { readonly id: unknown; readonly error?: { readonly code: number } }[] }
> => {
  const stdin = [...greeting.map((line) => JSON.stringify(line)), ...lines].map((line) => `${line}\n`).join("");
  const ran = await runRollcall(["mcp", ...args], { env, stdin });
  const answers = ran.stdout
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
  return { ...ran, answers };
};
