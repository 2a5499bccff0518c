/** Runs the commands of README.md that are not in a `console` block. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { newHome } from "../support/run.ts";
import { checkoutToWriteIn, pathWithRollcall } from "./docs/blocks.ts";

const readme = readFileSync("README.md", "utf8");

describe("README.md", { tags: "slow" }, () => {
  const environment = () => ({ ...newHome(), PATH: pathWithRollcall() });

  it("logs its first sample without a warning", () => {
    const [, line = ""] = /^\$ npm ci && (.* log .* --local)$/m.exec(readme) ?? [];
    const ran = spawnSync("sh", ["-c", line], { cwd: checkoutToWriteIn(), env: environment(), encoding: "utf8" });
    expect(ran).toMatchObject({ status: 0, stderr: expect.not.stringContaining("warning") });
  });

  /** Needs a browser and runs until Ctrl-C; test/view/ runs it. */
  const withBrowser = "rollcall view rollouts.jsonl";

  it("has sentences whose commands run as they are", () => {
    const sentences = readme.replaceAll(/^```.*?^```$/gms, "");
    const commands = Array.from(sentences.matchAll(/`(rollcall [^`]+)`/g), ([, command = ""]) => command);
    expect(commands.length).toBeGreaterThan(5);
    expect(commands).toContain(withBrowser);
    const cwd = checkoutToWriteIn();
    const env = { ...environment(), ROLLCALL_PROFILE: "local" };
    for (const command of commands.filter((each) => each !== withBrowser)) {
      const { status, stderr } = spawnSync("sh", ["-c", command], { cwd, env, encoding: "utf8" });
      expect({ command, status }, stderr).toEqual({ command, status: 0 });
    }
  });
});
