/** Finds the turns that a trainer must not learn. */
import { toSnakeCase } from "../../text/nearest.ts";
import type { Notes } from "./finish-reason.ts";
import { openKeyFacts, type Value } from "./value.ts";

const maskKeys: ReadonlySet<string> = new Set(
  "weight loss loss_scale loss_mask loss_weight mask train training trainable train_on_turn".split(" "),
);

/** True if a trainer must not learn the turn. Notes the keys that look like masks and have another value. */
export const isMasked = (run: Notes, turn: Value) => {
  let isZero = false;
  for (const key of turn.facts(maskKeysOf)) {
    const value = turn.require(key);
    const name = toSnakeCase(key);
    if (exclusion.test(name) && value.isBlank) continue;
    if (!maskKeys.has(name) || !value.canBeMetric)
      run.note(`\`${key}\` of turns can be a mask for training, which rollcall does not read`);
    else if (value.number === 0 || (!value.isNumber && !value.isTrue)) isZero = true;
  }
  if (isZero)
    run.note("kept turns that are masked for training as messages, such as turns with the weight 0 or loss false");
  return isZero;
};

/** A mask of one masks nothing, and an exclusion of zero excludes nothing. */
export const noteRowMasks = (run: Notes, row: Value, usedKeys: readonly string[]) => {
  for (const key of row.facts(maskKeysOf)) {
    const value = row.require(key);
    const [only = value, ...more] = value.items();
    const isOne = more.length === 0 && (only.number === 1 || only.isTrue);
    const isUsual = exclusion.test(toSnakeCase(key)) ? value.isBlank : isOne;
    if (key !== "loss" && !isUsual && !usedKeys.includes(key))
      run.note(`\`${key}\` of rows can be a mask for training, which rollcall does not read`);
  }
};

/** Names whose words are all known. Others, such as `sampled_at`, `mask_ratio` and `policy_loss`, are not masks. */
const maskLike = new RegExp(
  `^(?:${[
    "(?!attention_)(?:\\w+_)?masks?",
    "mask_(?:prompt|user|inputs?|tokens?|turns?|history|truncated)",
    "masked_(?:tokens?|turns?|positions?)",
    "(?:sample|token|turn)_weights?",
    "(?:(?:is|to|do|for|should|can|use_for|in|no|has|was|compute|requires)_)?" +
      "(?:train(?:able|ing)?|learn(?:able)?|grad|sampled|loss)" +
      "(?:_(?:masks?|flags?|weights?|scales?|turns?|tokens?|on(?:_\\w+)?))?",
  ].join("|")})$`,
);
/** Matches names of masks that are true if a trainer must not learn, such as `remove_sample`. */
const exclusion = new RegExp(
  `^(?:is_|to_)?(?:${[
    "mask(?:ed|_sample|_out)",
    "no_(?:loss|train(?:ing)?|grad)",
    "demo|few_shot|in_context|copied(?:_context)?",
    "(?:removed?|excluded?|skip(?:ped)?|filtered|discard(?:ed)?|drop(?:ped)?|ignored?)" +
      "(?:_(?:sample|rollout|row|turn|out|from_\\w+))?",
  ].join("|")})$`,
);
const isMaskKey = (name: string) => maskKeys.has(name) || maskLike.test(name) || exclusion.test(name);
const maskKeysOf = openKeyFacts((keys) => keys.filter((key) => isMaskKey(toSnakeCase(key))));
