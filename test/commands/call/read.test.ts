import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { runHereOnTerminal } from "../../support/here.ts";
import { endOf, interruptWaiting, newHome, runRollcall, startInTurn, startRollcall } from "../../support/run.ts";
import { type Exchange, json, listenOnLoopback, type RecordedRequest, scriptedServer } from "../../support/server.ts";
import { runOnTerminal, screenOf } from "../../support/terminal.ts";

const project = "acme-travel/airline-agent";

/** A service that answers these exchanges, and a run of `call read` against it. */
const service = async (exchanges: readonly Exchange[]) => {
  const server = await scriptedServer(exchanges);
  const env = { ROLLCALL_BASE_URL: server.url, ROLLCALL_API_KEY: "key-1234", ROLLCALL_PROJECT: project };
  const read = async (args: readonly string[], stdin = "") =>
    await runRollcall(["call", "read", ...args], { env, stdin });
  return { server, read };
};

const idOf = ({ body }: RecordedRequest): unknown => JSON.parse(body.toString()).id;
const asksFor = (id: string) => (request: RecordedRequest) => idOf(request) === id;
const found = (id: string, rest = ""): Exchange => ({
  when: asksFor(id),
  answer: json(`{"call":{"id":"${id}"${rest}}}`),
});
const missing = (id: string): Exchange => ({ when: asksFor(id), answer: json({ call: null }) });

describe("rollcall call read", () => {
  it("prints the page of a call", async () => {
    const { server, read } = await service([{ answer: json(readFileSync("test/samples/call.json", "utf8")) }]);
    const { code, stdout, stderr } = await read(["019a3b1e", "--costs", "--storage-size", "--total-storage-size"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    await expect(stdout).toMatchFileSnapshot("../../output/golden/call.txt");
    expect(server.received.map(({ method, path, body }) => [method, path, body.toString()])).toEqual([
      [
        "POST",
        "/call/read",
        '{"project_id":"acme-travel/airline-agent","id":"019a3b1e","include_costs":true,"include_storage_size":true,"include_total_storage_size":true}',
      ],
    ]);
    expect(server.received[0]?.headers.authorization).toBe(`Basic ${Buffer.from("api:key-1234").toString("base64")}`);
  });

  it("keeps the other fields of the reply with --json for one call", async () => {
    const reply =
      '{ "cost_cap": 1.50, "call": {"id":"a","x":1e2}, "next":null, "note": "a\u202eb\\u001b", "n":12345678901234567890 }';
    const answered: Exchange = { when: asksFor("a"), answer: json(reply) };
    const { read } = await service([answered, answered, answered, answered, found("b")]);
    const beside = '"next":null,"note":"a\\u202eb\\u001b","n":12345678901234567890';
    expect((await read(["a", "--json"])).stdout).toBe(`{"cost_cap":1.50,"call":{"id":"a","x":1e2},${beside}}\n`);
    expect((await read(["a", "-o", "jsonl"])).stdout).toBe('{"id":"a","x":1e2}\n');
    expect((await read(["a", "--json", "--no-content"])).stdout).toBe('{"call":{"id":"a","x":1e2}}\n');
    expect((await read(["a", "b", "--json"])).stdout).toBe('{"calls":[{"id":"a","x":1e2},{"id":"b"}]}\n');
  });

  it("prints calls in the given order for any order of replies", async () => {
    const late: Exchange = {
      when: asksFor("a"),
      answer: (_, response) => void setTimeout(() => response.end('{"call":{"id":"a"}}'), 300),
    };
    const { read } = await service([late, found("b"), found("c")]);
    expect((await read(["a", "b", "c", "--json"])).stdout).toBe('{"calls":[{"id":"a"},{"id":"b"},{"id":"c"}]}\n');
  });

  it.each([
    [3, ["--concurrency", "3"]],
    [8, []],
  ])("sends at most %i requests at once with %j", async (limit, option) => {
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
    const { stdout } = await read([...ids, "-o", "jsonl", ...option]);
    expect(stdout).toBe(ids.map((id) => `{"id":"${id}"}\n`).join(""));
    expect(most).toBe(limit);
  });

  it("inserts ids from standard input in place of -", async () => {
    const { read } = await service(["x", "a", "b", "c", "y"].map((id) => found(id)));
    const { code, stdout } = await read(["x", "-", "y", "-o", "jsonl"], "\ufeffa\r\n\n  b  \n\r\nc");
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: '{"id":"x"}\n{"id":"a"}\n{"id":"b"}\n{"id":"c"}\n{"id":"y"}\n',
    });
  });

  it.each([
    ["nothing", "", "no call ids on standard input"],
    ["blank lines", "\n \r\n", "no call ids on standard input"],
    ["bytes that are not text", Buffer.from("a\n\xff\xfe\n", "latin1"), "line 2 of standard input is not a call id"],
    ["a line longer than any id", `${"a".repeat(2_000_000)}\n`, "line 1 of standard input is not a call id"],
  ])("exits with 3 if standard input contains %s", async (_, stdin, message) => {
    const { code, stdout, stderr } = await runRollcall(["call", "read", "-", "--json"], {
      env: {
        ROLLCALL_BASE_URL: "http://127.0.0.1:1",
        ROLLCALL_API_KEY: "key-1234",
        ROLLCALL_PROJECT: project,
        ROLLCALL_MAX_WAIT: "1ms",
      },
      stdin,
    });
    expect(JSON.parse(stderr).error).toMatchObject({
      code: "invalid_input",
      message: expect.stringContaining(message),
    });
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
  });

  it("exits with 3 if standard input is not readable", async () => {
    const env = {
      ...newHome(),
      PATH: process.env.PATH,
      ROLLCALL_BASE_URL: "http://127.0.0.1:1",
      ROLLCALL_API_KEY: "key-1234",
    };
    const line = `"${process.execPath}" bin/rollcall.js call read - --project a/b 0> "$HOME/only-written"`;
    const { code, lines } = await runOnTerminal(line, { env });
    expect(code).toBe(3);
    expect(lines.join("\n")).toContain("cannot read call ids from standard input: EBADF");
  });

  it("exits with 130 for SIGINT while it waits for ids", { tags: "slow" }, async () => {
    const env = { ROLLCALL_BASE_URL: "http://127.0.0.1:1", ROLLCALL_API_KEY: "key-1234", ROLLCALL_PROJECT: project };
    const { code } = await interruptWaiting(() => startRollcall(["call", "read", "-"], { env }));
    expect(code).toBe(130);
  });

  it("exits with 130 for SIGINT while it waits for the service", async () => {
    const { url } = await scriptedServer([{ answer: () => void child.kill("SIGINT") }]);
    const env = { ROLLCALL_BASE_URL: url, ROLLCALL_API_KEY: "key-1234", ROLLCALL_PROJECT: project };
    const child = startInTurn(["call", "read", "a"], { env });
    expect((await endOf(child)).code).toBe(130);
  });

  it("exits with 0 and sends no more requests after its output is closed", { tags: "slow" }, async () => {
    const ids = Array.from({ length: 400 }, (_, at) => `id-${at}`);
    let asked = 0;
    const server = createServer((request, response) => {
      asked++;
      request.resume().on("end", () => response.end(`{"call":{"id":"x","output":"${"x".repeat(100_000)}"}}`));
    });
    const { url } = await listenOnLoopback(server);
    const env = { ...newHome(), PATH: process.env.PATH, ROLLCALL_BASE_URL: url, ROLLCALL_API_KEY: "key-1234" };
    const line = `(printf '${ids.join("\\n")}' | "${process.execPath}" bin/rollcall.js call read - --project a/b -o jsonl; echo "code $?" >&2) | head -c 10 >/dev/null`;
    const { stderr } = await promisify(execFile)("sh", ["-c", line], { env });
    expect(stderr).toBe("code 0\n");
    expect(asked).toBeLessThan(50);
  });

  const later = { status: 503, headers: { "retry-after": "60" }, body: '{"reason":"asleep"}' };
  const refused: Exchange = { when: asksFor("b"), answer: { status: 400, body: '{"reason":"no uuid"}' } };
  const down: Exchange = { when: asksFor("d"), answer: later };

  it.each<[form: readonly string[], printed: RegExp]>([
    [["-o", "jsonl"], /^\{"id":"a"}\n\{"id":"c"}\n$/],
    [["--json"], /^\{"calls":\[\{"id":"a"},\{"id":"c"}]}\n$/],
    [[], /id {6}a\n(.*\n)*.*id {6}c\n/],
  ])("prints the other calls with %j, names unreadable calls, and exits with 6", async (form, printed) => {
    const { read } = await service([found("a"), refused, found("c"), down, missing("e")]);
    const { code, stdout, stderr } = await read(["a", "b", "c", "d", "e", "--max-wait", "1ms", ...form]);
    expect(code).toBe(6);
    expect(stdout).toMatch(printed);
    const said = "cannot read 1 of 5 calls: b (the service refused the request (400): no uuid)";
    const others = [
      "cannot read 1 of 5 calls: d (the service answered 503: asleep)",
      `cannot find 1 of 5 calls in project ${project}: e`,
    ];
    for (const one of [said, ...others]) expect(stderr).toContain(one);
    if (form.length === 0) return;
    const { error } = JSON.parse(stderr);
    expect([error.code, error.message, error.http.status]).toEqual(["refused", said, 400]);
    expect(error.problems.map(({ rule }: { rule: string }) => rule)).toEqual(["unavailable", "not_found"]);
  });

  it.each<[form: readonly string[], printed: RegExp]>([
    [["-o", "jsonl"], /^\{"id":"a"}\n\{"id":"c"}\n$/],
    [["--json"], /^\{"calls":\[\{"id":"a"},\{"id":"c"}]}\n$/],
    [[], /id {6}a\n(.*\n)*.*id {6}c\n/],
  ])("prints the other calls with %j, names a forbidden call, and exits with 4", async (form, printed) => {
    const forbidden: Exchange = { when: asksFor("b"), answer: json({ reason: "not yours" }, 403) };
    const { read } = await service([found("a"), forbidden, found("c")]);
    const { code, stdout, stderr } = await read(["a", "b", "c", ...form]);
    expect([code, stdout]).toEqual([4, expect.stringMatching(printed)]);
    const said = `cannot read 1 of 3 calls: b (the service refused the key from ROLLCALL_API_KEY for the project ${project} (403): not yours)`;
    expect(stderr).toContain(said);
    if (form.length === 0) return;
    expect(JSON.parse(stderr).error).toMatchObject({ code: "auth", message: said, http: { status: 403 } });
  });

  it("prints the calls requested before a 401, names the refused call, and requests no more calls", async () => {
    let tell: (response: ServerResponse) => void = () => undefined;
    const asked = new Promise<ServerResponse>((resolve) => {
      tell = resolve;
    });
    const expired: Exchange = { when: asksFor("b"), answer: (_, response) => tell(response) };
    const last: Exchange = {
      when: asksFor("c"),
      answer: async (_, response) => {
        const refusal = await asked;
        // rollcall closes the connection once it has read the refusal.
        refusal.socket?.once("close", () => response.end('{"call":{"id":"c"}}'));
        refusal.writeHead(401, { connection: "close" }).end('{"reason":"expired"}');
      },
    };
    const { read } = await service([found("a"), expired, last]);
    const { code, stdout, stderr } = await read(["a", "b", "c", "d", "e", "--json", "--concurrency", "2"]);
    expect([code, stdout]).toEqual([4, '{"calls":[{"id":"a"},{"id":"c"}]}\n']);
    expect(JSON.parse(stderr).error.message).toMatch(
      /^cannot read 1 of the first 3 calls: b \(.*\(401\): expired\), so rollcall stopped$/,
    );
  });

  it("reports a key that the service refuses for every call like a refusal for one call", async () => {
    const denied: Exchange = { answer: json({ reason: "no such key" }, 401) };
    const { read } = await service([denied, denied, denied]);
    const { code, stdout, stderr } = await read(["a", "b", "c", "d", "--json", "--concurrency", "3"]);
    expect([code, stdout]).toEqual([4, ""]);
    expect(JSON.parse(stderr).error.message).toMatch(/^the service refused the key from ROLLCALL_API_KEY/);
  });

  it("prints the calls before a failure on a terminal", async () => {
    const { server } = await service([found("a"), { when: asksFor("b"), answer: json({ reason: "expired" }, 401) }]);
    const env = { ROLLCALL_BASE_URL: server.url, ROLLCALL_API_KEY: "key-1234" };
    const words = `call read a b c --concurrency 1 --project ${project} --no-pager`;
    const { code, written } = await runHereOnTerminal(words.split(" "), { env, columns: 100 });
    const lines = screenOf(written);
    expect(code).toBe(4);
    expect(lines.slice(0, 3)).toEqual(["Call without a name", "  status  running", "  id      a"]);
    expect(lines.join("\n")).toContain("expired");
  });

  it("keeps an id whole on a terminal of 40 columns", async () => {
    const id = "01a20438-d85d-7000-a307-1a7954c27289";
    const { server } = await service([found(id, `,"trace_id":"${id}"`)]);
    const env = { TERM: "xterm-256color", ROLLCALL_BASE_URL: server.url, ROLLCALL_API_KEY: "key-1234" };
    const words = `call read ${id} --no-pager --project a/b`;
    const { written } = await runHereOnTerminal(words.split(" "), { env, columns: 40 });
    expect(screenOf(written).filter((line) => line.trim() === id)).toHaveLength(2);
  });

  /** Reads samples of calls on a terminal of this width. */
  const readOnTerminal = async (names: readonly string[], columns: number) => {
    const calls = names.map((name) => readFileSync(`test/samples/${name}`, "utf8"));
    const { server } = await service(calls.map((call) => ({ answer: json(call) })));
    const env = { TERM: "xterm-256color", ROLLCALL_BASE_URL: server.url, ROLLCALL_API_KEY: "key-1234" };
    const ids = names.map((_, at) => `id-${at}`).join(" ");
    const words = `call read ${ids} --concurrency 1 --project ${project} --costs --storage-size --total-storage-size --no-pager`;
    const { code, written } = await runHereOnTerminal(words.split(" "), { env, columns });
    expect(code).toBe(0);
    return screenOf(written);
  };

  it.each([60, 100, 160])("prints pages that fit %i columns of a terminal", async (columns) => {
    const lines = await readOnTerminal(["call.json", "call.exception.json", "call.tools.json"], columns);
    expect(lines.length).toBeGreaterThan(500);
    expect(lines.filter((text) => text.length > columns)).toEqual([]);
  });

  it("prints the tools of a call on a terminal", async () => {
    const lines = await readOnTerminal(["call.tools.json"], 100);
    await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot("golden/call.tools.txt");
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
