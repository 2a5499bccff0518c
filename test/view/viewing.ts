/** Starts `rollcall view`, and requests its page. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PageState } from "../../src/view/answers.ts";
import { endAfterTest, type RunOptions, type StartedRun, startInTurn } from "../support/run.ts";

export interface ViewProcess {
  readonly child: StartedRun;
  readonly address: string;
  readonly url: string;
  readonly token: string;
  readonly printed: () => string;
  readonly said: () => string;
  readonly ended: Promise<number | string | null>;
  /** Requests a path with the token, and with an optional query. */
  ask(path: string, query?: object): Promise<PageResponse>;
}

export interface PageResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export const fileOf = (name: string, content: string | Uint8Array): string => {
  const file = join(mkdtempSync(join(tmpdir(), "view-")), name);
  writeFileSync(file, content);
  return file;
};

export const groupLine = (rewards: readonly number[], { prompt = "2 + 2?", answer = "4" } = {}): string =>
  JSON.stringify({
    trajectories: rewards.map((reward, at) => ({
      messages_and_choices: [
        { role: "user", content: prompt },
        { finish_reason: "stop", index: 0, message: { role: "assistant", content: `${answer} ${at}` } },
      ],
      reward,
      metrics: { turns: at },
    })),
  });

export const startView = async (args: readonly string[], stdin?: string): Promise<ViewProcess> =>
  await startPageServer(["view", "--no-open", ...args], { stdin });

/** Starts a command that serves a page, and waits for its URL. */
export const startPageServer = async (
  words: readonly string[],
  { stdin, ...options }: Pick<RunOptions, "cwd" | "env"> & { readonly stdin?: string | undefined } = {},
): Promise<ViewProcess> => await waitForPage(startInTurn(words, stdin === undefined ? options : { ...options, stdin }));

/** Waits for the URL of a run that serves a page. */
export const waitForPage = async (child: StartedRun): Promise<ViewProcess> => {
  endAfterTest(child);
  const ended = new Promise<number | string | null>((resolve) => {
    child.on("close", (code, signal) => resolve(code ?? signal));
  });
  const [out, err]: [Buffer[], Buffer[]] = [[], []];
  const printed = () => Buffer.concat(out).toString();
  const said = () => Buffer.concat(err).toString();
  child.stderr.on("data", (chunk: Buffer) => err.push(chunk));
  await new Promise<void>((resolve, reject) => {
    child.stdout.on("data", (chunk: Buffer) => {
      out.push(chunk);
      if (printed().includes("\n")) resolve();
    });
    void ended.then((code) => reject(new Error(`ended with ${code}: ${said()}`)));
  });
  const [address = "", url = "", token = ""] = /(http:\/\/127\.0\.0\.1:\d+)\/#token=([\w-]+)/.exec(printed()) ?? [];
  const headers = { Authorization: `Bearer ${token}` };
  const ask: ViewProcess["ask"] = async (path, query) => {
    const asks = query === undefined ? "" : `?query=${encodeURIComponent(JSON.stringify(query))}`;
    return await asked(url, `${path}${asks}`, { headers });
  };
  return { child, address, url, token, printed, said, ended, ask };
};

export const asked = (
  url: string,
  path: string,
  options: { readonly headers?: Readonly<Record<string, string>>; readonly method?: string } = {},
): Promise<PageResponse> =>
  new Promise((resolve, reject) => {
    const outgoing = request(`${url}${path}`, options, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("end", () => {
        const body = Buffer.concat(chunks).toString();
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body });
      });
    });
    outgoing.on("error", reject).end();
  });

/** Waits until the input is read and measured. */
export const whenRead = async (page: ViewProcess): Promise<PageState> => {
  for (;;) {
    const state: PageState = JSON.parse((await page.ask("/api/state")).body);
    if (state.progress.phase === "read") return state;
  }
};
