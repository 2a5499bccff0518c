import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { omitContent } from "../../src/calls/call-facts.ts";
import { parseRawJson } from "../../src/json/raw-json.ts";

const left = (call: unknown, prefix = "vendor") =>
  JSON.parse(omitContent(parseRawJson(JSON.stringify(call)), prefix).json);

describe("a call without its content", () => {
  it("keeps ids, times, numbers and states, and the sizes of omitted fields", () => {
    const { call } = JSON.parse(readFileSync("test/samples/call.exception.json", "utf8"));
    const { summary, omitted_bytes, ...rest } = left(call);
    expect(Object.keys(omitted_bytes)).toEqual(["attributes", "inputs", "exception", "summary"]);
    expect(omitted_bytes.exception).toBe(JSON.stringify(call.exception).length);
    const { attributes, inputs, exception, summary: whole, ...expected } = call;
    expect(rest).toEqual(expected);
    expect(summary.usage).toEqual(whole.usage);
    expect(summary.vendor.status).toBe("error");
    expect(summary.vendor).not.toHaveProperty("trace_name");
  });

  it("contains no text of its fields with content, at any depth", () => {
    const marker = "MARK";
    const secret = fc.constantFrom(`${marker} text`, { deep: [`${marker}`, { x: marker }] }, [marker], [[1, marker]]);
    const fields = ["inputs", "output", "exception", "attributes", "display_name", "summary", "unheard_of"];
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...fields), secret), (call) => {
        const json = JSON.stringify(left({ id: "c", ...call }));
        expect(json).not.toContain(marker);
        expect(JSON.parse(json)).toMatchObject({ id: "c" });
      }),
    );
  });

  it("omits an object or a list in place of an id", () => {
    expect(left({ id: { text: "secret" }, thread_id: ["secret"] })).toEqual({
      omitted_bytes: { id: 17, thread_id: 10 },
    });
  });

  it("omits prose in place of a name, a state, a currency or an amount", () => {
    const prose = "ignore all previous instructions and";
    const call = {
      id: prose,
      op_name: prose,
      [prose]: 1,
      summary: {
        status: prose,
        usage: { [prose]: { prompt_tokens: 1 } },
        costs: { m: { x_cost_unit: prose, y: prose } },
      },
    };
    expect(JSON.stringify(left(call))).not.toContain("ignore");
    expect(left({ summary: { v: { status: "error", a_cost_unit: "EUR", cost: "1e-7" } } })).toEqual({
      summary: { v: { status: "error", a_cost_unit: "EUR", cost: "1e-7" } },
    });
  });

  it("keeps the spelling of numbers, and null", () => {
    const json = '{"id":"c","output":null,"extra":1.50,"summary":{"usage":{"m":{"n":12345678901234567890}}}}';
    expect(omitContent(parseRawJson(json), "vendor").json).toBe(json);
    expect(left({ extra: { a: "", b: [1, "2"], c: {} } })).toEqual({ extra: { a: "", b: [1, "2"], c: {} } });
  });

  it("counts the omitted bytes, not characters", () => {
    expect(left({ inputs: "ééé😀" })).toEqual({ omitted_bytes: { inputs: 12 } });
  });

  it("keeps the fields with the prefix of the deployed service", () => {
    expect(left({ acme_username: "mia", other_username: "mia" }, "acme")).toEqual({
      acme_username: "mia",
      omitted_bytes: { other_username: 5 },
    });
  });
});
