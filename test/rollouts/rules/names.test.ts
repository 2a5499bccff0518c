import { expect, it } from "vitest";
import { canNamePolicy, isPolicyColumn, isStep } from "../../../src/rollouts/rules/names.ts";

it.each([
  [
    "compared",
    "step global_step train/global_step trainer.step globalStep weight_version model checkpoint train/epoch",
  ],
  ["possible", "my_step adapterPath train/lora_name a.model"],
  ["other", "steps model/name num_step env_step head_version description"],
])("columns are %s steps or policies by their last name: %s", (kind, names) => {
  const kindOf = (name: string) => {
    if (isPolicyColumn(name)) return isStep(name) ? "compared" : "not dividing";
    return canNamePolicy(name) ? "possible" : "other";
  };
  expect(names.split(" ").map((name) => `${name} ${kindOf(name)}`)).toEqual(
    names.split(" ").map((name) => `${name} ${kind}`),
  );
});
