/** Reading a call (interface 4.3): a logged trajectory as a conversation, its own text unchanged. */
import { createHash } from "node:crypto";
import { type CallReadRequest, readCall } from "../contract/call.ts";
import { Trajectory } from "../contract/log.ts";
import { arrayText, membersText, objectText, textsOf } from "../json/compose.ts";
import { elements, textOf } from "../json/walk.ts";
import { Refusal, reasonWording } from "./answer.ts";
import { mayUse } from "./keys.ts";
import { type Operation, operation } from "./operation.ts";
import type { Store, StoredCall } from "./store/store.ts";

/** The op that every logged trajectory is a call of. */
const op = "rollcall.log";
const opDigest = createHash("sha256").update(`${op} 1`).digest("base64url");

/** The operation that reads a call. Assumed: a call that does not exist is null. */
export const callOperation = (store: Store): Operation =>
  operation(readCall, reasonWording, async ({ body, caller }) => {
    if (!mayUse(caller, body.project_id)) {
      throw new Refusal(403, `the key ${caller.name} is not for the project ${JSON.stringify(body.project_id)}`);
    }
    const call = await store.call(body.project_id, body.id);
    return { status: 200, body: objectText({ call: call === undefined ? "null" : callText(call, body) }) };
  });

const text = (value: unknown): string => JSON.stringify(value);

/** Every field of interface 2.4, in its order; null where a logged trajectory has none. */
const callText = (call: StoredCall, asked: CallReadRequest): string => {
  const trajectory = textsOf(call.bytes);
  const { messages, choices, output } = conversationOf(trajectory.get("messages_and_choices") ?? "[]", call.model);
  const size = text(call.bytes.length);
  return objectText({
    id: text(call.id),
    project_id: text(asked.project_id),
    op_name: text(`vendor:///${asked.project_id}/op/${op}:${opDigest}`),
    display_name: text(`${call.model} (${call.split})`),
    trace_id: text(call.id),
    parent_id: "null",
    thread_id: "null",
    turn_id: "null",
    started_at: startOf(trajectory.get("start_time"), call.loggedAt),
    ended_at: text(new Date(call.loggedAt).toISOString()),
    exception: "null",
    attributes: attributesText(call, trajectory, choices),
    inputs: objectText({
      model: text(call.model),
      messages,
      tools: trajectory.get("tools"),
      additional_histories: trajectory.get("additional_histories"),
    }),
    output,
    summary: summaryText(call, trajectory, asked.include_costs),
    vendor_user_id: "null",
    vendor_username: "null",
    vendor_run_id: "null",
    vendor_run_step: "null",
    vendor_run_step_end: "null",
    deleted_at: "null",
    storage_size_bytes: asked.include_storage_size ? size : undefined,
    total_storage_size_bytes: asked.include_total_storage_size ? size : undefined,
  });
};

/** Fields of a trajectory that make its conversation. */
const conversation: ReadonlySet<string> = new Set(["messages_and_choices", "tools", "additional_histories"]);

/** Its other fields, in the order of interface 2.1. */
const asAttributes = Object.keys(Trajectory.shape).filter((name) => !conversation.has(name));

const known: ReadonlySet<string> = new Set([...conversation, ...asAttributes, "usage"]);

const attributesText = (
  call: StoredCall,
  trajectory: ReadonlyMap<string, string>,
  choices: string | undefined,
): string => {
  const other = membersText([...trajectory].filter(([key]) => !known.has(key)));
  const unlessEmpty = (object: string) => (object === "{}" ? undefined : object);
  return membersText([
    ["split", text(call.split)],
    ...asAttributes.map((key) => [key, trajectory.get(key)] as const),
    ["group", text(call.group)],
    ["trajectory", text(call.position)],
    ["choices", choices],
    ["other", unlessEmpty(other)],
    ["group_other", unlessEmpty(call.groupRest)],
    ["request_other", unlessEmpty(call.requestRest)],
  ]);
};

/** Usage where the trajectory brought one along. What anything cost is not known here: no model has a price. */
const summaryText = (call: StoredCall, trajectory: ReadonlyMap<string, string>, includeCosts: boolean): string => {
  const usage = trajectory.get("usage");
  return objectText({
    usage: usage?.startsWith("{") === true ? membersText([[call.model, usage]]) : undefined,
    status_counts: text({ success: 1, error: 0 }),
    costs: includeCosts ? "{}" : undefined,
  });
};

interface Conversation {
  readonly messages: string;
  /** The choices before the last turn: `messages` holds only their messages. */
  readonly choices: string | undefined;
  readonly output: string;
}

/** Messages before the last turn of the model, and that turn; where the model did not have the last word, all messages. */
const conversationOf = (messagesAndChoices: string, model: string): Conversation => {
  const bytes = Buffer.from(messagesAndChoices);
  const turns = Array.from(elements(bytes, 0), (span) => turnOf(textOf(bytes, span)));
  const last = turns.at(-1);
  const before = last?.isModel === true ? turns.slice(0, -1) : turns;
  const choices = before.flatMap(({ choice }) => (choice === undefined ? [] : [choice]));
  return {
    messages: arrayText(before.map(({ message }) => message)),
    choices: choices.length === 0 ? undefined : arrayText(choices),
    output: last?.isModel === true ? completionText(last, model) : "null",
  };
};

const completionText = ({ choice, message }: Turn, model: string): string =>
  objectText({
    object: text("chat.completion"),
    model: text(model),
    choices: arrayText([choice ?? objectText({ index: "0", message })]),
  });

interface Turn {
  readonly message: string;
  /** The whole choice, where it is one. */
  readonly choice: string | undefined;
  readonly isModel: boolean;
}

/** Assumed: what has a message and no role is a choice; whatever is neither stays where it was. */
const turnOf = (element: string): Turn => {
  if (!element.startsWith("{")) return { message: element, choice: undefined, isModel: false };
  const own = textsOf(Buffer.from(element));
  const message = own.get("message");
  if (message !== undefined && !own.has("role")) return { message, choice: element, isModel: true };
  return { message: element, choice: undefined, isModel: own.get("role") === '"assistant"' };
};

/** Assumed: a start that is no date and time of ISO 8601 is no start, and the call began when it was logged. */
const startOf = (start: string | undefined, loggedAt: number): string => {
  const value: unknown = start === undefined ? undefined : JSON.parse(start);
  const isTime = typeof value === "string" && isoTime.test(value) && !Number.isNaN(Date.parse(value));
  return text(isTime ? value : new Date(loggedAt).toISOString());
};

const isoTime = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?$/i;
