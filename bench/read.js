/**
 * Compares the time and memory for a catalog of 50,000 entries with `curl` and `jq`:
 * `node bench/read.js [rounds] [entries]`.
 */
import {
  environment,
  isInstalled,
  newFolder,
  openService,
  peakMb,
  printMachine,
  report,
  run,
  takeTurns,
} from "./rounds.js";

const rounds = Number(process.argv[2] ?? 5);
const entries = Number(process.argv[3] ?? 50_000);
const folder = newFolder();

const { address, close } = await openService("catalog", entries);
const env = environment(folder, {
  ROLLCALL_BASE_URL: address,
  ROLLCALL_ROUTER_PROVIDER: "any",
  CATALOG: `${address}/inference/router/any/models`,
  COLUMNS: "200",
});

/** The jq filter that corresponds to rollcall's options. */
const picked = `select([.id, .name | ascii_downcase | contains("qwen")] | any)
  | select(.context_length >= 100000 and (.supported_features | index("tools")))`;

const questions = {
  "some, sorted, as a table": {
    args: ["qwen", "--feature", "tools", "--min-context", "100k", "--sort", "-pricing.prompt", "-o", "table"],
    filter: `[.data[] | PICKED] | sort_by(.pricing.prompt | tonumber) | reverse | .[] | ROW | @tsv`,
    raw: true,
  },
  "all, sorted, as a table": {
    args: ["--sort", "pricing.prompt", "-o", "table"],
    filter: ".data | sort_by(.pricing.prompt | tonumber) | .[] | ROW | @tsv",
    raw: true,
  },
  "some, sorted, as JSON": {
    args: ["qwen", "--feature", "tools", "--min-context", "100k", "--sort", "-pricing.prompt", "--json"],
    filter: `.data |= ([.[] | PICKED] | sort_by(.pricing.prompt | tonumber) | reverse)`,
  },
  "all, as JSON": { args: ["--json"], filter: "." },
};

/** The columns of a table in 200 terminal columns. */
const row = `[.id, .name, .context_length, .max_output_length, (.pricing | (.prompt, .completion, .input_cache_read)),
  .quantization, (.supported_features | join(", ")), ([.datacenters[].country_code] | join(", ")), .deprecation_date]`;

const rollcall = (args) => ["bin/rollcall.js", "catalog", "router", ...args];
const pipeline = ({ filter, raw }) =>
  run(["sh", "-c", `curl -s "$CATALOG" | jq ${raw ? "-r" : "-c"} "$FILTER"`], {
    env: { ...env, FILTER: filter.replace("ROW", row).replace("PICKED", picked) },
    output: "pipe",
  });

const withJq = (await isInstalled("jq")) && (await isInstalled("curl"));
if (!withJq) console.log("skipped: jq and curl are not both installed");
printMachine(rounds);
console.log(`${entries} entries`);

for (const [name, question] of Object.entries(questions)) {
  const programs = {
    rollcall: () => run([process.execPath, ...rollcall(question.args)], { env, output: "pipe" }),
    ...(withJq ? { "curl | jq": () => pipeline(question) } : {}),
  };
  const { ms, ratio } = await takeTurns(programs, rounds);
  const peak = await peakMb(rollcall(question.args), { env });
  const took = Object.keys(programs).map((program) => `${program} ${ms(program).toFixed(0)} ms`);
  console.log(`${name}: ${took.join(", ")}`);
  if (withJq) report(`${name}: curl | jq over rollcall`, ratio("curl | jq", "rollcall"), { min: 1 });
  report(`${name}: peak in MB`, peak, { max: 150 });
}
close();
