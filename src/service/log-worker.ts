/** The thread that `log-thread.ts` starts. It has its own connection to the store, and alone makes ids of calls. */
import process from "node:process";
import { type MessagePort, parentPort } from "node:worker_threads";
import { openHost } from "../system/host.ts";
import { logOperation } from "./log-operation.ts";
import * as thread from "./log-thread.ts";
import type { Operation } from "./operation.ts";
import { openStore } from "./store/store.ts";

const serve = (main: MessagePort, { dataDir, project, store }: thread.LogThreadOptions) => {
  const urgent = new AbortController();
  const open = async () => {
    const { now, elapsed, random, sleep } = openHost(process);
    const host = { elapsed, random, sleep, signal: urgent.signal };
    return logOperation(await openStore({ dataDir, store }, host), project, now);
  };
  let opened: Promise<Operation> | undefined;
  main.on("message", (message: thread.Question | { abort: thread.Thrown }) => {
    if ("abort" in message) return urgent.abort(thread.unpack(message.abort));
    const answer = async (): Promise<thread.LogReply> => {
      opened ??= open();
      const operation = await opened.catch((thrown: unknown) => {
        opened = undefined;
        throw thrown;
      });
      const { body } = await operation.answer(message.request);
      return { body: typeof body === "string" ? new TextEncoder().encode(body) : new Uint8Array(body) };
    };
    void answer().then(
      (reply) => message.port.postMessage(reply, [reply.body.buffer]),
      (thrown: unknown) => message.port.postMessage(thread.pack(thrown)),
    );
  });
};

parentPort?.once("message", (options: thread.LogThreadOptions) => parentPort && serve(parentPort, options));
