import { existsSync, mkdtempSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { chromium, openTab, type TabOptions } from "../../support/browser.ts";
import { runRollcall } from "../../support/run.ts";
import { json, scriptedServer } from "../../support/server.ts";

const samples = {
  analysis: readFileSync("test/samples/catalog.analysis.json", "utf8"),
  router: readFileSync("test/samples/catalog.router.json", "utf8"),
};

const newFile = (): string => join(mkdtempSync(join(tmpdir(), "page-")), "models.html");

/** Writes a page of these catalogs. */
const written = async (
  args: readonly string[] = [],
  { catalogs = samples, file = newFile() }: { catalogs?: Partial<typeof samples>; file?: string } = {},
) => {
  const server = await scriptedServer(
    Object.entries(catalogs).map(([name, body]) => ({
      when: ({ path }) => path.includes(`/${name}/`),
      answer: json(body),
    })),
  );
  const names = Object.keys(catalogs).map((name) => [`ROLLCALL_${name.toUpperCase()}_PROVIDER`, "any"]);
  const env = { ROLLCALL_BASE_URL: server.url, ...Object.fromEntries(names) };
  const ran = await runRollcall(["catalog", "plot", "--html", file, ...args], { env });
  return { ran, file, text: existsSync(file) ? readFileSync(file, "utf8") : "" };
};

const router = (data: readonly object[]) => ({ router: JSON.stringify({ data }) });

/** What would run, load or draw if it were taken for markup. */
const hostile = [
  "</script><img src=x onerror=alert(1)>",
  "<script>alert(1)</script>",
  '"><svg onload=alert(1)>',
  "' onmouseover='alert(1)",
  "<!-- --><style>*{display:none}</style>",
  "</title></style></table><iframe src=https://example.invalid>",
  "javascript:alert(1)",
  "\u2028\u2029\u202e&lt;b&gt;",
];

const hostileModels = hostile.map((text, at) => ({
  id: `${text}/${at}${text}`,
  name: text,
  quantization: text,
  context_length: 1000 * (at + 1),
  pricing: { prompt: `${at + 1}e-7`, [text]: text },
  supported_features: [text, "tools"],
  datacenters: [{ country_code: text }],
  deprecation_date: text,
  input_modalities: text,
}));

describe("the page of rollcall catalog plot", () => {
  it("is one file that loads nothing and lets nothing run but its own script", async () => {
    const { ran, file, text } = await written();
    expect(ran.code).toBe(0);
    expect(ran.stderr).toContain(`note: ${file} has the models as a page: open it in a browser\n`);
    expect(text).toMatch(/^<!doctype html>\n<!-- a page by rollcall catalog plot -->\n<html lang="en">/);
    const [, policy] = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(text) ?? [];
    expect(policy?.replaceAll("&#39;", "'").replaceAll(/sha256-[\w+/=]{44}/g, "sha256-…")).toBe(
      "default-src 'none'; script-src 'sha256-…'; style-src 'sha256-…'; base-uri 'none'; form-action 'none'",
    );
    expect(text.match(/<script/g)).toHaveLength(1);
    expect(text).not.toMatch(/\b(src|href|action|style)=|https?:|\bon\w+=/);
    expect(statSync(file).mode & 0o777).toBe(0o644);
    expect(readdirSync(join(file, ".."))).toEqual(["models.html"]);
  });

  it("holds each model once, those without a place in the plot too", async () => {
    const { text } = await written();
    expect(text.match(/<tr data-row=/g)).toHaveLength(57);
    expect(text.match(/class="point[^"]*" data-row=/g)).toHaveLength(55);
  });

  it("holds no more than a browser shows, those of best value among them, and says so", async () => {
    const many = Array.from({ length: 6000 }, (_, at) => ({
      id: `model-${at}`,
      name: `Model ${at}`,
      context_length: 1000,
      pricing: { prompt: at === 5999 ? "1e-9" : "1e-6" },
    }));
    const { ran, file, text } = await written([], { catalogs: router(many) });
    expect(ran.stderr).toContain(`note: ${file} has 5000 of the 6000 models as a page`);
    expect(text).toContain("5000 of 6000 models of the router catalog");
    expect([text.match(/<tr data-row=/g)?.length, text.match(/class="point[^"]*" data-row=/g)?.length]).toEqual([
      5000, 5000,
    ]);
    expect(text).toMatch(/<tr data-row="4999" [^>]*data-best=""><th scope="row">model-5999/);
    expect(text.length).toBeLessThan(5e6);
  });

  it("takes no word of a catalog for markup", async () => {
    const { text } = await written([], { catalogs: router(hostileModels) });
    expect(text.match(/<script/g)).toHaveLength(1);
    expect(text).not.toMatch(/<(img|iframe|b)\b/);
    expect(text.match(/<style/g)).toHaveLength(1);
    expect(text).not.toMatch(/[\u2028\u2029\u202e]/);
  });

  it("is written anew over a page of rollcall's own, also through a link, and over nothing else", async () => {
    const { file, text } = await written([], { catalogs: router([{ id: "first" }]) });
    expect(text).toContain("first");
    const link = join(file, "../link.html");
    symlinkSync(file, link);
    await written([], { catalogs: router([{ id: "second" }]), file: link });
    expect(readFileSync(file, "utf8")).toContain("second");
    expect(readdirSync(join(file, "..")).sort()).toEqual(["link.html", "models.html"]);
    for (const text of ["", "<!doctype html>\n<p>mine</p>"]) {
      writeFileSync(file, text);
      const ran = await runRollcall(["catalog", "plot", "--html", file, "--local"]);
      expect(ran).toEqual({
        code: 2,
        stdout: "",
        stderr: `rollcall: ${file} is there already, and is no page that rollcall wrote\nhint: name another file, or take that one away\n`,
      });
      expect(readFileSync(file, "utf8")).toBe(text);
    }
  });

  it.each([
    ["a folder", ".", 2],
    ["a device", "/dev/null", 2],
    ["a folder that is not there", "no-such-folder/page.html", 11],
  ])("is not written to %s", async (_, file, code) => {
    const ran = await runRollcall(["catalog", "plot", "--html", file, "--local"]);
    expect(ran.code).toBe(code);
    expect(ran.stderr).toContain(file);
  });
});

describe.skipIf(chromium === undefined)("the page in Chromium (skipped where there is none)", () => {
  const open = async (file: string, options?: TabOptions) => {
    const url = pathToFileURL(file).href;
    return await openTab(url, (asked) => asked === url, options);
  };

  const ids = `[...document.querySelectorAll("tbody tr:not([hidden]) th")].map((cell) => cell.firstChild.textContent.trim())`;
  const heading = (name: string) => `document.querySelector('thead [data-name="${name}"]')`;
  const cells = (name: string) => `(() => {
    const at = [...document.querySelectorAll("thead th")].findIndex((one) => one.dataset.name === "${name}");
    return [...document.querySelectorAll("tbody tr:not([hidden])")].map((row) => row.cells[at].textContent);
  })()`;
  const type = (control: string, value: string) => `(() => {
    const input = document.querySelector('[data-control="${control}"]');
    if (input.type === "checkbox") input.checked = ${JSON.stringify(value)} !== ""; else input.value = ${JSON.stringify(value)};
    input.dispatchEvent(new Event("input", { bubbles: true }));
    return document.querySelector("output").textContent;
  })()`;

  it("sorts by a column, by the mouse and by the keyboard, and says so", async () => {
    const { page, troubles } = await open((await written()).file);
    await page.evaluate(`${heading("pricing.prompt")}.querySelector("button").click()`);
    expect(await page.evaluate(`${heading("pricing.prompt")}.getAttribute("aria-sort")`)).toBe("ascending");
    const prices = await page.evaluate(cells("pricing.prompt"));
    const numbers = (list: unknown) => (Array.isArray(list) ? list : []).filter((text) => text !== "").map(Number);
    expect(numbers(prices)).toHaveLength(55);
    expect(numbers(prices)).toEqual(numbers(prices).toSorted((a, b) => a - b));
    await page.evaluate(`${heading("deprecation_date")}.querySelector("button").focus()`);
    await page.keyboard.press("Enter");
    await page.keyboard.press("Space");
    expect(await page.evaluate(`${heading("deprecation_date")}.getAttribute("aria-sort")`)).toBe("descending");
    expect(await page.evaluate(`${heading("pricing.prompt")}.getAttribute("aria-sort")`)).toBe("none");
    const days = await page.evaluate(cells("deprecation_date"));
    const stated = (Array.isArray(days) ? days : []).map((text) => String(text).slice(0, 10));
    expect(stated.at(0)).toMatch(/^\d{4}-/);
    expect(stated.at(-1)).toBe("");
    expect(troubles).toEqual([]);
  });

  it("filters the table and the plot alike, and gives everything back", async () => {
    const { page, troubles } = await open((await written()).file);
    const points = `document.querySelectorAll(".point[data-row]:not(.gone)").length`;
    expect(await page.evaluate(`document.querySelector("output").textContent`)).toBe("57 of 57 models");
    expect(await page.evaluate(points)).toBe(55);
    await page.evaluate(type("search", "KIMI"));
    const found = await page.evaluate(ids);
    expect(Array.isArray(found) && found.length > 0 && found.every((id) => /kimi/i.test(String(id)))).toBe(true);
    expect(await page.evaluate(points)).toBe(Array.isArray(found) ? found.length : 0);
    await page.evaluate(`document.querySelector('[data-control="reset"]').click()`);
    await page.evaluate(type("context", "200000"));
    await page.evaluate(type("price", "0.2"));
    const contexts = await page.evaluate(cells("context_length"));
    expect(Array.isArray(contexts) && contexts.length > 0 && contexts.every((text) => Number(text) >= 200_000)).toBe(
      true,
    );
    expect(await page.evaluate(type("best", "yes"))).toMatch(/^\d of 57 models$/);
    await page.evaluate(`document.querySelector('[data-control="reset"]').click()`);
    expect(await page.evaluate(type("feature", "tools"))).toMatch(/^\d+ of 57 models$/);
    expect(await page.evaluate(type("catalog", "router"))).toMatch(/^\d+ of 57 models$/);
    await page.evaluate(`document.querySelector('[data-control="reset"]').click()`);
    expect(await page.evaluate(points)).toBe(55);
    expect(troubles).toEqual([]);
  });

  it("runs and loads nothing that a catalog says, and shows it as text", async () => {
    const { page, troubles } = await open((await written([], { catalogs: router(hostileModels) })).file);
    const shown = await page.evaluate(cells("name"));
    expect(shown).toEqual(
      hostile.map((text) =>
        text
          .replace(/[\u2028\u2029]/g, " ")
          .replace("\u202e", "")
          .trim(),
      ),
    );
    await page.evaluate(`for (const button of document.querySelectorAll("thead button")) button.click()`);
    await page.evaluate(type("search", "</script>"));
    expect(await page.evaluate(`document.querySelectorAll("img, iframe, script:not(:last-child)").length`)).toBe(0);
    expect(await page.evaluate(`getComputedStyle(document.querySelector("table")).display`)).toBe("table");
    expect(troubles).toEqual([]);
  });

  it("lets nothing in that was put into it afterwards", async () => {
    const { file, text } = await written([], {
      catalogs: router([{ id: "a", context_length: 1, pricing: { prompt: "1" } }]),
    });
    writeFileSync(file, text.replace("<main>", '<main><script>document.title = "taken"</script><img src="x">'));
    const { page, troubles } = await open(file);
    expect(await page.evaluate("document.title")).toBe("Models by price and context");
    expect(troubles.join("\n")).toContain("Content Security Policy");
  });

  it("is dark where the reader's screen is", async () => {
    const { file } = await written([], { catalogs: router([{ id: "a" }]) });
    const background = "getComputedStyle(document.body).backgroundColor";
    expect(await (await open(file)).page.evaluate(background)).toBe("rgb(255, 255, 255)");
    expect(await (await open(file, { dark: true })).page.evaluate(background)).toBe("rgb(18, 22, 29)");
  });
});
