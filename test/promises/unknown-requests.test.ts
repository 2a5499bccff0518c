import { readFileSync, writeFileSync } from "node:fs";
import Connection from "libsql";
import { describe, expect, it } from "vitest";
import { accept, faultyService, type RequestHandler } from "../support/raw-server.ts";
import {
  afterOne,
  groupOf,
  ledgerOf,
  linesOf,
  oneEach,
  openPlace,
  placeAt,
  reset,
  rulesOf,
  takeAndReset,
  three,
} from "./place.ts";

describe("a request with an unknown outcome", () => {
  it("is not resent by default, and is later resent with its bytes and key", async (context) => {
    const { service, place, file } = await afterOne(context, { deed: reset, args: [] });
    const [body, key] = [service.bodies[0], service.keys[0]];
    writeFileSync(file, `${linesOf(groupOf(9), groupOf(3))}${three}`);
    const left = await place.log([file, "--max-request-size", "120"]);
    expect([left.code, left.document?.groups.unknown, rulesOf(left).includes("unresolved-requests")]).toEqual([
      8,
      3,
      true,
    ]);
    expect(`${left.stdout}${left.stderr}`.split("--assume-logged")).toHaveLength(2);
    const sent = await place.log([file, "--on-unknown", "resend", "--max-request-size", "120"]);
    expect([sent.code, sent.document?.groups.unknown]).toEqual([0, 0]);
    expect([service.bodies.at(-1), service.keys.at(-1)]).toEqual([body, key]);
    expect([...service.logged].sort()).toEqual([1, 2, 3, 3, 9]);
  });

  it("is resent only if its converted groups have the same bytes as before", async (context) => {
    const { service, place } = await openPlace(context);
    const converted = readFileSync("test/samples/formats/tau2.results.json", "utf8");
    const log = async (model: string, ...args: readonly string[]) => {
      const ran = await place.log([place.write("r.json", converted.replaceAll("gpt-4.1", model)), ...args]);
      return [ran.code, rulesOf(ran).includes("resend-impossible"), service.bodies.length];
    };
    service.next(reset);
    expect(await log("gpt-4.1")).toEqual([8, false, 1]);
    for (const other of ["gpt-4.2", "gpt-4.10"])
      expect(await log(other, "--on-unknown", "resend")).toEqual([8, true, 1]);
    expect(await log("gpt-4.1", "--on-unknown", "resend")).toEqual([0, false, 2]);
    expect(service.bodies[1]).toEqual(service.bodies[0]);
  });

  it("is counted as not resent, without the groups of resent requests", async (context) => {
    const { service, place } = await openPlace(context);
    service.next(reset, reset);
    await place.log([place.write("a.jsonl", linesOf(groupOf(2), groupOf(3))), "--max-wait", "0s"]);
    await place.log([place.write("a.jsonl", linesOf(groupOf(1))), "--max-wait", "0s"]);
    const file = place.write("a.jsonl", linesOf(groupOf(1), groupOf(2)));
    const { code, document } = await place.log([file, "--on-unknown", "resend"]);
    expect([code, document?.groups.unknown, service.logged]).toEqual([8, 1, [1]]);
    const message = expect.stringContaining("1 group in 1 earlier request may or may not have been logged");
    expect(document?.warnings).toContainEqual(expect.objectContaining({ rule: "unresolved-requests", message }));
  });

  it("is not resent if the other keys of the request differ, even with an equal length", async (context) => {
    const { service, place } = await openPlace(context);
    const whole = (note: string) => `{"split":"train","trajectory_groups":[${groupOf(1)}],"note":"${note}"}`;
    const file = place.write("a.jsonl", whole("one"));
    service.next(reset);
    expect((await place.log([file])).code).toBe(8);
    writeFileSync(file, whole("two"));
    const { code, document, ...ran } = await place.log([file, "--on-unknown", "resend"]);
    expect([code, document?.groups.unknown, service.logged]).toEqual([8, 1, []]);
    expect(rulesOf({ document, ...ran })).toContain("resend-impossible");
    writeFileSync(file, whole("one"));
    expect((await place.log([file, "--on-unknown", "resend"])).code).toBe(0);
    expect(service.logged).toEqual([1]);
  });

  it("is resent automatically only after a run in which the service echoed a key", async (context) => {
    const { service, place } = await openPlace(context, { echoes: true });
    service.next(accept, takeAndReset);
    const a = place.write("a.jsonl", three);
    const first = await place.log([a, ...oneEach]);
    expect([first.code, service.logged, service.requests()]).toEqual([8, [1, 2], 2]);
    expect(first.error).toMatchObject({ retryable: true, hint: expect.stringContaining("within 24 hours") });
    service.next(accept, takeAndReset);
    const within = await place.log([a, ...oneEach]);
    expect([within.code, service.logged, service.requests()]).toEqual([0, [1, 2, 3], 5]);
    service.next(takeAndReset);
    const file = place.write("b.jsonl", groupOf(4));
    const stopped = await place.log([file, "--max-wait", "0s"]);
    expect([stopped.code, stopped.document?.status]).toEqual([8, "unknown"]);
    expect(stopped.error).toMatchObject({
      retryable: true,
      hint: "rerun the same command within 24 hours of the first attempt to resolve the request (the service honors Idempotency-Key) and to send the remaining groups",
      next: expect.stringMatching(/^rollcall log m .*b\.jsonl/),
    });
    const never = placeAt(context, service.url, { ...place.env, ROLLCALL_IDEMPOTENCY: "never" });
    expect((await never.log([file])).code).toBe(8);
    const next = await place.run(["log", "m", file, "--split", "train"]);
    expect([next.code, service.logged]).toEqual([0, [1, 2, 3, 4]]);
    expect(next.stderr).toContain("resending 1 request of unknown outcome");
  });

  it("is not resent if the service echoed no key in its last answer, before this run or in it", async (context) => {
    const { service, place } = await openPlace(context);
    const echo: RequestHandler = async (asked) => {
      await asked.take();
      asked.answer(200, { headers: [`Idempotency-Key: ${service.keys.at(-1)}`] });
    };
    const log = async (name: string, ...groups: readonly number[]) => {
      const file = place.write(name, linesOf(...groups.map((at) => groupOf(at))));
      const { code, error } = await place.log([file, ...oneEach]);
      return [code, error?.hint?.includes("24 hours"), service.requests()];
    };
    service.next(echo, accept, takeAndReset);
    expect(await log("a.jsonl", 1)).toEqual([0, undefined, 1]);
    expect(await log("b.jsonl", 2, 3)).toEqual([8, false, 3]);
    expect(await log("b.jsonl", 2, 3)).toEqual([8, false, 3]);
  });

  it("is not resent if the service echoes another key", async (context) => {
    const { service, place } = await openPlace(context);
    const echoOther: RequestHandler = async (asked) => {
      await asked.take();
      asked.answer(200, { headers: ["Idempotency-Key: another"] });
    };
    service.next(echoOther, echoOther, takeAndReset);
    const { code, document } = await place.log([place.write("a.jsonl", three), ...oneEach]);
    expect([code, document?.groups.unknown, service.logged]).toEqual([8, 1, [1, 2, 3]]);
    expect((await place.log([place.path("a.jsonl"), ...oneEach])).code).toBe(8);
    expect(service.requests()).toBe(3);
  });

  it("is printed by the command in error.next, also if --base-url was typed", async (context) => {
    const service = await faultyService(context);
    const place = placeAt(context, "http://127.0.0.1:1");
    service.next(takeAndReset);
    const { code, error } = await place.log([place.write("a.jsonl", groupOf(1)), "--base-url", service.url]);
    const [program, ...words] = (error?.next ?? "").split(" ");
    expect([code, program]).toEqual([8, "rollcall"]);
    const { stdout } = await place.run([...words, "--json"]);
    expect(JSON.parse(stdout).entries).toMatchObject([{ state: "unknown" }]);
  });
});

describe("an unknown outcome with --local", () => {
  it("is resolved by a rerun, although the service never echoed a key", async (context) => {
    const place = placeAt(context, "", { ROLLCALL_BASE_URL: "", ROLLCALL_TOKEN: "" });
    const file = place.write("a.jsonl", three);
    expect((await place.log([file, "--local"])).document?.groups).toMatchObject({ logged: 3 });
    // As after a kill during the first request.
    const ledger = new Connection(ledgerOf(place));
    ledger.exec("UPDATE request SET state = 'trying'; DELETE FROM address");
    ledger.close();
    const rerun = await place.log([file, "--local"]);
    expect([rerun.code, rerun.document?.groups]).toMatchObject([0, { logged: 3, unknown: 0 }]);
    expect(await place.entries(["--local"])).toMatchObject([{ state: "logged", attempts: 2 }]);
  });
});
