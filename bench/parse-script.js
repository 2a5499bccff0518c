/** What `rollcall check` is measured against: a script that only parses each line. `node parse-script.js <file>` */
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

let lines = 0;
for await (const line of createInterface({ input: createReadStream(process.argv[2]) })) {
  JSON.parse(line);
  lines++;
}
console.log(lines);
