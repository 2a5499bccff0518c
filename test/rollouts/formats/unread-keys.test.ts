import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runHere } from "../../support/here.ts";
import { newHome } from "../../support/run.ts";
import { isTree, notRollouts, recordsOf, samples, wordsOf } from "./samples.ts";

/** Samples of one file with JSON lines or one JSON document. */
const texts = readdirSync(samples).filter((name) => /\.jsonl?$/.test(name) && !notRollouts.test(name));

const convert = async (file: string, words: readonly string[]) => {
  const out = join(mkdtempSync(join(tmpdir(), "unread-")), "out.jsonl");
  const args = ["convert", file, "--out", out, "--json", "--fields", "notes", ...words];
  const { code, stdout, stderr } = await runHere(args, { env: newHome() });
  const text = existsSync(out) ? readFileSync(out, "utf8") : "";
  return { code, stderr, text, note: /"\d+ values? (?:was|were) not converted: [^"]*"/.exec(stdout)?.[0] ?? "" };
};

describe("the note about keys without a place in a trajectory", () => {
  it.each(texts)("names an added key whose value is not in the output, for %s", async (name) => {
    const mark = (at: number) => `mark-${at}-${"x".repeat(10_000)}`;
    const marked = recordsOf(name).map((record, at) => (isTree(record) ? { ...record, own: mark(at) } : record));
    const file = join(mkdtempSync(join(tmpdir(), "unread-")), name);
    writeFileSync(file, marked.map((record) => JSON.stringify(record)).join("\n"));
    const { code, stderr, text, note } = await convert(file, wordsOf(name));
    expect({ code, stderr }).toEqual({ code: 0, stderr });
    expect([note, text.includes("mark-0-") || /\bown\b/.test(note)]).toEqual([note, true]);
  });

  it("names a value that is nested more deeply than the stack", async () => {
    const depth = 20_000;
    const file = join(mkdtempSync(join(tmpdir(), "unread-")), "rows.jsonl");
    const deep = `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
    const messages = '[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]';
    writeFileSync(file, `{"messages":${messages},"reward":1,"metadata":${deep}}\n`);
    const { code, note } = await convert(file, []);
    expect([code, note]).toEqual([0, expect.stringMatching(/values? (?:was|were) not converted: metadata\.a\.a/)]);
  });

  it("lists keys by the bytes of values that differ from the value before, and token ids last", async () => {
    const messages = ["user", "assistant"].map((role) => ({ role, content: role }));
    const record = (id: string) => ({ same: "x".repeat(40), id, none: null, empty: "", list: [], n: [1.5, 2] });
    const more = { prompt_token_ids: Array.from({ length: 99 }, (_, at) => at), tags: ["a", "b"] };
    const rows = [{ ...record(`1${"y".repeat(30)}`), ...more }, record(`2${"y".repeat(30)}`)];
    const file = join(mkdtempSync(join(tmpdir(), "unread-")), "rows.jsonl");
    writeFileSync(file, rows.map((own, reward) => JSON.stringify({ messages, reward, own })).join("\n"));
    const { note } = await convert(file, []);
    expect(note).toContain(": own.id, own.same, own.n[], own.tags[], own.prompt_token_ids[]");
  });
});
