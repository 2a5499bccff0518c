import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkProfileName } from "../../src/settings/layers.ts";
import type { SettingName } from "../../src/settings/values.ts";
import { failureOf, openHome } from "./open.ts";

const read = async (name: SettingName, text: string): Promise<unknown> =>
  (await openHome({ flags: { [name]: text } }).read()).get(name);

/** The message and the hint of the failure for a text. */
const refusalOf = async (name: SettingName, text: string): Promise<unknown> => {
  const { kind, code, message, hint } = await failureOf(() => read(name, text));
  expect([kind, code]).toEqual(["setting-invalid", "usage"]);
  return { message, hint };
};

/** Tests that a setting refuses each of these texts. */
const itRefuses = (name: SettingName, texts: readonly string[]): void =>
  it.each(texts)("cannot be a text of another form (row %$)", async (text) => {
    await refusalOf(name, text);
  });

it("a profile has a name of up to 64 characters", () => {
  expect(checkProfileName("a".repeat(64), {})).toHaveLength(64);
  expect(() => checkProfileName("a".repeat(65), {})).toThrow("expected a letter or digit, then up to 63 letters");
});

describe("a duration", () => {
  const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;

  it("converts from its unit to milliseconds", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(500), fc.constantFrom("ms", "s", "m", "h"), async (count, unit) => {
        expect(await read("max_wait", `${count}${unit}`)).toBe(count * units[unit]);
      }),
    );
    expect(await read("timeout", "1.5s")).toBe(1500);
  });

  itRefuses("max_wait", ["", "s", "-1s", "1e3s", "1 s", "30S", "ten", "1h30m", "9999999h", "٣s", "1s\n", "30", "1.5"]);

  it("can be zero for max_wait, but not for timeout", async () => {
    await refusalOf("timeout", "0s");
    expect(await read("max_wait", "0s")).toBe(0);
  });
});

describe("a size", () => {
  const units = { "": 1, B: 1, KB: 1e3, MB: 1e6, GB: 1e9, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 } as const;

  it("converts from its unit to bytes", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 100_000 }),
        fc.constantFrom("", "B", "KB", "MB", "GB", "KiB", "MiB", "GiB"),
        async (count, unit) => {
          expect(await read("max_request_size", `${count}${unit}`)).toBe(count * units[unit]);
          expect(await read("max_request_size", `${count}${unit.toLowerCase()}`)).toBe(count * units[unit]);
        },
      ),
    );
    expect(await read("max_request_size", "1.5KiB")).toBe(1536);
  });

  itRefuses("max_request_size", ["", "0", "0.1B", "-1", "1e9", "MB", "8 MiB", "9999999TiB", "1XB"]);
});

describe("a URL", () => {
  it.each([
    ["https://api.example.com", "https://api.example.com"],
    ["https://api.example.com/", "https://api.example.com"],
    ["HTTPS://API.example.com:443/Path//", "https://api.example.com/Path"],
    ["http://127.0.0.1:8700", "http://127.0.0.1:8700"],
    ["http://[::1]:8700/a/v1", "http://[::1]:8700/a/v1"],
  ])("is saved in its shortest form (row %$)", async (text, address) => {
    expect(await read("base_url", text)).toBe(address);
  });

  itRefuses("base_url", [
    "https://",
    "https://a b",
    "https://a\tb",
    "https://a\n",
    " https://a",
    "https://a\\b",
    "https://a:99999",
    "https://a?",
    "https://exa mple",
    "not a url",
    "https:/a.example",
    "api.example.com",
    "localhost:8700",
    "//api.example.com",
    "ftp://api.example.com",
    "https://api.example.com/a?b=c",
    "https://api.example.com#x",
  ]);

  it.each([
    "https://anna:pass-w0rd@a.example",
    "https://pass-w0rd@a.example",
    "https://a.example?key=pass-w0rd",
    "anna:pass-w0rd@a.example",
    "https:/anna:pass-w0rd@a.example",
    "https:anna:pass-w0rd@a.example",
    "https:\\\\anna:pass-w0rd@a.example",
    "https//anna:pass-w0rd@a.example",
    "https://a b/anna:pass-w0rd@c.example",
    "https://a.example:99999/anna:pass-w0rd@c.example",
    "https://a.example/anna:pass-w0rd@c.example?q",
    "https://anna:1?pass-w0rd@a.example",
    "//pass-w0rd@a.example",
  ])("cannot have a key or password, which the failure does not repeat (row %$)", async (text) => {
    expect(JSON.stringify(await refusalOf("base_url", text))).not.toContain("pass-w0rd");
  });

  it("loses a /v1 at its end, and is the log URL by default", async () => {
    const settings = await openHome({
      env: { ROLLCALL_BASE_URL: "https://a.example/x/v1", ROLLCALL_INFERENCE_BASE_URL: "https://m.example/y/v1/" },
    }).read();
    expect([settings.serviceUrl("base"), settings.serviceUrl("inference"), settings.serviceUrl("log")]).toEqual([
      "https://a.example/x",
      "https://m.example/y",
      "https://a.example/x",
    ]);
  });
});

describe("a project", () => {
  it.each(["team/project", "a b/c.d_e-1", "ü/x"])("can be %s", async (text) => {
    expect(await read("project", text)).toBe(text);
  });

  itRefuses("project", ["alpha", "a/b/c", "/b", "a/", "a /b", " a/b", "a/b\n", "a\u0000/b", "https://a/b", ""]);
});

describe("the project header", () => {
  it.each(["Vendor-Project", "x-a.b_c"])("can be %s", async (text) => {
    expect(await read("project_header", text)).toBe(text);
  });

  itRefuses("project_header", ["", "Vendor Project", "a:b", "a\r\nb", "Ünd", "Authorization", "HOST"]);

  it("cannot be a header that a request has for another purpose", async () => {
    const ofContent = ["accept-encoding", "content-encoding", "content-length", "content-type", "expect"];
    const ofSender = ["authorization", "cookie", "host", "idempotency-key", "user-agent"];
    const ofConnection = ["connection", "keep-alive", "proxy-authorization", "te", "trailer", "transfer-encoding"];
    for (const name of [...ofContent, ...ofSender, ...ofConnection, "upgrade"])
      expect(await refusalOf("project_header", name)).toMatchObject({
        message: expect.stringContaining("expected a header that is not reserved"),
      });
  });

  it("follows the vendor prefix, and fails with the name of an invalid prefix", async () => {
    const at = async (prefix: string) =>
      (await openHome({ env: { ROLLCALL_VENDOR_PREFIX: prefix } }).read()).get("project_header");
    expect(await at("acme")).toBe("Acme-Project");
    expect(await failureOf(() => at("a b"))).toMatchObject({
      message: expect.stringMatching(/^invalid vendor_prefix "a b"/),
      where: { environment: "ROLLCALL_VENDOR_PREFIX" },
    });
  });
});

describe("a setting with text", () => {
  it.each<[SettingName, string]>([
    ["split", ""],
    ["split", "a\nb"],
    ["split", " a"],
    ["batch", "\u001b[31m"],
    ["router_provider", ".."],
    ["analysis_provider", "."],
    ["idempotency", "always"],
    ["insecure_http", "maybe"],
  ])("refuses an invalid value: %s (row %$)", async (name, text) => {
    await refusalOf(name, text);
  });
});

describe("a boolean setting", () => {
  it.each([
    ...["true", "TRUE", "1", "yes", "on"].map((text) => [text, true] as const),
    ...["false", "0", "no", "Off"].map((text) => [text, false] as const),
  ])("reads each usual word as true or false (row %$)", async (text, meant) => {
    expect(await read("insecure_http", text)).toBe(meant);
  });
});
