import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import Connection from "libsql";
import { describe, it } from "vitest";
import { accept, type Deed, faultyService } from "../support/raw-server.ts";
import { groupOf, linesOf, placeAt } from "./place.ts";

const skip = ["--on-invalid", "skip"];
const bad = (name: string) => `{"trajectories":[{"messages_and_choices":[],"reward":"${name}"}]}`;
const flat = (id: string, reward: unknown) =>
  `{"messages_and_choices":[],"reward":${JSON.stringify(reward)},"group_id":"${id}"}`;

interface Reason {
  readonly file: string;
  readonly line: number;
  readonly rule: string;
  readonly message: string;
  readonly advice?: string;
  readonly rejects_line: number;
}

/** The reasons beside a rejects file. */
const reasonsOf = (file: string) =>
  readFileSync(`${file}.reasons`, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Reason);

/** Refuses what is in a set of rewards, and names it, or not. */
const picky =
  (refused: ReadonlySet<number>, names = true): Deed =>
  async (asked) => {
    const body = await asked.body();
    const { trajectory_groups: groups } = JSON.parse(body.toString()) as {
      trajectory_groups: readonly { trajectories: readonly { reward: number }[] }[];
    };
    const found = groups.flatMap(({ trajectories }, at) => (refused.has(trajectories[0]?.reward ?? 0) ? [at] : []));
    if (found.length === 0) return await accept(asked);
    const detail = found.map((at) => ({
      loc: ["body", "trajectory_groups", at, "trajectories", 0, "reward"],
      msg: `not group ${at}`,
      type: "value_error",
    }));
    asked.answer(422, { body: JSON.stringify(names ? { detail } : { detail: "something is wrong" }) });
  };

/** A rollout that verifiers wrote. */
const rollout = (reward: unknown) => ({ example_id: `${reward}`, prompt: "p", completion: "c", answer: "c", reward });

describe.concurrent("files made of inputs", { timeout: 60_000 }, () => {
  it("have no secret of the run in reasons and receipts, and rejected lines byte for byte", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url, { ROLLCALL_TOKEN: "key-of-1234-5678" });
    const named = groupOf(1).replace("{", '{"note":"key-of-1234-5678",');
    const file = place.write("a.jsonl", linesOf(named, groupOf(2)));
    service.next(async (asked) => {
      const sent = /^authorization: (.*)\r$/im.exec(await asked.head())?.[1];
      const echoed = `${sent}, a2V5LW9mLTEyMzQtNTY3OA==, \\u006bey-of-1234-5678`;
      const loc = ["body", "trajectory_groups", 0, "note"];
      await asked.body();
      asked.answer(422, { body: `{"detail":[{"loc":${JSON.stringify(loc)},"msg":"not ${echoed}","type":"t"}]}` });
    });
    expect((await place.log([file, "--on-refused", "skip"])).code).toBe(7);
    expect(readFileSync(`${file}.rejected`, "utf8")).toBe(`${named}\n`);
    expect(reasonsOf(`${file}.rejected`)[0]?.message).toContain("not Bearer ***, ***, ***");

    place.write("b.jsonl", JSON.stringify({ ...rollout(1), "key-of-1234-5678": 1 }));
    expect((await place.run(["convert", "b.jsonl", "--out", "b.groups", "--receipt", "b.receipt"])).code).toBe(0);
    expect((await place.run(["view", "b.jsonl", "--html", "b.html"])).code).toBe(0);
    for (const name of ["b.receipt", "b.html"]) {
      const text = readFileSync(place.path(name), "utf8");
      expect([text.includes("***"), text.includes("key-of-1234-5678")]).toEqual([true, false]);
    }
    JSON.parse(readFileSync(place.path("b.receipt"), "utf8"));
  });

  it("can be read by those alone who can read every input", async (context) => {
    const { expect } = context;
    const place = placeAt(context, "http://127.0.0.1:9");
    const files = ["a.jsonl", "b.jsonl"];
    const modesAfter = async (mode: number, folder: string) => {
      for (const name of files)
        place.write(name, linesOf(...[1, "bad"].map(rollout).map((one) => JSON.stringify(one))));
      chmodSync(place.path("b.jsonl"), mode);
      mkdirSync(place.path(folder));
      const made = ["out", "receipt", "rejects", "rejects.reasons", "html", "report"].map(
        (name) => `${folder}/${name}`,
      );
      const [out = "", receipt = "", rejects = "", , html = "", report = ""] = made;
      const skipping = ["--on-invalid", "skip", "--rejects", rejects];
      await place.run(["convert", ...files, "--out", out, "--receipt", receipt, ...skipping]);
      await place.run(["view", ...files, "--html", html]);
      await place.run(["check", ...files, "--report", `junit=${report}`]);
      return new Set(made.map((name) => statSync(place.path(name)).mode & 0o777));
    };
    expect(await modesAfter(0o600, "private")).toEqual(new Set([0o600]));
    expect(await modesAfter(0o640, "ours")).toEqual(new Set([0o640]));
    expect(await modesAfter(0o644, "public")).toEqual(new Set([0o644]));
  });
});

describe.concurrent("--on-invalid skip", { timeout: 90_000 }, () => {
  it.for([
    ["lines with CRLF", `${groupOf(1)}\r\n${bad("a")}\r\n${groupOf(2)}\r\n`, `${bad("a")}\r\n`],
    ["a last line without an end", `${groupOf(1)}\n${groupOf(2)}\n${bad("a")}`, bad("a")],
    [
      "a last line without an end before another",
      [`${bad("a")}`, `${bad("b")}\n${groupOf(1)}\n${groupOf(2)}`],
      `${bad("a")}\n${bad("b")}\n`,
    ],
    ["a byte order mark", `\ufeff${bad("a")}\n${groupOf(1)}\n${groupOf(2)}\n`, `${bad("a")}\n`],
    ["white space around", `${groupOf(1)}\n \t ${bad("a")} \t\r\n\r\n${groupOf(2)}\n`, ` \t ${bad("a")} \t\r\n`],
    ["what is no JSON", `${groupOf(1)}\n{"traj\n\u00e9{\n${groupOf(2)}\n`, '{"traj\n\u00e9{\n'],
    ["a cut-off last line", `${groupOf(1)}\n${groupOf(2)}\n{"trajectories":[{"mess`, '{"trajectories":[{"mess'],
    [
      "all lines of a group",
      `${flat("a", 1)}\n${flat("b", 3)}\n${flat("b", "x")}\r\n${flat("b", 4)}\n${flat("c", 2)}\n`,
      `${flat("b", 3)}\n${flat("b", "x")}\r\n${flat("b", 4)}\n`,
    ],
    ["elements of an array", `[${groupOf(1)}, ${bad("a")} ,\n${groupOf(2)}]`, `${bad("a")}\n`],
    [
      "groups of a request",
      `{"split":"train","trajectory_groups":[${groupOf(1)},${bad("a")},${groupOf(2)}]}`,
      `${bad("a")}\n`,
    ],
  ] as const)("writes %s byte for byte, and sends the rest", async ([, given, rejected], context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const contents: readonly string[] = typeof given === "string" ? [given] : given;
    const files = contents.map((content, at) => place.write(`${at}.jsonl`, content));
    const file = `${files[0]}.rejected`;
    const count = contents.join("").includes('"b"') && contents.length === 1 ? 1 : rejected.trim().split("\n").length;
    const { code, error, document, stderr } = await place.log([...files, ...skip]);
    expect([code, error?.code, error?.cause, error?.retryable], stderr).toEqual([7, "partial", "invalid_input", false]);
    expect(document).toMatchObject({ status: "partial", rejects_file: file, groups: { logged: 2, rejected: count } });
    expect(readFileSync(file, "utf8")).toBe(rejected);
    expect([...service.logged].sort()).toEqual([1, 2]);
    const again = await place.log([...files, ...skip]);
    expect([again.code, again.document?.groups.already_logged, service.requests()]).toEqual([7, 2, 1]);
    expect(readFileSync(file, "utf8")).toBe(rejected);
    for (const reason of reasonsOf(file)) {
      expect(reason.rejects_line).toBeGreaterThan(0);
      expect(reason.line).toBeGreaterThan(0);
    }
  });

  it("records for each rejected line its origin, its new line, and the reason", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", linesOf(groupOf(1), bad("a"), groupOf(2), '{"trajectories":5}', bad("b")));
    await place.log([file, ...skip, "--rejects", place.path("r")]);
    const reasons = reasonsOf(place.path("r"));
    expect(reasons.map(({ line, rejects_line }) => [line, rejects_line])).toEqual([
      [2, 1],
      [4, 2],
      [5, 3],
    ]);
    expect(new Set(reasons.map((reason) => reason.file))).toEqual(new Set([file]));
  });

  it("records the problems of every line, however many break the same rule", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const lines = Array.from({ length: 2400 }, (_, at) => (at % 2 === 0 ? '{"trajectories":[' : bad(`${1000 + at}`)));
    const file = place.write("a.jsonl", linesOf(groupOf(1), ...lines));
    const { document } = await place.log([file, ...skip, "--rejects", place.path("r")]);
    expect(document?.groups.rejected).toBe(2400);
    const reasons = reasonsOf(place.path("r"));
    expect(reasons.map(({ rule }) => rule)).toEqual(
      lines.map((_, at) => (at % 2 === 0 ? "json-cut-off" : "wrong-type")),
    );
    // What is said of the last is what is said of the first, but for what to write.
    for (const at of [0, 1]) {
      const advice = reasons[at]?.advice;
      expect({ ...reasons[2398 + at], line: at + 2, rejects_line: at + 1, advice }).toEqual(reasons[at]);
    }
    expect(reasons[2399]?.advice).toBe("write it without quotes: 3399");
  });

  it("records problems that depend on earlier lines", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const count = 1500;
    const lines = Array.from({ length: count }, (_, at) => [flat("a", at), flat(`b${at}`, at)]).flat();
    const { code, document } = await place.log([place.write("a.jsonl", linesOf(...lines)), ...skip]);
    expect([code, document?.groups]).toMatchObject([7, { logged: count, rejected: 1 }]);
    const scattered = reasonsOf(place.path("a.jsonl.rejected")).filter(({ rule }) => rule === "group-scattered");
    const expected = Array.from({ length: count - 1 }, (_, at) => [2 * at + 3, at + 2]);
    expect(scattered.map(({ line, rejects_line }) => [line, rejects_line])).toEqual(expected);
  });

  it("records reasons for each of many lines", { tags: "slow" }, async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    // More than are kept of what was found: the last are read once more.
    const lines = Array.from({ length: 100_500 }, (_, at) => bad(`${at}`));
    const file = place.write("a.jsonl", linesOf(groupOf(1), ...lines));
    const { document, code } = await place.log([file, ...skip]);
    expect([code, document?.groups.rejected]).toEqual([7, lines.length]);
    expect(readFileSync(`${file}.rejected`, "utf8") === linesOf(...lines)).toBe(true);
    const reasons = reasonsOf(`${file}.rejected`);
    expect(reasons.every(({ rejects_line }, at) => rejects_line === at + 1)).toBe(true);
    const [first, last] = [reasons[1], reasons.at(-1)];
    expect(reasons).toHaveLength(lines.length);
    expect({ ...last, line: 3, rejects_line: 2, advice: first?.advice }).toEqual(first);
    expect(last?.advice).toBe(`write it without quotes: ${lines.length - 1}`);
  });

  it("keeps groups of several files apart if they have the same numbers", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const files = ["x", "y", "z"].map((name, at) =>
      place.write(`${at}.jsonl`, linesOf(flat("a", at), flat("b", name), flat("b", 10 + at))),
    );
    expect((await place.log([...files, ...skip])).document?.groups).toMatchObject({ logged: 3, rejected: 3 });
    const rejects = `${files[0]}.rejected`;
    expect(reasonsOf(rejects).map(({ rejects_line }) => rejects_line)).toEqual([1, 3, 4]);
    writeFileSync(rejects, readFileSync(rejects, "utf8").replaceAll(/"[xyz]"/g, "7"));
    expect((await place.log([rejects])).document?.groups).toMatchObject({ read: 3, logged: 3 });
  });

  it.for([
    ["all groups of a key whose lines may stand apart", ["a", "b", "c", "a"], ["--group-by", "group_id"], 0],
    ["the group before it where lines of a group stand side by side", ["a", "b", "c", "c"], [], 2],
  ] as const)("keeps back for a line that is cut off %s", async ([, ids, words, logged], context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const lines = ids.map((id, at) => flat(id, at));
    const log = async () => await place.log(["a.jsonl", ...words, ...skip]);
    place.write("a.jsonl", [...lines.slice(0, -1), lines.at(-1)?.slice(0, 30)].join("\n"));
    const { code, document } = await log();
    expect([code, document?.groups.logged ?? 0, service.logged.length]).toEqual([logged === 0 ? 3 : 7, logged, logged]);
    place.write("a.jsonl", lines.join("\n"));
    expect((await log()).document?.groups).toMatchObject({ logged: 3 - logged, already_logged: logged });
    expect(service.logged.toSorted()).toEqual([0, 1, 2]);
  });

  it("sends nothing if nothing is valid", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const { code, error, stdout } = await place.log([place.write("a.jsonl", bad("a")), ...skip]);
    expect([code, error?.code, stdout, service.requests()]).toEqual([3, "invalid_input", "", 0]);
    expect(existsSync(place.path("a.jsonl.rejected"))).toBe(false);
  });

  it("is completed by logging the corrected rejects file", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", linesOf(groupOf(1), bad("3"), groupOf(2)));
    expect((await place.log([file, ...skip])).code).toBe(7);
    const rejects = `${file}.rejected`;
    writeFileSync(rejects, readFileSync(rejects, "utf8").replace('"3"', "3"));
    const mended = await place.log([rejects]);
    expect([mended.code, mended.document?.groups.logged, service.logged]).toEqual([0, 1, [1, 2, 3]]);
    expect((await place.run(["ledger", "verify", rejects])).code).toBe(0);
    expect((await place.log([file])).code).toBe(3);
    // The mended file is a person's now.
    const again = await place.log([file, ...skip]);
    expect([again.code, again.error?.code, service.requests()]).toEqual([2, "usage", 2]);
    expect(readFileSync(rejects, "utf8")).toBe(`${groupOf(3)}\n`.replace('"reward":3', '"reward":3'));
  });

  it("never overwrites a file that rollcall did not write, and exits with 2 before anything is sent", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", linesOf(groupOf(1), bad("a")));
    for (const name of ["mine", "mine.reasons"]) {
      place.write(name, "mine");
      const rejects = place.path("mine");
      const { code, error } = await place.log([file, ...skip, "--rejects", rejects]);
      expect([code, error?.code, service.requests()]).toEqual([2, "usage", 0]);
      expect(readFileSync(place.path(name), "utf8")).toBe("mine");
      writeFileSync(rejects, "");
    }
  });

  it("is no folder, no input and nothing in a folder that is missing: nothing is sent then", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", linesOf(groupOf(1), bad("a")));
    mkdirSync(place.path("folder"));
    expect((await place.log([file, ...skip, "--rejects", place.path("folder")])).code).toBe(2);
    expect((await place.log([file, ...skip, "--rejects", file])).code).toBe(2);
    const nowhere = await place.log([file, ...skip, "--rejects", place.path("none/r")]);
    expect([nowhere.code, nowhere.error?.message]).toEqual([11, expect.stringContaining("nothing was sent")]);
    expect(service.requests()).toBe(0);
  });

  it("needs no writable folder if nothing is rejected, unless the service may still refuse groups", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", linesOf(groupOf(1)));
    const nowhere = ["--rejects", place.path("none/r")];
    const refused = await place.log([file, "--on-refused", "skip", ...nowhere]);
    expect([refused.code, service.requests()]).toEqual([11, 0]);
    expect((await place.log([file, ...skip, ...nowhere])).code).toBe(0);
  });

  it("leaves other files alone, and is not blocked by its own files after a kill", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", linesOf(groupOf(1), bad("a")));
    place.write("a.jsonl.rejected.new", "half");
    const { code, document } = await place.log([file, ...skip]);
    expect([code, document?.rejects_file]).toEqual([7, `${file}.rejected`]);
    expect(readFileSync(place.path("a.jsonl.rejected.new"), "utf8")).toBe("half");
    // Killed before the ledger knew that both files are written.
    const ledger = new Connection(`${place.env.XDG_DATA_HOME}/rollcall/ledger.db`);
    ledger.exec("UPDATE written SET digest = 'of the files before' WHERE path NOT LIKE '%.new'");
    ledger.close();
    writeFileSync(file, linesOf(groupOf(1), bad("b")));
    expect((await place.log([file, ...skip])).code).toBe(7);
    expect(readFileSync(`${file}.rejected`, "utf8")).toBe(`${bad("b")}\n`);
  });

  it("requires --rejects for standard input", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const stdin = linesOf(groupOf(1), bad("a"));
    expect((await place.log([...skip], { stdin })).code).toBe(2);
    expect(service.requests()).toBe(0);
    const { code } = await place.log([...skip, "--rejects", place.path("r")], { stdin });
    expect([code, readFileSync(place.path("r"), "utf8")]).toEqual([7, `${bad("a")}\n`]);
    const packed = await place.log([...skip, "--rejects", place.path("r")], { stdin: gzipSync(stdin) });
    expect([packed.code, packed.document?.groups.already_logged]).toEqual([7, 1]);
  });

  it("works without a ledger, once", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", linesOf(groupOf(1), bad("a")));
    const first = await place.log([file, ...skip, "--no-ledger"]);
    expect([first.code, first.document?.ledger, first.error?.retryable]).toEqual([7, null, false]);
    expect((await place.log([file, ...skip, "--no-ledger"])).code).toBe(2);
    expect(service.logged).toEqual([1]);
  });

  it("writes nothing in a dry run", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", linesOf(groupOf(1), bad("a")));
    const { code, document } = await place.log([file, ...skip, "--dry-run"]);
    expect([code, document?.groups.rejected, existsSync(`${file}.rejected`)]).toEqual([0, 1, false]);
  });
});

describe.concurrent("--on-refused skip", { timeout: 90_000 }, () => {
  const skipRefused = ["--on-refused", "skip"];
  const four = linesOf(groupOf(1), groupOf(2), groupOf(3), groupOf(4));

  it("rejects the groups that a 422 names and sends the others", async (context) => {
    const { expect } = context;
    const service = await faultyService(context, { otherwise: picky(new Set([2, 4])) });
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", four);
    const { code, error, document } = await place.log([file, ...skipRefused]);
    expect([code, error?.cause, document?.groups.logged, document?.groups.rejected]).toEqual([7, "refused", 2, 2]);
    expect([service.logged, service.requests()]).toEqual([[1, 3], 2]);
    expect(readFileSync(`${file}.rejected`, "utf8")).toBe(linesOf(groupOf(2), groupOf(4)));
    expect(reasonsOf(`${file}.rejected`)).toMatchObject([
      { line: 2, rejects_line: 1, message: "not group 1", from: "service" },
      { line: 4, rejects_line: 2, message: "not group 3", from: "service" },
    ]);
    const again = await place.log([file, ...skipRefused]);
    expect([again.code, again.document?.groups.rejected, service.logged]).toEqual([7, 2, [1, 3]]);
    expect((await place.run(["ledger", "verify", file])).code).toBe(10);
    service.mend();
    expect((await place.log([`${file}.rejected`])).code).toBe(0);
    expect((await place.run(["ledger", "verify", file])).code).toBe(0);
  });

  it("stops if a 422 names none of several groups, and rejects a group that is alone", async (context) => {
    const { expect } = context;
    const service = await faultyService(context, { otherwise: picky(new Set([2]), false) });
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", four);
    const { code, error } = await place.log([file, ...skipRefused]);
    expect([code, error?.code, service.logged]).toEqual([6, "refused", []]);
    const alone = await place.log([file, ...skipRefused, "--max-request-size", "120"]);
    expect([alone.code, alone.document?.groups.rejected, service.logged]).toEqual([7, 1, [1, 3, 4]]);
  });

  it.for([302, 401, 403, 404, 405, 407])("stops at status %i, which concerns no group", async (status, context) => {
    const { expect } = context;
    const service = await faultyService(context, {
      otherwise: async (asked) => {
        await asked.body();
        asked.answer(status);
      },
    });
    const place = placeAt(context, service.url);
    const { document, error } = await place.log([place.write("a.jsonl", groupOf(1)), ...skipRefused]);
    expect([document, error?.code === "partial"]).toEqual([undefined, false]);
    expect(existsSync(place.path("a.jsonl.rejected"))).toBe(false);
  });

  it("is off by default: a run stops at the first refusal and names the line", async (context) => {
    const { expect } = context;
    const service = await faultyService(context, { otherwise: picky(new Set([2, 4])) });
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", four);
    const { code, error } = await place.log([file]);
    expect([code, error?.problems?.map(({ line }) => line)]).toEqual([6, [2, 4]]);
    expect(existsSync(`${file}.rejected`)).toBe(false);
  });

  it("rejects a group that is too large alone", async (context) => {
    const { expect } = context;
    const small: Deed = async (asked) => {
      if ((await asked.body()).length > 500) asked.answer(413);
      else await accept(asked);
    };
    const service = await faultyService(context, { otherwise: small });
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", linesOf(groupOf(1), groupOf(2, 600), groupOf(3)));
    const { code, document } = await place.log([file, ...skipRefused]);
    expect([code, document?.groups.rejected, service.logged]).toEqual([7, 1, [1, 3]]);
    expect(readFileSync(`${file}.rejected`, "utf8")).toBe(`${groupOf(2, 600)}\n`);
  });
});
