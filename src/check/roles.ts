/** The roles of messages, and what other frameworks call them. */
import { nearest } from "../nearest.ts";

/** Roles of messages. Assumed: what deployed services accept. */
export const roles: ReadonlySet<string> = new Set(["developer", "system", "user", "assistant", "tool", "function"]);

/** What other frameworks call the roles. */
const otherRoles: ReadonlyMap<string, string> = new Map([
  ["human", "user"],
  ["gpt", "assistant"],
  ["ai", "assistant"],
  ["bot", "assistant"],
  ["model", "assistant"],
  ["chatbot", "assistant"],
  ["observation", "tool"],
  ["function_response", "tool"],
  ["ipython", "tool"],
  ["tool_result", "tool"],
  ["tool_response", "tool"],
  ["environment", "user"],
  ["env", "user"],
  ["prompter", "user"],
  ["agent", "assistant"],
  ["policy", "assistant"],
  ["completion", "assistant"],
  ["instruction", "system"],
]);

/** Characters of a role that is no role that are looked at. */
const maxRoleLength = 20;

/** The role that was probably meant. */
export const suggestedRole = (role: unknown): string | undefined =>
  typeof role === "string"
    ? (otherRoles.get(role.toLowerCase()) ?? nearest(role.slice(0, maxRoleLength), roles))
    : undefined;

/** What to do with a message that has another framework's shape instead of a role. */
export const otherShapeOf = ({
  from,
  type,
}: {
  readonly from?: unknown;
  readonly type?: unknown;
}): string | undefined => {
  if (typeof type === "string" && responsesItems.has(type)) return responsesItems.get(type);
  const sender = typeof from === "string" ? from : typeof type === "string" ? type : undefined;
  const role = sender === undefined ? undefined : suggestedRole(sender);
  if (role === undefined) return undefined;
  return typeof from === "string"
    ? `from and value are called role and content here: ${sender} is the role ${role}`
    : `type is called role here: ${sender} is the role ${role}`;
};

const ofResponses = "this is an item of the Responses API:";

/** What becomes of the items of the Responses API that are no messages. */
const responsesItems: ReadonlyMap<string, string> = new Map([
  ["function_call", `${ofResponses} write it as tool_calls of an assistant message, call_id as the id`],
  ["function_call_output", `${ofResponses} write it as a tool message, call_id as tool_call_id and output as content`],
  ["reasoning", `${ofResponses} leave it out, or keep it as a key of the assistant message behind it`],
]);
