/** The page of the formats of other tools, generated from the formats. */
import type { Format } from "../../../src/rollouts/formats/format.ts";
import { loadFormats } from "../../../src/rollouts/formats/recognize.ts";

/** Returns the page, with the formats in the order in which they are recognized. */
export const formatsPage = async (): Promise<string> => {
  const formats = await loadFormats();
  const rowGroup = formats.find(({ name }) => name === "openai-chat")?.keys.group ?? "";
  return [
    "# Formats of other tools",
    intro(rowGroup),
    "## Formats",
    [
      "| `--from` | written by | a record is | group | reward | sampled turns |",
      "|---|---|---|---|---|---|",
      ...formats.map((format) => rowOf(format).replace(rowGroup, "as in all row formats")),
    ].join("\n"),
    rest,
  ]
    .join("\n\n")
    .concat("\n");
};

const intro = (
  rowGroup: string,
): string => `\`rollcall check\`, \`log\` and \`view\` read files of other tools, and \`rollcall convert\` writes them as groups of trajectories.
Give files, globs or folders. A record is an entry of a file, such as a line (see the table).

- \`--from auto\` (the default) recognizes the format by the keys and values of the first records, and a note names the format. If two
  formats fit equally well, choose one with \`--from\`, which also holds for each file of a folder. A file has records of one format.
- If rollcall finds no rollout in a JSON, JSONL or Parquet file of a folder, it skips the file with the warning \`skipped-file\`. Files that
  a format's writer puts next to its rollouts, such as \`metadata.json\` of verifiers, give no warning.
- A sampled turn becomes a choice, with its log probabilities if they are recorded. Other turns become messages.
- A rollout needs a reward. \`--reward-from <path>\` reads the reward from another path of the record. The keys in a path can contain dots.
  Repeat the option to add several parts, such as the columns of TRL's reward functions. \`path*0.5\` weighs a part. The parts become metrics.
  \`--rewards <file>\` reads the rewards from lines of \`{"id", "reward"}\`. The \`id\` is the id of the record (\`id\`, \`idx\`, \`example_id\`, …), or
  the name of the record's file if the record has no id. The name can be complete (\`fix.traj.json\`) or lack its endings (\`fix\`).
- The rewards \`true\` and \`false\` become 1 and 0. \`--reward-from\` also reads a number, true or false in a string. If the reward is in an
  object with other numbers, rollcall drops these numbers, and a note names them.
- *Row formats* are \`openai-chat\`, \`trl\`, \`sharegpt\`, \`openrlhf\`, \`verl\`, \`skyrl\` and \`nemo-rl\`. In a row format,
  a group is ${rowGroup.replace(/, or (with .*) if they (have no .*)/, ".\n  If rows $2, a group is the rows $1")}.
  In the other formats, the file defines the groups.
- \`--group-by <key>\` groups the rollouts by another key of the record, also across files and folders. A note counts the groups that it
  joined. The groups have other dedup keys than without \`--group-by\`, so rollcall logs them again. A rollout without the key is a group of
  its own, with the warning \`group-key-missing\`. If no rollout has the key, \`group-key-missing\` is an error. In \`art\`, the files record
  whole groups, and \`--group-by\` has no effect.
- In \`harbor\`, \`inspect\`, \`nemo-gym\`, \`tau-bench\`, \`tau2\`, \`verifiers-v0\` and \`verifiers-v1\`, a failed rollout without a reward becomes one of
  the \`exceptions\` of its group. In row formats, a row with an \`error\` and without a reward also becomes an exception. Any other
  record without a reward is an error.
- Numbers and texts that have no field in a trajectory become \`metadata\`. Nested values that have no field are left out.
- In a format with one record per line, a file can also be one JSON array of records, or one pretty-printed record. If each
  file of a folder is one pretty-printed record, the files are grouped like the lines of one file.
- In a format with one record per file, a file can also have a document on each line, or be an array of documents. Each document is read
  like a file. For \`--rewards\`, it has no file name, so it needs an id. The trials of \`harbor\` are folders next to such a file.
- If a row has no \`completion\`, \`--from trl\` reads the answer from \`response\`, \`answer\`, \`output\` or \`generation\`, and a note says so.
- \`--messages-from <path>\` reads the messages of \`openai-chat\` from another path of the row, such as \`conversation\`. The messages can
  also be JSON in a string. A column of Parquet with the type JSON is read as JSON.
- rollcall does not read CSV, but the error for a CSV file shows a command that converts the file.`;

const rest = `A format marked *lossy* has decoded text, which lacks the special tokens and the ends of turns. Read it with \`--lossy\`.
A row whose decoded answer contains turns of the user or of tools is refused. Rows that continue each other are turns of one
rollout: with the rollout's id (\`rollout_id\`, the \`uid\` of verl, …), rollcall reads the longest row, in which the answers of
the other rows are choices too. Without an id, it refuses them (\`step_wise_trajectories\` of SkyRL).

## Writers

The readers were written from the sources of these versions. \`test/samples/formats/\` has a file of each. A group has the first
key that a record has.

| \`--from\` | writer, versions and source | group keys |
|---|---|---|
| \`verifiers-v1\` | PrimeIntellect-ai/verifiers 0.2.0 and 0.2.1 (a trace a line), 0.3.0 (an episode a line), and a60a606 (\`verifiers/v1/trace.py\`, \`episode.py\`, \`cli/output.py\`); prime-rl 0.7.0 and 0.8.0 (a trace a line, \`prime_rl/orchestrator/types.py\`), and 559b447 (\`prime_rl/monitors/file.py\`) | \`group.id\`, \`group_id\`, \`info.group_id\`, or else run, step, environment and \`task.key\`, \`task.hash\` or \`task.data\` |
| \`verifiers-v0\` | PrimeIntellect-ai/verifiers 0.1.9 to 0.3.0 (\`verifiers/utils/save_utils.py\`); prime-rl 0.6.0 (\`prime_rl/orchestrator/types.py\`) | \`group_id\`, or else \`env_name\` and \`example_id\` |
| \`nemo-rl\` | NVIDIA-NeMo/RL 0.2.1 to 0.7.0, training (with token ids since 0.6.0) and validation (\`nemo_rl/algorithms/grpo.py\`, \`nemo_rl/utils/logger.py\`) | as in all row formats: no version writes a key |
| \`verl\` | verl-project/verl 0.4.0 to 0.9.0 (\`verl/trainer/ppo/ray_trainer.py\`), and the \`uid\` of 0.8.0 and 0.9.0 (\`verl/trainer/ppo/v1/trainer_base.py\`) | \`uid\` without the numbers of the rollout and the output, or else as in all row formats |
| \`skyrl\` | NovaSky-AI/SkyRL skyrl_train 0.1.0 to skyrl 0.3.0 (\`skyrl/train/utils/trainer_utils.py\`) | as in all row formats: no version writes a key |
| \`openrlhf\` | OpenRLHF/OpenRLHF 0.4.0 to 0.9.5 (\`openrlhf/cli/batch_inference.py\`, which 0.9.6 does not have) | as in all row formats: no version writes a key |
| \`trl\` | huggingface/trl 0.28.0 to 1.9.0, the files of \`log_completions\` (\`trl/trainer/grpo_trainer.py\`), which have the decoded text of prompts and completions | as in all row formats: no version writes a key |
| \`art\` | OpenPipe/ART, Parquet version 2 (\`art/utils/trajectory_logging.py\`), and trajectories with exchanges at aef9d447 (\`art/trajectories/__init__.py\`) | \`group_index\`, or a line |
| \`nemo-gym\` | NVIDIA-NeMo/Gym 0.1.0 to 0.5.0, and 07d6b0d (\`nemo_gym/rollout_collection.py\`) | \`_ng_task_index\`, or else the prompt (0.1) |
| \`inspect\` | UKGovernmentBEIS/inspect_ai 0.3.8, 0.3.40, 0.3.57, 0.3.70, 0.3.100, 0.3.154, 0.3.178, 0.3.200 and 0.3.260 (\`inspect_ai/log/_log.py\`, \`_recorders/eval.py\`). Samples in chunks (0.3.250 and newer) are refused | the \`id\` of a sample in one log |
| \`harbor\` | Harbor of February 2026 (\`harbor/models/trial/result.py\`, \`harbor/trial/trial.py\`) | \`task_checksum\`, or else \`task_name\`, in one job |
| \`atif\` | ATIF 1.0 to 1.6 (\`harbor/models/trajectories/trajectory.py\`), and 1.7 (Arize-ai/phoenix 9478f95, \`helpers/atif/_validate.py\` and \`_types.py\`, not Harbor) | a file |
| \`tau-bench\` | sierra-research/tau-bench 7362a17, which has no releases (\`tau_bench/run.py\`, \`tau_bench/types.py\`) | \`task_id\` in one file |
| \`tau2\` | sierra-research/tau2-bench 0.1.3, 0.2.0, 1.0.0 and 1.0.1 (\`tau2/data_model/simulation.py\`, \`tau2/runner/progress.py\`) | \`task_id\` and domain in one file or folder |
| \`mini-swe-agent\` | SWE-agent/mini-swe-agent 1.0.0 to 1.17.5 (format 1, since 1.4.0 with \`trajectory_format\`), and 2.0.0 to 2.4.6 (format 1.1): each version of \`run/utils/save.py\` and \`agents/default.py\`. No release writes the bare array of \`mini-swe-agent-messages\`, which is in the writer's tests | \`instance_id\`, or else a file |
| \`swe-agent\` | SWE-agent/SWE-agent 0.7.0 to 1.1.0 (\`sweagent/agent/agents.py\`, \`sweagent/types.py\`) | the name of the file |
| \`atropos\` | NousResearch/atropos 0.2.0 to 0.4.0 (\`atroposlib/envs/base.py\`, \`atroposlib/utils/tokenize_for_trainer.py\`) | a line |
| \`lm-eval\` | EleutherAI/lm-evaluation-harness 0.4.0 to 0.4.12 (\`lm_eval/evaluator.py\`, \`lm_eval/loggers/evaluation_tracker.py\`) | \`doc_id\` |

SWE-agent's \`history\` has the observations in full, also where a history processor shortened them in the agent's prompts. Atropos masks
the turns that a trainer must not learn, which become messages. lm-evaluation-harness writes a row for each filter of a sample. Name the
filter after the metric: \`--reward-from exact_match,strict-match\`. Rows of other filters are left out, because they have the same responses.

OpenRLHF's processor \`csft\` adds \` <rm_score>: 1.25 \` with the row's own reward to the prompt. rollcall removes it, because the model did
not see it. Another reward at this position is from \`--enable_csft\`, so it stays.

In ART's exchanges, an exchange whose prompt continues an earlier answer is its next turn. Other attempts become \`additional_histories\`,
whose earlier turns are messages. Exchanges of the Completions API are refused, because they have no messages.

## Copies of a rollout

A converted rollout counts once, even if several files or lines of a run contain it, such as a log and its scored copy. rollcall compares
the ids that the writers record: the \`uuid\` of a sample in \`inspect\` (in logs before 0.3.70, the task, the sample, the epoch and the
messages, which \`inspect score\` and \`inspect eval-retry\` keep), the \`id\` of a trial in \`harbor\` and of a simulation in \`tau2\`, the ids
of episodes and traces in \`verifiers-v1\`, \`_ng_task_index\` with \`_ng_rollout_index\` in one file of \`nemo-gym\`, and the UUIDs in
\`session_id\` and \`trajectory_id\` of \`atif\` and in \`uid\` of \`verl\`. TRL records no ids, but with several iterations for a batch it
writes the same batch at each step. So in \`trl\`, a row with \`advantage\` is a copy if the rows of its \`step\` in the file equal the rows of
another step in the folder, or if it is at the start of its table and was at the end of the table before, as after an evaluation. TRL also
writes the rows of an evaluation to these tables, and does not mark them. The other formats record no id of a rollout.

- The newest copy counts, by the last time in the record. Without different times, the last copy counts, or an Inspect log whose name ends
  with \`-scored\`. A copy that cannot be
  converted, such as a sample without a score, does not count if another copy can be converted.
- The warning \`duplicate-rollout\` names the positions of both copies. \`--allow duplicate-rollout\` silences the warning, but does not
  restore the other copy. The copies that prime-rl itself writes to \`all\` and \`effective\`, and TRL to its
  Parquet files, cause no warning.
- The other copies are not in the numbers of read trajectories. A note counts them, and the receipt lists their values as left out.
- If only a part of a group is copied, the copies and the rest are one group.
- Lines in rollcall's format are never left out. For equal lines, there is the warning \`duplicate-trajectory\`.

## Files that rollcall does not read

rollcall refuses these files by name, because it could convert them only by guessing. Write their rollouts in rollcall's format
([data-format.md](data-format.md)) or as rows of \`openai-chat\`, with the rewards in \`reward\` or in a file for \`--rewards\`.

| files | reason |
|---|---|
| sessions of Codex, Claude Code, Gemini CLI, opencode and goose | they have no reward, and do not record what the model sampled |
| \`output.jsonl\`, resolver outputs and events of OpenHands | their history has events instead of the model's messages |
| demonstrations of SWE-agent | no model sampled them |
| steps of OSWorld | their screenshots and prompts are not in the file |
| runs of LangSmith, traces of Langfuse and OpenTelemetry | their messages and scores have no fixed place |
| preference rows (\`chosen\` and \`rejected\`) | they compare two answers instead of rating each |
| episodes of rLLM | their steps repeat the conversation in several forms |

## Receipts

\`--receipt <file>\` writes a report that counts the values by file and path, as \`carried\` (byte for byte), \`changed\`, or \`left_out\` (with the
reason). The \`records\` of the report say which record became which group and trajectory. Values that the record
does not have, such as derived finish reasons, are \`added\`. \`convert --exact\` fails if a value is left out or changed, or if the finish
reason of a last turn is derived. Token ids can be left out. [fine-tuning.md](fine-tuning.md) describes the lists \`rows\` and \`redacted\`.

## The ledger

The ledger identifies a converted group by the digest of its records, not of the converted text. So a newer rollcall that converts a file in
another way does not log its groups again. The order of the records and the name of the file do not matter. But \`--reward-from\`,
\`--rewards\`, or a selection that keeps only a part of a group changes the digest, so the group is logged again.

A rollout counts once per run. If an older copy was logged in an earlier run, its group and the group of the newer copy have different
digests, so the group of the newer copy is logged, too. Give both files in one run, or log only the newer file.`;

const rowOf = ({ name, title, records, keys, isLossy }: Format): string =>
  `| \`${name}\`${isLossy === true ? " *lossy*" : ""} | ${[title, recordsOf(records), keys.group, keys.reward, keys.sampled].map(cell).join(" | ")} |`;

const cell = (text: string): string => text.replaceAll("|", "\\|");

const recordsOf = ({ text, zip, parquet }: Format["records"]): string =>
  [
    ...(text === undefined ? [] : [text === "lines" ? "a line" : "a file"]),
    ...(zip === undefined ? [] : ["a member of the archive"]),
    ...(parquet === undefined ? [] : ["a row"]),
  ].join(", ");
