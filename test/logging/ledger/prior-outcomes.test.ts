/** The prior outcomes of groups, by the requests in a ledger. `ledger.test.ts` reads them from a ledger. */
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import type { Entry } from "../../../src/logging/ledger/entries.ts";
import { PriorOutcomes } from "../../../src/logging/ledger/prior-outcomes.ts";
import { DedupKeys, dedupKeyBytes } from "../../../src/rollouts/index/dedup-keys.ts";

const keyOf = (text: string) => createHash("sha256").update(text).digest().subarray(0, dedupKeyBytes);

const entry = (id: string, state: Entry["state"], groups: string, more: Partial<Entry> = {}): Entry => {
  const scope = { destination: "d", account: "a", model: "m", split: "s", batch: null };
  const facts = { groups: groups.length, bytes: 1, key: "", firstTried: 0, lastTried: 0, attempts: 1, calls: 0 };
  const dedupKeys = Buffer.concat([...groups].map(keyOf));
  const rest = {
    status: null,
    cause: null,
    envelopeDigest: "",

    sampled: new Uint8Array(),
    input: "own",
  };
  return { id, state, scope, dedupKeys, ...facts, ...rest, ...more };
};

/** The groups of the input `own`: 0 is `a`, 1 is `b`, and 2, in its second file, is `c`. */
const openPrior = (more: Partial<ConstructorParameters<typeof PriorOutcomes>[0]> = {}) => {
  const dedupKeys = new DedupKeys();
  const files = [dedupKeys.addInput(), dedupKeys.addInput()];
  for (const [group, text] of ["a", "b", "c"].entries()) files[text === "c" ? 1 : 0]?.add(group, keyOf(text));
  const prior = new PriorOutcomes({ dedupKeys, isGrowing: false, input: "own", resendLogged: false, ...more });
  const add = async (...entries: readonly Entry[]) => await prior.addEntries(Readable.from(entries));
  return { prior, add, outcomes: () => [0, 1, 2].map(prior.outcomeOf) };
};

describe("the prior outcome of a group", () => {
  it.each([false, true])(
    "is unknown while a request is unknown, also if another logged the group (row %$)",
    async (isGrowing) => {
      const { prior, add, outcomes } = openPrior({ isGrowing });
      expect([prior.isEmpty(), outcomes()]).toEqual([true, ["not_sent", "not_sent", "not_sent"]]);
      const refused = [entry("r1", "refused", "c"), entry("r2", "not_sent", "c"), entry("r3", "released", "c")];
      const elsewhere = entry("r6", "trying", "x");
      await add(
        ...refused,
        entry("r4", "trying", "a"),
        entry("r5", "logged", "ab"),
        elsewhere,
        entry("r7", "unknown", "c"),
      );
      expect([prior.isEmpty(), outcomes()]).toEqual([false, ["unknown", "already_logged", "unknown"]]);
      // A growing file may still get the groups of other requests.
      const others = isGrowing ? ["r6"] : [];
      expect(prior.unknownEntries().map(({ id }) => id)).toEqual(["r4", ...others, "r7"]);
      await add(entry("r7", "assumed_logged", "c"));
      expect(outcomes()).toEqual(["already_logged", "already_logged", "already_logged"]);
      expect(prior.unknownEntries()).toEqual([]);
    },
  );

  it("is not sent with --resend-logged, unless it is unknown", async () => {
    const { prior, add, outcomes } = openPrior({ resendLogged: true });
    await add(entry("r1", "logged", "ab", { input: "other" }), entry("r2", "unknown", "b"));
    expect([outcomes(), prior.wasLoggedElsewhere(0)]).toEqual([["not_sent", "unknown", "not_sent"], false]);
  });

  it("tells whether a run with another first file logged the group, and when a run last did", async () => {
    const { prior, add } = openPrior();
    const other = { input: "other" };
    const times = [
      entry("r1", "logged", "a", { ...other, lastTried: 7 }),
      entry("r2", "logged", "b", { lastTried: 9 }),
    ];
    await add(...times, entry("r3", "unknown", "b", { ...other, lastTried: 8 }));
    await add(
      entry("r4", "logged", "a", { ...other, lastTried: 5 }),
      entry("r5", "logged", "x", { ...other, lastTried: 6 }),
    );
    expect([0, 1, 2].map(prior.wasLoggedElsewhere)).toEqual([true, false, false]);
    expect(prior.loggedElsewhereAt()).toBe(7);
  });

  it("of a growing file is known by its key before the file has the group", async () => {
    const { prior, add } = openPrior({ isGrowing: true });
    await add(entry("r1", "logged", "xa"), entry("r2", "unknown", "y"), entry("r3", "refused", "z"));
    expect([..."xyz"].map((text) => prior.wasSent(keyOf(text)))).toEqual([true, true, false]);
    expect([0, 1].map(prior.outcomeOf)).toEqual(["already_logged", "not_sent"]);
    for (const outcome of ["unknown", "logged"] as const) prior.recordOutcome(1, outcome);
    prior.recordOutcome(0, "unknown");
    expect([0, 1].map(prior.outcomeOf)).toEqual(["unknown", "already_logged"]);
  });
});
