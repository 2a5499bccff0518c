import { describe, expect, it } from "vitest";
import { Failure, type FailureCode, type FailureDetails } from "../../../src/failure.ts";
import { ledgerBusy } from "../../../src/logging/ledger/failures.ts";
import * as failures from "../../../src/logging/send/failures.ts";
import { joinOutcomes, type Outcome } from "../../../src/logging/send/outcome.ts";

const numbers = { read: 6, logged: 2, already_logged: 1, rejected: 0, unknown: 1, not_sent: 2, requests: 3 };
const counts = { ...numbers, hasLedger: true, resendLogged: false, canRerun: true, ledgerArgs: ["--local"] };
const stop = (details: FailureDetails = {}, kind = "request-refused", code: FailureCode = "refused") =>
  new Failure(code, kind, "no", details);
const textOf = ({ message, details }: Failure) => [message, details.hint];

describe("the hint of a run that logged a part", () => {
  const problem = { rule: "r", severity: "error", message: "m", advice: "fix it" } as const;
  const rerun = "rerun the same command, which skips logged groups";
  const copy = (groups: string) =>
    `copy the ${groups} groups to a new file and log that file with the same options, because a rerun logs everything again`;
  const noLedger = { hasLedger: false, canRerun: false };
  it.each<[change: Partial<typeof counts>, stop: Failure, hint: string]>([
    [{}, stop({ hint: "h" }), `h. Then ${rerun}`],
    [{}, stop({}), `fix the reported problems. Then ${rerun}`],
    [{}, stop({ hint: "h" }, "service-unavailable", "unavailable"), rerun],
    [{}, stop({ hint: "h", problems: [problem] }, "input-changed"), `fix it. Then ${rerun}`],
    [{}, stop({ hint: "h", problems: [problem] }, "invalid-input"), `h. Then ${rerun}`],
    [{}, stop({ hint: "h", problems: [] }, "invalid-input"), `fix the reported problems, or h. Then ${rerun}`],
    [{}, stop({ problems: [] }, "invalid-input"), `fix the reported problems. Then ${rerun}`],
    [{ not_sent: 1, rejected: 3 }, stop({ hint: "h" }), `h. Then ${rerun}`],
    [{ ...noLedger, not_sent: 1 }, stop({ hint: "h" }), `h. Then ${copy("remaining")}`],
    [{ not_sent: 0 }, stop({ hint: "h" }), `h. Then ${rerun}`],
    [noLedger, stop({ hint: "h" }), `h. Then ${copy("remaining")}`],
    [{ ...noLedger, not_sent: 0 }, stop({ hint: "h" }), `fix the reported problems. Then ${copy("rejected")}`],
  ])("depends on the ledger, on the rest and on what ended the run (row %$)", (change, ended, hint) => {
    const rejected = change.rejected ? " 3 rejected," : "";
    const message = `2 groups logged, 1 already logged,${rejected} ${change.not_sent ?? 2} not logged: no`;
    expect(textOf(failures.logPartial({ ...counts, ...change }, ended, {}))).toEqual([message, hint]);
  });
});

describe("a run with rejected groups", () => {
  const rejected = { ...counts, rejected: 3, unreadable: 1, file: "r.jsonl" };
  const listed = "(r.jsonl.reasons lists the problems)";
  const alone = `fix the groups in r.jsonl ${listed}, then log r.jsonl alone`;
  const rerun = `fix the input ${listed}, then rerun the same command, which skips logged groups`;
  it.each([
    [{ isConverted: false, isEmpty: false }, "see r.jsonl", alone],
    [{ isConverted: false, isEmpty: false, canRerun: false }, "see r.jsonl", alone],
    [{ isConverted: true, isEmpty: false }, "see r.jsonl", rerun],
    [{ isConverted: true, isEmpty: true }, "the rejects file is empty", rerun],
    [{ isConverted: true, isEmpty: false, canRerun: false }, "see r.jsonl", `fix the input ${listed}`],
  ])("names the file, or a rerun only if the ledger skips logged groups: %j", (change, where, hint) => {
    const message = `2 groups and 1 unreadable record rejected (${where}), 2 groups logged, 1 already logged`;
    const failure = failures.logRejected({ ...rejected, ...change }, {});
    expect(textOf(failure)).toEqual([message, hint]);
    expect(failure.kind).toBe(change.isConverted ? "records-rejected" : "log-rejected");
  });
});

describe("a run with an unknown request", () => {
  type Facts = Parameters<typeof failures.logUnknown>[0];
  const request = {
    number: 2,
    id: "r7",
    outcome: "unknown" as const,
    positions: "a.jsonl:3",
    recordFailure: undefined,
  };
  const facts: Facts = { ...counts, ...request, areMoreUnknown: false, canResolve: false };
  const groups = "Groups: 1 unknown, 2 logged, 1 already logged, 2 not logged";
  const has = "with --assume-logged if the service has the groups of the request, or with --resend if it does not";
  const resolve = `run \`rollcall ledger resolve r7 --local\` ${has}. Then `;
  const http = { method: "POST", url: "u", status: 500, said: "oops" };
  const cut = stop({ cause: new Error("cut") }, "connection-failed", "unavailable");

  it.each<[change: Partial<Facts>, end: string]>([
    [{}, ""],
    [{ unknownFailure: stop({ http }) }, ": the service answered 500 (oops)"],
    [
      { unknownFailure: stop({ http }), retryFailure: cut },
      ": the service answered 500 (oops), and the retry failed: cut",
    ],
    [{ unknownFailure: stop({ http }, "html-reply") }, ": a web page came with the status 500 (oops)"],
    [{ unknownFailure: stop({ http: { ...http, said: undefined } }) }, ": the service answered 500"],
    [
      { recordFailure: stop({ hint: "grant the right" }), outcome: "logged" },
      ': the ledger could not record the outcome "logged": no',
    ],
    [
      { unknownFailure: cut, recordFailure: stop({ hint: "grant the right" }) },
      ': cut, and the ledger could not record the outcome "unknown": no',
    ],
  ])("says why the outcome is unknown (row %$)", (change, end) => {
    const message = `request 2 of 3 (r7, a.jsonl:3) may or may not have been logged${end}. ${groups}`;
    const hint = `${change.recordFailure ? "grant the right. Then " : ""}${resolve}run your \`rollcall log\` command again`;
    expect(textOf(failures.logUnknown({ ...facts, ...change }, {}))).toEqual([message, hint]);
  });

  it("names other unknown requests, and whether a rerun, a person or nothing can resolve them", () => {
    const textAfter = (change: Partial<Facts>) => textOf(failures.logUnknown({ ...facts, ...change }, {}));
    const [others, list] = textAfter({ areMoreUnknown: true });
    expect(others).toMatch(/^request 2 of 3 \(a\.jsonl:3\) and other requests may or may not/);
    expect(list).toMatch(/^list the requests with `rollcall ledger status --local`\. For each/);
    const [earlier, rerun] = textAfter({ areMoreUnknown: true, requests: 1, number: 1, canResolve: true });
    expect(earlier).toMatch(/^request 1 of 1 \(a\.jsonl:3\) and requests of earlier runs may or may not/);
    expect(rerun).toMatch(/^rerun the same command within 24 hours .* to resolve the request \(/);
    expect(textAfter({ resendLogged: true })[1]).toBe(
      `${resolve}copy the remaining groups to a new file and log that file with the same options, because a rerun logs everything again`,
    );
    expect(textAfter({ hasLedger: false })[1]).toMatch(/^check whether the service has the groups with an unknown/);
  });
});

describe("a run whose ledger cannot be used", () => {
  it("says how long a killed run keeps the ledger, in full seconds", () => {
    const busy = (leaseMs?: number) => ledgerBusy("l.db", 61_000, leaseMs).message.replace(/^.* uses l\.db /, "");
    expect([busy(), busy(14_001)]).toEqual([
      "after 61 s",
      "after 61 s (if that run was killed, the ledger is free in 15 s)",
    ]);
  });
});

describe("the outcome of a request", () => {
  it("stays unknown or logged after a weaker outcome, and is the later of two equal ones", () => {
    const joined = (...all: readonly Outcome[]) => all.reduce((before, next) => joinOutcomes(before, next));
    expect(joined("not_sent", "not_processed")).toBe("not_processed");
    expect(joined("not_processed", "refused", "too_large")).toBe("too_large");
    expect(joined("unknown", "refused")).toBe("unknown");
    expect(joined("unknown", "logged", "unknown")).toBe("logged");
  });
});
