/** Nulls that are warned of (src/trajectories/read/scan/field-checks.ts): a line with one is left, unless they are only counted by now. */

let countsFields: bool = false;
let countsCalls: bool = false;

/** Says which are only counted: fields of trajectories, and `tool_calls` outside a choice. */
export function countNulls(fields: bool, calls: bool): void {
  countsFields = fields;
  countsCalls = calls;
}

/** Of the lines taken since the last time, and of the line that is read. */
let fieldSum: u32 = 0;
let callSum: u32 = 0;
let fieldCount: u32 = 0;
let callCount: u32 = 0;

/** Fields, and `tool_calls`, that are null in the lines of the batch. */
export function nullFields(): u32 {
  return fieldSum;
}

export function nullCalls(): u32 {
  return callSum;
}

export function clearNulls(): void {
  fieldSum = 0;
  callSum = 0;
}

/** A line, or another way to read it, begins. */
export function beginNulls(): void {
  fieldCount = 0;
  callCount = 0;
}

/** The line was taken. */
export function takeNulls(): void {
  fieldSum += fieldCount;
  callSum += callCount;
}

/** A field is null; whether that is only counted. */
export function isNullField(): bool {
  fieldCount++;
  return countsFields;
}

/** The same of `tool_calls`. */
export function areNullCalls(): bool {
  callCount++;
  return countsCalls;
}
