import { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { joinPieces, outputFailed, Sink, writePieces } from "../../src/output/sink.ts";

/** Opens a stream that fails at a write, from 0, and the lengths of its writes. */
const openStream = (code?: string, failsAt = 0) => {
  const lengths: number[] = [];
  const write: Writable["_write"] = (chunk, _, done) => {
    const fails = code !== undefined && lengths.length === failsAt;
    lengths.push(chunk.length);
    done(fails ? Object.assign(new Error(), { code }) : null);
  };
  return { stream: new Writable({ write, autoDestroy: false }), lengths };
};

const collect = async (pieces: AsyncIterable<string>) => {
  const lengths: number[] = [];
  for await (const piece of pieces) lengths.push(piece.length);
  return lengths;
};

describe("joinPieces", () => {
  it("joins pieces of up to 64 Ki, and no pieces that arrive one after another", async () => {
    const pieces = [1, 2 ** 16 - 1, 1, 2 ** 17, 0, 3].map((length) => "x".repeat(length));
    expect(await collect(joinPieces(pieces))).toEqual([2 ** 16, 1, 2 ** 17, 3]);
    expect(await collect(joinPieces([]))).toEqual([]);
    const arriving = async function* () {
      yield* ["a", "", "b"];
    };
    expect(await collect(joinPieces(arriving()))).toEqual([1, 0, 1]);
  });
});

describe("a sink", () => {
  it("writes at most 256 KiB at once", async () => {
    const { stream, lengths } = openStream();
    await new Sink(stream).write("é".repeat(2 ** 17 + 1));
    expect(lengths).toEqual([2 ** 18, 2]);
  });

  it("writes nothing more after the reader left, and fails for another error", async () => {
    const { stream, lengths } = openStream("EPIPE", 1);
    const sink = new Sink(stream);
    expect(await writePieces(sink, ["a", "bb", "ccc"])).toBe(false);
    expect(lengths).toEqual([1, 2]);
    expect(await writePieces(new Sink(openStream().stream), ["a"])).toBe(true);
    const failing = openStream("ENOSPC");
    failing.stream.on("error", () => undefined);
    const failed = new Sink(failing.stream);
    await expect(failed.write("a")).rejects.toMatchObject({ kind: "output-failed" });
    expect(failed.isReaderGone).toBe(false);
  });

  it("takes errors that a stream throws like those that it reports", async () => {
    const open = (code: string) => {
      const write = () => {
        throw Object.assign(new Error(), { code });
      };
      return new Sink(Object.assign(openStream().stream, { write }));
    };
    const gone = open("EPIPE");
    await gone.write("a");
    expect(gone.isReaderGone).toBe(true);
    await expect(open("EBADF").write("a")).rejects.toMatchObject({ details: { systemCode: "EBADF" } });
  });

  it.each([
    ["ENOSPC", undefined, "the disk is full", "free disk space, or write to another disk"],
    [
      "EFBIG",
      { logged: 0, already_logged: 2, not_sent: 3 },
      "it is too large; 0 groups logged, 2 already logged, 3 not logged",
      "write to another file or device",
    ],
  ])("fails for %s with the groups of the run and a hint", (code, groups, message, hint) => {
    const failure = { message: `cannot write standard output: ${message}`, details: { hint } };
    expect(outputFailed(code, groups)).toMatchObject(failure);
  });

  it("stops at a signal, also during a write, unless it ignores signals", async () => {
    const stuck = new Writable({ write: () => undefined });
    const abort = new AbortController();
    const writing = new Sink(stuck, abort.signal).write("a");
    abort.abort(new Error("stop"));
    await expect(writing).rejects.toThrow("stop");
    const { stream, lengths } = openStream();
    const sink = new Sink(stream, abort.signal);
    await expect(sink.write("a")).rejects.toThrow("stop");
    sink.ignoreSignal();
    await sink.write("bb");
    expect(lengths).toEqual([2]);
  });
});
