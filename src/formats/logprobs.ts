/** Logprobs by token ids → as a choice has them: the trainer reads the id behind the colon of `token_id:<n>`. */
import type { Built } from "./built.ts";
import { Unfit } from "./format.ts";
import type { Value } from "./value.ts";

/**
 * The logprobs of a choice, their digits as they were written.
 * @throws Unfit where they and the ids of the tokens that were sampled are not as many, or no numbers
 */
export const logprobsOf = (
  logprobs: Value,
  { ids, of = [], group }: { readonly ids: readonly Value[]; readonly of?: readonly Value[]; readonly group?: string },
): Built => {
  const own = logprobs.items();
  if (own.length !== ids.length) {
    throw new Unfit(`${own.length} logprobs can't be those of ${ids.length} sampled tokens`, logprobs, group);
  }
  const tokens = own.map((logprob, at) => {
    const id = ids[at];
    if (logprob.number === undefined) throw new Unfit("a logprob is no number", logprob, group);
    if (id?.number === undefined) throw new Unfit("a token's id is no number", id ?? logprob, group);
    return `{"token":"token_id:${id.raw}","logprob":${logprob.raw},"bytes":null,"top_logprobs":[]}`;
  });
  return { kind: "said", json: `{"content":[${tokens.join(",")}]}`, of: [logprobs, ...of] };
};
