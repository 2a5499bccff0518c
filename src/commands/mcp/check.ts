/** The tool `check`: the checks and metrics of `rollcall check` on files below one folder, without anything of their content. */
import type { Context } from "../../context.ts";
import { isFailure, type Problem } from "../../failure.ts";
import type { Root, RootFile, Tool } from "../../mcp/index.ts";
import type { CheckResult, Judgement } from "../../trajectories/index.ts";
import type { McpRoom } from "./session.ts";
import { shortened } from "./values.ts";

/** The tool. */
export const checkTool = (room: McpRoom, context: Context, root: Root): Tool => {
  const files = room.neededTexts({ name: "files", about: "paths from the root on" }, mostFiles);
  const split = room.text({ name: "split", about: "the data split that they belong to, such as train" });
  const groupBy = room.text({ name: "group_by", about: "a key that puts trajectories into one group" });
  const strict = room.flag({ name: "strict", about: "warnings are errors" });
  const allow = room.texts({ name: "allow", about: "rules whose warnings are silent" }, mostFiles);
  const most = room.count({ name: "limit", about: "most problems to give" }, { least: 0, most: 500, usual: 50 });
  return {
    name: "check",
    title: "Check trajectory files",
    description:
      "Checks files of trajectories (JSON lines; plain, gzip or zstd) and computes their metrics, offline. Gives counts, metrics and " +
      "problems: rule, severity, line and column (from 1), path and message, nothing of the values. status is valid where no " +
      "problem is an error.",
    parameters: [files, split, groupBy, strict, allow, most],
    result: checkSchema,
    asksService: false,
    run: async (given, { signal }) => {
      const { judgementOf } = await context.trajectories();
      const judgement = judgementOf({ strict: given(strict), allow: given(allow) });
      const opened = given(files).map((path) => root.file(path));
      const asked = { split: given(split), groupBy: given(groupBy), judgement, most: given(most) };
      return await checkFiles(context, opened, asked, signal);
    },
  };
};

/** Most files, and most rules, of one call. */
const mostFiles = 100;

interface Asked {
  readonly split: string | undefined;
  readonly groupBy: string | undefined;
  readonly judgement: Judgement;
  readonly most: number;
}

const checkFiles = async (
  context: Context,
  files: readonly RootFile[],
  { split, groupBy, judgement, most }: Asked,
  signal: AbortSignal,
) => {
  const { checkResult, quietMessage, readTrajectories } = await context.trajectories();
  const names = new Map(files.map(({ path, name }) => [path, name]));
  const shown = (problems: readonly Problem[], of: number) => ({
    problems: problems.slice(0, most).map((problem) => entryOf(problem, names, quietMessage(problem))),
    problems_left_out: Math.max(0, of - most),
  });
  try {
    const reading = await readTrajectories({
      host: { ...context.host, signal },
      files: files.map(({ path }) => path),
      split,
      splitNeeded: false,
      groupBy,
      judgement,
      onOpened: () => undefined,
      onProgress: () => undefined,
    });
    try {
      const result = checkResult(reading);
      // What was read is what was asked for only if no path was bent meanwhile.
      for (const file of files) file.assertSame();
      const { problems, problemsLeftOut } = result;
      return { ...countsOf(result), ...shown(problems, problems.length + problemsLeftOut) };
    } finally {
      await reading.close();
    }
  } catch (thrown) {
    signal.throwIfAborted();
    // A file that can't be used at all is what the agent asks about.
    if (!isFailure(thrown, "input-invalid")) throw thrown;
    const { problems = [] } = thrown.about;
    return { ...nothingRead, ...shown(problems, problems.length) };
  }
};

const countsOf = ({ status, split, groups, trajectories, metrics }: CheckResult) => ({
  status,
  split: split === undefined ? null : shortened(split, longestName),
  groups,
  trajectories,
  metrics: Object.fromEntries(
    Object.entries(metrics)
      .slice(0, mostMetrics)
      .map(([name, value]) => [shortened(name, longestName), value]),
  ),
});

const nothingRead = {
  status: "invalid",
  split: null,
  groups: { read: 0, rejected: 0 },
  trajectories: { read: 0, rejected: 0 },
  metrics: {},
};

/** Most metrics given, and the longest name that is given whole. */
const mostMetrics = 200;
const longestName = 200;

/** A problem, without anything that stood in the file but the names of keys on the way to it. */
const entryOf = (
  { file, line, column, path, rule, severity }: Problem,
  names: ReadonlyMap<string, string>,
  message: string,
) => ({
  ...(file === undefined ? {} : { file: names.get(file) ?? "" }),
  ...(line === undefined ? {} : { line }),
  ...(column === undefined ? {} : { column }),
  ...(path === undefined
    ? {}
    : { path: path.map((key) => (typeof key === "string" ? shortened(key, longestName) : key)) }),
  rule,
  severity,
  message,
});

const counts = {
  type: "object",
  properties: { read: { type: "integer" }, rejected: { type: "integer", description: "not valid" } },
  required: ["read", "rejected"],
};

/** JSON Schema of what the tool gives. */
const checkSchema = {
  type: "object",
  properties: {
    status: { enum: ["valid", "invalid"] },
    split: { type: ["string", "null"] },
    groups: counts,
    trajectories: counts,
    metrics: { type: "object", additionalProperties: { type: "number" } },
    problems: {
      type: "array",
      items: {
        type: "object",
        properties: {
          file: { type: "string", description: "path from the root on" },
          line: { type: "integer", description: "from 1" },
          column: { type: "integer", description: "from 1, in UTF-16 units" },
          path: { type: "array", items: { type: ["string", "integer"] } },
          rule: { type: "string" },
          severity: { enum: ["error", "warning"] },
          message: { type: "string" },
        },
        required: ["rule", "severity", "message"],
      },
    },
    problems_left_out: { type: "integer" },
  },
  required: ["status", "split", "groups", "trajectories", "metrics", "problems", "problems_left_out"],
};
