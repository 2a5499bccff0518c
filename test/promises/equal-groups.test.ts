import { mkdirSync, readFileSync, renameSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import {
  afterOne,
  groupOf,
  type LogDocument,
  linesOf,
  oneEach,
  openPlace,
  openThree,
  rulesOf,
  takeAndReset,
  three,
} from "./place.ts";

describe("equal groups", () => {
  it("are recognized under another file name, compressed, and from a pipe", async (context) => {
    const { service, place, file } = await openThree(context);
    expect((await place.log([file])).code).toBe(0);
    mkdirSync(place.path("elsewhere"));
    renameSync(file, place.path("elsewhere/a.jsonl"));
    const moved = await place.log([place.path("elsewhere/a.jsonl")]);
    expect(rulesOf(moved)).not.toContain("logged-before");
    const others = [
      moved,
      await place.log([place.write("b.jsonl", three)]),
      await place.log([place.write("a.jsonl.gz", gzipSync(three))]),
      await place.log(["-"], { stdin: three }),
      await place.log([place.write("c.json", `[${[3, 1, 2].map((reward) => groupOf(reward)).join(" ,\r\n")}]`)]),
    ];
    for (const { code, document } of others) expect([code, document?.status]).toEqual([0, "already_logged"]);
    for (const other of others.slice(1)) expect(rulesOf(other)).toContain("logged-before");
    expect(service.requests()).toBe(1);
    // In a batch, equal groups of several files are usual.
    await place.log([place.path("b.jsonl"), "--batch", "step-1"]);
    const inBatch = await place.log([place.path("c.json"), "--batch", "step-1"]);
    expect([inBatch.document?.status, rulesOf(inBatch)]).toEqual([
      "already_logged",
      expect.not.arrayContaining(["logged-before"]),
    ]);
    const more = await place.log([place.write("d.jsonl", `${three}${groupOf(4)}\n`)]);
    expect([more.document?.groups.already_logged, more.document?.groups.logged, service.logged]).toEqual([
      3,
      1,
      [1, 2, 3, 1, 2, 3, 4],
    ]);
  });

  it("are refused if another version of rollcall converts them to other bytes than those logged last", async (context) => {
    const { place } = await openPlace(context);
    const converted = readFileSync("test/samples/formats/tau2.results.json", "utf8");
    const log = async (model: string, ...args: readonly string[]) => {
      const ran = await place.log([place.write("r.json", converted.replaceAll("gpt-4.1", model)), ...args]);
      return [ran.document?.groups.logged, ran.error?.problems?.map(({ rule }) => rule)];
    };
    for (const model of ["gpt-4.1", "gpt-4.2"]) {
      const other = model === "gpt-4.1" ? "gpt-4.2" : "gpt-4.1";
      expect(await log(model, "--resend-logged")).toEqual([3, undefined]);
      expect([...(await log(model)), ...(await log(other))]).toEqual([0, undefined, undefined, ["logged-differently"]]);
    }
  });

  it("are sent under another account, with a warning each time", async (context) => {
    const { service, place } = await openPlace(context);
    const file = place.write("a.jsonl", three);
    const log = async (account: string, ...args: readonly string[]) => {
      const env = { ...place.env, ROLLCALL_ACCOUNT: account };
      const { stdout } = await place.run(["log", "m", "--split", "train", "--json", file, ...args], { env });
      const { warnings, groups } = JSON.parse(stdout) as LogDocument;
      const [message] = warnings.flatMap((one) => (one.rule === "logged-before" ? JSON.stringify(one) : []));
      return [groups.logged, message];
    };
    expect(await log("work")).toEqual([3, undefined]);
    const warning = expect.stringMatching(/^(?=.*3 groups were .* account \\"work\\").*ROLLCALL_ACCOUNT=work/);
    expect(await log("ci", "--dry-run")).toEqual([0, warning]);
    expect(await log("ci")).toEqual([3, warning]);
    expect(await log("ci")).toEqual([0, warning]);
    expect(await log("work")).toEqual([0, expect.stringContaining("ROLLCALL_ACCOUNT=ci")]);
    expect(await log("ci", "--batch", "b")).toEqual([3, undefined]);
    expect(service.logged).toHaveLength(9);
  });

  it("that two accounts logged are listed by the command that `ledger verify` proposes", async (context) => {
    const { place } = await openPlace(context);
    const row = (at: number) => `{"messages_and_choices":[],"reward":${at},"metadata":{"k":"a"}}`;
    const files = [1, 2].map((at) => place.write(`${at}.jsonl`, linesOf(row(at))));
    const grouped = [...files, "--group-by", "k"];
    for (const account of ["work", "ci"]) {
      const env = { ...place.env, ROLLCALL_ACCOUNT: account };
      await place.run(["log", "m", "--split", "train", ...grouped], { env });
    }
    // Without a URL, the commands cover all accounts.
    const env = { ...place.env, ROLLCALL_BASE_URL: "" };
    const { stderr } = await place.run(["ledger", "verify", ...grouped], { env });
    const [, words = ""] =
      /list its requests with `.*?(ledger status [^`]*)`/s.exec(stderr.replaceAll(/\s+/g, " ")) ?? [];
    const { stdout } = await place.run([...words.split(" "), "--json", "--fields", "id"], { env });
    expect(JSON.parse(stdout)).toMatchObject({ entries: [{ id: "r1" }, { id: "r2" }] });
  });

  it("are logged again with --resend-logged under a new key, except unknown groups", async (context) => {
    const { service, place, file } = await afterOne(context, { deed: takeAndReset });
    await place.log([file, ...oneEach]);
    expect(service.logged).toEqual([1, 2, 3]);
    const again = await place.log([file, ...oneEach, "--resend-logged"]);
    expect([again.code, again.document?.groups]).toMatchObject([8, { unknown: 1, logged: 2 }]);
    expect(service.logged).toEqual([1, 2, 3, 2, 3]);
    expect(new Set(service.keys).size).toBe(5);
    service.next(takeAndReset);
    const third = await place.log([file, ...oneEach, "--resend-logged"]);
    expect([third.code, third.document?.groups]).toMatchObject([8, { unknown: 2, not_sent: 1 }]);
    const before = service.requests();
    // A logged group whose resend is unknown is unknown, because it may be stored twice.
    const last = await place.log([file]);
    expect([last.code, last.document?.groups]).toMatchObject([8, { unknown: 2, already_logged: 1 }]);
    expect(service.requests()).toBe(before);
  });
});

describe("a group whose rollouts were logged before", () => {
  const rollout = (answer: string, reward: number, id: string) => ({
    group_id: id,
    messages_and_choices: [
      { role: "user", content: `q ${id} – a question of more than 32 bytes` },
      { finish_reason: "stop", index: 0, message: { role: "assistant", content: answer } },
    ],
    metadata: { temperature: 1, "a/b": null, lr: 0.000_01, sizes: [0.7, 100, 0, -1.05] },
    reward,
  });
  const [a, b, c, d] = [rollout("a", 1, "g"), rollout("b", 0, "g"), rollout("c", 1, "h"), rollout("d", 0, "h")];
  const jsonl = (...rollouts: readonly unknown[]) => rollouts.map((one) => `${JSON.stringify(one)}\n`).join("");
  /** Another order of members, white space, escapes and spelling of numbers, as of another program. */
  const spelled = (one: object) =>
    JSON.stringify(Object.fromEntries(Object.entries({ logs: ["l"], metrics: { m: 1 }, ...one }).reverse()), null, " ")
      .replaceAll("\n", "\t")
      .replaceAll("–", "\\u2013")
      .replaceAll("a/b", "a\\/b")
      .replaceAll('"temperature": 1,', '"temperature": 1.0,')
      .replaceAll("0.00001", "1e-05")
      .replace(/0.7,(\s+)100,\s+0,\s+-1.05/, "0.70,$110.0E1,-0.0,-105e-2");
  const differ = "2 groups have the rollouts of logged groups";

  it.for([
    ["another reward", jsonl({ ...a, reward: 2 }, b, c, { ...d, reward: 2 }), [3, differ, 0]],
    ["another spelling", [a, b, c, d].map((one) => `${spelled(one)}\n`).join(""), [3, differ, 0]],
    ["another rate", jsonl(a, b, c, d).replaceAll("0.00001", "0.0001"), [0, undefined, 2]],
    ["a number with another sign", jsonl(a, b, c, d).replaceAll("-1.05", "1.05"), [0, undefined, 2]],
    ["a number with another sign and exponent", jsonl(a, b, c, d).replaceAll("100", "-1000"), [0, undefined, 2]],
    ["another answer", jsonl(a, rollout("e", 0, "g"), c, d), [0, "1 trajectory was already logged in other groups", 1]],
    ["another order", jsonl(b, a, c, d), [0, "2 trajectories were", 1]],
    ["another rollout in its group", jsonl(a, b, rollout("e", 0, "g"), c, d), [0, "2 trajectories were", 1]],
    ["its rollouts in two groups", jsonl({ ...a, group_id: "f" }, b, c, d), [0, "2 trajectories were", 2]],
    ["an earlier version beside it", jsonl(a, b, c, d, { ...a, group_id: "f" }), [0, "1 trajectory was", 1]],
    ["no change", jsonl(a, b, c, d), [0, undefined, 0]],
  ] as const)("is refused or reported if it has %s", async ([, changed, expected], context) => {
    const { service, place } = await openPlace(context);
    expect((await place.log([place.write("a.jsonl", jsonl(a, b, c, d))])).code).toBe(0);
    const before = service.logged.length;
    const { code, document, error } = await place.log([place.write("b.jsonl", changed)]);
    const problems = [...(document?.warnings ?? []), ...(error?.problems ?? [])];
    const found = problems.find(({ rule }) => /^logged-(?:differently|in-other-groups)$/.test(rule));
    const [, message] = expected;
    const said = message !== undefined && found?.message.startsWith(message) === true ? message : found?.message;
    expect([code, said, service.logged.length - before]).toEqual(expected);
  });

  it.for([
    [["--from", "trl", "--reward-from", "score"], (text: string) => text],
    [["--from", "trl"], (text: string) => text.replaceAll('"reward":1', '"reward":0.5')],
    [[], undefined],
  ] as const)("is refused if its records are converted to other bytes (row %$)", async ([args, change], context) => {
    const { service, place } = await openPlace(context);
    const row = (id: string, reward: number) => ({ prompt: `p ${id}`, completion: `c ${id}`, reward, score: 2 });
    const rows = jsonl(row("a", 1), row("b", 0));
    await place.log([place.write("a.jsonl", rows), "--from", "trl"]);
    const converted = await place.run(["convert", place.path("a.jsonl"), "--from", "trl"]);
    const text = change ? change(rows) : converted.stdout;
    const { code, error } = await place.log([place.write("b.jsonl", text), ...args]);
    expect([code, error?.problems?.map(({ rule }) => rule), service.requests()]).toEqual([
      3,
      ["logged-differently"],
      1,
    ]);
  });

  it("is sent to another batch, or with --resend-logged", async (context) => {
    const { service, place } = await openPlace(context);
    await place.log([place.write("a.jsonl", jsonl(a, b))]);
    const edited = place.write("b.jsonl", jsonl({ ...a, reward: 2 }, b));
    for (const args of [["--batch", "b"], ["--resend-logged"]])
      expect((await place.log([edited, ...args])).document?.groups.logged).toBe(1);
    expect(service.logged).toHaveLength(3);
  });
});
