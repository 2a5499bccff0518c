/** Names the counts and the costs that usages of known services have. */

/** `prompt_token_count`, `promptTokenCount` and `prompt_tokens` have the same name. */
export const toCountName = (key: string) =>
  key
    .replaceAll("_", "")
    .toLowerCase()
    .replace(/tokencount$/, "tokens")
    .replace(/^total(?=\w+tokens$)/, "");

export const countNames = {
  prompt: ["prompttokens", "inputtokens", "billedunits.inputtokens"],
  completion: [
    ...["completiontokens", "outputtokens", "candidatestokens", "responsetokens"],
    "billedunits.outputtokens",
  ],
  total: ["totaltokens"],
  // These cached tokens are always part of the prompt.
  includedCached: [
    ...["input.cachedtokens", "input.cacheread", "input.cachereadtokens", "cachedtokens", "numcachedtokens"],
    ...["cachedcontenttokens", "cachedinputtokens", "prompttokenscached", "promptcachehittokens"],
  ],
  cached: ["cachereadinputtokens", "cachereadtokens"],
  written: [
    ...["cachecreationinputtokens", "cachewriteinputtokens", "cachewritetokens"],
    ...["input.cachewritetokens", "input.cachecreationtokens", "input.cachecreation", "input.cachecreationinputtokens"],
  ],
  thoughts: ["thoughtstokens", "thoughttokens"],
  reasoning: ["output.reasoningtokens", "output.reasoning", "output.thinkingtokens", "reasoningtokens"],
  toolPrompt: ["tooluseprompttokens", "toolusetokens"],
  requests: ["requests"],
};

/** Parts of counted tokens, at the same price. */
export const partNames: ReadonlySet<string> = new Set([
  ...[
    "input.texttokens",
    "output.texttokens",
    "cachedtokensdetails.texttokens",
    "promptcachemisstokens",
    "input.nocachetokens",
  ],
  ...["output.acceptedpredictiontokens", "output.rejectedpredictiontokens"],
  ...["cachecreation.ephemeral5minputtokens", "input.ephemeral5minputtokens"],
  ...["tokens.inputtokens", "tokens.outputtokens"],
]);

/** Powers of ten of stated costs. xAI counts in ticks of 10^-10 dollars. */
export const costNames: ReadonlyMap<string, number> = new Map([
  ["cost", 0],
  ["cost.totalcost", 0],
  ["totalcost", 0],
  ["totaltokenstotalcost", 0],
  ["estimatedcost", 0],
  ["costinusdticks", -10],
]);

/** Groq, Cerebras and SambaNova state how long parts of the request took. */
export const timeName =
  /^(?:(?:queue|prompt|completion|total|start|end|modelload)time|timetofirsttoken|totallatency|(?:total|load|eval|prompteval)duration|\w+persec\w*)$/;

/** True for texts that stand for the usual price. */
export const isNeutral = (text: string) =>
  /^(?:standard|default|auto|on_demand|not_available|traffic_type_unspecified|global|none|tokens|usd|0(?:\.0+)?)$/i.test(
    text,
  );

export const knownNames: ReadonlySet<string> = new Set(Object.values(countNames).flat());

/** The members of a reply that are its usage. */
export const usageKeys = ["usage", "usage_metadata", "usageMetadata"];

/** Deeper members are unknown. */
export const maxLevels = 8;
