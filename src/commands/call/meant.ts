/** Which calls are meant: the ids that were given, and of these calls those that were chosen. */
import { addAbortSignal } from "node:stream";
import { idsOfLines, modelsOf, operationOf, readHead, stateOf } from "../../calls/index.ts";
import { matchesPattern } from "../../catalogs/index.ts";
import { Failure } from "../../failure.ts";
import { codeOf } from "../../files.ts";
import type { Host } from "../../host.ts";
import type { CallChoice } from "./options.ts";

/** Whether a call is one of those that are meant. */
export const choosing = (choice: CallChoice | undefined, prefix: string): ((bytes: Uint8Array) => boolean) => {
  if (choice === undefined) return () => true;
  const { states, op, model } = choice;
  const named = (pattern: string | undefined) => {
    const matches = matchesPattern(pattern ?? "");
    return (id: string) => matches({ id, name: id });
  };
  const [isOp, isModel] = [named(op), named(model)];
  return (bytes) => {
    const call = readHead(bytes);
    const state = stateOf(call, prefix);
    return (
      (states.length === 0 || states.some((one) => one === state)) &&
      isOp(operationOf(call) ?? "") &&
      (model === undefined || modelsOf(call, prefix).some(isModel))
    );
  };
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
    throw new Failure("call-ids-unreadable", { from: "standard input", code: codeOf(thrown) }, { cause: thrown });
  }
}
