/** Nulls that are warned of (src/trajectories/read/scan/field-checks.ts): a line with one is left, unless they are only counted by now. */

let countsFields: bool = false;
let countsCalls: bool = false;

/** Says which are only counted: fields of trajectories, and `tool_calls` outside a choice. */
export function countNulls(fields: bool, calls: bool): void {
  countsFields = fields;
  countsCalls = calls;
}

/** Fields, and `tool_calls`, that are null in the lines of the batch. */
export let nullFields: u32 = 0;
export let nullCalls: u32 = 0;

/** The same of the line that is read. */
let fieldCount: u32 = 0;
let callCount: u32 = 0;

export function clearNulls(): void {
  nullFields = 0;
  nullCalls = 0;
}

/** A line, or another way to read it, begins. */
export function beginNulls(): void {
  fieldCount = 0;
  callCount = 0;
}

/** The line was taken. */
export function takeNulls(): void {
  nullFields += fieldCount;
  nullCalls += callCount;
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
