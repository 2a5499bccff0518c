/** A service of calls that answers after so many milliseconds, in a process of its own; it prints its port. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { root } from "./rounds.js";

const delayMs = Number(process.argv[2]);
const bytes = Number(process.argv[3]);

const { call } = JSON.parse(readFileSync(join(root, "test/samples/call.json"), "utf8"));
const filler = "A word of a long answer. ".repeat(Math.ceil(bytes / 25));
const messages = bytes > 0 ? [...call.inputs.messages, { role: "user", content: filler }] : call.inputs.messages;
const body = JSON.stringify({ call: { ...call, inputs: { ...call.inputs, messages } } });

const server = createServer((request, response) => {
  request.resume().on("end", () => setTimeout(() => response.end(body), delayMs));
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
