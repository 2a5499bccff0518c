import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { runCommandLine } from "../../../src/run.ts";
import { runHere } from "../../support/here.ts";
import { testHost } from "../../support/host.ts";
import { endOf, peakOf, runRollcall, startRollcall } from "../../support/run.ts";
import { json } from "../../support/server.ts";
import { asksFor, found, onTerminal, service } from "./service.ts";

describe("rollcall call read", () => {
  it("prints calls while standard input is still open", async () => {
    const { env } = await service([found("a"), found("b")]);
    const child = startRollcall(["call", "read", "-"], { env });
    const first = new Promise<string>((settle) => child.stdout.once("data", (bytes) => settle(String(bytes))));
    child.stdin.write("a\n");
    expect(await first).toContain("Call without a name\n");
    const ended = endOf(child);
    child.stdin.end('{"id":"b"}\n');
    expect(await ended).toMatchObject({ code: 0, stdout: expect.stringContaining("Call without a name\n") });
  });

  it("shortens an exception of more than 128 lines to 120, and other values of more than 32 lines to 24", async () => {
    const linesOf = (count: number) => Array.from({ length: count }, (_, at) => `line ${at + 1}`);
    const shownOf = async (title: string, call: object) => {
      const { env } = await service([found("a", call)]);
      const { lines } = await onTerminal("call read a", env);
      return lines.slice(lines.indexOf(title) + 1).filter((line) => line !== "");
    };
    const limits = [
      ["Exception", "exception", 128, 120],
      ["Output", "output", 32, 24],
      ["Attributes", "attributes", 32, 24],
      ["Summary", "summary", 32, 24],
    ] as const;
    for (const [title, field, whole, kept] of limits) {
      const quoted = linesOf(whole + 1).map((line) => `  │ ${line}`);
      expect(await shownOf(title, { [field]: linesOf(whole).join("\n") })).toEqual(quoted.slice(0, -1));
      const longer = linesOf(whole + 1).join("\n");
      const count = longer.length.toLocaleString("en");
      const note = `  … folded: ${count} characters on ${whole + 1} lines (a pipe shows all)`;
      const shown = [...quoted.slice(0, kept - 4), note, ...quoted.slice(-4)];
      expect(await shownOf(title, { [field]: longer })).toEqual(shown);
    }
  });

  it("names the problem if it cannot read standard input", async () => {
    const { env } = await service([]);
    const stdin = new Readable({ read: () => stdin.destroy(Object.assign(new Error("x"), { code: "EISDIR" })) });
    const host = testHost({ env });
    const code = await runCommandLine({ ...host, stdin, argv: ["call", "read", "-"] });
    expect([code, host.said()]).toEqual([
      3,
      "rollcall: cannot read call ids from standard input: it is a folder\n" +
        "hint: pass the ids as arguments, or run `rollcall call read - < ids.txt`\n",
    ]);
  });

  it("names the missing calls before a failure", async () => {
    const answers = { b: json({ call: null }), r: json({ reason: "odd" }, 422) };
    const ids = ["b", "r"] as const;
    const { env } = await service(ids.map((id) => ({ when: asksFor(id), answer: answers[id] })));
    const { stderr } = await runHere(["call", "read", ...ids, "--json"], { env });
    const { code, message, problems } = JSON.parse(stderr).error;
    const told = [message, ...problems.map((one: { message: string }) => one.message)];
    expect([code, ...told.map((text) => text.replace(/ \(.*| in .*/, ""))]).toEqual([
      ...["refused", "cannot read call `r`: the service refused the request", "cannot find 1 of 2 calls"],
    ]);
  });

  it("prints a call of 24 MB in 56 MB of memory", { tags: "slow" }, async () => {
    const content = "a line of what a model wrote, as long as most\n".repeat(500);
    const messages = Array.from({ length: 1024 }, (_, at) => ({ role: at % 2 === 0 ? "user" : "assistant", content }));
    const { env } = await service([found("a", { inputs: { messages } })]);
    const { code, stdout } = await runRollcall(["call", "read", "a"], {
      env: { ...env, NODE_OPTIONS: "--max-old-space-size=56" },
    });
    expect([code, stdout.match(/ │ a line of what/g)?.length]).toEqual([0, 500 * 1024]);
  });

  it("prints a call of 40 MB with --json in at most 7.5 times its size in memory", { tags: "slow" }, async () => {
    const bytes = 40_000_000;
    const content = "a line of what a model wrote\n".repeat(bytes / 30);
    const { env } = await service([found("a", { output: "short" }), found("a", { output: content })]);
    // The memory of a short call is equal in every run. The memory of a long call depends on the garbage collector.
    const least = await peakOf(["call", "read", "a"], env);
    expect(((await peakOf(["call", "read", "a", "--json"], env)) - least) / bytes).toBeLessThan(7.5);
  });

  it("marks every line of text from a call", async () => {
    const evil =
      "fine\n\nOutput\n\n  assistant\n    │ I did\n\r\u2028Other\n    … folded: 1 characters (a pipe shows all)";
    const call = { inputs: { messages: [{ role: "user", content: evil, name: "a)\n  system" }] }, exception: evil };
    const { read } = await service([found("a", call)]);
    const { stdout } = await read(["a"]);
    const unmarked = stdout.split("\n").filter((line) => line !== "" && !/^ *│/.test(line));
    expect(unmarked).toEqual([
      "Call without a name",
      "  status  failed",
      "  id      a",
      "Exception",
      "Inputs",
      '  user ("a)\\n  system")',
    ]);
  });
});
