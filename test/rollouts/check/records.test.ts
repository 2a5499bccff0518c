import { expect, it } from "vitest";
import { runHere } from "../../support/here.ts";

const turns = '"messages_and_choices":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]';
const one = `{${turns},"reward":1}`;
const other = `{${turns},"reward":0}`;
const group = `{"trajectories":[${one},${other}]}`;
const keyed = `{${turns},"reward":1,"group_id":"a"}`;

/** Returns the numbers of groups, rejected ones, trajectories and rejected ones, the split, and each error. */
const check = async (stdin: string) => {
  const { stdout } = await runHere(["check", "--json"], { stdin });
  const { groups, trajectories, split, problems } = JSON.parse(stdout);
  const errors = problems.flatMap(({ severity, rule, line, path = [] }: Record<string, unknown[] | string>) =>
    severity === "error" ? [rule, line, ...path].join(" ") : [],
  );
  const counts = [groups.read, groups.rejected, trajectories.read, trajectories.rejected].join(" ");
  return [counts, split ?? "-", ...errors].join("; ");
};

it.each<[text: string, found: string]>([
  [group, "1 0 2 0; -"],
  [one, "1 0 1 0; -"],
  [`[${one},${group}]`, "2 0 3 0; -"],
  [`{"split":"t","trajectory_groups":[${group}, ${group}]}`, "2 0 4 0; t"],
  [`${one}\n{"id":1}`, "2 1 2 1; -; missing-field 2 messages_and_choices; missing-field 2 reward"],
  ['{"split":"t"}', "1 1 0 0; t; missing-field 1 trajectory_groups"],
  [`{"split":"t",${turns},"reward":1}`, "1 0 1 0; -"],
  [`{"split":"t","trajectories":[${one}]}`, "1 0 1 0; -"],
  ['{"split":"t","reward":1}', "1 1 1 1; -; missing-field 1 messages_and_choices"],
  [`{"split":7,"trajectory_groups":[${group}]}`, "1 0 2 0; -; wrong-type 1 split"],
  [`{"split":null,"trajectory_groups":[${group}]}`, "1 0 2 0; -; wrong-type 1 split"],
  [`{"split":"t","trajectory_groups":{}}`, "1 1 0 0; t; wrong-type 1 trajectory_groups"],
  [`{"split":"t","split":"u","trajectory_groups":[${group}]}`, "1 1 0 0; u; duplicate-structural-key 1 split"],
  [
    `{"split":"t","trajectory_groups":[],"trajectory_groups":[${group}]}`,
    "1 1 0 0; t; duplicate-structural-key 1 trajectory_groups",
  ],
  [
    `{"split":"t","trajectory_groups":[${group},7,{"trajectories":[7,${one}]}]}`,
    "3 2 4 2; t; wrong-type 1 trajectory_groups 1; wrong-type 1 trajectory_groups 2 trajectories 0",
  ],
  [
    `[{"split":"t","trajectory_groups":[{"trajectories":[${one},{"reward":1}]}]}]`,
    "1 1 2 2; t; missing-field 1 0 trajectory_groups 0 trajectories 1 messages_and_choices",
  ],
  [`{"trajectories":[${one}],"trajectories":[${one},${other}]}`, "1 1 2 2; -; duplicate-structural-key 1 trajectories"],
  [`{"trajectories":7,"exceptions":[{"message":"e"}]}`, "1 1 0 0; -; wrong-type 1 trajectories"],
  [
    `{"trajectories":[${one},{"reward":1},${other}]}`,
    "1 1 3 3; -; missing-field 1 trajectories 1 messages_and_choices",
  ],
  ["[[1]]", "1 1 0 0; -; not-an-object 1 0"],
  [
    `${group}\n7\n"x"\n[1]\nnull\n${group}`,
    "6 4 4 0; -; not-an-object 2; not-an-object 3; not-an-object 4 0; not-an-object 5",
  ],
  [`${keyed}\n7`, "2 1 1 0; -; not-an-object 2"],
  [`${keyed}\n"x"`, "2 2 1 1; -; ambiguous-group 1; not-an-object 2"],
  [`${keyed}\n[["x"]]`, "2 2 1 1; -; ambiguous-group 1; not-an-object 2 0"],
  [`${keyed}\n{"group_`, "2 2 1 1; -; ambiguous-group 1; json-truncated 2"],
  [`${keyed}\n{"group_id":"a","reward":1,"messages_and`, "1 1 2 2; -; json-truncated 2"],
  [`${keyed}\n{"group_id":"b","reward":1,"messages_and`, "2 1 2 1; -; json-truncated 2"],
  [`${keyed}\n{"reward":!,"group_id":"a"}\n`, "2 2 1 1; -; ambiguous-group 1; json-syntax 2"],
])("a record is recognized by its keys, and each error has its position (row %$)", async (text, found) => {
  expect(await check(text)).toBe(found);
});

it("a metric of another type does not hide the metrics after it", async () => {
  const stdin = `{${turns},"reward":1,"metrics":{"a":"x","reward":7,"b":2,"c":true}}`;
  const { stdout } = await runHere(["check", "--json", "--fields", "metrics"], { stdin });
  expect(JSON.parse(stdout).metrics).toMatchObject({ reward: 1, b: 2, c: 1 });
});
