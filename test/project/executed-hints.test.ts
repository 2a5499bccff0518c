import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { type CommandTree, readCommandTree } from "../support/command-tree.ts";
import { type LocalService, newHome, startLocalService } from "../support/run.ts";
import { situations } from "./hint-situations.ts";

describe("a hint", { tags: "slow" }, () => {
  let service: LocalService;
  let tree: CommandTree;
  beforeAll(async () => {
    service = await startLocalService();
    tree = await readCommandTree();
    return () => service.stop();
  });

  it.each(Object.entries(situations))(
    "names commands and options that help after %s",
    async (reason, { before = ":", fails, helps, ends = 0, drops = [], env = {} }) => {
      const scene = () => sceneOf(service, env);
      const { code, stderr } = await scene()(`{ ${before}; } >/dev/null 2>&1; ${fails}`);
      const hint = /\bhint: (.*)/.exec(stderr)?.[1] ?? "";
      expect({ code, stderr }).toEqual({ code: expect.any(Number), stderr: expect.stringContaining("hint: ") });
      expect(code).not.toBe(0);
      for (const name of tree.namedIn(hint).filter((one) => !drops.includes(one))) {
        expect(
          helps.some((help) => help.join(" ").includes(name)),
          `${reason}: ${name} of “${hint}”`,
        ).toBe(true);
      }
      for (const [help, state] of helps) {
        const done = `{ ${help}\n} >.out 2>&1; test $? = ${ends} || { cat .out; exit 99; }`;
        const ran = await scene()(`{ ${before}; } >/dev/null 2>&1; ${done}; ${state}`);
        expect({ help, state, ...ran }).toMatchObject({ code: 0 });
      }
    },
  );
});

/** A shell in a new folder with a new home folder, and with `rollcall` on its path. */
const sceneOf = ({ url, key }: LocalService, more: Readonly<Record<string, string>>) => {
  const cwd = mkdtempSync(join(tmpdir(), "scene-"));
  const bin = join(cwd, ".bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "rollcall"), `#!/bin/sh\nexec "${process.execPath}" "${resolve("bin/rollcall.js")}" "$@"\n`);
  chmodSync(join(bin, "rollcall"), 0o755);
  const group = (reward: unknown, usage = ""): string =>
    `{"trajectories":[{"messages_and_choices":[{"role":"user","content":"q"},{"finish_reason":"stop","index":0,"message":{"role":"assistant","content":"a"}}],"reward":${reward}${usage}}]}\n`;
  writeFileSync(join(cwd, "good.jsonl"), group(1) + group(2));
  writeFileSync(join(cwd, "bad.jsonl"), group(1) + group("NaN"));
  const row = `{"messages_and_choices":[],"reward":1,"key":"a"}\n`;
  writeFileSync(join(cwd, "rows.jsonl"), row + row.replace("1", "2"));
  writeFileSync(join(cwd, "key"), key);
  const filled = Object.entries(more).map(([name, value]) => [name, value.replace("$URL", url).replace("$KEY", key)]);
  const env = {
    ...newHome(),
    PATH: [bin, dirname(process.execPath), process.env.PATH].join(delimiter),
    URL: url,
    KEY: key,
    PORT: new URL(url).port,
    ...Object.fromEntries(filled),
  };
  return async (script: string) => {
    const child = spawn("/bin/sh", ["-c", script], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (chunk) => (stdout += String(chunk)));
    child.stderr.on("data", (chunk) => (stderr += String(chunk)));
    const code = await new Promise((settle) => child.on("close", settle));
    return { code, stdout, stderr };
  };
};
