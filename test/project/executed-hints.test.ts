import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { type CommandTree, readCommandTree } from "../support/command-tree.ts";
import { linkProgram, writeQuickProgram } from "../support/program.ts";
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
      const scene = async () => await sceneOf(service, env);
      const { code, stderr } = await (await scene())(`{ ${before}; } >/dev/null 2>&1; ${fails}`);
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
        const ran = await (await scene())(`{ ${before}; } >/dev/null 2>&1; ${done}; ${state}`);
        expect({ help, state, ...ran }).toMatchObject({ code: 0 });
      }
    },
  );
});

describe("the name of the program", { tags: "slow" }, () => {
  const hintOf = (...words: readonly [string, ...string[]]) => {
    const { stderr } = spawnSync(words[0], [...words.slice(1), "ledger", "resolve", "r1"], {
      encoding: "utf8",
      env: { ...newHome(), PATH: process.env.PATH },
    });
    return /`(.*?) ledger resolve r1` with/.exec(stderr)?.[1];
  };

  it("is printed in hints as the user started the program", () => {
    expect(hintOf(linkProgram())).toBe("rollcall");
    expect(hintOf(process.execPath, "bin/rollcall.js")).toBe("node bin/rollcall.js");
  });
});

/** A shell in a new folder with a new home folder, and with `rollcall` on its path. */
const sceneOf = async ({ url, key }: LocalService, more: Readonly<Record<string, string>>) => {
  const cwd = mkdtempSync(join(tmpdir(), "scene-"));
  const bin = join(cwd, ".bin");
  mkdirSync(bin);
  await writeQuickProgram(bin);
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
