/**
 * Opens the local service on a new data folder, and sends requests with `fetch`. Requests that need no such folder,
 * option or concurrency are in test/commands/golden/screens/service-requests.txt.
 */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { onTestFinished } from "vitest";
import type { Problem } from "../../src/failure.ts";
import type { ServiceOptions } from "../../src/service/open-service.ts";
import { openService, type Service } from "../../src/service/open-service.ts";
import { testHost } from "../support/host.ts";

export interface RunningService {
  readonly url: string;
  readonly key: string;
  readonly dataDir: string;
  readonly service: Service;
  readonly warnings: readonly Problem[];
  /** Logs a body (an object, or text as it is) for a model. */
  log(body: unknown, options?: { readonly model?: string; readonly headers?: Record<string, string> }): Promise<Reply>;
  read(id: string, more?: Record<string, unknown>): Promise<Reply>;
}

/** A reply that was read completely. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  /** The body as it was received. */
  readonly text: string;
  readonly body: Record<string, unknown>;
}

export const newDataDir = (): string => join(mkdtempSync(join(tmpdir(), "service-")), "data");

/** Opens the service; it is closed when the test is finished. */
export const openTestService = async (wishes: Partial<ServiceOptions> = {}): Promise<RunningService> => {
  const dataDir = wishes.dataDir ?? newDataDir();
  const warnings: Problem[] = [];
  const service = await openService({
    // The wait for an unavailable database takes real time.
    host: { ...testHost(), elapsed: () => performance.now(), sleep: async (ms) => await setTimeout(ms) },
    address: "127.0.0.1",
    port: 0,
    project: "local/local",
    store: undefined,
    key: undefined,
    allowHosts: [],
    maxBodyBytes: 64 * 1024 * 1024,
    warn: (problem) => warnings.push(problem),
    trace: undefined,
    ...wishes,
    dataDir,
  });
  onTestFinished(async () => {
    await service.close();
  });
  const { url, key } = service;
  const post = (path: string, authorization: string, body: unknown, headers: Record<string, string> = {}) =>
    reply(`${url}${path}`, {
      method: "POST",
      headers: { Authorization: authorization, "Content-Type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  return {
    url,
    key,
    dataDir,
    service,
    warnings,
    log: (body, { model = "m", headers = {} } = {}) =>
      post(`/v1/preview/models/${encodeURIComponent(model)}/log`, `Bearer ${key}`, body, headers),
    read: (id, more = {}) => post("/call/read", basic(key), { project_id: "local/local", id, ...more }),
  };
};

/** Basic credentials (interface 5). */
export const basic = (key: string, user = "api"): string => `Basic ${Buffer.from(`${user}:${key}`).toString("base64")}`;

export const reply = async (url: string, init: RequestInit = {}): Promise<Reply> => {
  const response = await fetch(url, init);
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
};

/** The smallest valid trajectory. */
export const trajectory = (reward: number, more: Record<string, unknown> = {}): Record<string, unknown> => ({
  messages_and_choices: [
    { role: "user", content: "hello" },
    { role: "assistant", content: "hi" },
  ],
  reward,
  ...more,
});

/** A log request (interface 2.1) of one group. */
export const request = (...trajectories: readonly unknown[]): Record<string, unknown> => ({
  split: "train",
  trajectory_groups: [{ trajectories }],
});

export const idsOf = (logged: Reply): readonly string[] =>
  Array.isArray(logged.body.call_ids) ? logged.body.call_ids.map(String) : [];
