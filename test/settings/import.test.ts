import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { exportSettings, importSettings } from "../../src/settings/changes.ts";
import { failureOf, type Home, openHome, readSaved } from "./open.ts";

describe("an export", () => {
  const settings = { base_url: "https://a.example/", insecure_http: true, max_request_size: 5_000_000, split: "train" };

  it("contains the values in the form of an import", async () => {
    const from = openHome({ profiles: { team: settings }, flags: { profile: "team" } });
    const exported = exportSettings(from.sources);
    expect(exported).toEqual({ profile: "team", settings, unknown: [] });
    const to = openHome({ stdin: JSON.stringify(exported.settings), flags: { profile: "mine" } });
    expect(await importSettings(to.sources, "-")).toMatchObject({ profile: "mine", isNew: true });
    expect(readSaved(to)).toEqual({ profiles: { mine: settings } });
  });

  it("contains the saved values, even if flags and the environment override them", () => {
    const env = { ROLLCALL_MAX_REQUEST_SIZE: "huge", ROLLCALL_SPLIT: "val" };
    const home = openHome({ profiles: { default: settings }, flags: { insecure_http: false }, env });
    expect(exportSettings(home.sources).settings).toEqual(settings);
  });

  it("omits unknown settings, and fails if a setting is unusable", () => {
    const home = openHome({ profiles: { default: { ...settings, from_tomorrow: 1 } } });
    expect(exportSettings(home.sources)).toEqual({ profile: "default", settings, unknown: ["from_tomorrow"] });
    const spoiled = openHome({ profiles: { default: { base_url: "https://anna:pass-w0rd@a.example" } } });
    expect(() => exportSettings(spoiled.sources)).toThrow("invalid base_url ");
  });
});

describe("an import", () => {
  const importing = (text: string): { readonly home: Home; readonly file: string } => {
    const home = openHome({ profiles: { default: { batch: "b", split: "old" } } });
    const file = join(mkdtempSync(join(tmpdir(), "import-")), "team.json");
    writeFileSync(file, text);
    return { home, file };
  };

  it("adds to the saved settings", async () => {
    const { home, file } = importing('{"split":"new","project":"a/b"}');
    expect((await importSettings(home.sources, file)).names).toEqual(["split", "project"]);
    expect(readSaved(home)).toEqual({ profiles: { default: { batch: "b", split: "new", project: "a/b" } } });
  });

  it("saves all settings or none, and reports each problem with its position and without secrets", async () => {
    const { home, file } = importing(
      '{\n  "split": "new",\n  "project": "alpha",\n  "api_key": "key-1234",\n  "bse_url": "x",\n  "timeout": null,\n  "base_url": "https://u:key-1234@a"\n}',
    );
    const before = readSaved(home);
    await expect(importSettings(home.sources, file)).rejects.toMatchObject({
      kind: "invalid-import-settings",
      code: "invalid_input",
      details: {
        problems: [
          { file, line: 3, column: 14, path: ["project"], rule: "setting-invalid", severity: "error" },
          { line: 4, column: 14, path: ["api_key"], rule: "secret-in-settings" },
          { line: 5, path: ["bse_url"], rule: "setting-unknown", advice: "did you mean base_url?" },
          { line: 6, path: ["timeout"], rule: "setting-invalid" },
          { line: 7, path: ["base_url"], rule: "setting-invalid" },
        ],
      },
    });
    const failed = await importSettings(home.sources, file).catch((thrown: unknown) => JSON.stringify(thrown));
    expect(failed).not.toContain("1234");
    expect(readSaved(home)).toEqual(before);
  });

  it.each([
    ["it does not exist", () => "/nowhere/team.json"],
    ["it is a folder", () => tmpdir()],
    ["it is too large", () => "/dev/zero"],
  ])("fails as invalid input if the file cannot be read: %s", async (why, file) => {
    expect(await failureOf(() => importSettings(openHome().sources, file()))).toMatchObject({
      kind: "unreadable-import",
      code: "invalid_input",
      message: `cannot read ${file()}: ${why}`,
    });
  });
});
