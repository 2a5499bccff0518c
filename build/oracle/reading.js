/** Cases of reading: checks, plans, bodies, rejects, conversions and pages of every input. */
import { existsSync, statSync } from "node:fs";
import { basename } from "node:path";
import { normalized } from "./normalize.js";

/** Requests of an input are at most this large in the runs that plan several. */
const smallRequests = ["--max-request-size", "40KB"];

/** The files that a conversion writes. */
const written = ["--out", "groups.jsonl", "--receipt", "receipt.json", "--json"];

/** Returns the cases of the inputs. */
export const readingCases = (inputs) =>
  inputs.map((input) => ({ name: `reading ${input.name}`, play: (stage) => read(stage, input) }));

const read = async (stage, { kind, files, args, against }) => {
  const names = files.map((file) => nameIn(stage, file));
  const splitArgs = args.includes("--split") ? args : [...args, "--split", "train"];
  const withoutSplit = args.filter((_, at) => args[at] !== "--split" && args[at - 1] !== "--split");
  const isWhole = kind === "sample" || kind === "foreign" || kind === "example";
  if (against !== undefined) {
    stage.copy(against);
    await stage.run(["check", ...names, ...args, "--against", "val.jsonl", "--json"]);
  }
  await stage.run(["check", ...names, ...args, "--json"]);
  await stage.run(["check", ...names, ...args, "--no-color", "--no-pager"], { columns: 100 });
  const sending = ["log", "m", ...names, ...splitArgs, "--no-ledger"];
  await stage.run([...sending, "--json", "--on-invalid", "skip", "--rejects", "out.rejected", "--max-wait", "0s"]);
  stage.requests();
  stage.files("out.rejected", "out.rejected.reasons");
  if (kind === "large") return;
  if (kind === "foreign" || kind === "damaged" || isWhole) {
    await stage.run(["convert", ...names, ...withoutSplit, "--lossy", ...written]);
    stage.files("groups.jsonl", "receipt.json");
  }
  if (!isWhole) return;
  await stage.run(["check", ...names, ...splitArgs, "--strict"]);
  await stage.run([...sending, "--dry-run"], { columns: 80 });
  await plan(stage, ["log", "m", ...names, ...splitArgs, "--dry-run"]);
  await stage.run(["convert", ...names, "--on-invalid", "skip", "--rejects", "other.rejected", "--out", "some.jsonl"]);
  stage.files("some.jsonl", "other.rejected", "other.rejected.reasons");
  await stage.run(["check", ...names, ...args, "--report", "junit=junit.xml", "--report", "github"]);
  stage.files("junit.xml");
  await stage.run(["view", ...names, ...withoutSplit, "--html", "page.html"]);
  stage.files("page.html");
  if (kind === "example") return;
  for (const choice of choices) await stage.run(["check", ...names, ...choice, "--json"]);
  await plan(stage, ["log", "m", ...names, "--split", "train", "--dry-run", "--best", "1", "--sample", "4"]);
  await lookAt(stage, names);
};

/** The name of an input in the folder of the runs: an example may name a file that does not exist, or the folder. */
const nameIn = (stage, file) => {
  if (!existsSync(file)) return basename(file);
  return statSync(file).isDirectory() ? "." : stage.copy(file);
};

const choices = [
  ["--where", "reward > 0.5 && group.size >= 1"],
  ["--where", "reward >"],
  ["--where", "has(metadata.task) || size(messages_and_choices) > 6"],
  ["--best", "1"],
  ["--sample", "3", "--seed", "a"],
  ["--shard", "1/2"],
  ["--shard", "2/2"],
  ["--group-by", "prompt_id"],
  ["--group-by", "metadata.task"],
  ["--group-by", "nothing"],
  ["--strict", "--allow", "group-of-one"],
  ["--from", "rollcall"],
  ["--lossy", "--histories"],
];

/** Plans the requests of an input, and writes each body. */
const plan = async (stage, args) => {
  const { stdout, code } = await stage.run([...args, ...smallRequests, "--json"]);
  if (code !== 0) return;
  for (let body = 1; body <= Math.min(JSON.parse(stdout).requests, 4); body++) {
    await stage.run([...args, ...smallRequests, "--body", `${body}`]);
  }
};

/**
 * What the page in the browser asks the server of `rollcall view` for: the path and the parameters of builds whose parameters
 * were those of an address, and the name and the query of builds that take one query.
 */
const questions = [
  ["state", "state", {}],
  ["charts", "charts", {}],
  ["problems", "problems", { problems: "any" }],
  ["problems?rule=group-of-one", "problems", { problems: "group-of-one" }],
  ["rows", "rows", {}],
  ["rows?sort=mean&descending=true", "rows", { sort: "mean", descending: true }],
  ["rows?sort=spread", "rows", { sort: "spread" }],
  ["rows?trainable=true", "rows", { trainable: true }],
  ["rows?text=a", "rows", { text: "a" }],
  ["rows?where=reward+%3E+0.5", "rows", { where: "reward > 0.5" }],
  ["rows?where=reward+%3E", "rows", { where: "reward >" }],
  ["rows?reward=0.5,1", "rows", { reward: [0.5, 1] }],
  ["rows?reward=0.5..1", "rows", { reward: "0.5..1" }],
  ["rows?file=x", "rows", { file: "x" }],
  ["rows?sort=nonsense", "rows", { sort: "nonsense" }],
  ["groups/0", "group", { group: 1 }],
  ["groups/0/0", "trajectory", { group: 1, trajectory: 1 }],
  ["groups/1", "group", { group: 2 }],
  ["groups/9999", "group", { group: 10_000 }],
  ["nothing", "nothing", {}],
];

/** Asks the server of the page everything that a browser does. */
const lookAt = async (stage, names) => {
  const answers = [];
  const meanwhile = async (running) => {
    const [, url, token] = (await running.printed(/(http:\/\/127\.0\.0\.1:\d+)\/#token=([\w-]+)/)) ?? [];
    if (url === undefined) return;
    const ask = async (path) =>
      await fetch(`${url}/api/${path}`, { headers: { authorization: `Bearer ${token}`, connection: "close" } });
    for (let phase = ""; phase !== "read" && phase !== "failed"; )
      phase = (await (await ask("state")).json()).progress.phase;
    // Only builds that take one query answer this.
    const isOne = (await ask('rows?query={"sort":0}')).status === 400;
    for (const [path, name, query] of questions) {
      const answer = await ask(isOne ? `${name}?query=${encodeURIComponent(JSON.stringify(query))}` : path);
      answers.push([path, { status: answer.status, body: normalized(await answer.text()) }]);
    }
    running.signal("SIGINT");
  };
  await stage.run(["view", ...names, "--no-open"], { meanwhile });
  for (const [path, answer] of answers) stage.note(`page data ${path}`, answer);
};
