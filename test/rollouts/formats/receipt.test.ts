import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Receipt } from "../../../src/rollouts/formats/receipt.ts";
import { Value } from "../../../src/rollouts/messages/value.ts";
import { runHere } from "../../support/here.ts";
import { newHome } from "../../support/run.ts";
import { folderOf } from "./converting.ts";
import { isTree, type Json, notRollouts, recordsOf, samples, wordsOf } from "./samples.ts";

/** Samples of one file with JSON lines or one JSON document. */
const texts = readdirSync(samples).filter((name) => /\.jsonl?$/.test(name) && !notRollouts.test(name));

/** Leaves of a value: scalars, and empty lists and objects. */
const leavesIn = (value: Json): number => {
  const children: readonly Json[] = isTree(value) ? Object.values(value) : [];
  return children.length === 0 ? 1 : children.reduce((sum: number, child) => sum + leavesIn(child), 0);
};

/** Adds a marked value to the objects at some positions of a record; returns the marks. */
const marked = (
  record: Json,
  places: readonly number[],
  seed: number,
): { readonly record: Json; readonly marks: readonly string[] } => {
  const copy: unknown = structuredClone(record);
  const objects: Record<string, unknown>[] = [];
  const walk = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    if (!Array.isArray(value)) objects.push(value as Record<string, unknown>);
    for (const child of Object.values(value)) walk(child);
  };
  walk(copy);
  const marks = [...new Set(places.map((place) => place % objects.length))].map((place) => {
    const mark = `mark-${seed}-${place}`;
    Object.assign(objects[place] ?? {}, { [`own_${seed}`]: mark });
    return mark;
  });
  return { record: copy as Json, marks };
};

/** Shuffles the keys of all objects, and renames a few keys. */
const mutated = (value: Json, next: () => number): Json => {
  if (!isTree(value)) return value;
  if (Array.isArray(value)) return value.map((item: Json) => mutated(item, next));
  const members = Object.entries(value).map(([key, child]) => ({ key, child: mutated(child, next), order: next() }));
  members.sort((a, b) => a.order - b.order);
  return Object.fromEntries(members.map(({ key, child }) => [next() % 50 === 0 ? `${key}_2` : key, child]));
};

/** Counts the leaves of a value by path. */
const countLeaves = (value: Json, counts: Map<string, number>, path = "") => {
  const children: readonly (readonly [string, Json])[] = isTree(value) ? Object.entries(value) : [];
  if (children.length === 0) counts.set(path, (counts.get(path) ?? 0) + 1);
  for (const [key, child] of children)
    countLeaves(child, counts, Array.isArray(value) ? `${path}[]` : path === "" ? key : `${path}.${key}`);
  return counts;
};

const converted = async (file: string, words: readonly string[]) => {
  const folder = mkdtempSync(join(tmpdir(), "receipt-"));
  const [out, receipt] = [join(folder, "out.jsonl"), join(folder, "receipt.json")];
  const ran = await runHere(["convert", file, "--out", out, "--receipt", receipt, ...words], { env: newHome() });
  const text = existsSync(out) ? readFileSync(out, "utf8") : "";
  return { ...ran, text, receipt: existsSync(receipt) ? JSON.parse(readFileSync(receipt, "utf8")) : undefined };
};

describe("a receipt", () => {
  it("counts a value that is nested more deeply than the stack", async () => {
    const depth = 20_000;
    const file = join(mkdtempSync(join(tmpdir(), "receipt-")), "rows.jsonl");
    const deep = `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
    const messages = '[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]';
    writeFileSync(file, `{"messages":${messages},"reward":1,"metadata":${deep}}\n`);
    const { code, receipt } = await converted(file, []);
    expect([code, receipt.leaves]).toEqual([0, { read: 6, placed: 5, left_out: 1 }]);
  });

  it.each(texts)("counts every value once as carried, changed or left out with a reason, for %s", async (name) => {
    const { code, stderr, receipt } = await converted(join(samples, name), wordsOf(name));
    expect({ code, stderr }).toEqual({ code: 0, stderr });
    const { read, placed, left_out } = receipt.leaves;
    const counted = (counts: readonly { count: number }[]) => counts.reduce((sum, { count }) => sum + count, 0);
    expect(placed + left_out).toBe(read);
    expect(counted(receipt.carried) + counted(receipt.changed)).toBe(placed);
    expect(counted(receipt.left_out)).toBe(left_out);
    expect(receipt.left_out.filter(({ reason }: { reason: string }) => reason === "")).toEqual([]);
    // Strings that contain JSON may count as the values in them.
    expect(read).toBeGreaterThanOrEqual(recordsOf(name).reduce((sum: number, record) => sum + leavesIn(record), 0));
  });

  it.each(texts)("names each added value that is not in the output, for %s", async (name) => {
    const records = recordsOf(name);
    const folder = mkdtempSync(join(tmpdir(), "marked-"));
    const places = fc.array(fc.nat(), { minLength: 3, maxLength: 12 });
    // Messages at these positions of art-exchanges.jsonl repeat earlier messages.
    const repeated = [13, 56, 70];
    const draws = [repeated, ...fc.sample(places, 1)];
    for (const [seed, draw] of draws.entries()) {
      const all = records.map((record, at) => marked(record, draw, 1000 * seed + at));
      const file = join(folder, `${seed}-${name}`);
      writeFileSync(file, all.map(({ record }) => JSON.stringify(record)).join("\n"));
      const { code, stderr, text, receipt } = await converted(file, [...wordsOf(name), "--on-invalid", "stop"]);
      // An added value makes rewards or metrics invalid, which rollcall reports.
      expect({ draw, stderr, isTold: code === 0 || stderr.includes("[record-invalid]") }).toEqual({
        draw,
        stderr,
        isTold: true,
      });
      if (code !== 0) continue;
      const left = new Set(receipt.left_out.map(({ path }: { path: string }) => /(?:^|\.)(own_\d+)$/.exec(path)?.[1]));
      for (const mark of all.flatMap(({ marks }) => marks)) {
        const key = `own_${/^mark-(\d+)/.exec(mark)?.[1]}`;
        expect([mark, text.includes(mark) || left.has(key)]).toEqual([mark, true]);
      }
    }
  });

  it.each(texts)("counts every value by path after a change of the order and names of keys, for %s", async (name) => {
    const folder = mkdtempSync(join(tmpdir(), "mutated-"));
    const draw = fc.array(fc.nat(), { minLength: 40, maxLength: 80 });
    const draws = [...fc.sample(draw, { numRuns: 1, seed: 7 }), ...fc.sample(draw, 1)];
    for (const [run, numbers] of draws.entries()) {
      let at = 0;
      const next = () => (numbers[at++ % numbers.length] ?? 0) + at * 7919;
      const records = recordsOf(name).map((record) => mutated(record, next));
      const file = join(folder, `${run}-${name}`);
      writeFileSync(file, records.map((record) => JSON.stringify(record)).join("\n"));
      const skipping = ["--on-invalid", "skip", "--rejects", join(folder, `${run}.rejects`)];
      const { receipt } = await converted(file, [...wordsOf(name), ...skipping]);
      if (receipt === undefined || receipt.leaves === null) continue;
      const listed: readonly { file: string; path: string; count: number }[] = [
        ...receipt.carried,
        ...receipt.changed,
        ...receipt.left_out,
      ];
      // Strings that contain JSON may count as the values in them.
      const sum = (path: string) =>
        listed
          .filter((one) => one.file === file && (one.path === path || /^[.[]/.test(one.path.slice(path.length))))
          .reduce((total, { path: at, count }) => total + (at.startsWith(path) ? count : 0), 0);
      const counts = new Map<string, number>();
      for (const record of records) countLeaves(record, counts);
      const lost = [...counts].filter(([path, count]) => sum(path) < count);
      expect({ numbers, lost }).toEqual({ numbers, lost: [] });
    }
  });

  it("leaves out log probabilities of ATIF only without the ids of their tokens", async () => {
    const metrics = [{ logprobs: [-1] }, { logprobs: [-1], completion_token_ids: [1] }];
    const steps = metrics.map((own) => ({ source: "agent", message: "a", metrics: own }));
    const document = JSON.stringify({ schema_version: "ATIF-v1.7", session_id: "s", steps });
    const folder = folderOf({ "a.json": document, r: '{"id":"s","reward":1}' });
    const { receipt } = await converted(join(folder, "a.json"), ["--rewards", join(folder, "r")]);
    const left = receipt.left_out.filter(({ path }: { path: string }) => path.includes("logprobs"));
    expect(left).toMatchObject([{ count: 1, reason: "completion_token_ids are missing" }]);
  });

  it("counts a document once that is part of several trajectories", async () => {
    const folder = mkdtempSync(join(tmpdir(), "receipt-"));
    const write = (name: string, message: string, more: object = {}) => {
      const document = {
        schema_version: "ATIF-v1.7",
        session_id: name,
        agent: { name: "a", version: "1" },
        steps: [{ step_id: 1, source: "agent", message, ...more }],
      };
      writeFileSync(join(folder, name), JSON.stringify(document, null, 2));
    };
    const delegated = { observation: { results: [{ subagent_trajectory_ref: [{ trajectory_path: "sub.json" }] }] } };
    for (const name of ["a.json", "b.json"]) write(name, "delegated", delegated);
    write("sub.json", "of a subagent");
    const rewards = join(folder, "rewards.lines");
    writeFileSync(rewards, '{"id":"a.json","reward":1}\n{"id":"b.json","reward":0}\n');
    const { code, text, receipt } = await converted(folder, ["--rewards", rewards]);
    expect([code, text.split("of a subagent")]).toEqual([0, expect.objectContaining({ length: 3 })]);
    const messages = receipt.carried.filter(({ path }: { path: string }) => path === "steps[].message");
    const counts = messages.map(({ file, count }: { file: string; count: number }) => [basename(file), count]);
    expect(Object.fromEntries(counts)).toEqual({ "a.json": 1, "b.json": 1, "sub.json": 1 });
  });

  it("counts a step of a continuation as repeated only if its calls are the same", async () => {
    const folder = mkdtempSync(join(tmpdir(), "receipt-"));
    const write = (name: string, a: number, more: object) => {
      const call = { tool_call_id: "c", function_name: "f", arguments: { a } };
      const steps = [
        { step_id: 1, source: "user", message: "q" },
        { step_id: 2, source: "agent", message: "", tool_calls: [call] },
      ];
      const agent = { name: "a", version: "1" };
      writeFileSync(
        join(folder, name),
        JSON.stringify({ schema_version: "ATIF-v1.6", session_id: "s", agent, steps, ...more }),
      );
    };
    write("a.json", 1, { continued_trajectory_ref: "b.json" });
    write("b.json", 2, {});
    const rewards = join(folder, "rewards.lines");
    writeFileSync(rewards, '{"id":"s","reward":1}\n');
    const { text } = await converted(folder, ["--rewards", rewards]);
    expect(text.match(/\\"a\\":\d/g)).toEqual(['\\"a\\":1', '\\"a\\":2']);
  });

  it("counts an exception of ART as carried, and no other line of ART is a trajectory without messages", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "receipt-")), "groups.jsonl");
    const exchange = { request: { messages: [{ role: "user", content: "q" }] }, response: { choices: [] } };
    const trajectory = { exchanges: { chat_completions: [exchange] }, reward: 1 };
    const exception = { type: "E", message: "m", traceback: "t" };
    const group = JSON.stringify({ trajectories: [trajectory], exceptions: [exception] });
    writeFileSync(file, group);
    const { receipt } = await converted(file, []);
    const isOfException = ({ path }: { path: string }) => path.startsWith("exceptions[]");
    expect([receipt.left_out.filter(isOfException), receipt.carried.filter(isOfException)]).toEqual([
      [],
      Object.keys(exception).map((key) => ({
        ...{ file, path: `exceptions[].${key}`, to: `exception.${key}`, count: 1 },
      })),
    ]);
    writeFileSync(file, `${group}\n{"foo":1}`);
    expect((await converted(file, [])).stderr).toContain("the line is neither a group nor a trajectory");
  });

  it("counts by file and path, and maps each record to its trajectory and group", async () => {
    const folder = mkdtempSync(join(tmpdir(), "receipt-"));
    const row = (group_id: string, reward: number | string) => ({
      group_id,
      messages: [{ role: "assistant", content: "a" }],
      reward,
      deep: { a: [1, 2] },
    });
    const write = (name: string, rows: readonly object[]) =>
      writeFileSync(join(folder, name), rows.map((one) => JSON.stringify(one)).join("\n"));
    write("a.jsonl", [row("x", 1), row("y", 0), row("x", 0), row("z", "none")]);
    write("b.jsonl", [row("x", 1)]);
    const words = ["--on-invalid", "skip", "--rejects", join(folder, "rejects")];
    const { code, receipt } = await converted(folder, words);
    const [a, b] = ["a.jsonl", "b.jsonl"].map((name) => join(folder, name));
    const reason = "rollcall's format has no field for it";
    expect(code).toBe(7);
    expect(receipt.left_out).toContainEqual({ file: a, path: "deep.a[]", reason, count: 6 });
    expect(receipt.left_out).toContainEqual({ file: b, path: "deep.a[]", reason, count: 2 });
    const content = { path: "messages[].content", to: "trajectory.messages_and_choices[].message.content" };
    expect(receipt.carried).toContainEqual({ file: a, ...content, count: 3 });
    expect(receipt.records).toEqual([
      { file: a, line: 1, group: 1, trajectory: 1 },
      { file: a, line: 3, group: 1, trajectory: 2 },
      { file: a, line: 2, group: 2, trajectory: 1 },
      { file: a, line: 4, group: 3, trajectory: null },
      { file: b, line: 1, group: 4, trajectory: 1 },
    ]);
  });

  const count = (hasData: boolean, ...records: readonly object[]) => {
    const receipt = new Receipt(hasData);
    for (const [position, record] of records.entries()) {
      const value = Value.parse(Buffer.from(JSON.stringify(record)));
      if (value) receipt.addRecord({ value, file: "f", position }, []);
    }
    return receipt;
  };

  it("lists lost values by the bytes of those that differ from the value before, and token ids last", () => {
    const record = (id: string) => ({ ...{ same: "x".repeat(40), id, none: null, empty: "", list: [], n: [1.5, 2] } });
    const more = { prompt_token_ids: Array.from({ length: 99 }, (_, at) => at), tags: ["a", "b"] };
    const lost = count(false, { ...record(`1${"y".repeat(30)}`), ...more }, record(`2${"y".repeat(30)}`)).listLost();
    expect(lost.map(({ path, count: values }) => `${path} ${values}`)).toEqual([
      ...["id 2", "same 2", "n[] 4", "tags[] 2", "prompt_token_ids[] 99"],
    ]);
  });

  it("lists left-out values by their number", () => {
    const { leaves, left_out } = count(true, { a: 1, b: ["x", "y"], c: null }, { b: ["z"], d: {} }).data([
      "one",
      "two",
    ]);
    expect(leaves).toEqual({ read: 6, placed: 0, left_out: 6 });
    expect(left_out.map(({ path, reason, count: values }) => [path, reason, values])).toEqual([
      ["b[]", "the record is not a rollout", 3],
      ["a", "the record is not a rollout", 1],
      ["c", "the value is null", 1],
      ["d", "the value is empty", 1],
    ]);
  });
});
