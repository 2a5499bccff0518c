/** Groups the rollouts of a format by the keys of `--group-by`. */
import { unwrap } from "../../conversation/apis/openai.ts";
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
  const findGroup = (holders: readonly (Value | undefined)[]): Group | undefined => {
    const keys = keyPaths.map(
      (paths) => holders.flatMap((holder) => paths.flatMap((path) => findInner(holder, path) ?? []))[0],
    );
    const texts = keys.flatMap((key) => (key ? formatKey(key) : []));
    return texts.length < keys.length ? undefined : { key: texts.join(), spansFiles: true };
  };
  const convert = (record: SourceRecord) => {
    const { value, file, position } = record;
    try {
      return converter.convert(record)?.map((rollout, at) => {
        const { part, documents = [] } = rollout;
        const own = { key: `${position}.${at} ${file}`, isDerived: true };
        return { ...rollout, group: findGroup([part, value, ...documents]) ?? own };
      });
    } finally {
      record.group = findGroup([value]);
    }
  };
  return { ...converter, convert };
};

/** Writers of tables, such as trackio, have the JSON of an object as a text. */
const findInner = (holder: Value | undefined, path: Path) =>
  path.reduce<Value | undefined>((value, step) => unwrap(value)?.get(step), holder);
