import { execFile } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it, type TestContext } from "vitest";
import { accept } from "../support/raw-server.ts";
import { groupOf, linesOf, oneEach, openPlace, openThree } from "./place.ts";

/** Rounds of the slow test. `node bench/kill.js` has 200. */
const rounds = "3";

/** Kills a run of three requests while the service holds the second request. */
const killRun = async (
  context: TestContext,
  { echoes = false, isLogged }: { readonly echoes?: boolean; readonly isLogged: boolean },
) => {
  const { service, place, file } = await openThree(context, { echoes });
  const arrival = new Promise<void>((resolve) => {
    service.next(accept, async (asked) => {
      await (isLogged ? asked.take() : asked.body());
      resolve();
    });
  });
  const run = place.start([file, ...oneEach]);
  await arrival;
  run.kill("SIGKILL");
  await once(run, "close");
  return { service, place, file };
};

describe.concurrent("a run that is killed during a request", () => {
  it.for([
    ["--assume-logged", true],
    ["--resend", false],
  ] as const)(
    "leaves an unknown request, after which `ledger resolve %s` and a rerun log every group once",
    async ([how, isLogged], context) => {
      const { service, place, file } = await killRun(context, { isLogged });
      const rerun = await place.log([file, ...oneEach]);
      expect([rerun.code, rerun.error?.code]).toEqual([8, "unknown_outcome"]);
      expect(rerun.document?.groups).toMatchObject({ already_logged: 1, unknown: 1, logged: 1 });
      expect(service.logged).toEqual(isLogged ? [1, 2, 3] : [1, 3]);
      const unknown = (await place.entries()).filter(({ state }) => state === "unknown");
      expect(unknown).toMatchObject([{ groups: 1, cause: "died" }]);
      expect((await place.run(["ledger", "resolve", unknown[0]?.id ?? "", how])).code).toBe(0);
      expect((await place.log([file, ...oneEach])).code).toBe(0);
      expect(service.logged.toSorted()).toEqual([1, 2, 3]);
    },
  );

  it("is completed by a rerun if the service honors Idempotency-Key", async (context) => {
    const { service, place, file } = await killRun(context, { echoes: true, isLogged: true });
    const rerun = await place.log([file, ...oneEach]);
    expect([rerun.code, rerun.document?.groups.unknown]).toEqual([0, 0]);
    expect(service.keys).toHaveLength(4);
    expect(service.logged).toEqual([1, 2, 3]);
  });
});

describe("several runs that write one ledger and are killed together", () => {
  it("lose no record, and log every group once after a rerun", async (context) => {
    const { service, place } = await openPlace(context, { echoes: true, inFolder: true });
    const rewards = Array.from({ length: 3 }, (_, run) => [1, 2, 3, 4].map((at) => run * 10 + at));
    const runs = rewards.map((own, run) => [
      place.write(`${run}.jsonl`, linesOf(...own.map((reward) => groupOf(reward)))),
      ...oneEach,
      "--batch",
      `${run}`,
    ]);
    const first = place.write("first.jsonl", linesOf(groupOf(100)));
    expect((await place.log([first])).code).toBe(0);
    for (let round = 1; round <= 2; round++) {
      const children = runs.map((args) => place.start(args));
      const ended = children.map((child) => once(child, "close"));
      await Promise.race([Promise.all(ended), expect.poll(service.requests).toBeGreaterThan(4 * round)]);
      for (const child of children) child.kill("SIGKILL");
      await Promise.all(ended);
    }
    const ran = await Promise.all(runs.map(async (args) => await place.log(args)));
    expect(ran.flatMap(({ code, stderr }) => (code === 0 ? [] : [stderr]))).toEqual([]);
    expect(service.logged.toSorted((a, b) => a - b)).toEqual([...rewards.flat(), 100]);
    expect((await place.run(["ledger", "status"])).stdout.match(/\tlogged\t/g)).toHaveLength(13);
  });
});

describe("a run that is killed at a random moment", () => {
  it.each([
    ["of a whole file", []],
    ["that follows a file", ["--follow"]],
    ["to the store of --local", ["--local"]],
    ["to a service that is killed", ["--serve"]],
  ])("logs no group twice and loses no group, as a run %s", { tags: "slow" }, async (_, options) => {
    const [code, said] = await new Promise<readonly [unknown, string]>((resolve) =>
      execFile(process.execPath, ["bench/kill.js", rounds, ...options], (error, stdout, stderr) =>
        resolve([error?.code ?? 0, `${stdout}${stderr}`]),
      ),
    );
    expect([code, said]).toEqual([0, expect.stringContaining('"twice":0,"lost":0,"altered":0')]);
  });
});
