/** Groups the rollouts of a format by the keys of `--group-by`. */
import { hash } from "node:crypto";
import { unwrap } from "../../conversation/apis/openai.ts";
import { formatSaid } from "../../conversation/prompt.ts";
import { elementsOf, type Json, JsonWriter, memberOf, rawOf } from "../../json/output-json.ts";
import type { Path } from "../../json/table.ts";
import type { Value } from "../../json/value.ts";
import { formatKey } from "../index/group-key.ts";
import { toKeyPaths } from "../rules/names.ts";
import type { Converter, Group, SourceRecord } from "./format.ts";

/** A rollout without a key is a group of its own. Keys can be in its part, record or documents. */
export const groupByKeys = (converter: Converter, groupBy: readonly string[]): Converter => {
  const keyPaths = groupBy.map((name) =>
    toKeyPaths(name).map((path) => path.map((step) => (/^\d+$/.test(step) ? Number(step) : step))),
  );
  const by = groupBy.join(" and ");
  const findGroup = (holders: readonly (Value | undefined)[], trajectory?: Json): Group | undefined => {
    const texts = keyPaths.flatMap((paths, at) => {
      const [key] = holders.flatMap((holder) => paths.flatMap((path) => findInner(holder, path) ?? []));
      return key ? formatKey(key) : groupBy[at] === "prompt" ? digestPrompt(trajectory) : [];
    });
    return texts.length < keyPaths.length ? undefined : { key: texts.join(), by, spansFiles: true };
  };
  const convert = (record: SourceRecord) => {
    const { value, file, position } = record;
    try {
      return converter.convert(record)?.map((rollout, at) => {
        const { part, documents = [] } = rollout;
        const own = { key: `${position}.${at} ${file}`, by, isDerived: true };
        return { ...rollout, group: findGroup([part, value, ...documents], rollout.trajectory) ?? own };
      });
    } finally {
      record.group = findGroup([value]);
    }
  };
  return { ...converter, convert };
};

const writer = new JsonWriter();

/** Returns a digest of the messages before the first turn of the model. */
const digestPrompt = (trajectory: Json | undefined) => {
  const turns = elementsOf(memberOf(trajectory, "messages_and_choices"));
  const isTurn = (turn: Json) => rawOf(memberOf(turn, "role") ?? "assistant") === '"assistant"';
  const end = turns.findIndex(isTurn);
  const said = turns.slice(0, end < 0 ? undefined : end).map((turn) => {
    writer.writeOnOneLine(turn);
    return formatSaid(writer.take().toString("utf8"));
  });
  return said.length === 0 ? [] : [hash("sha256", said.join())];
};

/** Writers of tables, such as trackio, have the JSON of an object as a text. */
const findInner = (holder: Value | undefined, path: Path) =>
  path.reduce<Value | undefined>((value, step) => unwrap(value)?.get(step), holder);
