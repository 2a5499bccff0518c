/**
 * Measures `rollcall view` with a large file: `node bench/view.js [megabytes]` (default: 1,000), in groups of 10 kB.
 * Needs Chromium.
 */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { writeGroups } from "./input.js";
import { environment, newFolder, printMachine, report, root } from "./rounds.js";

const megabytes = Number(process.argv[2] ?? 1000);
const folder = newFolder();
const input = join(folder, "groups.jsonl");
writeGroups(input, { bytes: megabytes * 1e6, lineBytes: 10_000 });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
const page = await browser.newPage({ viewport: { width: 1280, height: 860 } });

const started = performance.now();
const child = spawn(process.execPath, ["bin/rollcall.js", "view", "--no-open", input], {
  env: environment(folder),
  cwd: root,
  stdio: ["ignore", "pipe", "ignore"],
});
process.on("exit", () => child.kill());
const address = await new Promise((resolve) => child.stdout.once("data", (text) => resolve(String(text).trim())));
const [url, token] = address.split("/#token=");
await page.goto(address);
await page.locator("header .reading").waitFor();
const firstPage = performance.now() - started;
await page.locator(".rows td.words a").first().waitFor({ timeout: 0 });
const table = performance.now() - started;

const ask = async (path, query = {}) => {
  const asked = `${url}${path}?query=${encodeURIComponent(JSON.stringify(query))}`;
  return await (await fetch(asked, { headers: { Authorization: `Bearer ${token}` } })).json();
};
const until = async (path, isDone, query) => {
  for (;;) {
    const value = await ask(path, query);
    if (isDone(value)) return value;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};
await until("/api/state", ({ progress }) => progress.phase === "read");
const measured = performance.now() - started;
await page.locator(".reading:empty").waitFor({ state: "attached" });

// Scrolls through the rows of each page and measures each frame in the browser.
const longest = await page.evaluate(
  `new Promise((resolve) => {
    const rows = document.querySelector(".rows");
    let [frames, longest, before] = [0, 0, performance.now()];
    const step = (now) => {
      if (frames > 10) longest = Math.max(longest, now - before);
      before = now;
      rows.scrollTop += 120;
      if (frames % 50 === 49) location.hash = "#/" + encodeURIComponent(JSON.stringify({ page: frames }));
      if (++frames < 600) requestAnimationFrame(step);
      else resolve(longest);
    };
    requestAnimationFrame(step);
  })`,
);
/** Measures the time of a search, and the longest wait of other requests during the search. */
const searched = async (query) => {
  const started = performance.now();
  let [isSearching, stall] = [true, 0];
  const others = (async () => {
    while (isSearching) {
      const asked = performance.now();
      await ask("/api/state");
      stall = Math.max(stall, performance.now() - asked);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  await until("/api/rows", (rows) => rows.searched === 1, query);
  const elapsed = performance.now() - started;
  isSearching = false;
  await others;
  return { elapsed, stall };
};
const text = await searched({ text: "nothing-has-these-words" });
const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]) / 1024;
await browser.close();
child.kill();

printMachine(1);
console.log(
  `${megabytes} MB; rows appear after ${table.toFixed(0)} ms, everything is measured after ${measured.toFixed(0)} ms`,
);
report("milliseconds to the first page", firstPage, { max: 1500 });
report("milliseconds from there to the first rows", table - firstPage, { max: 5000 });
report("milliseconds of the longest frame", longest, { max: 50 });
report("milliseconds of a search through all of it", text.elapsed, { max: 2000 });
report("milliseconds that another request waits meanwhile", text.stall, { max: 50 });
report("peak in MB", peak, { max: 250 });
