import { describe, expect, it } from "vitest";
import { accept, faultyService, type RequestHandler } from "../support/raw-server.ts";
import { groupOf, linesOf, openPlace, placeAt } from "./place.ts";

/** Refuses groups by their rewards, and names them. */
const picky =
  (refused: ReadonlySet<number>): RequestHandler =>
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
    asked.answer(422, { body: JSON.stringify({ detail }) });
  };

const answerWith =
  (status: number, detail: unknown): RequestHandler =>
  async (asked) => {
    await asked.body();
    asked.answer(status, { body: JSON.stringify({ detail }) });
  };

describe("a refused request", () => {
  const four = linesOf(groupOf(1), groupOf(2), groupOf(3), groupOf(4));

  it("ends the run, which names the lines of the refused values", async (context) => {
    const { service, place } = await openPlace(context, { otherwise: picky(new Set([2, 4])) });
    const { code, error, document } = await place.log([place.write("a.jsonl", four)]);
    expect([code, error?.problems?.map(({ line }) => line)]).toEqual([6, [2, 4]]);
    expect([document?.status, document?.groups.not_sent, service.requests()]).toEqual(["not_sent", 4, 1]);
  });

  it("counts all its reasons", async (context) => {
    const detail = Array.from({ length: 20_000 }, (_, at) => ({
      loc: ["body", at],
      msg: "odd",
      type: "odd",
      input: {},
    }));
    const { place } = await openPlace(context, { otherwise: answerWith(422, detail) });
    const { code, error } = await place.log([place.write("a.jsonl", four)]);
    expect([code, error?.message]).toEqual([6, "the service refused the request (422), for 20000 reasons"]);
  });

  it("names the line of the value if it is not the line that begins the group", async (context) => {
    const { place } = await openPlace(context, { otherwise: picky(new Set([2, 3])) });
    const last = groupOf(3).replace('"reward"', '\n"reward"');
    const { error } = await place.log([place.write("a.json", `[${groupOf(1)},\n${groupOf(2)},\n${last}]\n`)]);
    expect(error?.problems).toMatchObject([{ line: 2 }, { line: 4, from: "service" }]);
  });

  it("has the type of a reason in place of a missing message", async (context) => {
    const item = { loc: ["body", "trajectory_groups", 1], msg: null, type: "too_long", ctx: { reason: "too long" } };
    const { place } = await openPlace(context, { otherwise: answerWith(422, [item]) });
    const { error } = await place.log([place.write("a.jsonl", four)]);
    expect(error?.problems).toMatchObject([{ line: 2, message: "too_long", from: "service" }]);
  });

  it.for<[loc: readonly (string | number)[], line: number | undefined]>([
    [["body", "trajectory_groups", 1, "trajectories", 0], 2],
    [["body", "trajectory_groups", "1", "trajectories", 0], 2],
    [["trajectory_groups", 3], 4],
    [["body", "trajectory_groups", 4], undefined],
    [["body", "trajectory_groups", -1], undefined],
    [["body", "trajectory_groups", "1x"], undefined],
    [["body", "groups", 1], undefined],
    [["body"], undefined],
  ])("has a line for the location %j, if there is such a group: %s", async ([loc, line], context) => {
    const { place } = await openPlace(context, { otherwise: answerWith(422, [{ loc, msg: "odd", type: "odd" }]) });
    const { code, error } = await place.log([place.write("a.jsonl", four)]);
    expect([code, error?.problems?.map((problem) => problem.line)]).toEqual([6, [line]]);
  });

  it.for([302, 401, 402, 403, 404, 405, 407, 410])("is not about a group at status %i", async (status, context) => {
    const detail = [{ loc: ["body", "trajectory_groups", 0], msg: "odd", type: "odd" }];
    const service = await faultyService(context, { otherwise: answerWith(status, detail) });
    const place = placeAt(context, service.url);
    const { document, error } = await place.log([place.write("a.jsonl", groupOf(1))]);
    expect([document?.status, error?.code === "partial", error?.problems]).toEqual(["not_sent", false, undefined]);
  });

  it("ends the run if a single group is too large", async (context) => {
    const small: RequestHandler = async (asked) => {
      if ((await asked.body()).length > 500) asked.answer(413);
      else await accept(asked);
    };
    const { service, place } = await openPlace(context, { otherwise: small });
    const file = place.write("a.jsonl", linesOf(groupOf(1), groupOf(2, 600), groupOf(3)));
    const { code, error } = await place.log([file]);
    expect([code, error?.message.includes("with one group as too large (413)"), service.logged]).toEqual([
      7,
      true,
      [1],
    ]);
  });
});
