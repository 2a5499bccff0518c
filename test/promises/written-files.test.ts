import { chmodSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { runHere } from "../support/here.ts";
import { groupOf, linesOf, openPlace, placeAt } from "./place.ts";

/** A rollout that verifiers wrote. */
const rollout = (reward: unknown) => ({ example_id: `${reward}`, prompt: "p", completion: "c", answer: "c", reward });

describe.concurrent("files made of inputs", () => {
  it("contain no secret and no control character, except in copies of rejected lines", async (context) => {
    const { service, place } = await openPlace(
      context,
      { inFolder: true },
      { ROLLCALL_TOKEN: "", ROLLCALL_TOKEN_FILE: "key" },
    );
    place.write("key", "key-of-1234-5678\n");
    const named = groupOf(1).replace("{", '{"note":"key-of-1234-5678",');
    const file = place.write("a.jsonl", linesOf(named, groupOf(2)));
    service.next(async (asked) => {
      const sent = /^authorization: (.*)\r$/im.exec(await asked.head())?.[1];
      const echoed = `${sent}, a2V5LW9mLTEyMzQtNTY3OA==, \\u006bey-of-1234-5678, \u202eb`;
      const loc = ["body", "trajectory_groups", 0, "note"];
      await asked.body();
      asked.answer(422, { body: `{"detail":[{"loc":${JSON.stringify(loc)},"msg":"not ${echoed}","type":"t"}]}` });
    });
    const refused = await place.log([file]);
    expect([refused.code, refused.stderr]).toEqual([
      6,
      expect.stringContaining("[text omitted: it contains a credential]"),
    ]);

    place.write("b.jsonl", JSON.stringify({ ...rollout(1), "\u202ekey-of-1234-5678": 1 }));
    expect((await place.run(["view", "b.jsonl", "--html", "b.html"])).code).toBe(0);
    const text = readFileSync(place.path("b.html"), "utf8");
    expect([text.includes("[text omitted: it contains a credential]"), /key-of-1234-5678|\u202e/.test(text)]).toEqual([
      true,
      false,
    ]);
  });

  it("have only permissions that all inputs have", async (context) => {
    const place = placeAt(context, "http://127.0.0.1:9").inFolder();
    const files = ["a.jsonl", "b.jsonl"];
    const modesAfter = async (mode: number, folder: string) => {
      for (const name of files)
        place.write(name, linesOf(...[1, "bad"].map(rollout).map((one) => JSON.stringify(one))));
      chmodSync(place.path("b.jsonl"), mode);
      mkdirSync(place.path(folder));
      const paths = ["out", "rejects", "rejects.reasons", "html"].map((name) => `${folder}/${name}`);
      const [out = "", rejects = "", , html = ""] = paths;
      const skipping = ["--on-invalid", "skip", "--rejects", rejects];
      await place.run(["convert", ...files, "--out", out, ...skipping]);
      await place.run(["view", ...files, "--html", html]);
      return new Set(paths.map((name) => statSync(place.path(name)).mode & 0o777));
    };
    expect(await modesAfter(0o600, "private")).toEqual(new Set([0o600]));
    expect(await modesAfter(0o640, "ours")).toEqual(new Set([0o640]));
    expect(await modesAfter(0o644, "public")).toEqual(new Set([0o644]));
  });

  it("replace an empty file, but not a file with content", async (context) => {
    const place = placeAt(context, "http://127.0.0.1:9");
    const [input, out] = [place.write("a.jsonl", linesOf(groupOf(1))), place.write("out", "")];
    expect((await runHere(["convert", input, "--out", out])).code).toBe(0);
    const written = readFileSync(out, "utf8");
    expect(written).not.toBe("");
    expect(await runHere(["convert", input, "--out", out])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`${out} already exists`),
    });
    expect(readFileSync(out, "utf8")).toBe(written);
  });
});
