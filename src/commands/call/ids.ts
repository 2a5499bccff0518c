/** The ids of the calls to read: from the command line, and from standard input. */

import { addAbortSignal } from "node:stream";
import { idsOfLines } from "../../calls/index.ts";
import { wrongValue } from "../../cli/index.ts";
import { codeOf } from "../../files.ts";
import type { Host } from "../../host.ts";
import { callIdsUnreadable } from "../failures.ts";

/** The id of a call. @throws Failure `option-value-wrong` */
export const idTyped = (word: string): string => {
  const id = word.trim();
  if (id === "") throw wrongValue("<call-id>", word, "the id of a call");
  return id;
};

/** The ids in the order given; `-` stands for those of standard input. `mayBeEmpty`: whether none of them is an answer. */
export async function* callIds(
  host: Host,
  { words, mayBeEmpty }: { readonly words: readonly string[]; readonly mayBeEmpty: boolean },
  stop: AbortSignal,
): AsyncGenerator<string, void> {
  let taken = false;
  for (const word of words) {
    if (word !== "-") yield word;
    else if (!taken) {
      taken = true;
      yield* idsOfLines(chunksOf(host, stop), { mayBeEmpty });
    }
  }
}

/** Every id at its first place. */
export async function* once(ids: AsyncIterable<string>): AsyncGenerator<string, void> {
  const known = new Set<string>();
  for await (const id of ids) {
    if (known.has(id)) continue;
    known.add(id);
    yield id;
  }
}

/** Standard input, until the run is interrupted or over. @throws Failure `call-ids-unreadable`, the signal's reason */
async function* chunksOf({ stdin, signal }: Host, stop: AbortSignal): AsyncGenerator<Uint8Array, void> {
  try {
    for await (const chunk of addAbortSignal(AbortSignal.any([signal, stop]), stdin)) yield Buffer.from(chunk);
  } catch (thrown) {
    signal.throwIfAborted();
    throw callIdsUnreadable(codeOf(thrown), thrown);
  }
}
