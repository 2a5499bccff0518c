/** How `rollcall view` reads what it shows. */
import { settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import type { Reading } from "../../groups/index.ts";
import type { AskedFor } from "../../view/index.ts";
import { choosingTyped, type TypedChoosing } from "../convert/choosing.ts";
import { foreignTyped, type TypedForeign } from "../convert/foreign.ts";
import { readInputs } from "../convert/inputs.ts";
import type { TypedServing } from "./serve.ts";

/** The options as commander gives them. */
export interface TypedView extends TypedForeign, TypedChoosing, TypedServing {
  readonly groupBy?: string;
  /** The file of a page that holds what it shows. */
  readonly html?: string;
}

/** What was asked for. */
export interface Asked {
  readonly files: readonly string[];
  readonly typed: TypedView;
}

/** How what is shown was asked for, as a command that logs it asks. Which groups were drawn by chance, or are a shard, their numbers say. */
export const askedFor = ({ files, typed }: Asked): AskedFor => {
  const { where, best, groupBy, from, rewardFrom, rewards, lossy, histories } = typed;
  const valued = {
    "--group-by": groupBy,
    "--best": best,
    "--from": from,
    "--reward-from": rewardFrom,
    "--rewards": rewards,
  };
  return {
    files: files.length === 0 ? ["-"] : files,
    options: [
      ...Object.entries(valued).flatMap(([option, value]) => (value === undefined ? [] : [option, value])),
      ...(lossy === true ? ["--lossy"] : []),
      ...(histories === true ? ["--histories"] : []),
    ],
    where,
  };
};

/** Who is told how far reading is, in bytes, and when all inputs are open. */
interface ReadingTold {
  onRead(bytes: number, of: number): void;
  onOpened(): void;
}

/** Understands all that was typed, before anything is shown; gives what then reads. */
export const readerOf = async (
  context: Context,
  { files, typed }: Asked,
): Promise<(told: ReadingTold) => Promise<Reading>> => {
  const foreign = foreignTyped(typed, { receipt: false });
  const choosing = await choosingTyped(typed);
  const settings = await settingsInForce(context);
  return async ({ onRead, onOpened }) => {
    return await readInputs(context, {
      settings,
      choosing,
      files,
      foreign,
      split: settings.get("split"),
      goesOn: true,
      groupBy: typed.groupBy,
      onProgress: ({ bytes, of }) => onRead(bytes, of),
      onFetched: ({ bytes, of = 0 }) => onRead(bytes, of),
      onOpened,
    });
  };
};
