import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { gzipSync } from "node:zlib";
import Connection from "libsql";
import { describe, it } from "vitest";
import { accept, type Deed, type FaultyService, faultyService, held, refuse } from "../support/raw-server.ts";
import { groupOf, linesOf, oneEach, type Place, placeAt } from "./place.ts";

const three = linesOf(groupOf(1), groupOf(2), groupOf(3));

/** Logs what came, and says nothing. */
const takeAndReset: Deed = async (asked) => {
  await asked.take();
  asked.reset();
};

const reset: Deed = async (asked) => {
  await asked.body();
  asked.reset();
};

/** A service and a place, with a file of three groups whose first request meets a deed. */
const afterOne = async (
  context: Parameters<typeof placeAt>[0],
  {
    deed,
    echoes = false,
    args = oneEach,
  }: { readonly deed: Deed; readonly echoes?: boolean; readonly args?: readonly string[] },
): Promise<{ service: FaultyService; place: Place; file: string }> => {
  const service = await faultyService(context, { echoes });
  service.next(deed);
  const place = placeAt(context, service.url);
  const file = place.write("a.jsonl", three);
  await place.log([file, "--max-wait", "0s", ...args]);
  return { service, place, file };
};

describe.concurrent("equal groups", { timeout: 90_000 }, () => {
  it("are recognized under another file name, compressed, and from a pipe", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", three);
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
    const more = await place.log([place.write("d.jsonl", `${three}${groupOf(4)}\n`)]);
    expect([more.document?.groups.already_logged, more.document?.groups.logged, service.logged]).toEqual([
      3,
      1,
      [1, 2, 3, 4],
    ]);
  });

  it("are sent as often as they appear in a file", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", linesOf(groupOf(1), groupOf(1), groupOf(2)));
    service.next(accept, refuse(429, { headers: ["Retry-After: 9"] }));
    expect((await place.log([file, ...oneEach, "--max-wait", "1s"])).code).toBe(7);
    expect((await place.log([file])).document?.groups).toMatchObject({ logged: 2, already_logged: 1 });
    writeFileSync(file, linesOf(groupOf(1), groupOf(1), groupOf(2), groupOf(1)));
    expect((await place.log([file])).document?.groups).toMatchObject({ logged: 1, already_logged: 3 });
    expect([...service.logged].sort()).toEqual([1, 1, 1, 2]);
  });

  it("arrive once for each step of a training loop", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const steps = Array.from({ length: 8 }, (_, step) => step);
    for (const step of steps) {
      const file = place.write("step.jsonl", linesOf(groupOf(step % 3), groupOf(100 + step)));
      const batch = ["--batch", `step-${step}`];
      const first = await place.log([file, ...batch]);
      expect([first.code, rulesOf(first).includes("logged-before")]).toEqual([0, false]);
      if (step % 4 === 0) expect((await place.log([file, ...batch])).document?.status).toBe("already_logged");
    }
    expect([...service.logged].sort((a, b) => a - b)).toEqual(
      steps.flatMap((step) => [step % 3, 100 + step]).sort((a, b) => a - b),
    );
  });

  it("are logged again with --resend-logged under a new key, except unknown ones", async (context) => {
    const { expect } = context;
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
    // One that was logged and is unknown since is unknown: nobody knows how often it is there.
    const last = await place.log([file]);
    expect([last.code, last.document?.groups]).toMatchObject([8, { unknown: 2, already_logged: 1 }]);
    expect(service.requests()).toBe(before);
  });
});

describe.concurrent("a request with an unknown outcome", { timeout: 90_000 }, () => {
  it("is left alone by default, and resent with exactly its bytes and key", async (context) => {
    const { expect } = context;
    const { service, place, file } = await afterOne(context, { deed: reset, args: [] });
    const [body, key] = [service.bodies[0], service.keys[0]];
    writeFileSync(file, `${linesOf(groupOf(9), groupOf(3))}${three}`);
    const left = await place.log([file, "--max-request-size", "120"]);
    expect([left.code, left.document?.groups.unknown, rulesOf(left).includes("unknown-left")]).toEqual([8, 3, true]);
    const sent = await place.log([file, "--on-unknown", "resend", "--max-request-size", "120"]);
    expect([sent.code, sent.document?.groups.unknown]).toEqual([0, 0]);
    expect([service.bodies.at(-1), service.keys.at(-1)]).toEqual([body, key]);
    expect([...service.logged].sort()).toEqual([1, 2, 3, 3, 9]);
  });

  it("is resent within the run with --on-unknown resend, and left alone with leave", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", three);
    service.next(reset);
    const resent = await place.log([file, ...oneEach, "--on-unknown", "resend", "--batch", "x"]);
    expect([resent.code, service.logged]).toEqual([0, [1, 2, 3]]);
    service.next(accept, reset);
    const left = await place.log([file, ...oneEach, "--on-unknown", "leave", "--batch", "y"]);
    expect([left.code, left.document?.groups]).toMatchObject([8, { logged: 2, unknown: 1, not_sent: 0 }]);
    expect(service.logged.slice(3)).toEqual([1, 3]);
  });

  it("is not resent if the input lacks one of its groups", async (context) => {
    const { expect } = context;
    const { service, place, file } = await afterOne(context, { deed: reset, args: [] });
    writeFileSync(file, linesOf(groupOf(1), groupOf(2)));
    const { code, document, ...ran } = await place.log([file, "--on-unknown", "resend"]);
    expect([code, document?.groups.unknown, service.logged]).toEqual([8, 2, []]);
    expect(rulesOf({ document, ...ran })).toContain("unknown-not-whole");
  });

  it("is not resent if the other keys of the request differ, even at the same length", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const whole = (note: string) => `{"split":"train","trajectory_groups":[${groupOf(1)}],"note":"${note}"}`;
    const file = place.write("a.jsonl", whole("one"));
    service.next(reset);
    expect((await place.log([file])).code).toBe(8);
    writeFileSync(file, whole("two"));
    const { code, document, ...ran } = await place.log([file, "--on-unknown", "resend"]);
    expect([code, document?.groups.unknown, service.logged]).toEqual([8, 1, []]);
    expect(rulesOf({ document, ...ran })).toContain("unknown-not-whole");
    writeFileSync(file, whole("one"));
    expect((await place.log([file, "--on-unknown", "resend"])).code).toBe(0);
    expect(service.logged).toEqual([1]);
  });

  it("is resent automatically if the service echoes the key, within the run and in the next one", async (context) => {
    const { expect } = context;
    const service = await faultyService(context, { echoes: true });
    const place = placeAt(context, service.url);
    service.next(accept, takeAndReset, takeAndReset);
    const within = await place.log([place.write("a.jsonl", three), ...oneEach]);
    expect([within.code, service.logged, service.requests()]).toEqual([0, [1, 2, 3], 5]);
    service.next(takeAndReset);
    const file = place.write("b.jsonl", groupOf(4));
    const stopped = await place.log([file, "--max-wait", "0s"]);
    expect([stopped.code, stopped.document?.status]).toEqual([8, "unknown"]);
    expect(stopped.error).toMatchObject({
      retryable: true,
      hint: "the same command, within 24 hours, sends them again by the key that the service knows them by, so that nothing is logged twice",
      next: expect.stringMatching(/^rollcall log m .*b\.jsonl/),
    });
    const never = placeAt(context, service.url, { ...place.env, ROLLCALL_IDEMPOTENCY: "never" });
    expect((await never.log([file])).code).toBe(8);
    const next = await place.run(["log", "m", file, "--split", "train"]);
    expect([next.code, service.logged]).toEqual([0, [1, 2, 3, 4]]);
    expect(next.stderr).toContain("a request of an earlier run, whose outcome is unknown, goes out again");
  });

  it("is not resent if the service echoes another key", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const echoOther: Deed = async (asked) => {
      await asked.take();
      asked.answer(200, { headers: ["Idempotency-Key: another"] });
    };
    service.next(echoOther, echoOther, takeAndReset);
    const { code, document } = await place.log([place.write("a.jsonl", three), ...oneEach]);
    expect([code, document?.groups.unknown, service.logged]).toEqual([8, 1, [1, 2, 3]]);
    expect((await place.log([place.path("a.jsonl"), ...oneEach])).code).toBe(8);
    expect(service.requests()).toBe(3);
  });

  it.for([
    ["more than a day ago", 24 * 60 * 60 * 1000 + 1],
    ["in what is the future by now", -60 * 60 * 1000],
  ] as const)("is not resent by rollcall where it was tried %s", async ([, agoMs], context) => {
    const { expect } = context;
    const service = await faultyService(context, { echoes: true });
    const place = placeAt(context, service.url);
    service.next(accept, takeAndReset);
    const file = place.write("a.jsonl", linesOf(groupOf(1), groupOf(2)));
    expect((await place.log([file, ...oneEach, "--max-wait", "0s"])).code).toBe(8);
    const ledger = new Connection(ledgerOf(place));
    ledger.exec(`UPDATE request SET first_tried = first_tried - ${agoMs} WHERE state = 'unknown'`);
    ledger.close();
    const late = await place.log([file, ...oneEach]);
    expect([late.code, service.requests()]).toEqual([8, 2]);
  });

  it("is not resent automatically if its first try had no key", async (context) => {
    const { expect } = context;
    const service = await faultyService(context, { echoes: true });
    const place = placeAt(context, service.url);
    expect((await place.log([place.write("a.jsonl", three)])).code).toBe(0);
    const never = placeAt(context, service.url, { ...place.env, ROLLCALL_IDEMPOTENCY: "never" });
    service.next(takeAndReset);
    const keyless = place.write("c.jsonl", groupOf(5));
    expect((await never.log([keyless])).code).toBe(8);
    expect((await place.log([keyless])).code).toBe(8);
    expect([service.logged, service.keys.at(-1)]).toEqual([[1, 2, 3, 5], undefined]);
  });

  it("is shown by the command in the hint, also if --base-url was typed", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, "http://127.0.0.1:1");
    service.next(takeAndReset);
    const { code, error } = await place.log([place.write("a.jsonl", groupOf(1)), "--base-url", service.url]);
    const [program, ...words] = (error?.next ?? "").split(" ");
    expect([code, program]).toEqual([8, "rollcall"]);
    const { stdout } = await place.run([...words, "--json"]);
    expect(JSON.parse(stdout).entries).toMatchObject([{ state: "unknown" }]);
  });

  it("is not found if its groups differ, and the hint names possible reasons", async (context) => {
    const { expect } = context;
    const { place, file } = await afterOne(context, { deed: takeAndReset });
    expect((await place.run(["ledger", "verify", file])).stderr).toContain("with --group-by or another --ledger");
  });

  it("gives one error with all positions if many groups of a file are missing", async (context) => {
    const { expect } = context;
    const { place, file } = await afterOne(context, { deed: takeAndReset });
    const other = place.write("other.jsonl", linesOf(...Array.from({ length: 90 }, (_, at) => groupOf(at + 10))));
    const { code, stderr } = await place.run(["ledger", "verify", other, file]);
    const [standing, said, ...lines] = stderr.trimEnd().split("\n");
    expect(standing).toBe(`note: ${file} to ${other} (2 files): not logged`);
    expect([code, said]).toEqual([10, "rollcall: 0 of 93 groups logged once: 92 not logged, 1 unknown"]);
    expect(lines.slice(0, 3)).toEqual([
      `${other}:1: error: this group was not logged [group-not-sent]`,
      "  and 91 more: :2, :3, :4, :5, :6, :7, …",
      "  `rollcall log` with the file sends what is left, and nothing twice",
    ]);
    expect(lines[3]).toContain("[group-unknown]");
    expect(lines.filter((line) => line.includes("error:"))).toHaveLength(2);
  });

  it("is resolved by hand, either way, once", async (context) => {
    const { expect } = context;
    const { service, place, file } = await afterOne(context, { deed: takeAndReset });
    const [entry] = await place.entries();
    const id = entry?.id ?? "";
    expect((await place.run(["ledger", "verify", file])).code).toBe(10);
    expect(await place.run(["ledger", "resolve", id])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /^rollcall: neither --assume-logged nor --resend is given\nhint: the same `rollcall log` command settles it .*give one of them\n$/,
      ),
    });
    expect(await place.run(["ledger", "resolve", id, "--resend", "--assume-logged"])).toMatchObject({ code: 2 });
    expect((await place.run(["ledger", "resolve", id, "r99", "--resend"])).code).toBe(9);
    expect((await place.run(["ledger", "forget", "--model", "m"])).code).toBe(0);
    expect((await place.run(["ledger", "resolve", id, "--assume-logged"])).code).toBe(0);
    expect((await place.run(["ledger", "resolve", id, "--resend"])).code).toBe(9);
    expect((await place.log([file])).document?.groups).toMatchObject({ already_logged: 1, logged: 2 });
    expect(service.logged).toEqual([1, 2, 3]);
    expect((await place.run(["ledger", "verify", file])).code).toBe(0);
  });
});

describe.concurrent("a malformed ledger address", { timeout: 90_000 }, () => {
  it.for([
    "postgres://rollcall:pa/hunter2@db.example/rollcall",
    "postgres://u:12/hunter2@db.example/x",
    "postgres://u:12?hunter2@db.example/x",
    "postgres://u:hunter2#x@db.example/x",
    "postgres://u:hunter2@db.example:99999/x",
    "postgres://u:hunter2@/x",
    "postgres:/u:hunter2@db.example/x",
    " postgres:u:hunter2@db.example/x",
    "host=db.example password=hunter2",
    "postgresql://db.example/x?user=u&password=hunter2",
    "mysql://u:hunter2@db.example/x",
    "libsql://db.example?authToken=hunter2",
    "https://db.example?authToken=hunter2",
    "https:/u:hunter2@db.example/x",
    "https:u:hunter2@db.example/x",
    "postgres://db ex/u:hunter2@db.example/x",
  ])("gives exit 2, creates no file and is printed nowhere: %s", async (address, context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url, { ROLLCALL_LEDGER: address });
    const ran = await place.log([place.write("a.jsonl", linesOf(groupOf(1)))]);
    const others = [["ledger", "status", "--debug"], ["doctor"], ["doctor", "--json"]];
    const said = await Promise.all(others.map(async (args) => await place.run(args)));
    expect([ran.code, service.logged, readdirSync(place.folder)]).toEqual([2, [], ["a.jsonl"]]);
    expect(ran.error?.hint).toContain("it takes a path, or postgres://user@host/database");
    expect([ran, ...said].map(({ stdout, stderr }) => stdout + stderr).join("")).not.toContain("hunter2");
  });
});

describe.concurrent("a ledger that cannot be used", { timeout: 90_000 }, () => {
  /** Runs with a ledger, which must send nothing. */
  const refusedWith = async (
    context: Parameters<typeof placeAt>[0] & { readonly expect: typeof import("vitest").expect },
    prepare: (place: Place, path: string) => void,
    args: readonly string[] = [],
  ): Promise<string> => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const path = place.path("ledger.db");
    prepare(place, path);
    const { code, error, stdout, stderr } = await place.log([place.write("a.jsonl", three), "--ledger", path, ...args]);
    expect([code, error?.code, stdout, service.requests()], stderr).toEqual([11, "storage", "", 0]);
    return error?.message ?? "";
  };

  it("gives exit 11 if it is a folder", async (context) => {
    await refusedWith(context, (_, path) => void mkdirSync(path));
  });

  it("gives exit 11 if its folder is a file", async (context) => {
    await refusedWith(context, (place) => void place.write("file", ""), ["--ledger", "file/ledger.db"]);
  });

  it("gives exit 11 if its name is too long", async (context) => {
    await refusedWith(context, () => undefined, ["--ledger", "x".repeat(300)]);
  });

  it("gives exit 11 if it is another program's database", async (context) => {
    await refusedWith(context, (_, path) => {
      const database = new Connection(path);
      database.exec("CREATE TABLE thing (id INTEGER)");
      database.close();
    });
  });

  it("gives exit 11 if it is not a database", async (context) => {
    await refusedWith(context, (place) => void place.write("ledger.db", three.repeat(20)));
  });

  it("gives exit 11 if a newer rollcall wrote it", async (context) => {
    await refusedWith(context, (_, path) => {
      const database = new Connection(path);
      database.exec(`CREATE TABLE thing (id INTEGER); PRAGMA application_id = ${0x72634c47}; PRAGMA user_version = 99`);
      database.close();
    });
  });

  it("gives exit 11 if it is required and missing", async (context) => {
    await refusedWith(context, () => undefined, ["--require-ledger"]);
    await refusedWith(context, (place) => void place.write("ledger.db", ""), ["--require-ledger"]);
  });

  it("gives exit 11 if it is cut or overwritten", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const path = place.path("ledger.db");
    expect((await place.log([place.write("a.jsonl", three), "--ledger", path])).code).toBe(0);
    const whole = readFileSync(path);
    for (const length of [1000, 16_384, whole.length - 16_384]) {
      writeFileSync(path, whole.subarray(0, length));
      expect([(await place.log([place.path("a.jsonl"), "--ledger", path])).code, length]).toEqual([11, length]);
    }
    for (const from of [16, 16_384, 32_768]) {
      const broken = Buffer.from(whole);
      broken.fill(0xa5, from, from + 4000);
      writeFileSync(path, broken);
      expect([(await place.log([place.path("a.jsonl"), "--ledger", path])).code, from]).toEqual([11, from]);
    }
    expect(service.requests()).toBe(1);
  });

  it("gives exit 11 if there is no home folder", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", three);
    const homeless = placeAt(context, service.url, { HOME: "/dev/null", XDG_DATA_HOME: "", XDG_CONFIG_HOME: "" });
    const { code, error } = await homeless.log([file]);
    expect([code, error?.code, service.requests()]).toEqual([11, "storage", 0]);
    expect(error?.message).toMatch(/; nothing was sent$/);
    expect((await homeless.log([file, "--no-ledger"])).code).toBe(0);
  });

  const canMount = process.platform === "linux" && process.getuid?.() === 0 && mounts();

  it.skipIf(!canMount)(
    "because its disk is full or read-only (skipped where nothing can be mounted)",
    async (context) => {
      const { expect } = context;
      const service = await faultyService(context);
      const place = placeAt(context, service.url);
      const disk = place.path("disk");
      mkdirSync(disk);
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "none", disk]);
      try {
        const file = place.write("a.jsonl", three);
        const args = [file, "--ledger", `${disk}/ledger.db`, ...oneEach];
        fill(`${disk}/full`);
        const full = await place.log(args);
        expect([full.code, service.requests()], full.stderr).toEqual([11, 0]);
        expect(full.error?.message).toMatch(/disk is full.*; nothing was sent$/);
        rmSync(`${disk}/full`);
        // Full from the second request's answer on: what became of it is known, and can't be written down.
        service.next(accept, async (asked) => {
          await asked.take();
          fill(`${disk}/full`);
          asked.answer(200, {
            body: `{"call_ids":${JSON.stringify(Array.from({ length: 4000 }, (_, at) => `call-${at}`))}}`,
          });
        });
        const during = await place.log(args);
        expect([during.code, during.error?.cause, during.document?.groups], during.stderr).toMatchObject([
          7,
          "storage",
          { logged: 2, not_sent: 1 },
        ]);
        rmSync(`${disk}/full`);
        const after = await place.log(args);
        expect([after.code, after.document?.groups], after.stderr).toMatchObject([
          8,
          { already_logged: 1, unknown: 1, logged: 1 },
        ]);
        expect(service.logged).toEqual([1, 2, 3]);
        execFileSync("mount", ["-o", "remount,ro", disk]);
        const frozen = await place.log(args);
        expect([frozen.code, frozen.error?.code, service.requests()]).toEqual([11, "storage", 3]);
        // What only reads it needs no place to write.
        const here = ["--ledger", `${disk}/ledger.db`];
        expect((await place.entries(here)).map(({ state }) => state)).toEqual(["logged", "unknown", "logged"]);
        for (const verb of ["status", "verify"]) {
          const { code } = await place.run(["ledger", verb, file, ...here]);
          expect([verb, code]).toEqual([verb, verb === "verify" ? 10 : 0]);
        }
      } finally {
        execFileSync("umount", [disk]);
      }
    },
  );
});

describe.concurrent("the ledger", { timeout: 90_000 }, () => {
  it("is new if its file is empty or missing, with a notice under CI", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url, { CI: "true" });
    const file = place.write("a.jsonl", three);
    for (const [at, name] of ["ledger.db", ":memory:", "file:x?mode=memory", "http:%2f%23?"].entries()) {
      if (at === 0) place.write(name, "");
      const batch = ["--batch", `${at}`, "--ledger", name];
      const first = await place.log([file, ...batch]);
      expect([first.code, first.document?.ledger?.created, rulesOf(first).includes("ledger-new")]).toEqual([
        0,
        true,
        true,
      ]);
      expect(existsSync(place.path(name))).toBe(true);
      const second = await place.log([file, ...batch]);
      expect([second.document?.status, second.document?.ledger?.created]).toEqual(["already_logged", false]);
      expect(statSync(place.path(name)).mode & 0o077).toBe(0);
    }
  });

  it("contains no content and no secrets", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url, { ROLLCALL_TOKEN: "a-secret-token" });
    const line = '{"trajectories":[{"messages_and_choices":[{"role":"user","content":"peculiar"}],"reward":1}]}';
    expect((await place.log([place.write("a.jsonl", line)])).code).toBe(0);
    const bytes = readFileSync(ledgerOf(place), "latin1");
    expect(bytes).not.toContain("peculiar");
    expect(bytes).not.toContain("a-secret-token");
  });

  it("belongs to the local service's store, whatever its port", async (context) => {
    const { expect } = context;
    const place = placeAt(context, "");
    const { ROLLCALL_BASE_URL: _, ROLLCALL_TOKEN: __, ...env } = place.env;
    const local = placeAt(context, "", { ...env, ROLLCALL_BASE_URL: "", ROLLCALL_TOKEN: "" });
    const file = place.write("a.jsonl", three);
    const first = await local.log([file, "--local"]);
    expect([first.code, first.document?.groups.logged], first.stderr).toEqual([0, 3]);
    expect((await local.log([file, "--local"])).document?.status).toBe("already_logged");
    const other = { ...env, ROLLCALL_BASE_URL: "", ROLLCALL_TOKEN: "", ROLLCALL_DATA_DIR: place.path("other") };
    cpSync(ledgerOf(place), place.path("kept.db"));
    const elsewhere = placeAt(context, "", other);
    expect((await elsewhere.log([file, "--local", "--ledger", place.path("kept.db")])).document?.groups.logged).toBe(3);
  });

  it("lets two simultaneous runs of one file send each group once", async (context) => {
    const { expect } = context;
    const service = await faultyService(context, {
      otherwise: async (asked) => {
        await asked.body();
        await new Promise((resolve) => setTimeout(resolve, 100));
        await accept(asked);
      },
    });
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", three);
    const ran = await Promise.all(
      [1, 2, 3].map(async () => await place.log([file, ...oneEach, "--max-wait", "20s"], { ownProcess: true })),
    );
    expect(ran.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(service.logged).toEqual([1, 2, 3]);
    expect(ran.map(({ document }) => document?.groups.logged).sort()).toEqual([0, 0, 3]);
  });

  it("is one ledger under all names of its file, and leaves no lock", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", three);
    mkdirSync(place.path("real"));
    symlinkSync(place.path("real"), place.path("linked"));
    place.write("real/ledger.db", "");
    symlinkSync("real/ledger.db", place.path("other.db"));
    const names = ["real/ledger.db", "linked/ledger.db", "other.db", place.path("linked/ledger.db")];
    const ran = await Promise.all(
      [...names, ...names].map(
        async (name) =>
          await place.log([file, ...oneEach, "--ledger", name, "--max-wait", "30s"], { ownProcess: true }),
      ),
    );
    expect(ran.flatMap(({ code, stderr }) => (code === 0 ? [] : [stderr]))).toEqual([]);
    expect(service.logged).toEqual([1, 2, 3]);
    expect(readdirSync(place.path("real/ledger.db.locks"))).toEqual([]);
  });

  it("gives exit 11 if another run holds it too long, and is free once that run is killed", async (context) => {
    const { expect } = context;
    const service = await faultyService(context, { otherwise: async (asked) => void (await asked.body()) });
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", three);
    const holder = place.start([file, ...oneEach]);
    while (service.bodies.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    const waiting = await place.log([file, ...oneEach, "--max-wait", "300ms"]);
    expect([waiting.code, waiting.error?.retryable]).toEqual([11, true]);
    holder.kill("SIGKILL");
    await new Promise((resolve) => holder.on("close", resolve));
    service.mend();
    const after = await place.log([file, ...oneEach]);
    expect([after.code, after.document?.groups]).toMatchObject([8, { unknown: 1, logged: 2 }]);
    expect(await place.entries()).toMatchObject([{ state: "unknown", cause: "died" }, {}, {}]);
  });

  it("shows a request in flight, and a dry run does not plan its groups", async (context) => {
    const { expect } = context;
    const hold = held();
    const service = await faultyService(context, { otherwise: hold.deed });
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", three);
    const run = place.start([file]);
    const ended = new Promise((resolve) => run.on("close", resolve));
    await hold.came;
    expect(await place.entries()).toMatchObject([{ state: "trying", groups: 3 }]);
    expect(await place.entries([file])).toMatchObject([{ state: "trying" }]);
    const plan = await place.log([file, "--dry-run"]);
    expect([plan.document?.requests, plan.document?.groups]).toMatchObject([0, { unknown: 3, not_sent: 0 }]);
    expect((await place.run(["ledger", "resolve", "r1", "--resend"])).code).toBe(9);
    expect((await place.run(["ledger", "forget", "--model", "m", "--yes", "--json"])).stdout).toContain('"left":1');
    hold.letGo();
    expect([await ended, await place.entries()]).toMatchObject([0, [{ state: "logged" }]]);
  });

  it("is waited for up to --max-wait while another process writes it", async (context) => {
    const { expect } = context;
    const { place } = await afterOne(context, { deed: takeAndReset });
    const other = new Connection(ledgerOf(place));
    other.exec("BEGIN IMMEDIATE");
    // A run that waits longer finds it free.
    const free = setTimeout(() => other.exec("ROLLBACK"), 25_000);
    context.onTestFinished(async () => {
      clearTimeout(free);
      other.close();
    });
    const busy = await place.run(["ledger", "resolve", "r1", "--resend", "--max-wait", "300ms", "--json"]);
    expect([busy.code, JSON.parse(busy.stderr).error.retryable]).toEqual([11, true]);
  });

  it("serves many processes at once", { tags: "slow" }, async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const numbers = Array.from({ length: 50 }, (_, at) => at);
    const ran = await Promise.all(
      numbers.map(async (at) => {
        const file = place.write(`${at}.jsonl`, linesOf(groupOf(at), groupOf(1000)));
        return await place.log([file, "--batch", `${at}`], { ownProcess: true });
      }),
    );
    expect(ran.flatMap(({ code, stderr }) => (code === 0 ? [] : [stderr]))).toEqual([]);
    expect([...service.logged].sort((a, b) => a - b)).toEqual([...numbers, ...numbers.map(() => 1000)]);
    expect(await place.entries()).toHaveLength(50);
  });
});

const ledgerOf = ({ env }: Place): string => `${env.XDG_DATA_HOME}/rollcall/ledger.db`;

const rulesOf = ({
  document,
}: {
  readonly document: { readonly warnings: readonly { readonly rule: string }[] } | undefined;
}) => (document?.warnings ?? []).map(({ rule }) => rule);

/** Writes a file until its disk is full. */
const fill = (path: string): void => {
  for (const bytes of [65_536, 4096, 1]) {
    try {
      for (;;) writeFileSync(path, Buffer.alloc(bytes), { flag: "a" });
    } catch {
      // Full for pieces of this size.
    }
  }
};

function mounts(): boolean {
  try {
    execFileSync("unshare", ["--mount", "mount", "-t", "tmpfs", "-o", "size=4k", "none", "/mnt"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
