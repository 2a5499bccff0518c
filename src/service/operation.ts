/** One operation of the interface, made of its endpoint value: what comes in is checked before it is answered. */
import { isUtf8 } from "node:buffer";
import type { Checked, Endpoint, Schema } from "../contract/endpoint.ts";
import { faultOf } from "../json/fault.ts";
import { type Answer, invalid, Refusal, type Wording } from "./answer.ts";
import { checked, jsonItem } from "./validation.ts";

/** A checked request. */
export interface Request<P extends Schema, B extends Schema> {
  readonly parameters: Checked<P>;
  readonly body: Checked<B>;
  /** The body as it came, valid JSON. */
  readonly bytes: Uint8Array;
  readonly header: (name: string) => string | undefined;
}

/** A request as it came. */
export interface RawRequest {
  readonly parameters: Readonly<Record<string, string>>;
  /** Undefined where the operation has no body. */
  readonly bytes: Uint8Array | undefined;
  readonly header: (name: string) => string | undefined;
}

/** An operation behind its door. */
export interface Operation {
  readonly endpoint: Endpoint;
  readonly wording: Wording;
  /** @throws Refusal */
  readonly answer: (request: RawRequest) => Answer | Promise<Answer>;
}

/** An operation: an endpoint, how it words what is wrong, and its answer to a checked request. */
export const operation = <P extends Schema, B extends Schema, R extends Schema>(
  endpoint: Endpoint<P, B, R>,
  wording: Wording,
  answer: (request: Request<P, B>) => Answer | Promise<Answer>,
): Operation => ({
  endpoint,
  wording,
  answer: async (request) => {
    const parameters = checked(endpoint.parameters, request.parameters, "path");
    const bytes = request.bytes ?? new Uint8Array();
    const body = checked(endpoint.body, request.bytes === undefined ? undefined : parsed(request.bytes), "body");
    return await answer({ parameters, body, bytes, header: request.header });
  },
});

/** The body's value. @throws Refusal where it is not JSON */
const parsed = (bytes: Uint8Array): unknown => {
  if (bytes.length === 0) throw invalid([{ loc: ["body"], msg: "Field required", type: "missing", input: null }]);
  if (!isUtf8(bytes)) throw new Refusal(400, "There was an error parsing the body: it is not UTF-8");
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8");
  try {
    return JSON.parse(text);
  } catch {
    throw invalid([jsonItem(bytes, faultOf(bytes))]);
  }
};
