/** What `log` and `check` say of trajectories: the JSON documents, the page, the records. */
import { problemFacts } from "../../failure.ts";
import { type Column, type Page, printList, printPage, type Screen, type Section } from "../../output/index.ts";
import type { CheckResult, LogResult } from "../../trajectories/index.ts";

/** The document of `log --json`; the service's answers stand in it as they came. */
export const logDocument = (result: LogResult): Uint8Array => {
  const answers = responses(result);
  const whole = {
    status: result.status,
    model_id: result.modelId,
    split: result.split ?? null,
    batch: result.batch,
    requests: result.requests,
    bytes: result.bytes,
    groups: result.groups,
    trajectories: result.trajectories,
    metrics: result.metrics,
    responses: null,
    rejects_file: result.rejectsFile,
    ledger: result.ledger,
    warnings: result.warnings.map(problemFacts),
  };
  const members = Object.entries(whole).map(
    ([key, value]) => `${JSON.stringify(key)}:${key === "responses" ? answers : JSON.stringify(value)}`,
  );
  return Buffer.from(`{${members.join(",")}}`);
};

const responses = ({ answers }: LogResult): string => {
  const entries = answers.map(({ status, body, bytes }) =>
    body === undefined
      ? `{"status":${status},"body":null,"body_bytes":${bytes}}`
      : `{"status":${status},"body":${bodyJson(body)}}`,
  );
  return `[${entries.join(",")}]`;
};

/** An answer's body as JSON: as it came where it is JSON, else its text. */
const bodyJson = (body: Uint8Array): string => {
  const text = Buffer.from(body).toString("utf8");
  if (text === "") return "null";
  return parsed(text) === undefined ? JSON.stringify(text) : text;
};

const parsed = (text: string): { readonly value: unknown } | undefined => {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
};

/** The document of `check --json`. */
export const checkDocument = ({
  status,
  split,
  groups,
  trajectories,
  metrics,
  problems,
  problemsLeftOut,
}: CheckResult): unknown => ({
  status,
  split: split ?? null,
  groups,
  trajectories,
  metrics,
  problems: problems.map(problemFacts),
  ...(problemsLeftOut === 0 ? {} : { problems_left_out: problemsLeftOut }),
  warnings: problems.filter(({ severity }) => severity === "warning").map(problemFacts),
});

/** One line of a result. */
interface Fact {
  readonly name: string;
  readonly value: string | number;
}

/** Prints a result for a person, or as records. */
export const printFacts = async (
  screen: Screen,
  {
    facts,
    metrics,
    next,
  }: {
    readonly facts: readonly Fact[];
    readonly metrics: Readonly<Record<string, number>>;
    readonly next: readonly Fact[];
  },
): Promise<void> => {
  const measured = Object.entries(metrics).map(([name, value]) => ({ name, value }));
  if (screen.format !== "table") {
    await printList(screen, { columns, rows: [...facts, ...measured, ...next] });
    return;
  }
  const page: Page = { sections: [section(facts), section(measured, "Metrics"), section(next)] };
  await printPage(screen, page);
};

const columns: readonly Column<Fact>[] = [
  { name: "name", heading: "name", rank: 0, cell: ({ name }) => name, value: ({ name }) => name },
  { name: "value", heading: "value", rank: 0, cell: ({ value }) => String(value), value: ({ value }) => value },
];

const section = (facts: readonly Fact[], title?: string): Section =>
  facts.length === 0
    ? {}
    : {
        ...(title === undefined ? {} : { title }),
        lines: facts.map(({ name, value }) => ({ label: name, text: String(value) })),
      };

/** What became of a run of `log`, in lines. */
export const logFacts = ({
  status,
  modelId,
  split,
  groups,
  trajectories,
  requests,
  bytes,
  batch,
  rejectsFile,
}: LogResult): readonly Fact[] => [
  { name: "status", value: status },
  { name: "model", value: modelId },
  ...(split === undefined ? [] : [{ name: "split", value: split }]),
  ...(batch === null ? [] : [{ name: "batch", value: batch }]),
  { name: "groups", value: countsText(groups) },
  { name: "trajectories", value: countsText(trajectories) },
  { name: "requests", value: requests },
  { name: "bytes", value: bytes },
  ...(rejectsFile === null ? [] : [{ name: "rejects", value: rejectsFile }]),
];

/** What a run of `check` found, in lines. */
export const checkFacts = ({ status, split, groups, trajectories }: CheckResult): readonly Fact[] => [
  { name: "status", value: status },
  ...(split === undefined ? [] : [{ name: "split", value: split }]),
  { name: "groups", value: rejectedText(groups) },
  { name: "trajectories", value: rejectedText(trajectories) },
];

const rejectedText = ({ read, rejected }: { readonly read: number; readonly rejected: number }): string =>
  rejected === 0 ? String(read) : `${read}, ${rejected} of them not valid`;

/** How many, and what became of those that were not all logged. */
const countsText = ({ read, ...counts }: LogResult["groups"]): string => {
  const parts = fateWords
    .filter(([fate]) => counts[fate] > 0)
    .map(([fate, words]) => ({ count: counts[fate], text: `${counts[fate]} ${words}` }));
  const [only] = parts;
  if (parts.length === 0 || (only?.count === read && (counts.logged === read || counts.not_sent === read))) {
    return String(read);
  }
  return `${read}: ${parts.map(({ text }) => text).join(", ")}`;
};

const fateWords = [
  ["logged", "logged"],
  ["already_logged", "already logged"],
  ["rejected", "rejected"],
  ["unknown", "unknown"],
  ["not_sent", "not sent"],
] as const;
