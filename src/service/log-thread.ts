/** Answers log requests in a thread, because reading and storing a large body takes seconds. */
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import { defect, Failure, toFailure } from "../failure.ts";
import type { Operation } from "./operation.ts";
import { HttpRefusal } from "./refusal.ts";
import type { ServiceOptions } from "./service-options.ts";

export type LogRequest = Parameters<Operation["answer"]>[0];

export type LogReply = Readonly<{ body: Uint8Array<ArrayBuffer> }>;

/** The first message to the thread. */
export type LogThreadOptions = Pick<ServiceOptions, "dataDir" | "project" | "store">;

/** The thread answers with a `LogReply`, or with what it threw. */
export type Question = Readonly<{ port: MessagePort; request: LogRequest }>;

/** Errors lose their class between threads. */
export type Thrown =
  | Readonly<{ refusal: Pick<HttpRefusal, "status" | "message" | "headers" | "items"> }>
  | Readonly<{ failure: Pick<Failure, "code" | "kind" | "message" | "details"> }>;

const file = join(import.meta.dirname, "log-worker.cjs");

/** Returns undefined if rollcall runs from its sources, because only the build makes the file of the thread. */
export const openLogThread = ({ dataDir, project, store, host }: ServiceOptions) => {
  if (!existsSync(file)) return undefined;
  let thread: ReturnType<typeof start> | undefined;
  const start = () => {
    const worker = new Worker(file);
    const ended = once(worker, "exit").then(
      ([code]) => `exit code ${code}`,
      (thrown: Error) => thrown.message,
    );
    worker.on("exit", () => {
      thread = undefined;
    });
    const options: LogThreadOptions = { dataDir, project, store };
    worker.postMessage(options);
    return { worker, ended };
  };
  host.urgent.addEventListener("abort", () => thread?.worker.postMessage({ abort: pack(host.urgent.reason) }));
  return {
    answer: async (request: LogRequest) => {
      thread ??= start();
      const { worker, ended } = thread;
      const answer = await askThread(worker, request);
      if (answer === undefined) throw defect(`the thread for log requests ended: ${await ended}`);
      if ("body" in answer) return answer;
      throw unpack(answer);
    },
    close: async () => void (await thread?.worker.terminate()),
  };
};

/** Moves the body, because copying blocks the thread. Returns undefined if the thread ended. */
const askThread = async (thread: Worker, request: LogRequest) => {
  const { port1, port2: port } = new MessageChannel();
  const answered = new Promise<LogReply | Thrown | undefined>((resolve) => {
    port1.once("message", resolve);
    port1.once("close", () => resolve(undefined));
  });
  thread.postMessage({ request, port }, request.body ? [port, request.body.buffer] : [port]);
  return await answered.finally(() => port1.close());
};

export const pack = (thrown: unknown): Thrown => {
  if (thrown instanceof HttpRefusal) {
    const { status, message, headers, items } = thrown;
    return { refusal: { status, message, headers, items } };
  }
  const { code, kind, message, details } = toFailure(thrown);
  // Causes and functions cannot be sent.
  return { failure: { code, kind, message, details: JSON.parse(JSON.stringify({ ...details, cause: undefined })) } };
};

export const unpack = (thrown: Thrown) => {
  if ("failure" in thrown) {
    const { code, kind, message, details } = thrown.failure;
    return new Failure(code, kind, message, details);
  }
  const { status, message, headers, items } = thrown.refusal;
  return new HttpRefusal(status, message, headers, items);
};
