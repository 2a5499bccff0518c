import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync, appendFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "vitest";
import { runRollcall } from "../support/run.ts";
import { samples } from "./samples.ts";
const log = (s: string) => appendFileSync("/tmp/w/e/harbor.log", s + "\n");
const j = "2026-02-10__10-00-00/";
it.each(["hello-world__aaaaaaa/result.json", "hello-world__aaaaaaa/agent/trajectory.json", "hello-world__ccccccc/result.json", "hello-world__bbbbbbb/agent/trajectory.json"])("%s", { timeout: 600_000 }, async (name) => {
  const folder = mkdtempSync(join(tmpdir(), "hb-")); cpSync(join(samples, "harbor-2026-02"), join(folder, "h"), { recursive: true });
  const file = join(folder, "h", j + name), out = join(folder, "o.jsonl"), rcf = join(folder, "r.json");
  const rec: any = JSON.parse(readFileSync(file, "utf8"));
  const places: { v: any; path: string }[] = [];
  const walk = (v: any, path: string) => { if (typeof v !== "object" || v === null) return; if (!Array.isArray(v)) places.push({ v, path }); for (const [k, c] of Object.entries(v)) walk(c, path + "." + k); };
  walk(rec, "");
  for (const [i, p] of places.entries()) {
    p.v.own_1 = "mark-" + i; writeFileSync(file, JSON.stringify(rec)); delete p.v.own_1;
    rmSync(out, { force: true }); rmSync(rcf, { force: true });
    const { code } = await runRollcall(["convert", join(folder, "h"), "--out", out, "--receipt", rcf]);
    if (code !== 0) { log(`code ${code} ${name} ${p.path}`); continue; }
    const text = readFileSync(out, "utf8"); const rc = JSON.parse(readFileSync(rcf, "utf8"));
    const n = (l: any[]) => l.filter((x) => x.path.endsWith("own_1")).reduce((a, x) => a + x.count, 0);
    const inOut = text.includes("mark-" + i);
    if (inOut ? n(rc.left_out) > 0 : n(rc.left_out) === 0) log(`${inOut ? "FALSELEFT" : "LOST"} ${name} ${p.path} ${n(rc.left_out)} ${n(rc.carried)}`);
  }
  log(`done ${name} ${places.length}`);
  rmSync(folder, { recursive: true, force: true });
});
