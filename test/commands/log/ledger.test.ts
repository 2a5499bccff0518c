import { chmodSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { groupOf, linesOf, oneEach, openPlace, placeAt } from "../../promises/place.ts";
import { accept, faultyService, refuse } from "../../support/raw-server.ts";
import { runRollcall, startInTurn } from "../../support/run.ts";

const two = linesOf(groupOf(1), groupOf(2));

describe.concurrent("a run of rollcall log", { timeout: 60_000 }, () => {
  it("counts the requests that it sent, not the planned requests", async (context) => {
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

  it("recognizes a changed file by its bytes, and not by its modification time", async (context) => {
    const { service, place } = await openPlace(context);
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
        retryable: false,
        cause: "invalid_input",
        problems: [{ rule: "input-changed", file, severity: "error" }],
      },
    });
    // With --resend-logged, a rerun would log the first group once more.
    expect(changed.error?.hint).toBe(
      "wait until no program writes to the file. Then copy the remaining groups to a new file and log that file with the same options, because a rerun logs everything again",
    );
    expect(changed.error?.next).toBeUndefined();
  });

  it("reports the reason, time and limit of a retry at once, and ends with `nothing was sent`", async (context) => {
    const place = placeAt(context, "http://127.0.0.1:1");
    const args = ["log", "m", place.write("a.jsonl", two), "--split", "train", "--allow", "single-trajectory-group"];
    const child = startInTurn([...args, "--allow", "no-assistant-turn"], { env: place.env });
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
    expect(said).toMatch(
      /^note: cannot connect to 127.0.0.1:1: the connection was refused \(ECONNREFUSED\), retrying in [\d.]+ s \(attempt 2, 300(\.\d)? s left\)\n/,
    );
    child.kill("SIGINT");
    expect(await new Promise((resolve) => child.on("close", resolve))).toBe(130);
    expect(out).toMatch(/^status\tnot_sent\n/);
    expect(out).toContain("groups.not_sent\t2\n");
    const fix = "check log_base_url (or base_url)";
    expect(said.split(`note: ${fix}\n`)).toHaveLength(2);
    expect(said).toContain(`hint: ${fix}, then rerun the same command to send the remaining groups\n`);
  });

  it("exits with 11 without a home folder, and with a hint that names only options of the command", async () => {
    const env = { HOME: "", XDG_DATA_HOME: "", XDG_CONFIG_HOME: "" };
    for (const verb of [["status"], ["resolve", "r1", "--resend"]]) {
      const { code, stderr } = await runRollcall(["ledger", ...verb], { env });
      expect([verb, code, stderr]).toEqual([
        verb,
        11,
        "rollcall: cannot locate the ledger because the home folder is unknown\nhint: pass --ledger <file>, or set ROLLCALL_DATA_DIR\n",
      ]);
    }
  });
});

describe.concurrent("the rejects file", { timeout: 60_000 }, () => {
  it("has the permissions of the input, and the next run removes drafts of a killed run", async (context) => {
    const { expect } = context;
    const { place } = await openPlace(context);
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
