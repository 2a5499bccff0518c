/** Rows whose prompt and answer are text that was decoded: one turn of the user and one of the assistant. */
import { type Built, list, object } from "./built.ts";
import { type Format, type FormatRun, type GroupKey, needed, type Rollout, rewardOf, Unfit } from "./format.ts";
import { groupKeyFound, groupKeyOf, groupOf, metadataOf, numberOf, sampledText, userTurn } from "./rows.ts";
import type { Value } from "./value.ts";

/** Where rows of decoded text have what. */
interface DecodedRows extends Pick<Format, "name" | "title" | "files" | "left"> {
  readonly prompt: string;
  readonly answer: string;
  readonly reward: string;
  /** The reward, where it is more than a number. @throws Unfit */
  readonly rewardOf?: (run: FormatRun, row: Value, group: GroupKey) => Built | undefined;
  /** The finish reason, where it is recorded. */
  readonly finish?: (row: Value) => Value | undefined;
  recognises(row: Value): boolean;
}

/** The format of such rows. */
export const decodedRows = (rows: DecodedRows): Format => ({
  name: rows.name,
  title: rows.title,
  keys: { group: groupKeyFound, reward: rows.reward, sampled: rows.answer },
  records: { text: "lines" },
  ...(rows.files === undefined ? {} : { files: rows.files }),
  lossy: true,
  recognises: ({ value }) =>
    value.get(rows.prompt)?.isText === true && value.get(rows.answer)?.isText === true && rows.recognises(value),
  open: (run) => ({ convert: ({ value }) => rolloutsOf(run, value, rows) }),
  left: { metadata: "the trajectory's metadata holds no nested values", ...rows.left },
});

const rolloutsOf = (run: FormatRun, row: Value, rows: DecodedRows): readonly Rollout[] => {
  const prompt = textAt(row, rows.prompt, groupKeyOf(row));
  const group = groupOf(row, [prompt]);
  const answer = textAt(row, rows.answer, group);
  const own = rows.rewardOf === undefined ? numberOf(row, rows.reward, group) : rows.rewardOf(run, row, group);
  const { reward, identity } = rewardOf(run, { record: row, ids: [row.get("id")], own, group });
  const trajectory = object({
    messages_and_choices: list([userTurn(prompt), sampledText(run, answer, rows.finish?.(row))]),
    reward,
    metadata: metadataOf(row, new Set([rows.prompt, rows.answer, rows.reward])),
  });
  return [{ group, identity, trajectory }];
};

const textAt = (row: Value, key: string, group?: GroupKey): Value => {
  const value = needed(row, key, group);
  if (!value.isText) throw new Unfit(`${key} is no text`, value, group);
  return value;
};
