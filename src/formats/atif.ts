/** ATIF documents: what an agent did step by step, with its continuations and subagents. */
import { basename } from "node:path";
import { readAtif } from "./atif-histories.ts";
import { Links } from "./atif-links.ts";
import { object, objectOf, unlessEmpty } from "./built.ts";
import { type Format, type FormatRun, type Rollout, rewardOf, type SourceRecord } from "./format.ts";
import type { Value } from "./value.ts";

const turn = "the interface has no place for it on a turn";
const part = "a history has no place for it: the trajectory has its first part's";

/** Why values of ATIF documents have no place. */
export const leftOfAtif: Readonly<Record<string, string>> = {
  "steps[].metrics.prompt_token_ids": "they are made of the messages",
  "steps[].metrics.completion_token_ids": "no logprobs are recorded with them",
  "steps[].metrics.logprobs": "completion_token_ids are missing, or the turn was not sampled",
  "steps[].metrics": "the interface has no place for the usage of a turn",
  "steps[].timestamp": "the interface has no place for the time of a turn",
  "steps[].observation.results[].subagent_trajectory_ref": "the histories are those that it names",
  steps: turn,
  agent: part,
  schema_version: part,
  session_id: part,
  trajectory_id: part,
  notes: part,
  final_metrics: "metrics are numbers, those of the last part",
};

export const atif: Format = {
  name: "atif",
  title: "ATIF trajectories",
  keys: { group: "each file by itself", reward: "--rewards", sampled: "the agent's steps" },
  records: { text: "document" },
  files: /(?:^|[/\\])trajectory[^/\\]*\.json(?:\.gz|\.zst)?$/,
  recognises: ({ value }) => isAtif(value),
  open: (run) => new Documents(run),
  left: { ...leftOfAtif, "subagent_trajectories[]": part, extra: "the trajectory's metadata holds no nested values" },
};

const isAtif = (value: Value): boolean =>
  value.get("schema_version")?.text?.startsWith("ATIF-") === true && value.get("steps")?.isList === true;

class Documents {
  readonly #run: FormatRun;
  readonly #links: Links;

  constructor(run: FormatRun) {
    this.#run = run;
    this.#links = new Links(run);
  }

  look(record: SourceRecord): void {
    this.#links.look(record);
  }

  convert(record: SourceRecord): readonly Rollout[] | undefined {
    const { value, file } = record;
    if (this.#links.isPart(record)) return undefined;
    const group = "trajectory";
    const { histories, metrics, metadata, startTime, form, documents } = readAtif(this.#run, {
      located: { document: value, file },
      links: this.#links,
      group,
    });
    const stem = basename(file).replace(/\.json(?:\.gz|\.zst)?$/, "");
    const ids = [value.get("trajectory_id"), value.get("session_id"), stem];
    const { reward, identity = "" } = rewardOf(this.#run, { record: value, ids, group });
    const trajectory = object({
      ...histories,
      reward,
      metrics: unlessEmpty(objectOf(metrics)),
      metadata: unlessEmpty(objectOf(metadata)),
      start_time: startTime,
    });
    return [{ group, identity: identity + form, with: documents, trajectory }];
  }
}
