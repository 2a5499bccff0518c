import { describe, expect, it } from "vitest";
import { runHere } from "../../support/here.ts";
import { filesOf } from "../../support/inputs.ts";
import { newHome } from "../../support/run.ts";
import { json, scriptedServer } from "../../support/server.ts";
import { account, group } from "./logging.ts";

describe("rollcall log, for two valid groups in two requests, and an invalid group", () => {
  const wordsFor = (...more: readonly string[]) => {
    const [file = ""] = filesOf(`${group(1)}\n${group(2)}\n{"trajectories":1}\n`);
    return ["log", "m", file, "--split", "t", "--on-invalid", "skip", "--max-request-size", "110", ...more];
  };
  const linesOf = async (start: RegExp, url: string, ...more: readonly string[]) => {
    const { stderr } = await runHere(wordsFor(...more), { env: { ...account(url), ...newHome() } });
    return stderr.split("\n").filter((line) => start.test(line));
  };

  it("prints a note about each retry of a request", async () => {
    const busy = json({ detail: "busy" }, 429);
    const server = await scriptedServer([json("{}"), busy, busy, json("{}")].map((answer) => ({ answer })));
    const retries = (await linesOf(/retrying/, server.url)).map((line) => line.replace(/^.*, (?=retrying)/, ""));
    expect(retries).toEqual(["retrying in 0.3 s (attempt 2, 300 s left)", "retrying in 0.5 s (attempt 3, 300 s left)"]);
  });

  it("prints a note about each wait, and the advice once", async () => {
    const refused = "note: cannot connect to 127.0.0.1:1: the connection was refused (ECONNREFUSED)";
    expect(await linesOf(/^note: (?!began)/, "http://127.0.0.1:1", "--max-wait", "3s")).toEqual([
      `${refused}, retrying in 0.3 s (attempt 2, 3 s left)`,
      "note: check log_base_url (or base_url)",
      `${refused}, retrying in 0.5 s (attempt 3, 2.8 s left)`,
      `${refused}, retrying in 1 s (attempt 4, 2.3 s left)`,
      `${refused}, retrying in 1.3 s (attempt 5, 1.3 s left)`,
    ]);
  });

  it("prints the plan of a dry run as a table", async () => {
    const env = { ...account("http://127.0.0.1:1"), ...newHome() };
    const { stdout } = await runHere(wordsFor("--dry-run", "-o", "table"), { env });
    const shown = stdout.split("\n").map((line) => line.trim().replace(/\s+/g, " "));
    const request = "POST http://127.0.0.1:1/v1/preview/models/m/log, 93 bytes, 1 group";
    expect(shown.filter((line) => /^(groups|trajectories|request|header.*Idem)/.test(line))).toEqual([
      "groups 3: 1 rejected, 2 not logged",
      "trajectories 2",
      "requests 2",
      `request 1 ${request}`,
      `request 2 ${request}`,
      "header Idempotency-Key: one per request (see --json)",
    ]);
  });
});
