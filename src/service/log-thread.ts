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
      const reply = await askThread<LogReply>(worker, { request }, request.body ? [request.body.buffer] : []);
      return reply ?? Promise.reject(defect(`the thread for log requests ended: ${await ended}`));
    },
    close: async () => void (await thread?.worker.terminate()),
  };
};

/** Returns undefined if the thread ended. @throws what the thread threw */
export const askThread = async <Result>(
  thread: Pick<MessagePort, "postMessage">,
  question: object,
  transferred: readonly ArrayBuffer[] = [],
) => {
  const { port1, port2 } = new MessageChannel();
  const answered = new Promise<Readonly<{ result: Result }> | Thrown | undefined>((resolve) => {
    port1.once("message", resolve);
    port1.once("close", () => resolve(undefined));
  });
  thread.postMessage({ ...question, port: port2 }, [port2, ...transferred]);
  const answer = await answered;
  port1.close();
  if (answer === undefined || "result" in answer) return answer?.result;
  throw unpack(answer);
};

/** @param findMoved returns the buffers of the result that are moved, because copying blocks the other thread */
export const answerThread = async <Result>(
  port: MessagePort,
  work: () => Promise<Result>,
  findMoved: (result: Result) => readonly ArrayBuffer[] = () => [],
) => {
  const answer = await work().then((result) => ({ result }), pack);
  port.postMessage(answer, "result" in answer ? findMoved(answer.result) : []);
};

const pack = (thrown: unknown): Thrown => {
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
