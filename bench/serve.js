/**
 * The services of the benches. Each service runs in its own process, and prints its free loopback port:
 *   node bench/serve.js sink | far <milliseconds> | calls <milliseconds> <bytes> | catalog <entries> | file <path>
 */
import { readFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { randomFrom } from "./input.js";
import { root } from "./rounds.js";

const [kind, ...args] = process.argv.slice(2);

const answer = Buffer.from("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}");
const headEnd = Buffer.from("\r\n\r\n");

/** A service that reads and counts requests, and stores nothing. */
const sink = (socket) => {
  let head = Buffer.alloc(0);
  let left = -1;
  let tail = Buffer.alloc(0);
  const finish = () => {
    socket.write(answer);
    head = Buffer.alloc(0);
    left = -1;
  };
  const take = (chunk) => {
    if (left >= 0) {
      left -= chunk.length;
      if (left <= 0) finish();
    } else if (left === -2) {
      tail = Buffer.concat([tail, chunk.subarray(-7)]).subarray(-7);
      if (tail.equals(Buffer.from("\r\n0\r\n\r\n"))) finish();
    } else {
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf(headEnd);
      if (end < 0) return;
      const text = head.toString("latin1", 0, end);
      if (/^expect: 100-continue/im.test(text)) socket.write("HTTP/1.1 100 Continue\r\n\r\n");
      const length = /^content-length: (\d+)/im.exec(text)?.[1];
      left = length === undefined ? -2 : Number(length);
      const rest = head.subarray(end + headEnd.length);
      if (left === 0) finish();
      else take(rest);
    }
  };
  socket.on("data", take).on("error", () => socket.destroy());
};

/** A `sink` behind a slow link. The link delays each connection and each answer by the round trip time. */
const far = (roundTripMs) => (socket) => {
  const { write } = socket;
  const late = (bytes) => setTimeout(() => socket.destroyed || write.call(socket, bytes), roundTripMs);
  sink(Object.assign(socket.pause(), { write: late }));
  // A listener would start to read before the connection is open.
  socket.pause();
  setTimeout(() => socket.resume(), roundTripMs);
};

const callOf = (bytes) => {
  const { call } = JSON.parse(readFileSync(join(root, "test/samples/call.json"), "utf8"));
  const filler = "A word of a long answer. ".repeat(Math.ceil(bytes / 25));
  const messages = bytes > 0 ? [...call.inputs.messages, { role: "user", content: filler }] : call.inputs.messages;
  return JSON.stringify({ call: { ...call, inputs: { ...call.inputs, messages } } });
};

/** Generates a catalog from a seed. */
const catalogOf = (count) => {
  const random = randomFrom(1);
  const oneOf = (list) => list[Math.floor(random() * list.length)];
  const someOf = (list) => list.filter(() => random() < 0.6);
  const maybe = (share, value) => (random() < share ? value : undefined);

  const makers = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "qwen"];
  const kinds = ["instruct", "thinking", "coder", "base", "vision", "mini", "long"];
  const formats = ["int4", "fp4", "fp8", "bf16", "fp16", "mxfp4"];
  const parameters = ["temperature", "top_p", "top_k", "min_p", "stop", "seed", "max_tokens", "logit_bias"];
  const features = ["tools", "json_mode", "structured_outputs", "reasoning", "logprobs", "web_search"];
  const countries = ["US", "FI", "DE", "FR", "JP", "IN", "BR", "CA"];
  const price = () => (Math.ceil(random() * 900) / 1e8).toFixed(8);

  const entryOf = (_, at) => {
    const [maker, kind, size] = [oneOf(makers), oneOf(kinds), 1 + Math.floor(random() * 400)];
    return {
      id: `${maker}/${maker}-${size}b-${kind}-${at}`,
      name: `${maker[0].toUpperCase()}${maker.slice(1)} ${size}B ${kind} ${at}`,
      created: 1_700_000_000 + Math.floor(random() * 6e7),
      input_modalities: ["text", ...someOf(["image", "audio"])],
      output_modalities: ["text"],
      quantization: maybe(0.9, oneOf(formats)),
      context_length: 2 ** (12 + Math.floor(random() * 9)),
      max_output_length: maybe(0.8, 2 ** (10 + Math.floor(random() * 7))),
      pricing: {
        prompt: price(),
        completion: price(),
        input_cache_read: maybe(0.5, price()),
        image: "0",
        request: "0",
      },
      supported_sampling_parameters: someOf(parameters),
      supported_features: someOf(features),
      datacenters: someOf(countries).map((country_code) => ({ country_code })),
      deprecation_date: maybe(0.1, `2026-${String(1 + Math.floor(random() * 12)).padStart(2, "0")}-15`),
    };
  };
  return JSON.stringify({ data: Array.from({ length: count }, entryOf) });
};

/** Answers every request with the same body after a delay. */
const openAnswering = (text, delayMs = 0) => {
  const body = Buffer.from(text);
  const head = { "content-type": "application/json", "content-length": body.length };
  return createHttpServer((request, response) => {
    request.resume().on("end", () => setTimeout(() => response.writeHead(200, head).end(body), delayMs));
  });
};

const kinds = {
  sink: () => createServer(sink),
  far: (roundTripMs) => createServer(far(Number(roundTripMs))),
  calls: (delayMs, bytes) => openAnswering(callOf(Number(bytes)), Number(delayMs)),
  catalog: (entries) => openAnswering(catalogOf(Number(entries))),
  file: (path) => openAnswering(readFileSync(path)),
};
const server = kinds[kind](...args);
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
