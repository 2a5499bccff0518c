import { describe, expect, it } from "vitest";
import { printPaged } from "../../src/output/pager.ts";
import { Sink } from "../../src/output/sink.ts";
import { testHost } from "../support/host.ts";

/** Pages text on a terminal of three rows. Returns the text that the pager did not show, and if all was shown. */
const page = async (pager: string, pieces: () => AsyncGenerator<string, void>) => {
  const terminal = { stdout: true, columns: 10, rows: 3 };
  const host = testHost({ terminal, env: { PATH: process.env.PATH, PAGER: `sh -c '${pager}'` } });
  const printing = printPaged({ host, pieces: pieces(), fallback: new Sink(host.stdout) });
  const isComplete = await printing.catch((thrown: unknown) => thrown);
  return { isComplete, printed: host.printed() };
};

const lines = async function* () {
  yield* ["a\n", "b\n", "c\n", "d\n"];
};

describe("a pager", () => {
  it.each([
    ["exit 0", ""],
    ["exit 1", "a\nb\nc\nd\n"],
    ["kill -TERM $$", ""],
    ["kill -PIPE $$", ""],
    ["kill -KILL $$", "a\nb\nc\nd\n"],
  ])("that ends with `%s` leaves this text to rollcall: %j", async (end, printed) => {
    expect(await page(`cat > /dev/null; ${end}`, lines)).toEqual({ isComplete: true, printed });
  });

  it.each([
    [2 ** 20, true],
    [2 ** 20 + 1, false],
  ])("that fails after %i letters may have shown more than rollcall can print again", async (length, isPrinted) => {
    const long = async function* () {
      yield* ["a\nb\nc\n", "x".repeat(length - 6)];
    };
    const { isComplete, printed } = await page("cat > /dev/null; exit 1", long);
    expect([isComplete, printed.length]).toEqual([true, isPrinted ? length : 0]);
  });

  it("is not started for text that ends with an error, which rollcall prints", async () => {
    const failing = async function* () {
      yield "a\n";
      throw new Error("broken");
    };
    expect(await page("exit 0", failing)).toEqual({ isComplete: new Error("broken"), printed: "a\n" });
  });
});
