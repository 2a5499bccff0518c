import { execFileSync } from "node:child_process";
import { gunzipSync } from "node:zlib";
import { decompress } from "fzstd";
import { describe, expect, it } from "vitest";
import { newHome, runRollcall } from "../../support/run.ts";
import { json } from "../../support/server.ts";
import { hasZstd, useZstd } from "../../support/zstd.ts";
import { account, group, groups, log, parsed, sampleMetrics, two } from "./logging.ts";

describe("rollcall log --compress", () => {
  useZstd();

  const forms = [
    ["gzip", gunzipSync],
    ["zstd", decompress],
  ] as const;

  it.each(forms)("sends and retries an equal body, compressed with %s", async (form, unpack) => {
    const args = [groups, "--split", "train"];
    const plain = await log(args, [json("{}")]);
    const { received, code } = await log(
      [...args, "--compress", form],
      [{ status: 429, headers: { "retry-after": "0" } }, json("{}")],
    );
    expect(code).toBe(0);
    const [first, second] = received;
    expect(first?.headers).toMatchObject({ "content-encoding": form, "content-length": String(first?.body.length) });
    // `toEqual` takes five seconds for a body of this length.
    expect(plain.received[0]?.body.equals(unpack(first?.body ?? Buffer.alloc(0)))).toBe(true);
    expect(second?.body.equals(first?.body ?? Buffer.alloc(0))).toBe(true);
    expect(second?.headers["idempotency-key"]).toBe(first?.headers["idempotency-key"]);
  });

  it("prints the compressed body with --dry-run --body, and names its encoding", async () => {
    const env = { ...newHome(), ...account("http://127.0.0.1:9"), ROLLCALL_COMPRESS: "gzip" };
    const args = ["log", "m", two(), "--split", "t", "--dry-run"];
    const body = execFileSync(process.execPath, ["bin/rollcall.js", ...args, "--body", "1"], {
      env: { ...process.env, ...env },
    });
    expect(gunzipSync(body).toString()).toBe(`{"split":"t","trajectory_groups":[${group(1)},${group(2)}]}`);
    expect((await runRollcall([...args], { env })).stdout).toContain("plan.headers.Content-Encoding\tgzip\n");
  });

  it.each(forms)("logs with %s, and the ledger recognizes the groups without compression", async (form) => {
    const env = newHome();
    const args = ["log", "m", groups, "--split", "train", "--local", "--json"];
    const packed = await runRollcall([...args, "--compress", form], { env });
    expect(parsed(packed.stdout)).toMatchObject({ status: "logged", metrics: sampleMetrics });
    expect(parsed((await runRollcall(args, { env })).stdout)).toMatchObject({ status: "already_logged" });
  });
});

describe("rollcall log --compress zstd", () => {
  it.skipIf(hasZstd)("exits with 2 and names the first version of Node with zstd", async () => {
    const { code, stderr } = await log([two(), "--split", "t", "--compress", "zstd"], []);
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("Node 22.15") });
  });
});
