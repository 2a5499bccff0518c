import { expect, it } from "vitest";
import { isRemote, isRolloutName, plainUrl } from "../../../src/rollouts/input/names.ts";

it.each([
  ["https://me:pass@x.org/a.jsonl?sig=hush#hush", "https://x.org/a.jsonl"],
  ["https://x.org/a@b.jsonl?to=me@y.org", "https://x.org/a@b.jsonl"],
  ["HTTPS://X.org/A?a\nb", "https://X.org/A"],
  ["http://me@x.org", "http://x.org"],
])("the plain form of %j has no user, query and fragment", (url, plain) => {
  expect([isRemote(url), plainUrl(url)]).toEqual([true, plain]);
});

it("a path is not a remote input, but a URL of any scheme is", () => {
  const paths = ["a.jsonl", "c://a", "C:\\a", "a:b", "./https://x", "-", "https:/x"];
  expect(paths.filter(isRemote)).toEqual([]);
  expect(["ftp://x", "s3://b/a", "hf://a", "git+ssh://x"].filter((url) => !isRemote(url))).toEqual([]);
});

it("a file may have rollouts if its name has the ending of a known format", () => {
  const rollouts = "a.jsonl a.NDJSON a.json.gz a.eval a.traj a.parquet.zst b/.json".split(" ");
  const others = "a.jsonl.bz2 a.txt jsonl a.jsonl.1 a.gz a.jsonl/b a.json.gz.zst".split(" ");
  expect([...rollouts, ...others].filter(isRolloutName)).toEqual(rollouts);
});
