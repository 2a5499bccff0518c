/** The rewards of records without a score of their own. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { runHere } from "../../support/here.ts";
import { convertHere, folderOf, notesHere, turn, user } from "./converting.ts";

const said = (content: string) => ({ role: "assistant", content });
const node = { parent: 0, sampled: true, message: said("a") };
const trace = { task: { key: "k" }, nodes: [{ message: user("q") }, node] };
const simulated = { task_id: 1, termination_reason: "user_stop", messages: [user("q"), said("a")] };
const gym = { _ng_task_index: 0, responses_create_params: { input: "q" } };

/** Returns a record with the id `s` and a score, by the format of `--from`. */
const records: Readonly<Record<string, (score: number | null) => object>> = {
  "verifiers-v0": (reward) => ({ example_id: "s", prompt: [user("q")], completion: [said("a")], task: "t", reward }),
  "verifiers-v1": (x) => ({ ...trace, id: "s", rewards: x === null ? {} : { x } }),
  "nemo-gym": (reward) => ({ ...gym, reward, response: { id: "s", output: [said("a")] } }),
  tau2: (reward) => ({ ...simulated, id: "s", reward_info: { reward } }),
};

it.each(Object.entries(records))(
  "a rollout of %s without a score is left out, unless --rewards or --reward-from states a reward",
  async (format, toRecord) => {
    const from = ["--from", format];
    const files = { "a.jsonl": [{ ...toRecord(null), r: 0.5 }] };
    const expected = (reward: number) => [{ trajectories: [{ messages_and_choices: [user("q"), turn("a")], reward }] }];
    expect(await notesHere([toRecord(1), toRecord(null)])).toContain("left out a rollout without a score");
    expect(await convertHere({ "a.jsonl": [toRecord(1)] })).toMatchObject(expected(1));
    expect(await convertHere(files, [...from, "--reward-from", "r"])).toMatchObject(expected(0.5));
    const rewards = join(folderOf({ r: '{"id":"s","reward":7}' }), "r");
    expect(await convertHere(files, [...from, "--rewards", rewards])).toMatchObject(expected(7));
    expect(await notesHere(files["a.jsonl"], [...from, "--rewards", rewards])).not.toContain(
      "left out a rollout without a score",
    );
  },
);

it("the file of --rewards can be compressed, but not cut, and not standard input", async () => {
  const from = ["--from", "tau2"];
  const files = { "a.jsonl": [records.tau2?.(null) ?? {}] };
  const packed = gzipSync('{"id":"s","reward":7}\n');
  const rewards = join(folderOf({}), "r.gz");
  writeFileSync(rewards, packed);
  expect(await convertHere(files, [...from, "--rewards", rewards])).toMatchObject([{ trajectories: [{ reward: 7 }] }]);
  writeFileSync(rewards, packed.subarray(0, 20));
  const failureOf = async (name: string) => {
    const { code, stderr } = await runHere(["check", "-", "--rewards", name, "--json"], { stdin: "{}" });
    return [code, JSON.parse(stderr).error.message];
  };
  expect(await failureOf(rewards)).toEqual([2, `cannot read --rewards ${rewards}: invalid gzip data`]);
  expect(await failureOf("-")).toEqual([2, "--rewards does not read standard input"]);
});

it("an option for the reward is proposed for a separate file if it would change the rewards of other records", async () => {
  const row = { messages: [user("q"), said("a")] };
  const hintOf = async (...rows: readonly object[]) => {
    const file = join(folderOf({ "a.jsonl": rows.map((one) => JSON.stringify(one)).join("\n") }), "a.jsonl");
    const { stderr } = await runHere(["check", file, "--from", "openai-chat", "-q"]);
    return /^hint: (.*)$/m.exec(stderr)?.[1];
  };
  const option = "pass --reward-from score, or --rewards <file>";
  expect(await hintOf({ ...row, score: 9 })).toBe(option);
  const others = [7, 8].map((score) => ({ ...row, reward: 1, score }));
  const separate = `fix the record, or write such records to a separate file, and for that file ${option}`;
  for (const rows of [
    [{ ...row, score: 9 }, ...others],
    [...others, { ...row, score: 9 }],
  ])
    expect(await hintOf(...rows)).toContain(separate);
});

it("an option for the reward is proposed for the files of one format if others have another format", async () => {
  const unrated = JSON.stringify({ messages: [user("q"), said("a")], score: 1 });
  const folder = folderOf({ "a.jsonl": unrated, "b.jsonl": '{"prompt":"q","completion":"a","reward":1}' });
  const { stderr } = await runHere(["check", ...["a", "b"].map((name) => join(folder, `${name}.jsonl`)), "-q"]);
  expect(stderr).toContain("hint: run the command for the files of openai-chat alone, and pass --reward-from score");
});
