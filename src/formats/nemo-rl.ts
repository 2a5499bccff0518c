/** Rows of NeMo RL's `train_data_step<n>.jsonl`: the texts of a conversation's turns without their roles, and `rewards`. */
import { list, object } from "./built.ts";
import { type Format, type FormatRun, needed, type Rollout, rewardOf, Unfit } from "./format.ts";
import { groupKeyFound, groupKeyOf, groupOf, metadataOf, numberOf, sampledText, userTurn } from "./rows.ts";
import type { Value } from "./value.ts";

const tokens = "tokens have no place without their texts";

export const nemoRl: Format = {
  name: "nemo-rl",
  title: "training data of NeMo RL",
  keys: { group: groupKeyFound, reward: "rewards", sampled: "every second text of content" },
  records: { text: "lines" },
  files: /(?:^|[./])train_data_step\d+\.jsonl(?:\.gz|\.zst)?$/,
  lossy: true,
  recognises: ({ value }) =>
    (value.get("content")?.isList === true || value.get("content")?.isText === true) &&
    value.get("rewards")?.number !== undefined &&
    (value.get("input_lengths") ?? value.get("generation_logprobs")) !== undefined,
  open: (run) => ({ convert: (record) => rolloutsOf(run, record) }),
  left: {
    token_ids: tokens,
    token_loss_mask: tokens,
    generation_logprobs: tokens,
    prev_logprobs: tokens,
    advantages: "advantages are computed anew of the rewards",
  },
};

const placed: ReadonlySet<string> = new Set(["content", "rewards"]);

const rolloutsOf = (run: FormatRun, { value: row }: { readonly value: Value }): readonly Rollout[] => {
  const content = needed(row, "content", groupKeyOf(row));
  const turns = content.items();
  const [prompt] = turns;
  if (prompt === undefined || turns.length < 2) {
    throw new Unfit(
      "content is no list of a prompt and what follows it: nobody can say where the prompt ends",
      content,
      groupKeyOf(row),
    );
  }
  const group = groupOf(row, [prompt]);
  const other = turns.find(({ isText }) => !isText);
  if (other !== undefined) throw new Unfit("content holds something else than texts", other, group);
  if (turns.length > 2) {
    run.note("roles are not recorded: of more than two texts, every second one is taken as the assistant's");
  }
  const own = numberOf(row, "rewards", group);
  const { reward, identity } = rewardOf(run, { record: row, ids: [row.get("idx")], own, group });
  const trajectory = object({
    messages_and_choices: list(turns.map((turn, at) => (at % 2 === 0 ? userTurn(turn) : sampledText(run, turn)))),
    reward,
    metadata: metadataOf(row, placed),
  });
  return [{ group, identity, trajectory }];
};
