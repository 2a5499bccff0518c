import { execFile } from "node:child_process";
import { createServer, type ServerResponse } from "node:http";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { newHome } from "../../support/run.ts";
import { type Exchange, json, listenOnLoopback, type RecordedRequest } from "../../support/server.ts";
import { asksFor, envOf, found, idOf, onTerminal, service } from "./service.ts";

describe("rollcall call read", () => {
  it("keeps the other fields of the reply with --json for one call", async () => {
    const reply =
      '{ "cost_cap": 1.50, "call": {"id":"a","x":1e2}, "next":null, "note": "a\u202eb\\u001b", "n":12345678901234567890 }';
    const answered: Exchange = { when: asksFor("a"), answer: json(reply) };
    const { read } = await service([answered, answered, found("b")]);
    const beside = '"next":null,"note":"a\\u202eb\\u001b","n":12345678901234567890';
    expect((await read(["a", "--json"])).stdout).toBe(`{"cost_cap":1.50,"call":{"id":"a","x":1e2},${beside}}\n`);
    expect((await read(["a", "b", "--json"])).stdout).toBe('{"calls":[{"id":"a","x":1e2},{"id":"b"}]}\n');
  });

  it("prints the chosen values of an indented reply on one line", async () => {
    const reply = '{\n "call": {\n  "id": "a",\n  "o": {\n   "y": 1\n  }\n }\n}';
    const { read } = await service([{ when: asksFor("a"), answer: json(reply) }]);
    expect((await read(["a", "--json", "--fields", "id,o"])).stdout).toBe('{"call":{"id":"a","o":{"y":1}}}\n');
  });

  it("prints calls in the given order for any order of replies", async () => {
    const late: Exchange = {
      when: asksFor("a"),
      answer: (_, response) => void setTimeout(() => response.end('{"call":{"id":"a"}}'), 300),
    };
    const { read } = await service([late, found("b"), found("c")]);
    expect((await read(["a", "b", "c", "--json"])).stdout).toBe('{"calls":[{"id":"a"},{"id":"b"},{"id":"c"}]}\n');
  });

  it("sends at most eight requests at once", async () => {
    const limit = 8;
    let open = 0;
    let most = 0;
    const ids = Array.from({ length: 4 * limit }, (_, at) => `id-${at}`);
    const waiting: (() => void)[] = [];
    const answerAll = (): void => {
      for (const answer of waiting.splice(0)) answer();
    };
    const exchanges = ids.map(() => ({
      answer: (request: RecordedRequest, response: ServerResponse) => {
        most = Math.max(most, ++open);
        waiting.push(() => {
          open--;
          response.end(`{"call":{"id":"${idOf(request)}"}}`);
        });
        // Answers only after the allowed number of requests, and after the time for one more.
        if (waiting.length === limit) setTimeout(answerAll, 50);
      },
    }));
    const { read } = await service(exchanges);
    const { stdout } = await read([...ids, "--fields", "id"]);
    expect(stdout).toBe(ids.map((id) => `${id}\n`).join(""));
    expect(most).toBe(limit);
  });

  it("inserts ids from standard input in place of -", async () => {
    const { read } = await service(["x", "a", "b", "c", "y"].map((id) => found(id)));
    const { code, stdout } = await read(["x", "-", " y ", "-", "--fields", "id"], "\ufeffa\r\n\n  b  \n\r\nc");
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: "x\na\nb\nc\ny\n",
    });
  });

  it("exits with 0 and sends no more requests after its output is closed", { tags: "slow" }, async () => {
    const ids = Array.from({ length: 400 }, (_, at) => `id-${at}`);
    let asked = 0;
    const server = createServer((request, response) => {
      asked++;
      request.resume().on("end", () => response.end(`{"call":{"id":"x","output":"${"x".repeat(100_000)}"}}`));
    });
    const { url } = await listenOnLoopback(server);
    const env = { ...newHome(), PATH: process.env.PATH, ...envOf(url) };
    const line = `(printf '${ids.join("\\n")}' | "${process.execPath}" bin/rollcall.js call read -; echo "code $?" >&2) | head -c 10 >/dev/null`;
    const { stderr } = await promisify(execFile)("sh", ["-c", line], { env });
    expect(stderr).toBe("code 0\n");
    expect(asked).toBeLessThan(50);
  });

  it.each([
    ["cr", 4, 1, /^cannot read call `id-1`: the service refused the key/],
    ["ccec", 5, 2, /^cannot read call `id-2`: the service answered 500/],
    ["ncnn", 9, 1, /^cannot find 3 of 4 calls in project/],
  ])("prints the calls before a failure, and continues after missing calls: %s", async (replies, code, count, says) => {
    const answers: Readonly<Record<string, Exchange["answer"]>> = {
      c: json({ call: {} }),
      e: json({ reason: "down" }, 500),
      n: json({ call: null }),
      r: json({ reason: "expired" }, 401),
    };
    const ids = Array.from(replies, (_, at) => `id-${at}`);
    const toAnswer = (at: number) => answers[replies.charAt(at)] ?? json({});
    const { read } = await service(ids.map((id, at) => ({ when: asksFor(id), answer: toAnswer(at) })));
    const result = await read([...ids, "--json", "--max-wait", "0s"]);
    expect([result.code, JSON.parse(result.stdout).calls.length]).toEqual([code, count]);
    expect(JSON.parse(result.stderr).error.message).toMatch(says);
  });

  it("prints no document if the first call fails", async () => {
    const denied: Exchange = { answer: json({ reason: "no such key" }, 401) };
    const { read } = await service([denied, denied, denied, denied]);
    const { code, stdout, stderr } = await read(["a", "b", "c", "d", "--json"]);
    expect([code, stdout]).toEqual([4, ""]);
    expect(JSON.parse(stderr).error.message).toMatch(/^cannot read call `a`: the service refused the key/);
  });

  it("keeps an id whole on a terminal of 40 columns", async () => {
    const id = "01a20438-d85d-7000-a307-1a7954c27289";
    const { env } = await service([found(id, { trace_id: id })]);
    const { lines } = await onTerminal(`call read ${id}`, env, 40);
    expect(lines.filter((line) => line.trim() === id)).toHaveLength(2);
  });

  it("shows NaN and Infinity as texts, and prints JSON", async () => {
    const call = '{"call":{"id":"a","output":{"score":NaN,"n\\"NaN":[-Infinity,Infinity],"said":"NaN, \\"Infinity"}}}';
    const exchange = { when: () => true, answer: json(call) };
    const { read } = await service([exchange, exchange]);
    expect((await read(["a"])).stdout).toMatch(
      /score: NaN\n.*n"NaN: \[-Infinity, Infinity\]\n.*said: NaN, "Infinity\n/,
    );
    expect(JSON.parse((await read(["a", "--json"])).stdout)).toEqual({
      call: { id: "a", output: { score: "NaN", 'n"NaN': ["-Infinity", "Infinity"], said: 'NaN, "Infinity' } },
    });
  });
});
