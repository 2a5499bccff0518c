/** Cases of sending: each outcome of a request and the runs after it, the options of `log`, and the commands of the ledger. */
import { appendFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { accept, answer } from "./service.js";

/** A group of one trajectory, known by its reward; `bytes` of padding make it long. */
const groupOf = (reward, bytes = 0) =>
  `{"trajectories":[{"messages_and_choices":[],"reward":${reward}${bytes > 0 ? `,"logs":["${"x".repeat(bytes)}"]` : ""}}]}`;
const groupsOf = (...rewards) => rewards.map((reward) => `${groupOf(reward)}\n`).join("");
const countTo = (count) => Array.from({ length: count }, (_, at) => at);

/** More than the buffers of both sides hold: a service that stops reading stops the sender within the body. */
const longBytes = 12 * 1024 * 1024;

const log = "log m a.jsonl --split train --json";
const logOf = (file) => log.replace("a.jsonl", file);

/** The size at which each group without padding is a request. */
const oneEach = "--max-request-size 120";
const noWait = "--max-wait 0s";
const impatient = "--max-wait 0s --timeout 300ms";

const said = "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n";
const done = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
const detailOf = (at) =>
  JSON.stringify({
    detail: [{ loc: ["body", "trajectory_groups", at, "trajectories"], msg: "no", type: "value_error" }],
  });
const calls = JSON.stringify({ metrics: {}, call_ids: countTo(9000).map((at) => `call-${at}`) });
const again = (when) => [`Retry-After: ${when}`];

const statuses = [
  ...[
    201, 300, 304, 307, 400, 401, 402, 403, 404, 405, 407, 408, 409, 410, 413, 418, 422, 423, 425, 426, 428, 429, 431,
  ],
  ...[451, 500, 501, 502, 503, 504, 507, 520, 599],
];

/** Faults that the first request meets: what the service does, and the options that the run has. */
const faults = {
  "reset before the body": { deed: { read: "head", end: "reset" }, long: true },
  "reset within the body": { deed: { read: "some", end: "reset" }, long: true },
  "end within the body": { deed: { read: "some" }, long: true },
  "silence within the body": { deed: { read: "some", end: "silence" }, long: true, args: impatient },
  "reset after the body": { deed: { end: "reset" } },
  "end after the body": { deed: {} },
  "silence after the body": { deed: { end: "silence" }, args: impatient },
  "silence within the headers": { deed: { raw: "HTTP/1.1", end: "silence" }, args: impatient },
  "an answer that is not HTTP": { deed: { raw: "220 mail.example ESMTP\r\n" } },
  "a status, then a reset": { deed: { raw: "HTTP/1.1 400 Bad\r\nContent-Length: 5\r\n\r\nno", end: "reset" } },
  "200, then a reset": { deed: { raw: `${said}{`, end: "reset" } },
  "200 with a cut body": { deed: { raw: `${said}{"metrics"` } },
  "200 with silence in the body": { deed: { raw: `${said}{`, end: "silence" }, args: impatient },
  "100 Continue, then 200": { deed: { raw: `HTTP/1.1 100 Continue\r\n\r\n${done}` } },
  "103, then 200": { deed: { raw: `HTTP/1.1 103 Early Hints\r\n\r\n${done}` } },
  "200 without a body": { deed: answer(200) },
  "200 with text": { deed: answer(200, "thanks") },
  "200 with another shape": { deed: answer(200, '{"metrics":[1],"call_ids":7}') },
  "200 with many call ids": { deed: answer(200, calls) },
  204: { deed: { raw: "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n" } },
  "401 that repeats the key": { deed: answer(401, '{"detail":"key-123456789 is unknown"}') },
  "404 with JSON": { deed: answer(404, '{"detail":"no such model"}') },
  "404 of a web server": { deed: answer(404, "<html>Not Found</html>", ["Content-Type: text/html"]) },
  "422 that names a group": { deed: answer(422, detailOf(0)) },
  "422 that names none": { deed: answer(422, '{"detail":"no"}') },
  "a redirect": { deed: answer(307, "", ["Location: /elsewhere"]) },
  "429 with Retry-After": { deed: answer(429, "", again(1)) },
  "429 with a long Retry-After": { deed: answer(429, "", again(9999)), args: "--max-wait 5s" },
  "503 with Retry-After": { deed: answer(503, "", again(1)) },
  "503 with Retry-After as a date": { deed: answer(503, "", again("Thu, 20 Nov 2025 10:00:01 GMT")) },
  "early 200": { deed: { ...accept, read: "some" }, long: true },
  ...Object.fromEntries(statuses.map((status) => [`${status}`, { deed: answer(status) }])),
  ...Object.fromEntries(
    [401, 404, 408, 413, 422, 429, 500, 503, 504].map((status) => [
      `early ${status}`,
      { deed: { ...answer(status), read: "some" }, long: true },
    ]),
  ),
  "connection refused": { env: () => ({ ROLLCALL_BASE_URL: "http://127.0.0.1:1" }) },
  "no TLS": {
    deed: { read: "nothing", raw: "HTTP/1.1 400 Bad Request\r\n\r\n" },
    env: ({ url }) => ({ ROLLCALL_BASE_URL: url.replace("http:", "https:") }),
  },
};

/** Faults after which a run may try again, and succeed. */
const passing = /^(?:408|409|425|429|500|503|early 503|reset (?:within|after) .*|(?:429|503) with Retry-After.*)$/;

const formats = [
  ...["nemo-gym.example_mcp_weather.jsonl", "verifiers-v0.wordle.results.jsonl", "atif.simple_trajectory.json"],
  ...["tau2.results.json", "inspect.log_formats.eval", "art-v2.airline.parquet"],
];

/** Returns the cases. */
export const sendingCases = ({ commit, quick }) => {
  const met = Object.entries(faults).flatMap(([name, fault]) => [
    { name, play: (stage) => meet(stage, fault), takesTurns: fault.env === undefined },
    { name: `${name}, for a person`, play: (stage) => meetAsPerson(stage, fault) },
    ...(passing.test(name) ? [{ name: `${name}, once`, play: (stage) => meetOnce(stage, fault) }] : []),
  ]);
  const cases = [
    ...met.filter((_, at) => !quick || at % 3 === 0),
    ...Object.entries(scenarios).map(([name, play]) => ({ name, play, takesTurns: true })),
    ...formats.map((name) => ({
      name,
      play: (stage) => convertAndSend(stage, join(commit, "test/samples/formats", name)),
    })),
  ];
  return cases.map(({ name, play, takesTurns = false }) => {
    return { name: `sending ${name}`, play, takesTurns: takesTurns && !quick, isStateful: true };
  });
};

/** Runs a command line and records the requests that came of it, and the ledger. */
const step = async (stage, line, { sorted = false, ...options } = {}) => {
  const ran = await stage.run(line, options);
  stage.requests({ sorted });
  stage.ledger();
  return ran;
};

const threeGroups = (stage, { long = false }) =>
  stage.write("a.jsonl", `${groupOf(1, long ? longBytes : 0)}\n${groupsOf(2, 3)}`);

/** Gives the ids of requests in a state. */
const idsOf = async (stage, state, options) => {
  const { stdout } = await stage.run("ledger status --json", options);
  const { entries = [] } = JSON.parse(stdout || "{}");
  return entries.filter((entry) => entry.state === state).map(({ id }) => id);
};

/** A run of which the first request meets a fault, and the runs until everything is logged. */
const meet = async (stage, fault) => {
  const { deed = accept, args = noWait } = fault;
  const env = fault.env?.(stage.service);
  threeGroups(stage, fault);
  stage.service.script({ otherwise: deed });
  await step(stage, `${log} ${oneEach} ${args}`, { env });
  const ids = await idsOf(stage, "unknown", { env });
  await stage.run("ledger verify a.jsonl --json", { env });
  stage.service.script({});
  await step(stage, `${log} ${oneEach}`);
  for (const id of ids) await stage.run(`ledger resolve ${id} --resend --json`);
  await step(stage, `${log} ${oneEach}`);
  await stage.run("ledger verify a.jsonl");
};

/** A run that tries again after a fault, and may succeed. */
const meetOnce = async (stage, fault) => {
  threeGroups(stage, fault);
  stage.service.script({ next: [fault.deed] });
  await step(stage, `${log} --max-wait 20s`);
};

const meetAsPerson = async (stage, fault) => {
  const { deed = accept, args = noWait } = fault;
  const env = fault.env?.(stage.service);
  threeGroups(stage, fault);
  stage.service.script({ otherwise: deed });
  await stage.run(`log m a.jsonl --split train ${oneEach} ${args}`, { env });
  await stage.run("ledger status --no-pager --no-color", { env, columns: 120 });
};

const convertAndSend = async (stage, path) => {
  const name = stage.copy(path);
  const line = `${logOf(name)} --on-invalid skip --receipt receipt.json`;
  await step(stage, `${line} --lossy --max-request-size 20KB`);
  stage.files("receipt.json", `${name}.rejected`, `${name}.rejected.reasons`);
  await step(stage, line);
  await stage.run(`ledger verify ${name} --lossy`);
};

const unknown = answer(500);
const honest = { ...accept, echo: true };
const kept = { ...accept, end: "keep" };
const local = { env: { ROLLCALL_BASE_URL: undefined, ROLLCALL_INFERENCE_BASE_URL: undefined } };
const hourMs = 3_600_000;

const scenarios = {
  "reruns of a file that moves and grows": async (stage) => {
    stage.write("a.jsonl", groupsOf(1, 2, 1));
    for (const _ of [1, 2]) await step(stage, log);
    stage.write("b.jsonl", groupsOf(1, 2, 1, 3));
    await step(stage, logOf("b.jsonl"));
    await step(stage, logOf("-"), { stdin: groupsOf(3, 4) });
    stage.write("c.jsonl.gz", gzipSync(groupsOf(4, 5)));
    await step(stage, "log m c.jsonl.gz b.jsonl --split train");
    for (const more of ["--resend-logged", "--no-ledger", "--batch 1", "--batch 1", "--batch 2", "--ledger own.db"]) {
      await step(stage, `${log} ${more}`);
    }
    await step(stage, `${log} --require-ledger --ledger none.db`);
    await step(stage, "log other a.jsonl --split val --json");
  },
  parts: async (stage) => {
    stage.write("a.jsonl", groupsOf(...countTo(12)));
    await step(stage, `${log} --max-request-size 300 --no-ledger`);
    await step(stage, `${log} --max-request-size 300 --one-request`);
    await step(stage, `${log} --max-request-size 60`);
    await step(stage, `${log} --max-request-size 300 --concurrency 4 --ledger other.db`, { sorted: true });
    for (const form of ["gzip", "zstd"]) await step(stage, `${log} --compress ${form} --no-ledger`);
  },
  413: async (stage) => {
    stage.write("a.jsonl", groupsOf(...countTo(13)));
    stage.service.script({ next: [answer(413), answer(413)] });
    await step(stage, log);
    stage.write("b.jsonl", groupsOf(...countTo(12).map((at) => 100 + at)));
    await step(stage, logOf("b.jsonl"));
    // Half of the body is exactly the first two groups.
    const pair = groupOf(7).length * 2 + 1;
    const third = groupOf(9, 1).length - 1;
    stage.write("d.jsonl", `${groupsOf(7, 8)}${groupOf(9, pair - 2 - third)}\n`);
    stage.service.script({ next: [answer(413)] });
    await step(stage, logOf("d.jsonl").replace("log m", "log other"));
    stage.service.script({ otherwise: answer(413) });
    stage.write("c.jsonl", groupsOf(200, 201, 202));
    await step(stage, `${logOf("c.jsonl")} --on-refused skip`);
    await step(stage, `${logOf("c.jsonl")} --one-request`);
    stage.files("c.jsonl.rejected", "c.jsonl.rejected.reasons");
  },
  choices: async (stage) => {
    const two = `{"trajectories":[${groupOf(1).slice(17, -2)},${groupOf(0.5).slice(17, -2)}]}\n`;
    stage.write("a.jsonl", two + groupsOf(2, 3, 4, 5, 6));
    const choices = ["--where 'reward >= 1.0'", "--best 1", "--sample 2 --seed a", "--shard 1/2", "--shard 2/2"];
    for (const [at, choice] of choices.entries()) await step(stage, `${log} ${choice} --batch ${at}`);
    await step(stage, `${log} --where 'reward > 100.0'`);
    await step(stage, log);
  },
  "groups by a key": async (stage) => {
    const line = (task, reward) => `{"messages_and_choices":[],"reward":${reward},"task":${JSON.stringify(task)}}\n`;
    stage.write(
      "a.jsonl",
      ["a", 7, null, { x: 1 }, "b", "a", 7].map(line).join("") + line(undefined, 9).replace("undefined", "[]"),
    );
    for (const _ of [1, 2]) await step(stage, `${log} --group-by task`);
    await step(stage, log);
    stage.write("b.jsonl", [0, 0, 1].map(line).join("").replaceAll('"task"', '"group_id"'));
    await step(stage, logOf("b.jsonl"));
  },
  "whole requests": async (stage) => {
    const groups = `"trajectory_groups":[${groupOf(1)},${groupOf(2)}]`;
    stage.write("a.jsonl", `{"note":1,"split":"val",${groups},"more":[12345678901234567890]}\n`);
    for (const more of ["", ` ${oneEach} --batch b`]) await step(stage, `log m a.jsonl --json${more}`);
    await step(stage, log);
  },
  rejects: async (stage) => {
    const bad = `nonsense\r\n${groupOf(2).replace("2", '"2"')}\n`;
    stage.write("a.jsonl", `${groupsOf(1)}${bad}${groupsOf(3)}{"messages_and_choices":[]}`);
    for (const more of ["", " --on-invalid skip", " --on-invalid skip", " --on-invalid skip --rejects other"]) {
      await step(stage, log + more);
    }
    stage.files("a.jsonl.rejected", "a.jsonl.rejected.reasons", "other", "other.reasons");
    stage.write("a.jsonl.rejected", "edited\n");
    await step(stage, `${log} --on-invalid skip --resend-logged`);
    stage.listing();
  },
  "refused groups": async (stage) => {
    const failed = groupsOf(2, 3, 4).replaceAll('{"trajectories"', '{"exceptions":["e"],"trajectories"');
    stage.write("a.jsonl", groupsOf(1) + failed);
    stage.service.script({ next: [answer(422, detailOf(1)), answer(422, detailOf(2))] });
    await step(stage, `${log} --on-refused skip`);
    stage.files("a.jsonl.rejected", "a.jsonl.rejected.reasons");
    await step(stage, `${log} --on-refused skip`);
    stage.service.script({ next: [answer(400, '{"detail":"no"}')] });
    await step(stage, `${log} --on-refused skip --batch b --max-request-size 200`);
  },
  "unknown, resent within the run": async (stage) => {
    stage.write("a.jsonl", groupsOf(1, 2, 3));
    stage.service.script({ next: [unknown] });
    await step(stage, `${log} ${oneEach} --on-unknown resend --max-wait 20s`);
  },
  "unknown, left and resent": async (stage) => {
    stage.write("a.jsonl", groupsOf(1, 2, 3));
    stage.service.script({ next: [accept, unknown] });
    await step(stage, `${log} ${oneEach} --on-unknown leave ${noWait}`);
    await step(stage, `${log} ${oneEach}`);
    await step(stage, `${log} --resend-logged`);
    stage.write("b.jsonl", groupsOf(3, 1));
    await step(stage, `${logOf("b.jsonl")} --on-unknown resend`);
    await step(stage, `${log} --on-unknown resend`);
    await step(stage, log);
  },
  "unknown, resolved by hand": async (stage) => {
    stage.write("a.jsonl", groupsOf(1, 2, 3));
    stage.service.script({ next: [unknown], otherwise: answer(409) });
    await step(stage, `${log} ${oneEach} --on-unknown leave ${noWait}`);
    stage.service.script({});
    const [first, second, third] = await idsOf(stage, "unknown");
    await stage.run(`ledger resolve ${first} --assume-logged --json`);
    await stage.run(`ledger resolve ${second} --resend`);
    await stage.run(`ledger resolve ${first} ${third} no-such --resend`);
    await step(stage, log);
    await stage.run("ledger verify a.jsonl --json");
  },
  "unknown at a service that echoes keys": async (stage) => {
    stage.write("a.jsonl", groupsOf(1, 2, 3, 4));
    stage.service.script({ next: [honest, unknown], otherwise: honest });
    await step(stage, `${log} ${oneEach} ${noWait}`);
    await step(stage, `${log} ${oneEach}`);
    stage.write("b.jsonl", groupsOf(5, 6));
    stage.service.script({ next: [unknown], otherwise: honest });
    await step(stage, `${logOf("b.jsonl")} ${noWait}`);
    for (const hours of [25, -50, 30]) {
      stage.wait(hours * hourMs);
      await step(stage, logOf("b.jsonl"));
    }
  },
  "a connection that is used again": async (stage) => {
    stage.write("a.jsonl", groupsOf(1, 2, 3, 4));
    stage.service.script({ next: [kept, kept, { end: "reset" }], otherwise: kept });
    await step(stage, `${log} ${oneEach} ${noWait}`);
    await step(stage, `${log} ${oneEach} --on-unknown resend`);
  },
  "a signal during a request": async (stage) => {
    stage.write("a.jsonl", groupsOf(1, 2, 3));
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
      let answerNow = () => undefined;
      const until = () =>
        new Promise((resolve) => {
          answerNow = resolve;
        });
      stage.service.script({ next: [{ ...accept, until }] });
      const meanwhile = async (running) => {
        await stage.service.received(1);
        running.signal(signal);
        await new Promise((resolve) => setTimeout(resolve, 100));
        answerNow();
      };
      await step(stage, `${log} ${oneEach}`, { meanwhile });
    }
    await step(stage, log);
  },
  "a file that grows": async (stage) => {
    stage.write("a.jsonl", groupsOf(1));
    const append = (text) => appendFileSync(stage.path("a.jsonl"), text);
    const meanwhile = async (running) => {
      const texts = [groupsOf(2, 3), `${groupsOf(4)}nonsense\n`, groupsOf(5).slice(0, 30)];
      for (const [at, text] of texts.entries()) {
        await stage.service.received(at + 1);
        append(text);
      }
      running.signal("SIGINT");
    };
    await step(stage, `${log} --follow --every 200ms --on-invalid skip`, { meanwhile });
    stage.files("a.jsonl.rejected");
    append(groupsOf(5).slice(30));
    await step(stage, `${log} --on-invalid skip`);
  },
  "a file that grows, in groups": async (stage) => {
    const line = (group, reward) => `{"messages_and_choices":[],"reward":${reward},"group_id":"${group}"}\n`;
    stage.write("a.jsonl", line("a", 1));
    const meanwhile = async (running) => {
      appendFileSync(stage.path("a.jsonl"), line("a", 2) + line("b", 3));
      await stage.service.received(1);
      renameSync(stage.path("a.jsonl"), stage.path("old.jsonl"));
      stage.write("a.jsonl", line("b", 4) + line("c", 5));
      await stage.service.received(2);
      running.signal("SIGINT");
    };
    await step(stage, `${log} --follow --every 200ms --group-size 2 --group-by group_id`, { meanwhile });
    await step(stage, `${log} --group-by group_id`);
  },
  "the commands of a ledger": async (stage) => {
    stage.write("a.jsonl", groupsOf(1, 2, 3, 4));
    stage.service.script({ next: [accept, unknown, answer(422, detailOf(0))] });
    await stage.run(`${log} ${oneEach} --on-unknown leave --on-refused skip ${noWait}`);
    await stage.run("log other a.jsonl --split val --batch b");
    await stage.run(`${log} --dry-run`);
    const shown = [
      "status",
      "status a.jsonl",
      "status --all-destinations",
      "calls",
      "calls --since 1d",
      "verify a.jsonl",
    ];
    for (const words of [...shown, "verify a.jsonl --model m --split train"]) {
      for (const form of ["--json", "-o tsv --header", "-o csv", "-o jsonl"])
        await stage.run(`ledger ${words} ${form}`);
      for (const columns of [60, 160]) await stage.run(`ledger ${words} --no-pager --no-color`, { columns });
    }
    const filters = ["--model other", "--model other --yes", "--batch b --yes --json", "--before 1d --yes", "--yes"];
    for (const words of [...filters, "--before 2025-11-21 --yes --json"]) {
      await stage.run(`ledger forget ${words}`);
      stage.ledger();
    }
    await step(stage, "log other a.jsonl --split val --batch b --json");
  },
  "the local service": async (stage) => {
    stage.write("a.jsonl", groupsOf(1, 2));
    const { stdout } = await stage.run(`${log} --local`, local);
    const { responses = [] } = JSON.parse(stdout || "{}");
    for (const call of responses[0]?.body?.call_ids ?? []) await stage.run(`call read ${call} --local --json`, local);
    const lines = [
      log,
      `${log} --batch b`,
      "models",
      "models --json",
      "ledger status",
      "ledger verify a.jsonl",
      "catalog router",
    ];
    for (const line of lines) await stage.run(`${line} --local`, local);
  },
};
