/** Runs the commands of README.md that are not in a `console` block. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { newHome, startLocalService } from "../support/run.ts";
import { runOnTerminal } from "../support/terminal.ts";
import { checkoutToWriteIn, pathWithRollcall } from "./docs/blocks.ts";

const readme = readFileSync("README.md", "utf8");

describe("README.md", { tags: "slow" }, () => {
  /** Needs a browser and runs until Ctrl-C; test/view/ runs it. */
  const withBrowser = "rollcall view rollouts.jsonl";

  it("has sentences whose commands run as they are", () => {
    const sentences = readme.replaceAll(/^```.*?^```$/gms, "");
    const commands = Array.from(sentences.matchAll(/`(rollcall [^`]+)`/g), ([, command = ""]) => command);
    expect(commands.length).toBeGreaterThan(7);
    expect(commands).toContain(withBrowser);
    const cwd = checkoutToWriteIn();
    const env = { ...newHome(), PATH: pathWithRollcall(), ROLLCALL_PROFILE: "local" };
    for (const command of commands.filter((each) => each !== withBrowser)) {
      const { status, stderr } = spawnSync("sh", ["-c", command], { cwd, env, encoding: "utf8" });
      expect({ command, status }, stderr).toEqual({ command, status: 0 });
    }
  });

  it("has a login after which the next command logs to the service", async () => {
    const blocks = Array.from(readme.matchAll(/^```sh\n(.*?)^```$/gms), ([, block = ""]) => block);
    expect(blocks).toHaveLength(1);
    const { url, key, stop } = await startLocalService(["--project", "team/project"]);
    onTestFinished(stop);
    const script = `set -e\n${blocks.join("").replaceAll(/https:\/\/\w+\.example/g, url)}`;
    const skipped = { when: /Enter\s+skips\): /, keys: "\r" };
    const { code, lines } = await runOnTerminal(script, {
      env: { ...newHome(), PATH: pathWithRollcall() },
      cwd: checkoutToWriteIn(),
      typed: [{ when: /key for .*: /, keys: `${key}\r` }, skipped, skipped],
    });
    expect(code, lines.join("\n")).toBe(0);
    expect(lines.join("\n")).toMatch(/^status +logged$/m);
  });
});
