/** Groups the rollouts of a format by the key of `--group-by`. */
import { toKeyPaths } from "../index/ambiguous-groups.ts";
import type { Value } from "../messages/value.ts";
import type { Converter, Format, SourceRecord } from "./format.ts";
import { crossFileMark } from "./written-rollout.ts";

/** A rollout without the key is a group of its own. The key can be in the rollout's part, record or documents. */
export const groupByKey = (converter: Converter, { isGrouped }: Format, groupBy: string | undefined): Converter => {
  if (groupBy === undefined || isGrouped === true) return converter;
  const paths = toKeyPaths(groupBy).map((path) => path.map((step) => (/^\d+$/.test(step) ? Number(step) : step)));
  const findKey = (holders: readonly (Value | undefined)[]) => {
    const key = holders.flatMap((holder) => paths.flatMap((path) => holder?.get(...path) ?? []))[0];
    return key && `${crossFileMark}${formatKey(key)}`;
  };
  const convert = (record: SourceRecord) => {
    const { value, file, position } = record;
    try {
      return converter.convert(record)?.map((rollout, at) => {
        const { part, documents = [] } = rollout;
        return { ...rollout, group: findKey([part, value, ...documents]) ?? `${position}.${at} ${file}` };
      });
    } finally {
      record.group = findKey([value]);
      record.isGroupDerived = record.group === undefined;
    }
  };
  return { ...converter, convert };
};

const formatKey = (key: Value) => {
  if (key.isText) return JSON.stringify(key.text);
  return Number.isSafeInteger(key.number) ? String(key.number) : key.raw;
};
