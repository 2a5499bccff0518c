/** Takes from what a run printed what differs between two runs of one build. */

/** A pattern and what it becomes. Times keep their minute: each run starts a minute after the one before. */
const varying = [
  [/(2025-11-2\d[T ]\d\d:\d\d):\d\d(?:\.\d+)?/g, "$1:<s>"],
  [/(http:\/\/127\.0\.0\.1:)\d+(\/#token=)[\w-]+/g, "$1<port>$2<token>"],
  [/\bstore [0-9a-f]{32}\b/g, "store <id>"],
  [/(first request took )[\d.]+ s/g, "$1<s>"],
  [/ in \d+ ms: connect \d+.*/g, " in <ms>"],
];

/** Returns the text without times, ports and tokens of the run. */
export const normalized = (text) => varying.reduce((own, [pattern, to]) => own.replace(pattern, to), text);
