/** Describes validation errors (interface 7). */
import * as z from "zod/mini";
import { openBrace, openBracket, walkItems } from "../../json/json-bytes.ts";
import * as json from "../../json/table.ts";

/** Assumed: `loc` can contain array positions, although interface 7 names only strings. */
export const ValidationItem = z.looseObject({
  loc: z.array(z.union([z.string(), z.number()])),
  msg: z.string(),
  type: z.string(),
  input: z.optional(z.unknown()),
  ctx: z.optional(z.record(z.string(), z.unknown())),
});
export type ValidationItem = z.infer<typeof ValidationItem>;

/** A body can have millions of faults, and repeat a large input in each. */
const maxReadFaults = 10_000;
const maxFaultBytes = 2 ** 24;
const maxMemberBytes = 2 ** 20;

const readError = json.openBodyReader(["detail"]);
const readFault = json.openRootReader(["input", "ctx"]);

/** Reads the first faults of a validation error without their inputs, and counts all. None if one is not valid. */
export const readFaults = (body: Uint8Array) => {
  const detail = json.memberAt(readError(body), "detail");
  const faults: ValidationItem[] = [];
  if (!detail || json.firstByteOf(detail) !== openBracket) return { faults, count: 0 };
  let count = 0;
  for (const { start, end } of walkItems(body, json.spanOf(detail).start)) {
    if (count++ >= maxReadFaults) continue;
    const isObject = body[start] === openBrace && end - start <= maxFaultBytes;
    const root = isObject ? readFault(body.subarray(start, end)) : undefined;
    const members = root ? Array.from(json.childrenOf(root)) : [];
    const small = members.filter(([, value]) => json.spanOf(value).end - json.spanOf(value).start <= maxMemberBytes);
    const known = small.filter(([key]) => key === "loc" || key === "msg" || key === "type");
    const { loc, type, msg } = Object.fromEntries(known.map(([key, value]) => [key, json.parseValue(value)]));
    const fault = ValidationItem.safeParse({ loc, msg: msg ?? type, type: type ?? msg });
    if (!fault.success) return { faults: [], count: 0 };
    faults.push(fault.data);
  }
  return { faults, count };
};
