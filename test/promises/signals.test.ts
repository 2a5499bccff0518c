import { describe, expect, it, type TestContext } from "vitest";
import { accept, holdRequest, refuse } from "../support/raw-server.ts";
import { interruptWaiting, type RunResult, startRollcall } from "../support/run.ts";
import { documentsOf, groupOf, ledgerOf, linesOf, oneEach, openHeld, openPlace, openThree, startLog } from "./place.ts";

const pause = async (ms: number): Promise<void> => await new Promise((resolve) => setTimeout(resolve, ms));

describe.concurrent("a signal", () => {
  const busy = refuse(429, { headers: ["Retry-After: 100"] });

  it("leaves the ledger in the result while the run waits for another run", async (context) => {
    const { hold, place, file } = await openHeld(context);
    const holder = startLog(place, [file, ...oneEach]);
    await hold.came;
    const until = ({ stdout }: RunResult) => stdout.includes(ledgerOf(place));
    const { code, document } = documentsOf(await interruptWaiting(() => place.start([file, ...oneEach]), { until }));
    expect([code, document?.ledger]).toEqual([130, { path: ledgerOf(place), created: false }]);
    hold.letGo();
    expect((await holder.ended).code).toBe(0);
  });

  it.for([
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)(
    "lets the request in flight end after %s with exit %i, and the next run continues",
    async ([name, code], context) => {
      const { hold, service, place, file } = await openHeld(context);
      const run = startLog(place, [file, ...oneEach]);
      await hold.came;
      await run.signal(name);
      hold.letGo();
      const { document, error, ...ran } = await run.ended;
      expect([ran.code, error?.code, error?.retryable]).toEqual([code, "interrupted", true]);
      expect(error?.hint).toBe("rerun the same command to send the remaining groups");
      expect([document?.status, document?.groups]).toMatchObject(["partial", { logged: 1, not_sent: 2, unknown: 0 }]);
      const next = await place.log([file, ...oneEach]);
      expect([next.code, next.document?.groups.logged, service.logged]).toEqual([0, 2, [1, 2, 3]]);
    },
  );

  const checkUnknown = async (context: TestContext, signals: readonly NodeJS.Signals[]): Promise<void> => {
    const { hold, place, file } = await openHeld(context, accept);
    const run = startLog(place, [file, ...oneEach]);
    await hold.came;
    for (const name of signals) await run.signal(name);
    const { document, error, code } = await run.ended;
    expect([code, error?.code, error?.cause]).toEqual([8, "unknown_outcome", "interrupted"]);
    expect(document?.groups).toMatchObject({ logged: 1, unknown: 1, not_sent: 1 });
    expect((await place.entries()).map(({ state, cause }) => [state, cause])).toEqual([
      ["logged", null],
      ["unknown", "ABORTED"],
    ]);
  };

  it.for(["SIGINT", "SIGTERM"] as const)(
    "leaves the request in flight unknown if a second signal %s follows",
    async (second, context) => {
      await checkUnknown(context, ["SIGINT", second]);
    },
  );

  it("leaves the request in flight unknown if no reply comes within 5 s", { tags: "slow" }, async (context) => {
    await checkUnknown(context, ["SIGINT"]);
  });

  it("ends the process if it is the third signal, also if stdout has no reader", async (context) => {
    const { hold, place } = await openHeld(context);
    const groups = Array.from({ length: 4000 }, (_, at) => groupOf(at));
    const child = place.start([place.write("a.jsonl", linesOf(...groups))]);
    const ended = new Promise((resolve) => child.on("exit", (code, signal) => resolve([code, signal])));
    await hold.came;
    // Two signals of the same name may arrive as one.
    child.kill("SIGINT");
    child.kill("SIGTERM");
    // After the second signal, the run prints its document. The test does not read all of it.
    await new Promise((resolve) => child.stdout.once("readable", resolve));
    // The name of the second signal is the one that ends the process.
    child.kill("SIGINT");
    child.kill("SIGTERM");
    expect(await ended).toEqual([null, expect.stringMatching(/^SIG(?:INT|TERM)$/)]);
    expect(await place.entries()).toMatchObject([{ state: "unknown", groups: 4000 }]);
  });

  it("leaves nothing unknown if the signal comes before the whole body was sent", async (context) => {
    const hold = holdRequest((asked) => asked.some(100_000));
    const { service, place } = await openPlace(context, { otherwise: hold.deed });
    const file = place.write("a.jsonl", groupOf(1, 12_000_000));
    const run = startLog(place, [file]);
    await hold.came;
    await run.signal("SIGTERM");
    await run.signal("SIGTERM");
    const { code, document } = await run.ended;
    expect([code, document?.groups.not_sent]).toEqual([143, 1]);
    service.mend();
    expect((await place.log([file])).code).toBe(0);
  });

  it("ends a check of standard input, which can be repeated", async () => {
    const ran = await interruptWaiting(() => startRollcall(["check", "-", "--json"]), {
      until: ({ stderr }) => stderr !== "",
    });
    expect(documentsOf(ran)).toMatchObject({ code: 130, error: { code: "interrupted", retryable: true } });
  });

  it("ends the wait for a service", async (context) => {
    const { service, place, file } = await openThree(context, { otherwise: busy });
    const run = startLog(place, [file]);
    while (service.bodies.length === 0) await pause(20);
    while ((await place.entries())[0]?.state !== "not_sent") await pause(20);
    await run.signal("SIGINT");
    const { code, document, error } = await run.ended;
    expect([code, error?.retryable, document?.status, document?.groups.not_sent]).toEqual([130, true, "not_sent", 3]);
    expect(error?.cause).toBe("unavailable");
    expect(error?.message).toBe("interrupted by SIGINT; the service answered 429; nothing was sent");
    expect(await place.entries()).toMatchObject([{ state: "not_sent", status: 429 }]);
  });
});
