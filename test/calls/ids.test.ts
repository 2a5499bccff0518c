import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseCallIds, runInOrder } from "../../src/calls/index.ts";

/** Text in chunks of a number of bytes. */
async function* chunked(text: string | Uint8Array, size: number): AsyncGenerator<Uint8Array, void> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const collected = async <Value>(values: AsyncIterable<Value>): Promise<readonly Value[]> => {
  const all: Value[] = [];
  for await (const value of values) all.push(value);
  return all;
};

const idsIn = async (text: string | Uint8Array, size = 64): Promise<readonly string[]> =>
  await collected(parseCallIds(chunked(text, size)));

/** A valid id: no white space around it, and not the start of JSON. */
const id = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9:._ -]{0,40}[A-Za-z0-9]$/);

describe("reading call ids from lines", () => {
  it("finds the same ids in every form of a line, for any chunks", async () => {
    const spelled = fc.tuple(id, fc.integer({ min: 0, max: 4 }), fc.string()).map(([own, form, rest]) => {
      const field = rest.replaceAll(/[\n\r]/g, " ");
      const line = [own, `${own}\t${field}`, JSON.stringify(own), JSON.stringify({ rest, id: own }), `  ${own}\r`][
        form
      ];
      return { own, line: line ?? "" };
    });
    await fc.assert(
      fc.asyncProperty(fc.array(spelled, { minLength: 1 }), fc.integer({ min: 1, max: 40 }), async (lines, size) => {
        expect(await idsIn(lines.map(({ line }) => line).join("\n"), size)).toEqual(lines.map(({ own }) => own));
      }),
      { numRuns: 50 },
    );
  });

  it("finds the ids in rollcall's own output of calls", async () => {
    expect(await idsIn('{"call":{"id":"a","output":{"id":"no"}}}\n{"calls":[{"id":"b"},{"id":"c"}]}\n')).toEqual([
      "a",
      "b",
      "c",
    ]);
  });

  it("finds an id at the end of a line of 5 MB", async () => {
    const line = JSON.stringify({ output: "x".repeat(5_000_000), id: "far" });
    expect(await idsIn(`${line}\nnear`, 65_536)).toEqual(["far", "near"]);
  });

  it.each([
    ["an object without an id", '{"name":"x"}', "an object without an id"],
    ["an id that is not text", '{"id":7}', "an object without an id"],
    ["an id that is empty", '{"id":" "}', "an object without an id"],
    ["a list without ids", '{"calls":[{"id":"a"},{}]}', "an object without an id"],
    ["half an object", '{"id":"a"', "broken JSON"],
    ["a first field that is too long", `${"x".repeat(2000)}\ta`, "too long"],
    ["a line without an end", "x".repeat(100_000), "too long"],
  ])("fails with the line number after %s", async (_, line, why) => {
    await expect(idsIn(`ok\n\n${line}`)).rejects.toMatchObject({
      kind: "invalid-call-id",
      message: expect.stringMatching(new RegExp(`^line 3 of standard input is not a call id: it is ${why}$`)),
    });
  });
});

describe("inOrder", () => {
  it("returns results in order, and never runs more than `concurrency`", async () => {
    const delays = fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(delays, fc.integer({ min: 1, max: 9 }), async (all, atOnce) => {
        let running = 0;
        let most = 0;
        async function* inputs() {
          for (const [at, delay] of all.entries()) {
            if (delay === 0) await new Promise(setImmediate);
            yield { at, delay };
          }
        }
        const run = async ({ at, delay }: { readonly at: number; readonly delay: number }): Promise<number> => {
          most = Math.max(most, ++running);
          for (let turn = 0; turn < delay; turn++) await new Promise(setImmediate);
          running--;
          return at;
        };
        expect(await collected(runInOrder(inputs(), { run, concurrency: atOnce, shouldStop: () => false }))).toEqual(
          all.map((_, at) => at),
        );
        expect(most).toBeLessThanOrEqual(atOnce);
      }),
      { numRuns: 20 },
    );
  });

  it("returns a result while the next input is awaited", async () => {
    async function* inputs() {
      yield "a";
      await new Promise(() => undefined);
    }
    const results = runInOrder(inputs(), { run: async (one) => one, concurrency: 8, shouldStop: () => false });
    expect(await results.next()).toEqual({ done: false, value: "a" });
  });

  it("returns the results of earlier inputs, then the error of the input", async () => {
    async function* inputs() {
      yield "a";
      yield "b";
      throw new Error("broken");
    }
    const seen: string[] = [];
    const all = async () => {
      for await (const one of runInOrder(inputs(), {
        run: async (input) => input,
        concurrency: 8,
        shouldStop: () => false,
      }))
        seen.push(one);
    };
    await expect(all()).rejects.toThrow("broken");
    expect(seen).toEqual(["a", "b"]);
  });
});
