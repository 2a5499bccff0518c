import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { accept, faultyService, type RequestHandler } from "../support/raw-server.ts";
import { groupOf, linesOf, openPlace, placeAt, reasonsOf } from "./place.ts";

/** Refuses groups by their rewards, and names them if `names` is true. */
const picky =
  (refused: ReadonlySet<number>, names = true): RequestHandler =>
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

describe("--on-refused skip", () => {
  const skipRefused = ["--on-refused", "skip"];
  const four = linesOf(groupOf(1), groupOf(2), groupOf(3), groupOf(4));

  it("rejects the groups that a 422 names, and sends the other groups", async (context) => {
    const { service, place } = await openPlace(context, { otherwise: picky(new Set([2, 4])) });
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

  it("has sent nothing if the service refuses each group", async (context) => {
    const { place } = await openPlace(context, { otherwise: picky(new Set([1, 2, 3, 4])) });
    const { code, document } = await place.log([place.write("a.jsonl", four), ...skipRefused]);
    expect([code, document?.status, document?.groups.rejected]).toEqual([7, "not_sent", 4]);
  });

  it("counts all reasons of a refusal", async (context) => {
    const detail = Array.from({ length: 20_000 }, (_, at) => ({
      loc: ["body", at],
      msg: "odd",
      type: "odd",
      input: {},
    }));
    const { place } = await openPlace(context, {
      otherwise: async (asked) => {
        await asked.body();
        asked.answer(422, { body: JSON.stringify({ detail }) });
      },
    });
    const { code, error } = await place.log([place.write("a.jsonl", four)]);
    expect([code, error?.message]).toEqual([6, "the service refused the request (422), for 20000 reasons"]);
  });

  it("records the line that begins a group if the refused value is on a later line", async (context) => {
    const { place } = await openPlace(context, { otherwise: picky(new Set([2, 3])) });
    const last = groupOf(3).replace('"reward"', '\n"reward"');
    const file = place.write("a.json", `[${groupOf(1)},\n${groupOf(2)},\n${last}]\n`);
    expect((await place.log([file, ...skipRefused])).code).toBe(7);
    expect(readFileSync(`${file}.rejected`, "utf8")).toBe(linesOf(groupOf(2), last.replace("\n", " ")));
    expect(reasonsOf(`${file}.rejected`)).toMatchObject([
      { line: 2, rejects_line: 1 },
      { line: 4, rejects_line: 2 },
    ]);
  });

  it("writes all lines of a refused group", async (context) => {
    const { service, place } = await openPlace(context, { otherwise: picky(new Set([3])) });
    const lineOf = (id: string, reward: number) => `{"messages_and_choices":[],"reward":${reward},"group_id":"${id}"}`;
    const refused = [lineOf("a", 3), lineOf("a", 4)];
    const file = place.write("a.jsonl", linesOf(...refused, lineOf("b", 2)));
    const { document } = await place.log([file, ...skipRefused]);
    expect([service.logged, document?.groups.rejected]).toEqual([[2], 1]);
    expect(readFileSync(`${file}.rejected`, "utf8")).toBe(linesOf(...refused));
    expect(reasonsOf(`${file}.rejected`)).toMatchObject([{ file, line: 1, message: "not group 0", rejects_line: 1 }]);
  });

  it("stops if a 422 names none of several groups, and rejects a single group", async (context) => {
    const { service, place } = await openPlace(context, { otherwise: picky(new Set([2]), false) });
    const file = place.write("a.jsonl", four);
    const { code, error } = await place.log([file, ...skipRefused]);
    expect([code, error?.code, service.logged]).toEqual([6, "refused", []]);
    const alone = await place.log([file, ...skipRefused, "--max-request-size", "120"]);
    expect([alone.code, alone.document?.groups.rejected, service.logged]).toEqual([7, 1, [1, 3, 4]]);
    const message = "the service refused this group: something is wrong";
    expect(reasonsOf(`${file}.rejected`)).toMatchObject([{ file, line: 2, rule: "group-refused", message }]);
  });

  it("rejects the group of a 422 that has a type in place of a message", async (context) => {
    const { service, place } = await openPlace(context);
    service.next(async (asked) => {
      await asked.body();
      const item = { loc: ["body", "trajectory_groups", 1], msg: null, type: "too_long", ctx: { reason: "too long" } };
      asked.answer(422, { body: JSON.stringify({ detail: [item] }) });
    });
    const file = place.write("a.jsonl", four);
    expect((await place.log([file, ...skipRefused])).code).toBe(7);
    expect(service.logged).toEqual([1, 3, 4]);
    expect(reasonsOf(`${file}.rejected`)).toMatchObject([{ file, line: 2, message: "too_long", from: "service" }]);
  });

  it("records the line of a single group if a 422 names only the body", async (context) => {
    const detail = [{ loc: ["body"], msg: "too old", type: "value_error" }];
    const refuseBody: RequestHandler = async (asked) => {
      await asked.body();
      asked.answer(422, { body: JSON.stringify({ detail }) });
    };
    const { place } = await openPlace(context, { otherwise: refuseBody });
    const file = place.write("a.jsonl", linesOf(groupOf(1)));
    expect((await place.log([file, ...skipRefused])).code).toBe(7);
    expect(reasonsOf(`${file}.rejected`)).toMatchObject([{ file, line: 1, message: "body: too old", from: "service" }]);
  });

  it.for<[loc: readonly (string | number)[], rejected: readonly number[]]>([
    [["body", "trajectory_groups", 1, "trajectories", 0], [2]],
    [["body", "trajectory_groups", "1", "trajectories", 0], [2]],
    [["trajectory_groups", 3], [4]],
    [["body", "trajectory_groups", 4], []],
    [["body", "trajectory_groups", -1], []],
    [["body", "trajectory_groups", "1x"], []],
    [["body", "groups", 1], []],
    [["body"], []],
  ])("rejects the group of a 422 for %j, if there is such a group: %j", async ([loc, rejected], context) => {
    const { service, place } = await openPlace(context);
    service.next(async (asked) => {
      await asked.body();
      asked.answer(422, { body: JSON.stringify({ detail: [{ loc, msg: "odd", type: "odd" }] }) });
    });
    const file = place.write("a.jsonl", four);
    const { document } = await place.log([file, ...skipRefused]);
    expect([document?.groups.rejected, document?.groups.not_sent]).toEqual(rejected.length === 0 ? [0, 4] : [1, 0]);
    expect(service.logged).toEqual(
      rejected.length === 0 ? [] : [1, 2, 3, 4].filter((each) => !rejected.includes(each)),
    );
    if (rejected.length > 0)
      expect(reasonsOf(`${file}.rejected`)).toMatchObject([{ line: rejected[0], message: "odd" }]);
  });

  it.for([302, 401, 402, 403, 404, 405, 407, 410])(
    "stops at status %i without a rejects file",
    async (status, context) => {
      const service = await faultyService(context, {
        otherwise: async (asked) => {
          await asked.body();
          asked.answer(status);
        },
      });
      const place = placeAt(context, service.url);
      const { document, error } = await place.log([place.write("a.jsonl", groupOf(1)), ...skipRefused]);
      expect([document?.status, error?.code === "partial"]).toEqual(["not_sent", false]);
      expect(existsSync(place.path("a.jsonl.rejected"))).toBe(false);
    },
  );

  it("is not the default, so a run stops at the first refusal and names the lines", async (context) => {
    const { place } = await openPlace(context, { otherwise: picky(new Set([2, 4])) });
    const file = place.write("a.jsonl", four);
    const { code, error } = await place.log([file]);
    expect([code, error?.problems?.map(({ line }) => line)]).toEqual([6, [2, 4]]);
    expect(existsSync(`${file}.rejected`)).toBe(false);
  });

  it("rejects a single group that is too large", async (context) => {
    const small: RequestHandler = async (asked) => {
      if ((await asked.body()).length > 500) asked.answer(413);
      else await accept(asked);
    };
    const { service, place } = await openPlace(context, { otherwise: small });
    const file = place.write("a.jsonl", linesOf(groupOf(1), groupOf(2, 600), groupOf(3)));
    const { code, document } = await place.log([file, ...skipRefused]);
    expect([code, document?.groups.rejected, service.logged]).toEqual([7, 1, [1, 3]]);
    expect(readFileSync(`${file}.rejected`, "utf8")).toBe(`${groupOf(2, 600)}\n`);
    const message = "this group is too large: the service refused its request of 709 bytes";
    expect(reasonsOf(`${file}.rejected`)).toMatchObject([{ file, line: 2, rule: "group-too-large", message }]);
  });
});
