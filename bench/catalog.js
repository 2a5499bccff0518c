/** Serves a catalog of as many entries as its argument says, made from a seed, on a free loopback port that it prints. */
import { createServer } from "node:http";
import { randomFrom } from "./input.js";

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
    pricing: { prompt: price(), completion: price(), input_cache_read: maybe(0.5, price()), image: "0", request: "0" },
    supported_sampling_parameters: someOf(parameters),
    supported_features: someOf(features),
    datacenters: someOf(countries).map((country_code) => ({ country_code })),
    deprecation_date: maybe(0.1, `2026-${String(1 + Math.floor(random() * 12)).padStart(2, "0")}-15`),
  };
};

const count = Number(process.argv[2]);
const body = Buffer.from(JSON.stringify({ data: Array.from({ length: count }, entryOf) }));

const server = createServer((_, response) => {
  response.writeHead(200, { "content-type": "application/json", "content-length": body.length }).end(body);
});
server.listen(0, "127.0.0.1", () => console.log(`${server.address().port} ${body.length}`));
