/** A part of a source with the table of its values. */
import { markEndings } from "../../conversation/chat-marks.ts";
import { roles } from "../../conversation/message.ts";
import type { JsonReader, KeyUses } from "../../json/reader.ts";
import type { JsonTable } from "../../json/table.ts";
import * as json from "../../json/table.ts";
import { finishReasons } from "../facts.ts";
import { secretEndings } from "../rules/known-secrets.ts";
import type { PositionCounter } from "../rules/positions.ts";

/** Keys of the lists of tokens in `logprobs`. */
export const scoreKeys = ["content", "refusal"];

export const keyUses: KeyUses = {
  leafKeys: ["parameters", "logprobs"],
  countedKeys: scoreKeys,
  shapeTexts: { role: roles, finish_reason: finishReasons },
  endings: [...secretEndings, ...markEndings],
  sampledKeys: ["messages_and_choices", "tools", "metadata", "additional_histories"],
  unsampledKeys: ["finish_reason"],
};

export interface Block {
  readonly table: JsonTable;
  readonly reader: Pick<JsonReader, "findEnding" | "fingerprintOf" | "sampledDigest" | "countEqual">;
  /** Byte offset of the table's text in the source. */
  readonly start: number;
  readonly positions: Pick<PositionCounter, "mark" | "locate">;
}

export const emptyBlock: Block = {
  table: json.emptyTable,
  reader: {
    findEnding: (_, end) => end,
    fingerprintOf: () => 0,
    sampledDigest: () => 0,
    countEqual: () => 0,
  },
  start: 0,
  positions: { mark: () => 1, locate: () => ({ line: 1, column: 1, offset: 0 }) },
};

/** Returns how many bytes could be read while a trajectory of a length is checked, at most (`Breaks`). */
export const workOf = (length: number) => 2 ** 15 + 4 * length;

/** A loop in each caller would be compiled for each. */
export const iterate = (steps: Iterable<unknown>) => {
  for (const _ of steps);
};
