import { readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isFailure } from "../../../src/failure.ts";
import { createEnvelope, planRequest } from "../../../src/logging/send/plan.ts";
import { composeBody } from "../../../src/logging/send/request-body.ts";
import type { Dataset } from "../../../src/rollouts/dataset/read-dataset.ts";
import { deliverGroups, filesOf, openRecordingClient, read, usualDelivery } from "../../support/inputs.ts";
import { itHolds } from "../../support/property.ts";

/** Reads a body in pieces of at most `room` bytes, until it ends or fails. */
const spliced = async (dataset: Dataset, groups: Uint32Array, room: number) => {
  const envelope = createEnvelope(dataset, "train");
  const request = planRequest(dataset, { envelope, groups });
  const taken: Buffer[] = [];
  let turns = 0;
  let next = setImmediate(function again() {
    turns++;
    next = setImmediate(again);
  });
  let thrown: unknown;
  try {
    for await (const chunk of composeBody(dataset, { envelope, request, maxChunkBytes: room }))
      taken.push(Buffer.from(chunk));
  } catch (error) {
    thrown = error;
  }
  clearImmediate(next);
  return {
    bytes: Buffer.concat(taken),
    largest: Math.max(0, ...taken.map(({ length }) => length)),
    turns,
    request,
    thrown,
  };
};

/** Returns the expected body: the bytes of each group in the input, with trajectories wrapped in groups. */
const defined = ({ groups, scan: { parts } }: Dataset, contents: readonly Buffer[], own: Uint32Array): string => {
  const bytesOf = (part: number): string => {
    const start = parts.columns.start.at(part);
    return (
      contents[parts.columns.source.at(part)]?.toString("latin1", start, start + parts.columns.length.at(part)) ?? ""
    );
  };
  const all = Array.from(own, (group) => {
    const texts = Array.from(groups.partsOf(group), bytesOf);
    return parts.kindOf(groups.firstOf(group)) === "group" ? texts.join() : `{"trajectories":[${texts.join()}]}`;
  });
  return `{"split":"train","trajectory_groups":[${all.join()}]}`;
};

const padding = fc.oneof(
  { weight: 6, arbitrary: fc.constant(0) },
  { weight: 3, arbitrary: fc.integer({ max: 60, min: 1 }) },
  { weight: 1, arbitrary: fc.integer({ max: 900, min: 200 }) },
);
const trajectory = fc
  .record({ reward: fc.integer({ min: 0, max: 3 }), padding, id: fc.integer({ min: 1, max: 4 }) })
  .map(
    ({ reward, padding: size, id }) =>
      `{"messages_and_choices":[],"reward":${reward},"logs":["${"é".repeat(size)}"],"id":${id}}`,
  );
const group = fc.array(trajectory, { minLength: 1, maxLength: 3 }).map((own) => `{"trajectories":[${own.join()}]}`);
const arrayOf = (one: fc.Arbitrary<string>) =>
  fc
    .tuple(fc.array(one, { minLength: 1, maxLength: 4 }), fc.constantFrom(",", " , ", ",   "))
    .map(([own, between]) => `[${own.join(between)}]`);
const line = fc.oneof(
  { weight: 5, arbitrary: group },
  { weight: 5, arbitrary: trajectory },
  { weight: 1, arbitrary: arrayOf(group) },
  { weight: 1, arbitrary: arrayOf(trajectory) },
);
const lineEnd = fc.oneof(
  { weight: 6, arbitrary: fc.constant("\n") },
  { weight: 1, arbitrary: fc.constantFrom("\r\n", "\n\n", " \n", "\n   ", "\r\n \t\r\n", `\n${" ".repeat(17_000)}`) },
);
const file = fc
  .record({
    lines: fc.array(fc.tuple(line, lineEnd), { minLength: 1, maxLength: 25 }),
    bom: fc.boolean(),
    ended: fc.boolean(),
    packed: fc.integer({ min: 0, max: 5 }).map((one) => one === 0),
  })
  .map(({ lines, bom, ended, packed }) => {
    const text = lines.map(([own, end], at) => (ended || at < lines.length - 1 ? own + end : own)).join("");
    return { content: Buffer.from(`${bom ? "\ufeff" : ""}${text}`), packed };
  });
const files = fc.array(file, { minLength: 1, maxLength: 3 });
const room = fc.oneof(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 200, max: 3000 }), fc.constant(2 ** 18));

describe("a spliced body", () => {
  itHolds(
    "joins the requested groups byte for byte, for any layout of the inputs and any size of the buffer",
    fc.asyncProperty(
      fc.record({ files, room, byKey: fc.boolean(), kept: fc.func(fc.integer({ min: 0, max: 4 })) }),
      async (given) => {
        const paths = filesOf(...given.files.map(({ content, packed }) => (packed ? gzipSync(content) : content)));
        const dataset = await read(paths, given.byKey ? { groupBy: "id" } : {});
        const groups = Uint32Array.from(
          Array.from({ length: dataset.groups.count }, (_, at) => at).filter((at) => given.kept(at) > 0),
        );
        const contents = given.files.map(({ content }) => content);
        const { bytes, largest, request, thrown } = await spliced(dataset, groups, given.room);
        expect(thrown).toBe(undefined);
        expect(bytes.toString("latin1")).toBe(defined(dataset, contents, groups));
        expect(bytes.length).toBe(request.bytes);
        expect(largest).toBeLessThanOrEqual(given.room);
      },
    ),
    { quick: 8, slow: 60 },
  );

  itHolds(
    "has up to the limit of bytes in each request of a run, unless it has one group",
    fc.asyncProperty(fc.record({ files, limit: fc.constantFrom(1, 300, 700, 2000, 1_000_000) }), async (given) => {
      const dataset = await read(filesOf(...given.files.map(({ content }) => content)));
      const client = openRecordingClient();
      const options = { ...usualDelivery(), client: async () => client, maxRequestBytes: given.limit };
      const { bytes, groups, status } = await deliverGroups(dataset, options);
      const all = Uint32Array.from({ length: dataset.groups.count }, (_, at) => at);
      const whole = defined(
        dataset,
        given.files.map(({ content }) => content),
        all,
      );
      const sent = client.bodies.map((body) => body.toString("latin1"));
      const [start = ""] = /^.*?\[/.exec(whole) ?? [];
      expect(`${start + sent.map((body) => body.slice(start.length, -2)).join(",")}]}`).toBe(whole);
      expect([bytes, groups.logged, status]).toEqual([sent.join("").length, all.length, "logged"]);
      for (const body of sent)
        expect(body.length <= given.limit || JSON.parse(body).trajectory_groups.length === 1).toBe(true);
    }),
    { quick: 6, slow: 40 },
  );

  itHolds(
    "ends before the last byte of a part that differs from the checked bytes",
    fc.asyncProperty(
      fc.record({ files, room, byKey: fc.boolean(), at: fc.nat(), nth: fc.nat(), cut: fc.boolean() }),
      async (given) => {
        const plain = given.files.map(({ content }) => content);
        const paths = filesOf(...plain);
        const dataset = await read(paths, given.byKey ? { groupBy: "id" } : {});
        const { groups, scan } = dataset;
        const all = Uint32Array.from({ length: groups.count }, (_, at) => at);
        const part = given.nth % scan.parts.count;
        const [start, length] = [scan.parts.columns.start.at(part), scan.parts.columns.length.at(part)];
        const at = start + (given.at % length);
        const path = paths[scan.parts.columns.source.at(part)] ?? "";
        const now = readFileSync(path);
        now[at] = (now[at] ?? 0) ^ 1;
        writeFileSync(path, given.cut ? now.subarray(0, at) : now);
        const { bytes, thrown } = await spliced(dataset, all, given.room);
        expect(isFailure(thrown, "input-changed")).toBe(true);
        // The bytes before the end are those of the checked body, except the changed byte.
        const whole = defined(dataset, plain, all);
        const own = plain[scan.parts.columns.source.at(part)]?.toString("latin1", start, start + length) ?? "";
        expect(bytes.length).toBeLessThan(whole.lastIndexOf(own) + length);
        expect(differences(bytes.toString("latin1"), whole)).toBeLessThanOrEqual(1);
      },
    ),
    { quick: 5, slow: 30 },
  );

  it("yields to other work after every megabyte, and after every few reads", async () => {
    const long = `{"trajectories":[{"messages_and_choices":[],"reward":1,"logs":["${"x".repeat(5e6)}"]}]}`;
    const one = await read(filesOf(long));
    expect((await spliced(one, Uint32Array.of(0), 2 ** 18)).turns).toBeGreaterThanOrEqual(4);
    const short = '{"trajectories":[{"messages_and_choices":[],"reward":1}]}';
    const apart = await read(filesOf(Array.from({ length: 100 }, () => short).join(`\n${" ".repeat(20_000)}`)));
    const groups = Uint32Array.from({ length: 100 }, (_, at) => at);
    expect((await spliced(apart, groups, 2 ** 18)).turns).toBeGreaterThanOrEqual(3);
  });
});

const differences = (some: string, whole: string): number => {
  let count = 0;
  for (let at = 0; at < some.length; at++) if (some[at] !== whole[at]) count++;
  return count;
};
