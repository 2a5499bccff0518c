/** Rules beside those that trajectories are held against: what lock files, settings, keys and the local service say. */
import { acceptAdvice, lockRulePages } from "../../catalogs/index.ts";
import type { Problem, Severity } from "../../failure.ts";
import { looseProblem } from "../../files.ts";
import { importProblem } from "../../settings/index.ts";

/** A page: why it is a rule, and an example of what is said. */
interface RulePage {
  readonly why: string;
  readonly severity: Severity;
  readonly example: () => Problem | Promise<Problem>;
}

const lockPages = (): Readonly<Record<string, RulePage>> =>
  Object.fromEntries(
    lockRulePages().map(({ rule, why, message, severity, line }) => {
      const advice = severity === "warning" ? acceptAdvice : cheapest;
      const place = { file: "rollcall.lock.json", line, column: 7 };
      return [
        rule,
        { why, severity, example: () => ({ ...place, rule, severity, message: `maker/large ${message}`, advice }) },
      ];
    }),
  );

/** What every failing rule of a lock file advises where there is such a model. */
const cheapest = "the cheapest that can do the same is maker/other: 0.3 $/M in, 1.2 $/M out";

const warning = (why: string, example: RulePage["example"]): RulePage => ({ why, severity: "warning", example });

/** What is said of a member of a file with settings. */
const ofImport = (key: string, value: string, { local = false } = {}): Problem => {
  const wrong = importProblem(key, value, { local, windows: false });
  if (wrong === undefined) throw new Error(`nothing is wrong with ${key}`);
  return { file: "team.json", line: 3, column: 3, severity: "error", ...wrong };
};

const refused = (why: string, ...member: Parameters<typeof ofImport>): RulePage => ({
  why,
  severity: "error",
  example: () => ofImport(...member),
});

/** The pages, by the names of the rules. */
export const otherRules: Readonly<Record<string, RulePage>> = {
  ...lockPages(),
  "loose-mode": warning(
    "Keys and settings are one user's own; a file or folder that others can get at gives them away.",
    () => looseProblem("/home/ada/.config/rollcall/settings.json", 0o644, "600"),
  ),
  "setting-wrong": refused(
    "A value that is saved, or is to be imported, is none that the setting takes.",
    "project",
    "alpha",
  ),
  "setting-unknown": refused(
    "What is to be imported names a setting that this version does not have.",
    "base_urk",
    "https://train.example",
  ),
  "setting-of-service": refused(
    "The profile `local` uses the service inside rollcall, which has an address and a key of its own.",
    "base_url",
    "https://train.example",
    { local: true },
  ),
  "secret-in-settings": refused(
    "Settings are shown and shared; a secret is saved apart from them, by `rollcall auth login`.",
    "api_key",
    "k",
  ),
  "key-not-tried": warning(
    "`auth login` tries a key with a read; where there is none, or nobody answers, it is saved as it is.",
    async () => (await import("../auth.ts")).unanswered("https://train.example", { isDown: true }),
  ),
  "open-address": warning(
    "`rollcall serve` listens on an address that other machines can reach, over plain http.",
    async () => (await import("../../service/index.ts")).openAddress("0.0.0.0"),
  ),
};
