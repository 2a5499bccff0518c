import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { groupOf, ledgerOf, linesOf, openPlace, placeAt } from "../../promises/place.ts";
import { filesOf } from "../../support/inputs.ts";
import { faultyService, refuse } from "../../support/raw-server.ts";
import { json } from "../../support/server.ts";
import { log } from "./logging.ts";

describe("rollcall log", () => {
  it("counts calls, but stores no ids, and counts no ids of an answer with too many", async (context) => {
    const { service, place } = await openPlace(context);
    const log = async (reward: number, ids: readonly string[]) => {
      service.next(refuse(200, { body: JSON.stringify({ call_ids: ids }) }));
      await place.log([place.write("a.jsonl", linesOf(groupOf(reward)))]);
    };
    await log(1, ["call-key-1"]);
    await log(2, ["a", "b"]);
    await log(3, ["x".repeat(201)]);
    expect(await place.entries()).toMatchObject([{ calls: 1 }, { calls: 0 }, { calls: 0 }]);
    expect(readFileSync(ledgerOf(place), "latin1")).not.toContain("key-1");
  });

  it("locates a refused value if names of types are between its keys, and does not repeat the value", async () => {
    const at = ["body", "trajectory_groups", 0, "trajectories", 0, "messages_and_choices", 0];
    const items = ["System", "User"].map((name) => ({
      loc: [...at, `ChatCompletion${name}Message`, "content"],
      msg: `${name} content is wrong`,
      type: "t",
      input: { role: "user", content: "x".repeat(5000) },
    }));
    const [file = ""] = filesOf('{"trajectories":[{"messages_and_choices":[{"role":"user","content":1}],"reward":1}]}');
    const { stderr } = await log([file, "--split", "t"], [json({ detail: items }, 422)]);
    for (const name of ["System", "User"]) {
      const message = `trajectories.0.messages_and_choices.0.content: ${name} content is wrong [refused-by-service]`;
      expect(stderr).toContain(`${file}:1:68: error: ${message}`);
    }
    expect(stderr).not.toContain("xxxx");
  });

  it("names the error of the attempt that may have been logged, and the errors of later attempts", async (context) => {
    const server = createServer();
    const service = await faultyService(context, { server });
    service.next(async (asked) => {
      await asked.body();
      server.close();
      asked.reset();
    });
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", linesOf(groupOf(1), groupOf(2)));
    const { code, error } = await place.log([file, "--on-unknown", "resend", "--max-wait", "1s"]);
    expect([code, error?.cause]).toEqual([8, "unavailable"]);
    expect(error?.message).toMatch(
      /^request 1 of 1 \(r1, .*\) may or may not have been logged: .* \(ECONNRESET\), .*, and the retry failed: .* \(ECONNREFUSED\)\. /,
    );
    const later = await place.log([file, "--on-unknown", "resend", "--max-wait", "0s"]);
    expect(later.error?.message).toMatch(
      /^request 1 of 1 \(r1, .*\) may or may not have been logged: the retry failed: .* \(ECONNREFUSED\)\. /,
    );
  });
});
