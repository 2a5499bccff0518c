/** The names of the files that tools write. */
import { expect, it } from "vitest";
import { isCompanion, loadFormats } from "../../../src/rollouts/formats/recognize.ts";

it("files next to rollouts are known by their names, in any case and compression, and other files are not", async () => {
  const companions = {
    "a/Config.JSON.gz harbor": "config.json x/config.json config.json.zst",
    "r/preds.json mini-swe-agent": "preds.json",
    "r/metadata.json verifiers-v0": "a.metadata.json metadata.json",
    "o/configs/a.json verifiers-v1":
      "o/monitors/a/b.json traces/live/a/1.jsonl stream.index.jsonl o/annotations/a.index.jsonl traces/annotations/a/1.jsonl metrics.jsonl o/stream/1.jsonl.zst.tmp",
    "r_aggregate_metrics.json nemo-gym": "r_agent_metrics.json",
    "r/eval-set.json inspect": "logs.json r/listing.json",
    "r/results.json lm-eval": "r/results_2026.json",
    none: "myconfig.json config.json.bz2 r/apreds.json x.preds ametadata.json configs/a/b.json o/live/1.jsonl o/stream/1.jsonl r_metrics.json logs.jsonl r/results-1.json results_1/a.json",
  };
  const formats = await loadFormats();
  const namesOf = (file: string) => formats.flatMap((format) => (isCompanion(file, [format]) ? format.name : []));
  for (const [first, others] of Object.entries(companions)) {
    const [file = "", ...names] = first.split(" ");
    for (const other of [file, ...others.split(" ")]) expect([other, namesOf(other)]).toEqual([other, names]);
  }
});

it("files with rollouts are known by their names if their content is not", async () => {
  const files = {
    atif: "trajectory.json a/trajectory.cont-1.json",
    harbor: "t/result.json",
    "mini-swe-agent": "a/x.traj.json",
    "verifiers-v0": "r/results.jsonl a.results.jsonl",
    "verifiers-v1": "r/traces.jsonl a.traces.jsonl o/traces/stream/1.jsonl",
    tau2: "r/results.json simulations/a.json",
    inspect: "a.eval",
    "lm-eval": "r/samples_x_2026.jsonl samples_x.jsonl",
    "": "a/trajectory/a.json atrajectory.json results.json.jsonl o/stream/1.jsonl o/traces/live/1.jsonl a.traj.jsonl data_step1.jsonl samples.jsonl",
  };
  const formats = await loadFormats();
  for (const [names, texts] of Object.entries(files))
    for (const file of texts.split(" ")) {
      const found = formats.flatMap(({ filePattern, name }) => (filePattern?.test(file) ? name : []));
      expect([file, found.join(" ")]).toEqual([file, names]);
    }
});
