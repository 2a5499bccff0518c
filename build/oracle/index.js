/**
 * The oracle: compares the working tree with a commit. Both builds run the same command lines over the same inputs and against
 * the same service, and everything that a user or the service can observe is compared.
 *
 *     node build/oracle/index.js <commit> [--only reading|sending|listing] [--quick] [--jobs <n>] [--case <text>]
 *
 * Exits with 0 if each difference is listed in expected.js, otherwise with 1.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { buildCommit, buildWorkingTree } from "./builds.js";
import { commandsOf, missingFrom } from "./commands.js";
import { differencesBetween } from "./compare.js";
import { writeInputs } from "./inputs.js";
import { listingCases } from "./listing.js";
import { openProgram } from "./program.js";
import { readingCases } from "./reading.js";
import { keepExample, openReport } from "./report.js";
import { sendingCases } from "./sending.js";
import { openService } from "./service.js";
import { openStage } from "./stage.js";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: "string" },
    case: { type: "string" },
    jobs: { type: "string", default: "2" },
    quick: { type: "boolean", default: false },
  },
});
const [commit] = positionals;
const partNames = ["listing", "sending", "reading"];
const isUnknown = options.only !== undefined && !partNames.includes(options.only);
if (commit === undefined || positionals.length > 1 || isUnknown || !(options.jobs > 0)) {
  console.error(
    "usage: node build/oracle/index.js <commit> [--only reading|sending|listing] [--quick] [--jobs <n>] [--case <text>]",
  );
  process.exit(2);
}
const isAsked = (part) => options.only === undefined || options.only === part;

const folder = mkdtempSync(join(tmpdir(), "oracle-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const oldBuild = buildCommit(commit);
const newBuild = buildWorkingTree(join(folder, "new"));
const inputs = isAsked("reading")
  ? await writeInputs({ commit: oldBuild, folder: join(folder, "inputs"), quick: options.quick })
  : [];
const commands = { old: await commandsOf(oldBuild, folder), new: await commandsOf(newBuild, folder) };
const missing = missingFrom(commands);

const cases = [
  ...(isAsked("listing") ? listingCases({ commit: oldBuild, commands: commands.old, quick: options.quick }) : []),
  ...(isAsked("sending") ? sendingCases({ commit: oldBuild, quick: options.quick }) : []),
  ...readingCases(inputs),
].filter(({ name }) => options.case === undefined || name.includes(options.case));
const report = openReport();
let comparisons = 0;
let [next, lastTold] = [0, Date.now()];

/** Which build runs the nth command line of a case: one build all, or both in turns. */
const turns = {
  old: () => "old",
  new: () => "new",
  "old, then new": (at) => (at === 0 ? "old" : "new"),
  "new, then old": (at) => (at === 0 ? "new" : "old"),
};

/** True until the builds turn out to write ledgers with other tables: then neither reads the other's. */
let canTakeTurns = true;

const job = async (number) => {
  const programs = { old: openProgram(oldBuild), new: openProgram(newBuild) };
  const service = await openService();
  const playWith = async (one, turn) => {
    const stage = openStage({
      folder: join(folder, `job-${number}`),
      service,
      programOf: (run) => programs[turns[turn](run)],
      missing,
    });
    try {
      await one.play(stage);
    } catch (thrown) {
      // A case reads what a run printed; a build may print something else.
      stage.seen.push({
        args: ["(the case itself)"],
        parts: [
          ["exit code", `${thrown}`],
          ["stdout", ""],
          ["stderr", ""],
        ],
      });
    }
    return stage;
  };
  while (next < cases.length) {
    const one = cases[next++];
    const old = await playWith(one, "old");
    for (const turn of ["new", ...(one.takesTurns ? ["old, then new", "new, then old"] : [])]) {
      if (turn !== "new" && !canTakeTurns) continue;
      const own = await playWith(one, turn);
      comparisons += own.seen.reduce((sum, { parts: all }) => sum + all.length, 0);
      const differences = differencesBetween(old.seen, own.seen, one);
      if (differences.some(({ shape }) => shape === "other tables")) canTakeTurns = false;
      const keep = (to) =>
        keepExample(to, { inputs: own.inputs.map((name) => own.path(name)), olds: old.seen, news: own.seen });
      report.add(differences, { name: turn === "new" ? one.name : `${one.name} (${turn})`, keep });
    }
    if (Date.now() - lastTold > 10_000) {
      lastTold = Date.now();
      console.error(`${next} of ${cases.length} cases`);
    }
  }
  await Promise.all([programs.old.close(), programs.new.close(), service.close()]);
};

await Promise.all(Array.from({ length: Number(options.jobs) }, (_, number) => job(number)));
process.exitCode = report.print(comparisons) ? 0 : 1;
