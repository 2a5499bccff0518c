import { describe, expect, it } from "vitest";
import { Failure, type FailureCode, type FailureDetails } from "../../../src/failure.ts";
import { ledgerBusy, ledgerReplaced } from "../../../src/logging/ledger/failures.ts";
import * as failures from "../../../src/logging/send/log-failures.ts";
import { joinOutcomes, type Outcome } from "../../../src/logging/send/outcome.ts";
import { interrupted } from "../../../src/system/failures.ts";

const numbers = { read: 6, logged: 2, already_logged: 1, rejected: 0, unknown: 1, not_sent: 2, requests: 3 };
const counts = { ...numbers, hasLedger: true, resendLogged: false, canRerun: true, ledgerArgs: ["--local"] };
const stop = (details: FailureDetails = {}, kind = "request-refused", code: FailureCode = "refused") =>
  new Failure(code, kind, "no", details);
const textOf = ({ message, details }: Failure) => [message, details.hint];

describe("the hint of a run that logged a part", () => {
  const problem = { rule: "r", severity: "error", message: "m", advice: "fix it" } as const;
  const rerun = "rerun the same command to send only the remaining groups";
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
    [{ not_sent: 0 }, stop({ hint: "h" }), "h. Then rerun the same command, which skips logged groups"],
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
  const request = { number: 2, recorded: { id: "r7", key: "", firstTried: 0 }, positions: "a.jsonl:3" };
  const none = { unknownFailure: undefined, retryFailure: undefined, recordFailure: undefined, unrecorded: [] };
  const flags = { areMoreUnknown: false, canResolve: false };
  const facts: Facts = { ...counts, ...request, ...none, ...flags, unknownIds: new Set(["r7"]) };
  const groups = "Groups: 1 unknown, 2 logged, 1 already logged, 2 not logged";
  const check = (id: string, again = "") =>
    `check whether the service has the groups of ${id}. If it does, run \`rollcall ledger resolve ${id} --assume-logged --local\`. If not, run the same \`rollcall log\` command with --on-unknown resend${again}`;
  const http = { method: "POST", url: "u", status: 500, said: "oops" };
  const cut = stop({ cause: new Error("cut") }, "connection-failed", "unavailable");

  it.each<[change: Partial<Facts>, details: FailureDetails, end: string]>([
    [{}, {}, ""],
    [{ unknownFailure: stop({ http }) }, {}, ": the service answered 500 (oops)"],
    [
      { unknownFailure: stop({ http }), retryFailure: cut },
      {},
      ": the service answered 500 (oops), and the retry failed: cut",
    ],
    [{ unknownFailure: stop() }, {}, ": the answer does not say whether the request was logged"],
    [
      { unknownFailure: stop({ http }, "html-reply") },
      {},
      ': a web page ("oops") arrived with the status 500, so a gateway may have answered instead of the service',
    ],
    [
      { unknownFailure: stop({ http: { ...http, said: undefined } }, "html-reply") },
      {},
      ": a web page arrived with the status 500, so a gateway may have answered instead of the service",
    ],
    [{ unknownFailure: stop({ http: { ...http, said: undefined } }) }, {}, ": the service answered 500"],
    [
      { unknownFailure: stop({ http: { ...http, said: "o".repeat(201) } }, "html-reply") },
      {},
      `: a web page ("${"o".repeat(200)}") arrived with the status 500, so a gateway may have answered instead of the service`,
    ],
    [{}, { cause: interrupted({ signal: "SIGINT" }) }, ": the run was interrupted before the answer arrived"],
  ])("says why the outcome is unknown (row %$)", (change, details, end) => {
    const message = `request 2 of 3 (r7, a.jsonl:3) may or may not have been logged${end}. ${groups}`;
    const only = "To send only the groups that are counted as not logged, run the command without --on-unknown resend";
    expect(textOf(failures.logUnknown({ ...facts, ...change }, details))).toEqual([message, `${check("r7")}. ${only}`]);
  });

  it("names other unknown requests, and whether a rerun, a person or nothing can resolve them", () => {
    const textAfter = (change: Partial<Facts>) => textOf(failures.logUnknown({ ...facts, not_sent: 0, ...change }, {}));
    const [others, list] = textAfter({ areMoreUnknown: true });
    expect(others).toMatch(/^request 2 of 3 \(a\.jsonl:3\) and other requests may or may not/);
    expect(list).toMatch(/^list the requests with `rollcall ledger status --local`\. For each/);
    const [earlier, rerun] = textAfter({ areMoreUnknown: true, requests: 1, number: 1, canResolve: true, not_sent: 4 });
    expect(earlier).toMatch(/^request 1 of 1 \(a\.jsonl:3\) and requests of earlier runs may or may not/);
    expect(rerun).toMatch(/^rerun the same command within 24 hours .* to resolve the request and send the rest \(/);
    expect(textAfter({ resendLogged: true })[1]).toBe(check("r7", ", but without --resend-logged"));
    const alone =
      ". Then copy the remaining groups to a new file and log that file with the same options, because a rerun logs everything again";
    const rest = { resendLogged: true, not_sent: 2 };
    expect(textAfter(rest)[1]).toBe(`${check("r7", ", but without --resend-logged")}${alone}`);
    expect(textAfter({ ...rest, canResolve: true })[1]).toBe(
      `rerun the same command without --resend-logged within 24 hours of the first attempt to resolve the request (the service honors Idempotency-Key)${alone}`,
    );
    const refused = textAfter({ retryFailure: stop({ http: { ...http, status: 422 } }) })[1];
    expect(refused).toContain(
      "--assume-logged --local`. If not, run `rollcall ledger resolve r7 --resend --local`, and",
    );
    expect(textAfter({ hasLedger: false })[1]).toMatch(/^check whether the service has the groups with an unknown/);
    const [failed, repair] = textAfter({ recordFailure: stop() });
    expect(failed).toContain("have been logged, and the ledger could not record the outcome: no. Groups: ");
    expect(repair).toMatch(/^make the ledger writable again, .*\. Then check whether/);
  });

  it("has a command for each request that the ledger could not record", () => {
    const answered = { id: "r7", status: 200, isLogged: true };
    const unsent = { id: "r9", status: null, isLogged: false };
    const unknownIds = new Set(["r7", "r8"]);
    const more = { not_sent: 0, resendLogged: true, recordFailure: stop(), unrecorded: [answered, unsent], unknownIds };
    const [message, hint] = textOf(failures.logUnrecorded({ ...facts, ...more }, {}));
    expect(message).toMatch(
      /^the service answered r7 with 200, and this run did not send r9, but the ledger .*: no\. r8 may or may not have/,
    );
    expect(hint?.replace(/.*Then run /, "")).toBe(
      `\`rollcall ledger resolve r7 --assume-logged --local\` and \`rollcall ledger resolve r9 --resend --local\`. Then copy the remaining groups to a new file and log that file with the same options, because a rerun logs everything again. Also ${check("r8", ", but without --resend-logged")}`,
    );
    const { message: begin } = failures.logUnrecorded({ ...facts, ...more, unrecorded: [unsent] }, {});
    expect(begin).toMatch(/^this run did not send r9, but the ledger /);
    const all = { ...more, unrecorded: [answered], unknownIds: new Set(["r7"]) };
    const [said, resolve] = textOf(failures.logUnrecorded({ ...facts, ...all }, {}));
    expect([said, resolve]).toEqual([
      ...[expect.stringMatching(/: no\. Groups: /), expect.stringMatching(/`rollcall ledger resolve r7 [^`]*`$/)],
    ]);
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

  it("counts its unknown groups only if it has some", () => {
    const message = (unknown: number) => ledgerReplaced("l.db", { ...counts, unknown }).message;
    const end = "l.db was deleted, replaced or overwritten during the run: 2 groups logged, 1 already logged";
    expect([message(0), message(3)]).toEqual([`${end}, 2 not logged`, `${end}, 3 unknown, 2 not logged`]);
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
