/** Knows the flags of cut answers, in Node and in browsers. */

/** Matches names of flags that are true for an answer that was cut off. */
export const cutFlag =
  /^(?:is_?|was_?)?(?:(?:response|completion|output|answer|generation)s?_)?(?:is_|was_)?(?:truncated|Truncated)$/;
