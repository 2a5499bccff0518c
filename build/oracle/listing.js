/** Cases of listings and pages: models, catalogs, calls, settings, explanations and help, in each form and with damaged replies. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { damagedCatalog, damages } from "./damaged-lines.js";
import { chooserFrom } from "./random.js";
import { answer } from "./service.js";

const forms = ["--json", "-o tsv --header", "-o csv", "-o jsonl", ""];

/** Widths of the terminals. */
const widths = [60, 100, 200];
const onScreen = "--no-pager --no-color";

const paths = {
  models: "/v1/models",
  analysis: "/inference/analysis/a/models",
  router: "/inference/router/r/models",
  call: "/call/read",
};

/** Returns the cases. */
export const listingCases = ({ commit, commands, quick }) => {
  const sample = (name) => readFileSync(join(commit, "test/samples", `${name}.json`), "utf8");
  const calls = ["call", "call.exception", "call.tools"].map(sample);
  const replies = {
    models: sample("models"),
    analysis: sample("catalog.analysis"),
    router: sample("catalog.router"),
    call: calls[0],
  };
  const damagedOf = (texts, count) =>
    Array.from({ length: count }, (_, at) => damagedReply(texts[at % texts.length], at));
  const catalog = damagedCatalog();
  const damaged = { models: catalog, analysis: catalog, router: catalog };
  const cases = {
    ...Object.fromEntries(listings.map((line) => [line, (stage) => inEachForm(stage, replies, line)])),
    ...Object.fromEntries(
      wholeCatalogs.map((line) => [`a damaged catalog: ${line}`, (stage) => inEachForm(stage, damaged, line)]),
    ),
    ...Object.fromEntries(
      damagedOf([replies.router], quick ? 4 : 40).map((router, at) => [
        `damaged reply ${at}`,
        (stage) => shortly(stage, { ...replies, router }),
      ]),
    ),
    ...Object.fromEntries(calls.map((call, at) => [`call ${at}`, (stage) => readCall(stage, call)])),
    ...Object.fromEntries(
      damagedOf(calls, quick ? 6 : 60).map((call, at) => [`damaged call ${at}`, (stage) => readDamaged(stage, call)]),
    ),
    "files of catalogs": (stage) => catalogFiles(stage, replies),
    "replies of no use": uselessReplies,
    settings,
    explanations,
    ...Object.fromEntries([...commands.keys()].map((words) => [`help of ${words}`, (stage) => help(stage, words)])),
  };
  return Object.entries(cases).map(([name, play]) => ({ name: `listing ${name}`, play }));
};

const usage = "--prompt-tokens 10k --completion-tokens 500";

const choices = [
  ...["", "a --sort -context_length", "--sort pricing.prompt --fields id,pricing.prompt", "--fields nothing"],
  ...["--input-modality image", "--country FI --country US", "--max-price prompt=0.5,completion=2"],
  ...["--min-context 128k --limit 3", "--deprecated", "--deprecated-within 300d", "--not-deprecated --feature tools"],
];

const listings = [
  ...["", "llama", "*a*", "nothing-like-it", "--sort=-id", "--free", "--with-prices"].map((words) => `models ${words}`),
  "models --with-prices --feature tools --sort pricing.prompt",
  ...["analysis", "router", "all"].flatMap((catalog) => choices.map((words) => `catalog ${catalog} ${words}`)),
  ...["catalog diff", "catalog diff --exit-code", `catalog cost ${usage}`, "catalog cost --from-call call-1"],
  `catalog cost *a* ${usage} --cached 1k --images 2 --requests 3 --min-context 32k`,
  "catalog plot",
];

const wholeCatalogs = ["models", "catalog analysis", "catalog router", "catalog all", "catalog diff"];

const answersOf = (texts) =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [paths[name], answer(200, text)]));

const inEachForm = async (stage, texts, line) => {
  stage.service.script({ replies: answersOf(texts) });
  for (const form of forms) {
    await stage.run(`${line} ${form}`);
    stage.requests();
  }
  for (const columns of widths) await stage.run(`${line} ${onScreen}`, { columns });
};

const shortly = async (stage, texts) => {
  stage.service.script({ replies: answersOf(texts) });
  for (const line of ["catalog router", "catalog all"]) {
    for (const form of ["--json", "-o tsv"]) await stage.run(`${line} ${form}`);
    await stage.run(`${line} ${onScreen}`, { columns: 120 });
  }
};

const readCall = async (stage, call) => {
  stage.service.script({ replies: answersOf({ call }) });
  const more = [
    "--costs --storage-size --total-storage-size",
    "--path output",
    "--fields call.id",
    "--list",
    "--summary",
  ];
  const as = ["trajectory --reward 1", "messages", "markdown"].map((form) => `--as ${form}`);
  for (const form of ["", "--json", "-o jsonl", ...more, ...as]) await stage.run(`call read call-1 ${form}`);
  stage.requests();
  for (const columns of widths) await stage.run(`call read call-1 ${onScreen}`, { columns });
  await stage.run("call read call-1 call-2 --json");
  await stage.run("call read -", { stdin: "call-1\ncall-2\n" });
  stage.requests();
};

const readDamaged = async (stage, call) => {
  stage.service.script({ replies: answersOf({ call }) });
  for (const form of ["", "--json"]) await stage.run(`call read call-1 ${form}`);
  await stage.run(`call read call-1 ${onScreen}`, { columns: 100 });
};

const value = /(?<=":\s*)(?:"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null)/g;

/** A reply that is cut, or has three values of other types. */
const damagedReply = (text, seed) => {
  const choose = chooserFrom(seed);
  if (seed % 4 === 0) return text.slice(0, choose.below(text.length));
  return [1, 2, 3].reduce((own) => {
    const { index, 0: old } = choose.oneOf(Array.from(own.matchAll(value)));
    return own.slice(0, index) + (choose.oneOf(damages) ?? "null") + own.slice(index + old.length);
  }, text);
};

const catalogFiles = async (stage, texts) => {
  stage.write("old.json", texts.router);
  stage.write("new.json", texts.router.replace(/"prompt":\s*"0/, '"prompt":"1').replace(/"id":\s*"/, '"id":"other-'));
  stage.service.script({ replies: answersOf(texts) });
  const [{ id }] = JSON.parse(texts.router).data;
  const lines = [
    ...["diff old.json new.json", "diff old.json new.json --exit-code", `show ${id}`, "show no-such-model"],
    ...[`lock ${id} --file models.lock`, "verify --file models.lock", `lock ${id}`, "verify", "verify --within 9999d"],
  ];
  const verify = ["verify", "verify --json", "verify --max-rise 10%"];
  for (const line of lines) {
    for (const form of ["", "--json"]) await stage.run(`catalog ${line} ${form}`);
    await stage.run(`catalog ${line} ${onScreen}`, { columns: 80 });
  }
  const router = texts.router.replaceAll(/"prompt":\s*"0/g, '"prompt":"1');
  stage.service.script({ replies: answersOf({ ...texts, router }) });
  for (const line of verify) await stage.run(`catalog ${line}`);
  stage.listing();
};

const uselessReplies = async (stage) => {
  const replies = [
    ...[answer(200, "<html>hello</html>"), answer(200, "[]"), answer(200, ""), answer(429), answer(500, "no")],
    ...[answer(503, "", ["Retry-After: 1"]), answer(401, '{"detail":"no"}'), answer(404, '{"detail":"none"}')],
    ...[answer(404, "<html>"), answer(302, "", ["Location: /"]), { end: "reset" }],
    { raw: "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{" },
  ];
  for (const reply of replies) {
    stage.service.script({ otherwise: reply });
    for (const line of ["models", "catalog router", "call read call-1", "auth status --check"]) {
      for (const form of ["", "--json"]) await stage.run(`${line} ${form} --max-wait 0s`);
    }
  }
};

const settings = async (stage) => {
  const env = { ROLLCALL_BASE_URL: undefined, ROLLCALL_API_KEY: undefined };
  const lines = [
    ...["config set base_url http://127.0.0.1:8799", "config set split train", "config set timeout 'a while'"],
    ...["config set nothing 1", "config get split", "config list", "config export", "config unset split"],
    ...["auth login --with-token --no-check", "auth status", "profile list", "profile rename default other"],
    ...["profile use other", "config path", "auth logout", "profile delete other"],
  ];
  for (const line of lines) {
    for (const form of ["", "--json"]) await stage.run(`${line} ${form}`, { env, stdin: "key-abcdefgh\n" });
  }
  await stage.run(`config list ${onScreen}`, { env, columns: 80 });
};

const explanations = async (stage) => {
  const { stdout } = await stage.run("explain --json");
  await stage.run("explain");
  const topics = JSON.parse(stdout).topics.filter(({ kind }) => kind !== "reason");
  for (const { name } of [...topics, { name: "0" }, { name: "8" }, { name: "nothing" }]) {
    for (const form of ["", "--json"]) await stage.run(`explain ${name} ${form}`);
  }
  for (const line of ["commands --json", "--version", "doctor"]) await stage.run(line);
};

const help = async (stage, words) => {
  await stage.run(`${words} -h`);
  await stage.run(`${words} --help`, { columns: 100 });
  for (const form of ["", "--json"]) await stage.run(`${words} --no-such-option ${form}`);
  await stage.run(`schema ${words}`);
  if (words !== "completion") return;
  for (const shell of ["bash", "zsh", "fish", "powershell"]) await stage.run(`completion ${shell}`);
};
