import { describe, expect, it } from "vitest";
import { printCall } from "./call.ts";

describe("--fields of a call", () => {
  const call =
    '{"id":"c","exception":null,"inputs":{"a.b":{"n":1.50,"list":[1,{"x":2}]}},"output":"two\\nlines","acme":{"x":1}}';

  it("prints a row of the named fields", async () => {
    const fields = "output,id,exception,ended_at,inputs.a.b.n,acme.x,inputs.a.b.list";
    const row = await printCall([call], { typed: { fields } });
    expect(row).toBe('"two\\nlines"\tc\t\t\t1.50\t1\t1;2\n');
  });

  it("refuses a name that neither the interface nor the call has", async () => {
    await expect(printCall([call], { typed: { fields: "idd" } })).rejects.toMatchObject({
      kind: "invalid-option-value",
      message: expect.stringMatching(/^invalid --fields "idd": /),
      details: { hint: "did you mean id?" },
    });
  });
});

describe("the machine-readable output of a call", () => {
  const call =
    '{"id":"c", "seed":12345678901234567890,"inputs":{"a.b":1e400},"output":null,"op_name":"x","ended_at":null}';

  it("keeps the service's JSON with --json", async () => {
    expect(await printCall([call], { typed: { json: true } })).toBe(
      '{"call":{"id":"c","seed":12345678901234567890,"inputs":{"a.b":1e400},"output":null,"op_name":"x","ended_at":null}}\n',
    );
    expect(await printCall([call, '{"id":"d"}'], { typed: { json: true, fields: "id,seed" } })).toBe(
      '{"calls":[{"id":"c","seed":12345678901234567890},{"id":"d"}]}\n',
    );
  });
});
