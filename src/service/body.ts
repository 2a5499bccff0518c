/** Reads a request's body, up to a limit. */
import type { IncomingMessage } from "node:http";
import { Refusal } from "./answer.ts";

/** The whole body. @throws Refusal 413 as soon as it is known to be over the limit, 400 where it was cut off */
export const readBody = async (incoming: IncomingMessage, maxBytes: number): Promise<Uint8Array> => {
  const declared = incoming.headers["content-length"];
  const tooLarge = () => new Refusal(413, `the body is larger than ${maxBytes} bytes`);
  if (declared !== undefined && Number(declared) > maxBytes) throw tooLarge();
  return await new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const stop = (end: () => void): void => {
      incoming.off("data", onData).off("end", onEnd).off("error", onCut).off("close", onCut);
      end();
    };
    const onData = (chunk: Buffer): void => {
      length += chunk.length;
      if (length > maxBytes) stop(() => reject(tooLarge()));
      else chunks.push(chunk);
    };
    const onEnd = (): void => stop(() => resolve(Buffer.concat(chunks, length)));
    const onCut = (): void => stop(() => reject(new Refusal(400, "the body was cut off")));
    incoming.on("data", onData).on("end", onEnd).on("error", onCut).on("close", onCut);
  });
};
