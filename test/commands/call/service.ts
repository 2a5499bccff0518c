/** A service with calls, for tests of `call read`. */
import { runHereOnTerminal } from "../../support/here.ts";
import { runRollcall } from "../../support/run.ts";
import { type Exchange, json, type RecordedRequest, scriptedServer } from "../../support/server.ts";
import { screenOf } from "../../support/terminal.ts";

const project = "acme-travel/airline-agent";
export const envOf = (url: string) => ({
  ROLLCALL_BASE_URL: url,
  ROLLCALL_API_KEY: "key-1234",
  ROLLCALL_PROJECT: project,
});

/** Opens a service with these exchanges. Returns a function that runs `call read` against it. */
export const service = async (exchanges: readonly Exchange[]) => {
  const server = await scriptedServer(exchanges);
  const env = envOf(server.url);
  const read = async (args: readonly string[], stdin = "") =>
    await runRollcall(["call", "read", ...args], { env, stdin });
  return { server, read, env };
};

export const idOf = ({ body }: RecordedRequest): unknown => JSON.parse(body.toString()).id;
export const asksFor = (id: string) => (request: RecordedRequest) => idOf(request) === id;

export const found = (id: string, call: object = {}): Exchange => ({
  when: asksFor(id),
  answer: json({ call: { id, ...call } }),
});

export const onTerminal = async (line: string, env: Readonly<Record<string, string>>, columns = 100) => {
  const { code, written } = await runHereOnTerminal(line.split(" "), {
    env: { TERM: "xterm-256color", ...env },
    columns,
  });
  return { code, lines: screenOf(written) };
};
