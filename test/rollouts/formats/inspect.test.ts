import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { newFolder } from "../../support/inputs.ts";
import { runRollcall } from "../../support/run.ts";
import { archiveOf, type Member } from "./archive.ts";
import { convertFile, convertHere, notesHere } from "./converting.ts";

const byMatch = ["--reward-from", "scores.match.value"];

const sample = (id: string | number, more: object = {}) => ({
  id,
  epoch: 1,
  input: "hi",
  target: "yo",
  messages: [
    { role: "user", content: "hi", source: "input" },
    { role: "assistant", content: "yo", source: "generate" },
  ],
  output: { choices: [{ message: { role: "assistant", content: "yo" }, stop_reason: "stop" }] },
  scores: { match: { value: 1 } },
  ...more,
});

describe("an archive of Inspect", () => {
  const member = (id: number, more: Partial<Member> = {}, score: unknown = id): Member => ({
    name: `samples/${id}_epoch_1.json`,
    text: JSON.stringify(sample(id, { scores: { match: { value: score } } })),
    ...more,
  });
  const header: Member = { name: "header.json", text: '{"eval":{"task":"header","model":"m"}}' };
  const start: Member = { name: "_journal/start.json", text: '{"eval":{"task":"start","model":"m"}}' };

  const evalFile = (bytes: Uint8Array, name = "run.eval"): string => {
    const file = join(newFolder(), name);
    writeFileSync(file, bytes);
    return file;
  };

  const idsOf = (lines: readonly string[]): readonly unknown[] =>
    lines.map((line) => {
      const { metadata, reward } = JSON.parse(line).trajectories[0];
      return [metadata.id, reward, metadata.task];
    });

  it("is read by members, in any compression", async () => {
    const file = evalFile(
      archiveOf([
        start,
        member(2, { method: "stored" }),
        member(3, { method: "zstd" }),
        member(1),
        { name: "samples/notes.txt", text: "no sample" },
        header,
      ]),
    );
    const { lines } = await convertFile(file, byMatch);
    expect(idsOf(lines)).toEqual([
      [2, 2, "header"],
      [3, 3, "header"],
      [1, 1, "header"],
    ]);
    const scored = { ...header, text: header.text.replace("}}", '},"results":{"mean":NaN}}') };
    expect(idsOf((await convertFile(evalFile(archiveOf([scored, member(1)])), byMatch)).lines)).toEqual([
      [1, 1, "header"],
    ]);
    const begun = await convertFile(evalFile(archiveOf([{ ...start, method: "zstd" }, member(1)])), byMatch);
    expect(idsOf(begun.lines)).toEqual([[1, 1, "start"]]);
    expect(begun.notes).toContainEqual(
      expect.stringContaining("the log has no header.json, so the evaluation may have"),
    );
  });

  it("is refused sample by sample if Inspect stored it in chunks", async () => {
    const chunks = ["sample", "skeleton", "messages/0", "events/0", "events/stats", "attachments/0"];
    const chunked = chunks.map((name) => member(1, { name: `samples/1_epoch_1/${name}.json` }));
    const file = evalFile(archiveOf([start, ...chunked, member(2), header]));
    const rejects = join(newFolder(), "rejected");
    const skipped = ["--on-invalid", "skip", "--rejects", rejects];
    const { stdout, stderr, code } = await runRollcall(["convert", file, ...byMatch, ...skipped]);
    expect(idsOf(stdout.trim().split("\n"))).toEqual([[2, 2, "header"]]);
    expect(stderr.match(/\S+: error: .*/g)).toEqual([
      expect.stringContaining(
        "samples/1_epoch_1/sample.json:1: error: cannot convert this inspect record: the sample is stored in chunks",
      ),
    ]);
    expect(code).toBe(7);
  });

  /** Changes the decompressed size in the head of the first frame. */
  const claiming = (length: number) => (bytes: Buffer) => {
    const own = Buffer.from(bytes);
    own.writeUInt32LE(length, 5);
    return own;
  };

  /** A frame with an empty block, and space for the longest possible one. */
  const wideWindow = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0xf8, 1, 0, 0]);

  /** A frame with an uncompressed block of 9 bytes, and without the length of its content. */
  const unsized = Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x58, 0x49, 0, 0]), Buffer.from('{"id":13}')]);

  it("is converted without damaged members, whose names are printed", async () => {
    const file = evalFile(
      archiveOf([
        header,
        member(1),
        member(2, { claims: { crc: 7 } }),
        member(3, { claims: { length: 3 } }),
        member(4, { packed: (bytes) => bytes.fill(0xff, 3, 9) }),
        member(5, { method: "zstd", packed: (bytes) => bytes.subarray(0, -4) }),
        member(6, { method: "bzip2" }),
        member(7, { isEncrypted: true }),
        member(8, { text: '{"id":8,' }),
        { ...member(9), name: "samples/8_epoch_2.json", text: JSON.stringify(sample(8)) },
        member(10),
        member(11, { method: "zstd", packed: claiming(2 ** 32 - 1) }),
        member(12, { method: "zstd", packed: (bytes) => Buffer.concat([wideWindow, bytes]) }),
        member(13, { method: "zstd", packed: () => unsized, claims: { length: 4 } }),
        member(14, { claims: { at: 1 } }),
        member(15, { claims: { at: 2 ** 31 } }),
      ]),
    );
    const { code, lines, stderr } = await convertFile(file, [...byMatch, "--on-invalid", "skip"]);
    expect(idsOf(lines).map((own) => (own as unknown[])[0])).toEqual([1, 10]);
    const told = stderr.replaceAll(/\s+/g, " ");
    for (const [id, wrong] of [
      [2, "it is damaged: its length or checksum is wrong"],
      [3, "it decompresses to more than its declared 3 bytes"],
      [4, "it is damaged and cannot be decompressed"],
      [6, "its compression method 12 is not supported"],
      [7, "it is encrypted"],
      [11, "its zstd frames contain 4294967295 bytes, more than"],
      [12, "it needs a zstd window of 2199023255552 bytes, over the limit of 134217728"],
      [13, "it decompresses to more than its declared 4 bytes"],
      [14, "the archive is damaged at the start of this member"],
      [15, "the archive ends before the end of this member"],
    ] as const) {
      expect(told).toContain(
        `run.eval!samples/${id}_epoch_1.json:1:1: error: cannot convert this inspect record: ${wrong}`,
      );
    }
    expect(told).toMatch(/and 1 more: \S+run.eval!samples\/5_epoch_1.json:1/);
    expect(told).toContain("run.eval!samples/8_epoch_1.json:1:9: error: the document is truncated [json-truncated]");
    expect(code).toBe(7);
    expect((await convertFile(file, byMatch)).code).toBe(3);
  });

  it("is reported by name if it is cut off, and other files are converted", async () => {
    const whole = archiveOf([header, member(1), member(2)]);
    const files = [evalFile(whole.subarray(0, -30), "cut.eval"), evalFile(whole)];
    const args = ["--on-invalid", "skip", ...byMatch, "--rejects", join(newFolder(), "rejects")];
    const { code, stdout, stderr } = await runRollcall(["convert", ...files, ...args]);
    expect(stdout.trimEnd().split("\n")).toHaveLength(2);
    expect(stderr.replaceAll(/\s+/g, " ")).toContain(
      "cut.eval:1:1: error: cannot convert this inspect record: the archive is cut off or damaged, so its list of members cannot be read",
    );
    expect(code).toBe(7);
  });

  it("is refused if it lies about the names or the number of its members", async () => {
    const uncounted = archiveOf([header, member(1), member(2)]);
    uncounted.writeUInt16LE(2, uncounted.length - 12);
    const faultOf = async (bytes: Buffer) => (await runRollcall(["check", evalFile(bytes)])).stderr;
    expect(await faultOf(archiveOf([header, member(1), member(1, {}, 0)]))).toContain(
      "the archive has two members with the name samples/1_epoch_1.json",
    );
    expect(await faultOf(uncounted)).toContain("its list of members cannot be read");
    const renamed = archiveOf([header, member(1), member(2)]);
    renamed.write("3", renamed.indexOf("2_epoch"));
    expect(await faultOf(renamed)).toContain("its name differs from its name in the list of the archive");
    expect(await faultOf(archiveOf([start, header, member(1), header, member(1)]))).not.toContain("archive");
  });

  it("is refused by name if it has more members than the limit", async () => {
    const whole = archiveOf([header, member(1)]);
    const [list, end] = [whole.subarray(0, -22), whole.subarray(-22)];
    const end64 = Buffer.alloc(56);
    end64.write("PK\x06\x06");
    end64.writeBigUInt64LE(200_000n, 32);
    end64.writeBigUInt64LE(BigInt(end.readUInt32LE(16)), 48);
    const locator = Buffer.alloc(20);
    locator.write("PK\x06\x07");
    locator.writeBigUInt64LE(BigInt(list.length), 8);
    end.writeUInt16LE(0xffff, 10);
    const { code, stderr } = await runRollcall(["check", evalFile(Buffer.concat([list, end64, locator, end]))]);
    expect(stderr).toContain("the archive has 200000 members, over the limit of 100000");
    expect(code).toBe(3);
  });

  it("is read from a pipe, and refused with --from rollcall", async () => {
    const bytes = archiveOf([header, member(1), member(2)]);
    const file = evalFile(bytes);
    const piped = await runRollcall(["convert", "-", ...byMatch], { stdin: bytes });
    expect(piped.stdout.trimEnd().split("\n")).toHaveLength(2);
    const refused = await runRollcall(["check", file, "--from", "rollcall"]);
    expect(refused.stderr).toContain("expected JSON lines, found a zip file");
    const other = evalFile(archiveOf([{ name: "a.txt", text: "a" }]), "a.zip");
    expect((await runRollcall(["check", other])).stderr).toContain("expected JSON lines, found a zip file");
    expect((await runRollcall(["check", file, "--from", "verifiers-v0"])).stderr).toContain("found a zip file");
  });

  it("is not decompressed beyond the limit, or beyond its stated size", async () => {
    const env = { ROLLCALL_MAX_UNPACKED_SIZE: "1000" };
    const file = evalFile(
      archiveOf([header, member(1, { text: JSON.stringify(sample(1, { input: "x".repeat(2000) })) })]),
    );
    const bounded = await runRollcall(["check", file, ...byMatch], { env });
    expect(bounded.stderr).toContain("decompresses to more than 1000 bytes");
    expect(bounded.code).toBe(3);
    const lying = evalFile(archiveOf([member(1), member(2, { text: "x".repeat(50_000_000), claims: { length: 10 } })]));
    const told = await runRollcall(["check", lying, ...byMatch]);
    expect(told.stderr).toContain(
      "samples/2_epoch_1.json:1:1: cannot convert this inspect record: it decompresses to more than its declared 10 bytes",
    );
  });
});

describe("a turn of Inspect whose recorded output differs from the message", () => {
  const call = (id: string, name: string, args: object) => ({ id, function: name, arguments: args, type: "function" });
  const said = (id: string, content: unknown, tool_calls?: readonly object[]) => ({
    ...{ id, content, source: "generate", role: "assistant", tool_calls, model: "m-2026-01-01" },
  });
  type Message = ReturnType<typeof said>;
  const tool = (name: string) => ({ name, description: name, parameters: { type: "object", properties: {} } });
  const event = (model: string, message: Message, tools: readonly string[] = []) => {
    const choices = [{ message, stop_reason: message.tool_calls ? "tool_calls" : "stop" }];
    return { event: "model", model, tools: tools.map(tool), output: { model, choices } };
  };
  const logOf = (messages: readonly object[], events: readonly object[], more: object = {}) => [
    { eval: { task: "t", model: "p/m" }, samples: [sample(1, { messages, output: undefined, events, ...more })] },
  ];
  const read = async (...log: Parameters<typeof logOf>) => {
    const text = JSON.stringify(logOf(...log)[0], undefined, 2);
    const [group] = [await convertHere({ "a.json": text })].flat();
    const { messages_and_choices: turns, tools = [] } = group.trajectories[0];
    const names = tools.map((own: { function: { name: string } }) => own.function.name);
    return { turns, names, notes: (await notesHere(text)).filter((note) => /turns|context/.test(note)) };
  };
  const sent = (id: string, name: string, args: string) => ({
    ...{ id, type: "function", function: { name, arguments: args } },
  });
  const asked = { id: "u", role: "user", content: "q", source: "input" };
  const outputs =
    "took turns from the recorded outputs of the model, because messages of the sample differ from them " +
    "(react() removes the call of submit, and can append the answer to the text in both)";
  const kept = "kept the turns of other models, and the turns that handoff() rewrote, as messages without a choice";
  const long = "I found it in the file, and I am sure that it is the right answer, because no other number is in it.";

  it("has the call of submit and the reasoning that react() removed", async () => {
    const thought = { type: "reasoning", reasoning: "r" };
    const parts = [
      { type: "text", text: long },
      { type: "text", text: "42" },
    ];
    const own = said("a", [thought, ...parts], [call("c", "submit", { answer: "42" })]);
    const attached = { ...parts[0], text: `attachment://${"a".repeat(32)}` };
    const events = [event("p/m", { ...own, content: [thought, attached, parts[1]] }, ["submit"])];
    const attachments = { ["a".repeat(32)]: long };
    expect(await read([asked, { ...own, content: parts, tool_calls: [] }], events, { attachments })).toEqual({
      turns: [
        asked,
        {
          finish_reason: "tool_calls",
          index: 0,
          message: {
            ...own,
            content: parts,
            reasoning_content: "r",
            tool_calls: [sent("c", "submit", '{"answer": "42"}')],
          },
        },
      ],
      names: ["submit"],
      notes: [outputs],
    });
  });

  it("is a message if handoff() rewrote it, or if another model sampled it", async () => {
    const transfer = said("a", "", [call("c", "transfer_to_reader", {})]);
    const reads = said("h", "I read.", [call("d", "bash", { cmd: "cat a" })]);
    const [silent, answer] = [said("i", [], [call("e", "bash", {})]), said("j", "It is 42.")];
    const other = said("k", "Agreed.");
    const end = said("z", "42");
    const text = (...texts: readonly string[]) => texts.map((own) => ({ type: "text", text: own }));
    const rewritten = [
      { ...reads, content: text("[reader] I read.", "bash(cmd='cat a')"), tool_calls: null },
      { ...silent, content: text("bash()"), tool_calls: null },
      { ...answer, content: "[reader] It is 42." },
    ];
    const policy = [transfer, end].map((own) => event("p/m", own, ["transfer_to_reader"]));
    const events = [...policy, ...[reads, silent, answer].map((own) => event("p/m", own, ["bash"]))];
    const { turns, names, notes } = await read(
      [asked, transfer, ...rewritten, other, end],
      [...events, event("p/judge", other, ["vote"])],
    );
    const messages = [...rewritten, other].map(({ tool_calls, ...own }) => own);
    expect(turns.slice(2, -1)).toEqual(messages.map((own) => (own.id === "i" ? { ...own, content: "bash()" } : own)));
    expect([turns[1], turns.at(-1)]).toMatchObject([{ finish_reason: "tool_calls" }, { finish_reason: "stop" }]);
    expect([names, notes]).toEqual([["transfer_to_reader"], [kept]]);
  });

  it("is a choice with a note if the model of the log sampled no turn", async () => {
    const [first, second] = [said("a", "x"), said("b", "y")];
    const { turns, notes } = await read([asked, first, second], [event("p/x", first), event("p/y", second)]);
    expect(turns.slice(1)).toMatchObject([{ message: { content: "x" } }, { message: { content: "y" } }]);
    expect(notes).toEqual([
      "converted the turns of several models to choices, because none of them is the model of the log",
    ]);
  });

  it("is the message without a note if only the form differs", async () => {
    const own = said("a", long, [call("c", "f", { x: long, y: [1] })]);
    const reference = `attachment://${"a".repeat(32)}`;
    const recorded = { ...own, content: reference, tool_calls: [call("c", "f", { x: reference, y: [1] })] };
    const more = { attachments: { ["a".repeat(32)]: long } };
    const { turns, notes } = await read([asked, own], [event("p/m", recorded)], more);
    expect(turns[1].message).toMatchObject({ content: long, tool_calls: [{ id: "c" }] });
    expect(notes).toEqual([]);
  });
});
