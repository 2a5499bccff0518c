import { describe, expect, it } from "vitest";
import { runHere, runHereOnTerminal } from "../../support/here.ts";

describe("rollcall schema", () => {
  it("prints a schema with indents, and with --json on one line", async () => {
    const [printed, document] = [await runHere(["schema", "models"]), await runHere(["schema", "models", "--json"])];
    expect(printed.stdout).toBe(`${JSON.stringify(JSON.parse(document.stdout), undefined, 2)}\n`);
    expect(document.stdout.trimEnd()).not.toContain("\n");
  });

  it("lists the files of the documents, and of the lines that some have", async () => {
    const rows = (await runHere(["schema", "-o", "csv"])).stdout.split("\r\n");
    expect(rows[0]).toBe("name,about,file,line_file");
    expect(rows).toContain("log,the outcomes of all groups,schemas/log.json,");
    expect(rows).toContain("models,the inference models,schemas/models.json,schemas/models.line.json");
    const { written } = await runHereOnTerminal(["schema", "--no-color"], { columns: 200 });
    expect(written).toMatch(/^name +about +file +line file\r\n/);
  });
});
