import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import Connection from "libsql";
import { describe, it } from "vitest";
import { groupOf, linesOf, oneEach, type Place, placeAt } from "../../promises/place.ts";
import { accept, type Deed, faultyService, refuse } from "../../support/raw-server.ts";
import { runRollcall } from "../../support/run.ts";
import { seeLine } from "../../support/terminal.ts";

const two = linesOf(groupOf(1), groupOf(2));

/** Answers with a call for each group. */
const named =
  (...ids: readonly string[]) =>
  async (asked: Parameters<typeof accept>[0]) => {
    await asked.take();
    asked.answer(200, { body: JSON.stringify({ call_ids: ids }) });
  };

const idsOf = async (place: Place, args: readonly string[]): Promise<readonly string[]> => {
  const { stdout } = await place.run(["ledger", "calls", "--json", ...args]);
  return (JSON.parse(stdout) as { calls: readonly { id: string }[] }).calls.map(({ id }) => id);
};

describe.concurrent("the ledger's verbs", { timeout: 90_000 }, () => {
  it("act on the destination in force, and on every one where that is asked for", async (context) => {
    const { expect } = context;
    const service = await faultyService(context, { otherwise: named("there") });
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", two);
    expect((await place.log([file])).code).toBe(0);
    expect((await place.run(["log", "m", file, "--split", "train", "--local"])).code).toBe(0);
    for (const where of [[], ["--local"]]) {
      expect((await place.run(["ledger", "verify", file, ...where])).code).toBe(0);
      const status = await place.run(["ledger", "status", ...where]);
      expect(status.stdout.trim().split("\n")).toHaveLength(1);
      expect(status.stderr).toContain(
        "1 request is of other destinations or accounts: --all-destinations shows it too",
      );
    }
    expect((await place.run(["ledger", "verify", file, "--all-destinations"])).code).toBe(10);
    const all = await place.run(["ledger", "status", "--all-destinations"]);
    expect(all.stdout.trim().split("\n")).toHaveLength(2);
    expect(all.stdout).toContain(`${service.url}/v1/preview/models/m/log\tdefault`);
    expect(await idsOf(place, [])).toEqual(["there"]);
    const local = await idsOf(place, ["--local"]);
    expect([local.length, local.includes("there")]).toEqual([2, false]);
    expect(await idsOf(place, ["--all-destinations"])).toEqual(["there", ...local]);
    expect(await idsOf(place, ["--base-url", "http://127.0.0.1:9"])).toEqual([]);
    expect((await place.run(["ledger", "forget", "--model", "m", "--yes", "--local"])).code).toBe(0);
    expect(await idsOf(place, [])).toEqual(["there"]);
  });

  it("forget nothing that nobody said yes to", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", two);
    await place.log([file]);
    const asked = await place.run(["ledger", "forget", "--model", "m"]);
    expect(asked).toMatchObject({ code: 2, stderr: expect.stringContaining("--yes forgets them without asking") });
    expect(asked.stderr).toMatch(/r1: 2 groups of a\.jsonl, m, train, logged 20/);
    expect((await place.run(["ledger", "forget", "--model", "m", "--yes", "--json"])).stdout).toContain(
      '"forgotten":1',
    );
  });

  it("forgets nothing and exits with 2 if no option says what to forget", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    await place.log([place.write("a.jsonl", two)]);
    for (const filter of [[], ["--split", "train"], ["--all-destinations"]]) {
      const ran = await place.run(["ledger", "forget", "--yes", ...filter]);
      expect(ran).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("--model <id>, --batch <name> or --before"),
      });
    }
    expect(await place.entries()).toHaveLength(1);
  });

  it("list calls since a day, until a moment, and no more than asked for", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    service.next(named("a", "b"), named("c"));
    const place = placeAt(context, service.url);
    await place.log([place.write("a.jsonl", two), ...oneEach]);
    expect(await idsOf(place, ["--since", "yesterday"])).toEqual(["a", "b", "c"]);
    expect(await idsOf(place, ["--since", "2020-01-01", "--limit", "2"])).toEqual(["a", "b"]);
    expect(await idsOf(place, ["--until", "2020-01-01"])).toEqual([]);
    expect(await idsOf(place, ["--until", "1h"])).toEqual([]);
    expect((await place.run(["ledger", "calls", "--since", "tomorrow"])).stderr).toContain("yesterday, or a date");
  });
});

describe("on a terminal, ledger forget", () => {
  it("shows what it would forget, asks, and does it after a yes alone", { timeout: 60_000 }, async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    await place.log([place.write("a.jsonl", two)]);
    const forget = `"${process.execPath}" bin/rollcall.js ledger forget --model m`;
    const env = { PATH: process.env.PATH, ...place.env };
    const no = await seeLine(forget, { env, typed: [{ when: /y\/N/, keys: "\r" }] });
    expect([no.code, no.written]).toEqual([0, expect.stringContaining("nothing was changed")]);
    // What is asked about is read before the question.
    expect(no.lines[0]).toMatch(/^note: r1: 2 groups of /);
    expect((await place.entries()).length).toBe(1);
    const yes = await seeLine(forget, { env, typed: [{ when: /y\/N/, keys: "y\r" }] });
    expect(yes.written).toContain("r1: 2 groups of a.jsonl");
    expect([yes.code, yes.written]).toEqual([0, expect.stringContaining("forgotten: 1 request")]);
    expect((await place.entries()).length).toBe(0);
  });
});

describe.concurrent("a file named by --ledger", { timeout: 60_000 }, () => {
  it("is not touched where it is no ledger", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", two);
    mkdirSync(place.path("own"));
    const notes = place.write("own/notes.txt", "what I wrote\n".repeat(40));
    await place.run(["log", "m", file, "--split", "train", "--local"]);
    copyFileSync(`${place.env.XDG_DATA_HOME}/rollcall/local.db`, place.path("own/local.db"));
    for (const foreign of [notes, place.path("own/local.db")]) {
      utimesSync(foreign, 1, 1);
      const before = [statSync(foreign).mode, readFileSync(foreign, "latin1")];
      for (const args of [
        ["log", "m", file, "--split", "train"],
        ["ledger", "status"],
        ["ledger", "verify", file],
      ]) {
        const ran = await place.run([...args, "--ledger", foreign]);
        expect([ran.code, ran.stderr]).toEqual([11, expect.stringContaining(foreign)]);
      }
      expect([statSync(foreign).mode, readFileSync(foreign, "latin1")]).toEqual(before);
      expect(statSync(foreign).mtimeMs).toBe(1000);
    }
    expect(readdirSync(place.path("own")).sort()).toEqual(["local.db", "notes.txt"]);
    expect(service.requests()).toBe(0);
  });

  it("that is deleted or replaced during a run ends it before the next request", async (context) => {
    const { expect } = context;
    for (const harm of ["deleted", "replaced", "unlocked"]) {
      const service = await faultyService(context);
      const place = placeAt(context, service.url);
      const ledger = place.path("ledger.db");
      const file = place.write("a.jsonl", linesOf(groupOf(1), groupOf(2), groupOf(3)));
      service.next(async (asked) => {
        await asked.take();
        const { rmSync, renameSync } = await import("node:fs");
        if (harm === "unlocked") rmSync(`${ledger}.locks`, { recursive: true });
        else renameSync(ledger, `${ledger}.old`);
        if (harm === "replaced") writeFileSync(ledger, "");
        asked.answer(200);
      });
      const ran = await place.log([file, ...oneEach, "--ledger", ledger]);
      expect([harm, ran.code, ran.error?.message]).toEqual([
        harm,
        11,
        expect.stringContaining("was deleted or replaced while the run went on: 1 group logged, 2 not sent"),
      ]);
      expect(service.logged).toEqual([1]);
    }
  });
});

describe.concurrent("a run of log", { timeout: 60_000 }, () => {
  it("says what it tried, and not what it planned", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    service.next(accept, refuse(400));
    const place = placeAt(context, service.url);
    const { code, document } = await place.log([
      place.write("a.jsonl", linesOf(groupOf(1), groupOf(2), groupOf(3))),
      ...oneEach,
    ]);
    expect([code, document?.requests, service.bodies.map(({ length }) => length)]).toEqual([7, 2, [97, 97]]);
    expect(document).toMatchObject({ bytes: 194, groups: { logged: 1, not_sent: 2 } });
  });

  it("leaves what the service rejects out of its metrics", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const flat = (reward: number, id: number): string =>
      `{"messages_and_choices":[],"reward":${reward},"group_id":${id}}`;
    for (const lines of [
      [groupOf(1), groupOf(100), groupOf(2)],
      [flat(1, 1), flat(75, 2), flat(125, 2), flat(2, 3)],
    ]) {
      for (const deed of [refuse(413), refuse(422, { body: "{}" })]) {
        service.next(accept, deed, accept);
        const file = place.write(`a${lines.length}.jsonl`, linesOf(...lines));
        const args = [file, "--on-refused", "skip", "--max-request-size", "150", "--resend-logged"];
        const { document } = await place.log([...args, "--rejects", place.path("r.rejected")]);
        expect(document).toMatchObject({ groups: { rejected: 1, logged: 2 }, metrics: { "train/reward": 1.5 } });
        expect(document).toMatchObject({ metrics: { "train/reward_std_dev": 0, "data/step_num_scenarios": 2 } });
      }
    }
  });

  it("goes by a file's bytes, and not by its times", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", linesOf(groupOf(1), groupOf(2), groupOf(3)));
    service.next(async (asked) => {
      await asked.take();
      utimesSync(file, 1, 1);
      asked.answer(200);
    });
    expect((await place.log([file, ...oneEach])).code).toBe(0);
    service.next(async (asked) => {
      await asked.take();
      writeFileSync(file, linesOf(groupOf(4), groupOf(2), groupOf(3)));
      asked.answer(200);
    });
    const changed = await place.log([file, ...oneEach, "--resend-logged"]);
    expect(changed).toMatchObject({
      code: 7,
      document: { groups: { logged: 1, not_sent: 2 } },
      error: {
        retryable: true,
        cause: "invalid_input",
        problems: [{ rule: "input-changed", file, severity: "error" }],
      },
    });
    expect(changed.error?.hint).toBe(
      "wait until nothing writes to the file any more; then the same command again sends what is left, and nothing twice",
    );
  });

  it("says at once why nothing is sent, how long it tries, and at the end that nothing was", async (context) => {
    const { expect } = context;
    const place = placeAt(context, "http://127.0.0.1:1");
    const args = ["log", "m", place.write("a.jsonl", two), "--split", "train", "--allow", "group-of-one"];
    const { startRollcall } = await import("../../support/run.ts");
    const child = startRollcall([...args, "--allow", "no-assistant"], { env: place.env });
    let [out, said] = ["", ""];
    child.stdout.on("data", (chunk) => {
      out += chunk;
    });
    await new Promise<void>((resolve) => {
      child.stderr.on("data", (chunk) => {
        said += chunk;
        if (said.includes("\n")) resolve();
      });
    });
    expect(said).toBe(
      "note: 127.0.0.1:1: nothing listens there (ECONNREFUSED): trying again for up to 300 s (--max-wait)\n",
    );
    child.kill("SIGINT");
    expect(await new Promise((resolve) => child.on("close", resolve))).toBe(130);
    expect(out).toContain("status\tnothing was sent: 127.0.0.1:1: nothing listens there (ECONNREFUSED)\n");
    expect(out).toContain("groups\t2: 2 not sent\n");
  });

  it("needs a place where a ledger may be, and names no option that the command lacks", async (context) => {
    const { expect } = context;
    const env = { HOME: "", XDG_DATA_HOME: "", XDG_CONFIG_HOME: "" };
    for (const verb of [["status"], ["calls"], ["forget", "--model", "m"]]) {
      const { code, stderr } = await runRollcall(["ledger", ...verb], { env });
      expect([verb, code, stderr]).toEqual([
        verb,
        11,
        "rollcall: there is no place where a ledger would be: no home folder is known\nhint: --ledger <file>, or ROLLCALL_DATA_DIR=…\n",
      ]);
    }
  });

  it("says after a refusal what has to change, and keeps the advice of a refused key", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", linesOf(groupOf(1), groupOf(2), groupOf(3)));
    service.next(accept, refuse(401));
    const key = await place.log([file, ...oneEach]);
    expect([key.code, key.error?.retryable]).toEqual([7, false]);
    expect(key.error?.hint).toMatch(
      /^check the key; ROLLCALL_TOKEN goes before what is saved; then the same command again sends what is left/,
    );
    service.next(refuse(400));
    const refused = await place.log([file, ...oneEach]);
    expect([refused.code, refused.error?.retryable]).toEqual([7, false]);
    expect(refused.error?.hint).toMatch(/^the same is answered again until what stopped the run is put right; then/);
  });
});

describe.concurrent("a service's limit", { timeout: 60_000 }, () => {
  const below =
    (bytes: number): Deed =>
    async (asked) => {
      const length = Number(/content-length: (\d+)/i.exec(await asked.head())?.[1]);
      await (length > bytes ? refuse(413)(asked) : accept(asked));
    };

  it("is known to the next run, as the largest body that passed and the smallest that did not, and is left when it is raised", async (context) => {
    const { expect } = context;
    const service = await faultyService(context, { otherwise: below(500) });
    const place = placeAt(context, service.url);
    const log = async (from: number, groups: number, ...args: readonly string[]) => {
      const lines = Array.from({ length: groups }, (_, at) => groupOf(from + at));
      const before = service.bodies.length;
      expect((await place.log([place.write(`${from}.jsonl`, linesOf(...lines)), ...args])).code).toBe(0);
      return service.bodies.slice(before).map(({ length }) => length);
    };
    expect(await log(10, 8)).toEqual([511, 275, 275]);
    expect(await log(20, 8)).toEqual([275, 275]);
    // A larger one that does not pass either tells nothing of those between.
    const larger = linesOf(...Array.from({ length: 20 }, (_, at) => groupOf(100 + at)));
    expect((await place.log([place.write("larger.jsonl", larger), "--one-request"])).code).toBe(6);
    expect(await log(80, 8)).toEqual([275, 275]);
    expect(await log(30, 7)).toEqual([275, 216]);
    // What was too large a day ago, or in what is the future by now, is tried again.
    for (const [from, agoMs] of [
      [60, 24 * 60 * 60 * 1000 + 1],
      [70, -60 * 60 * 1000],
    ] as const) {
      const ledger = new Connection(join(place.env.XDG_DATA_HOME ?? "", "rollcall", "ledger.db"));
      ledger.exec(`UPDATE address SET refused_at = refused_at - ${agoMs}`);
      ledger.close();
      expect(await log(from, 8)).toEqual([511, 275, 275]);
    }
    service.mend();
    expect(await log(40, 8, "--one-request")).toEqual([511]);
    expect(await log(50, 8)).toEqual([511]);
    // What was too large is none any more, so that nothing is known against a still larger one.
    expect(await log(88, 12)).toEqual([747]);
  });
});

describe.concurrent("what is rejected", { timeout: 60_000 }, () => {
  it("is for those who could read the input, and a run that was killed leaves nothing of it for good", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", `${two}{}\n`);
    chmodSync(file, 0o640);
    writeFileSync(`${file}.rejected.0123abcd.draft`, "half");
    const drafts = () => readdirSync(place.folder).filter((name) => name.endsWith(".draft"));
    await expect
      .poll(
        async () => {
          expect((await place.log([file, "--on-invalid", "skip"])).code).toBe(7);
          return drafts();
        },
        { timeout: 30_000 },
      )
      .toEqual([]);
    for (const end of ["", ".reasons"]) expect(statSync(`${file}.rejected${end}`).mode & 0o777).toBe(0o640);
  });
});

describe.concurrent("a dry run", { timeout: 60_000 }, () => {
  it("says of each request where it would go, how large it is, and with which headers", async (context) => {
    const { expect } = context;
    const place = placeAt(context, "http://127.0.0.1:1");
    const plan = await place.run([
      "log",
      "m",
      place.write("a.jsonl", two),
      "--split",
      "train",
      "--dry-run",
      ...oneEach,
    ]);
    const to = "POST http://127.0.0.1:1/v1/preview/models/m/log, 97 bytes, 1 group";
    const headers = ["Authorization: Bearer …", "Content-Type: application/json"].map((line) => `header\t${line}\n`);
    expect(plan.stdout).toContain(`request 1\t${to}\nrequest 2\t${to}\n${headers.join("")}`);
    expect(plan.stdout).not.toContain("key-1");
  });
});

describe.concurrent("a refusal", { timeout: 60_000 }, () => {
  it("names path and field of what the service names, also where that is nowhere in the input", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", two);
    const items = [
      { loc: ["body", "trajectory_groups", 1, "trajectories", 0, "reward"], msg: "Field required", type: "missing" },
      { loc: ["header", "x-run"], msg: "Field required", type: "missing" },
    ];
    const said = [`${file}:2:54: trajectories.0.reward: Field required`, "header.x-run: Field required"];
    for (const [at, item] of items.entries()) {
      service.next(refuse(422, { body: JSON.stringify({ detail: [item] }) }));
      const { error } = await place.log([file]);
      expect(error).toMatchObject({ problems: [{ rule: "refused-by-service" }] });
      expect(error?.message).toContain(said[at]);
    }
  });
});

describe.concurrent("a command that reads", { timeout: 60_000 }, () => {
  it("fails at once where nothing listens, unless --max-wait was typed", async (context) => {
    const { expect } = context;
    const place = placeAt(context, "http://127.0.0.1:1", {
      ROLLCALL_INFERENCE_BASE_URL: "http://127.0.0.1:1",
      ROLLCALL_API_KEY: "key-1",
    });
    const [first, patient] = [await place.run(["models"]), await place.run(["models", "--max-wait", "1s"])];
    expect([first.code, first.stderr]).toEqual([5, expect.not.stringContaining("times")]);
    expect([patient.code, patient.stderr]).toEqual([5, expect.stringMatching(/\d+ times/)]);
  });
});
