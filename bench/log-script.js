/** What `rollcall log` is measured against: the script that everybody writes. `node log-script.js <file> <url>` */
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

const [file, url] = process.argv.slice(2);
const groups = [];
for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
  if (line.trim() !== "") groups.push(JSON.parse(line));
}
const reply = await fetch(url, {
  method: "POST",
  headers: { Authorization: "Bearer key", "Content-Type": "application/json" },
  body: JSON.stringify({ split: "train", trajectory_groups: groups }),
});
await reply.text();
if (!reply.ok) throw new Error(`status ${reply.status}`);
