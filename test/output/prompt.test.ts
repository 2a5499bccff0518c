import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { askForLines, requireConfirmation } from "../../src/output/prompt.ts";
import { testHost } from "../support/host.ts";
import { screenOn } from "./printed-text.ts";

/** Opens a terminal on which a person types the text after the question. */
const typing = (typed: string, terminal: object = {}) => {
  const host = testHost({ terminal: { stdin: true, stderr: true, ...terminal } });
  const stdin = new PassThrough();
  host.stderr.once("data", () => setImmediate(() => (typed === "" ? stdin.end() : stdin.write(typed))));
  return { ...host, stdin };
};

describe("askForLines", () => {
  it.each<[typed: string, lines: readonly string[] | undefined]>([
    ["one\n", ["one"]],
    ["\n", [""]],
    [" one \n", [" one "]],
    ["one\ntwo\n", ["one", "two"]],
    ["one\n\n  \ntwo\n", ["one", "two"]],
    ["", undefined],
  ])("returns the lines that were pasted together: %j", async (typed, lines) => {
    for (const isHidden of [false, true]) {
      const host = typing(typed);
      expect(await askForLines(host, "name: ", isHidden)).toEqual(lines);
      // A hidden or a missing line leaves the cursor on the line of the question.
      expect(host.said()).toBe(isHidden || lines === undefined ? "name: \n" : "name: ");
    }
  });

  it("returns the unfinished last line of a hidden answer", async () => {
    expect(await askForLines(typing("one\ntwo"), "key: ", true)).toEqual(["one", "two"]);
  });

  it("is interrupted by Ctrl-C in a hidden answer", async () => {
    const stopped = { code: "interrupted", details: { signal: "SIGINT" } };
    await expect(askForLines(typing("one\u0003"), "key: ", true)).rejects.toMatchObject(stopped);
  });

  it("asks nothing after the end of the input or a signal", async () => {
    const host = typing("");
    host.stdin.end();
    host.stdin.resume();
    await new Promise((resolve) => host.stdin.once("end", resolve));
    expect([await askForLines(host, "name: ", false), host.said()]).toEqual([undefined, "\n"]);
    const stopped = { ...typing("a\n"), signal: AbortSignal.abort(new Error("stop")) };
    await expect(askForLines(stopped, "name: ", false)).rejects.toThrow("stop");
    expect(stopped.said()).toBe("\n");
  });
});

describe("requireConfirmation", () => {
  const what = { action: "delete a", option: "--yes", yes: false };
  const confirm = async (typed: string, terminal?: object, yes = false) => {
    const host = typing(typed, terminal);
    await requireConfirmation({ host, screen: screenOn(host) }, { ...what, yes });
    return host.said();
  };

  it.each(["y", "Y", "yes", "YES", " y "])("accepts %j", async (typed) => {
    expect(await confirm(`${typed}\n`)).toBe("delete a? [y/N] ");
  });

  it.each(["", "n", "no", "yy", "yeah", "yes, no"])("refuses %j", async (typed) => {
    const message = "cannot delete a: you did not confirm";
    const refused = { kind: "not-confirmed", message, details: { hint: "pass --yes" } };
    await expect(confirm(`${typed}\n`)).rejects.toMatchObject(refused);
  });

  it("asks only at a terminal, and not with its option", async () => {
    const reason = "rollcall cannot ask for confirmation without a terminal";
    await expect(confirm("y\n", { stdin: false })).rejects.toThrow(`cannot delete a: ${reason}`);
    expect(await confirm("", { stdin: false }, true)).toBe("");
  });
});
