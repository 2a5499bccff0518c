/** The conversation in the JSON of a trajectory or a call: read as `call read` does, whatever stands in it. */
import { inputsOf, type Media, outputOf } from "../../calls/conversation.ts";
import { readSpelledText } from "../../json/read-spelled.ts";
import { itemsOf, laidOut, type Spelled, type SpelledMember, valueAt } from "../../json/spelled.ts";

/** A conversation, and what else the JSON holds. */
export interface Conversation {
  readonly items: readonly Spelled[];
  readonly others: readonly { readonly name: string; readonly json: string }[];
}

/** The conversation in the JSON of a trajectory; undefined where it is none. */
export const conversationIn = (json: string): Conversation | undefined => {
  const value = readSpelledText(json);
  if (value?.kind !== "object") return undefined;
  const others = value.members.filter(({ key }) => key !== "messages_and_choices" && key !== "reward");
  return { items: itemsOf(valueAt(value, "messages_and_choices")), others: others.map(otherOf) };
};

/** The conversation of a call: of the trajectory that it is, where it is one, else of what went in and came out. */
export const conversationOfCall = (json: string, trajectory: string | null): Conversation | undefined => {
  const call = readSpelledText(json);
  if (call === undefined) return undefined;
  const [inputs, output] = [inputsOf(call), outputOf(call)];
  const spoken = trajectory === null ? undefined : conversationIn(trajectory)?.items;
  const others = [
    { key: "exception", value: valueAt(call, "exception") },
    { key: inputs.items === undefined ? "inputs" : "other inputs", value: inputs.rest },
    { key: output.items === undefined ? "output" : "other output", value: output.rest },
    { key: "attributes", value: valueAt(call, "attributes") },
    { key: "summary", value: valueAt(call, "summary") },
  ];
  return {
    items: spoken ?? [...(inputs.items ?? []), ...(output.items ?? [])],
    others: others.flatMap(({ key, value }) => (value === undefined ? [] : [otherOf({ key, value })])),
  };
};

const otherOf = ({ key, value }: { readonly key: string; readonly value: Spelled }) => ({
  name: key,
  json: laidOut(value),
});

/** What a message or a choice holds that has no place of its own. */
export const membersText = (members: readonly SpelledMember[]): string =>
  members.map(({ key, value }) => `${key}: ${laidOut(value)}`).join("\n");

/** A picture that the data holds: an address is never asked. */
export const pictureOf = ({ address, data, format }: Media): string | undefined => {
  const source = address ?? `data:${format};base64,${data}`;
  const isShown = /^data:image\/(?:png|jpe?g|gif|webp|avif|bmp)(?:;charset=[\w-]+)?;base64,/i.test(source);
  return isShown ? source : undefined;
};
