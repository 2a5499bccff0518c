/** Reading a call (service-interface 4.3): a logged trajectory as a conversation, its own text unchanged. */
import { createHash } from "node:crypto";
import { readCall } from "../contract/call.ts";
import { elements, members, skipWhite, textOf } from "../json.ts";
import { reasonWording } from "./answer.ts";
import { type Operation, operation } from "./operation.ts";
import { arrayText, objectText, textsOf } from "./raw.ts";
import type { Store, StoredCall } from "./store.ts";

/** The op that every logged trajectory is a call of. */
const op = "rollcall.log";
const opDigest = createHash("sha256").update(`${op} 1`).digest("hex");

/** The operation that reads a call. Assumed: a call that does not exist is null. */
export const callOperation = (store: Store): Operation =>
  operation(readCall, reasonWording, ({ body }) => {
    const call = store.call(body.project_id, body.id);
    return { status: 200, body: objectText({ call: call === undefined ? "null" : callText(call, body) }) };
  });

interface Asked {
  readonly project_id: string;
  readonly include_costs: boolean;
  readonly include_storage_size: boolean;
  readonly include_total_storage_size: boolean;
}

const text = (value: unknown): string => JSON.stringify(value);

/** Every field of service-interface 2.4, in its order; null where a logged trajectory has none. */
const callText = (call: StoredCall, asked: Asked): string => {
  const trajectory = textsOf(call.bytes);
  const { messages, output } = conversation(trajectory.get("messages_and_choices") ?? "[]", call.model);
  return objectText({
    id: text(call.id),
    project_id: text(asked.project_id),
    op_name: text(`vendor:///${asked.project_id}/op/${op}:${opDigest}`),
    display_name: "null",
    trace_id: text(call.id),
    parent_id: "null",
    thread_id: "null",
    turn_id: "null",
    started_at: text(call.startedAt),
    ended_at: text(new Date(call.loggedAt).toISOString()),
    exception: "null",
    attributes: attributesText(call, trajectory),
    inputs: objectText({
      model: text(call.model),
      messages,
      tools: trajectory.get("tools"),
      additional_histories: trajectory.get("additional_histories"),
    }),
    output,
    summary: objectText({
      status_counts: text({ success: 1, error: 0 }),
      costs: asked.include_costs ? "{}" : undefined,
    }),
    vendor_user_id: "null",
    vendor_username: "null",
    vendor_run_id: "null",
    vendor_run_step: "null",
    vendor_run_step_end: "null",
    deleted_at: "null",
    storage_size_bytes: asked.include_storage_size ? text(call.bytes.length) : undefined,
    total_storage_size_bytes: asked.include_total_storage_size ? text(call.bytes.length) : undefined,
  });
};

const shownElsewhere = new Set(["messages_and_choices", "tools", "additional_histories"]);

/** What a trajectory holds beside its conversation, and where it stood. */
const attributesText = (call: StoredCall, trajectory: ReadonlyMap<string, string>): string => {
  const own = [...trajectory].filter(([key]) => !shownElsewhere.has(key));
  return objectText({
    split: text(call.split),
    group: text(call.group),
    trajectory: text(call.position),
    ...Object.fromEntries(own),
    group_keys: call.groupRest === "{}" ? undefined : call.groupRest,
    request_keys: call.requestRest === "{}" ? undefined : call.requestRest,
  });
};

/** Messages before the last turn of the model, and that turn; where the model did not have the last word, all messages. */
const conversation = (messagesAndChoices: string, model: string): { messages: string; output: string } => {
  const bytes = Buffer.from(messagesAndChoices);
  const turns = bytes[0] === 0x5b ? Array.from(elements(bytes, 0), (span) => turnOf(textOf(bytes, span))) : [];
  const last = turns.at(-1);
  const messages = arrayText((last?.isModel === true ? turns.slice(0, -1) : turns).map((turn) => turn.message));
  if (last?.isModel !== true) return { messages, output: "null" };
  const choice = last.choice ?? objectText({ index: "0", message: last.message });
  return {
    messages,
    output: objectText({ object: text("chat.completion"), model: text(model), choices: arrayText([choice]) }),
  };
};

interface Turn {
  readonly message: string;
  /** The whole choice, where it is one. */
  readonly choice: string | undefined;
  readonly isModel: boolean;
}

const turnOf = (element: string): Turn => {
  const bytes = Buffer.from(element);
  if (bytes[0] !== 0x7b) return { message: element, choice: undefined, isModel: false };
  const own = new Map(Array.from(members(bytes, skipWhite(bytes, 0)), ({ key, value }) => [key, textOf(bytes, value)]));
  const message = own.get("message");
  if (message !== undefined && !own.has("role")) return { message, choice: element, isModel: true };
  return { message: element, choice: undefined, isModel: own.get("role") === '"assistant"' };
};
