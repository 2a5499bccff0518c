import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { globalOptions } from "../../src/cli/globals.ts";
import { Failure } from "../../src/failure.ts";
import { parseRawJson } from "../../src/json/raw-json.ts";
import { printDocument, printList } from "../../src/output/list.ts";
import type { Column } from "../../src/output/views.ts";
import { runHere } from "../support/here.ts";
import { testHost } from "../support/host.ts";
import { filesOf } from "../support/inputs.ts";
import { newHome } from "../support/run.ts";
import { type ScreenFlags, screenOn } from "./printed-text.ts";

interface JsonSpelling {
  readonly loose: string;
  readonly compact: string;
}

const space = fc.stringMatching(/^[ \t\r\n]{0,3}$/);
const number = fc.constantFrom(
  "0",
  "-0.0",
  "1.50",
  "1e400",
  "1E+2",
  "9007199254740993",
  "0.10",
  "1.0e-7",
  "-12.5E-003",
);
const escaped = fc.constantFrom(
  '"\\u0041\\/"',
  '"\\"]}{["',
  '"\\\\"',
  '" a  b "',
  '"\\ud83d\\ude00"',
  '"\\n"',
  '"ключ 鍵"',
);
const scalar = fc.oneof(number, escaped, fc.constantFrom("true", "false", "null")).map((text) => ({
  loose: text,
  compact: text,
}));

const joined = (open: string, parts: readonly JsonSpelling[], close: string, blank: string): JsonSpelling => ({
  loose: `${open}${blank}${parts.map(({ loose }) => loose).join(`${blank},${blank}`)}${blank}${close}`,
  compact: `${open}${parts.map(({ compact }) => compact).join(",")}${close}`,
});

const key = fc.constantFrom('"id"', '"\\u0069d"', '"unknown.key"', '"a"', '"b c"', '"__proto__"', '"1"');

const { value } = fc.letrec<{ value: JsonSpelling }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    scalar,
    fc.tuple(fc.array(tie("value"), { maxLength: 3 }), space).map(([parts, blank]) => joined("[", parts, "]", blank)),
    fc.tuple(fc.array(fc.tuple(key, tie("value")), { maxLength: 4 }), space).map(([members, blank]) =>
      joined(
        "{",
        members.map(([name, of]) => ({
          loose: `${name}${blank}:${blank}${of.loose}`,
          compact: `${name}:${of.compact}`,
        })),
        "}",
        blank,
      ),
    ),
  ),
}));

const columns: readonly Column<number>[] = [
  { name: "id", heading: "id", rank: 0, cell: (_, spelled) => spelled(), value: () => undefined },
];

const printed = async (
  bytes: Uint8Array,
  {
    shownPositions,
    rows,
    ...typed
  }: ScreenFlags & { readonly shownPositions?: readonly number[]; readonly rows?: number },
): Promise<string> => {
  const host = testHost();
  const printed = {
    document: parseRawJson(String(bytes)),
    member: "data",
    ...(shownPositions === undefined ? {} : { shownPositions }),
  };
  const shown = shownPositions ?? Array.from({ length: rows ?? 0 }, (_, at) => at);
  await printList(screenOn(host, typed), { columns, rows: shown, json: printed });
  return host.printed();
};

const isIndented = (line: string): boolean => /^( {2})*\S/.test(line) && !/^\s*[\]}].*[[{]/.test(line);

describe("the service's own JSON", () => {
  it("keeps every spelling, unknown key and order, and removes white space", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(value, { maxLength: 5 }), value, space, async (objects, other, blank) => {
        const list = joined("[", objects, "]", blank);
        const bytes = Buffer.from(
          `${blank}{"object":"list",${blank}"data":${list.loose},"other" :${other.loose}}${blank}`,
        );
        expect(await printed(bytes, { json: true, rows: objects.length })).toBe(
          `{"object":"list","data":${list.compact},"other":${other.compact}}\n`,
        );
      }),
    );
  });

  it("changes only white space and escapes of texts on a terminal", async () => {
    const decodeTexts = (json: string): string =>
      json.replaceAll(/"(?:[^"\\]|\\.)*"/g, (text) => JSON.stringify(JSON.parse(text)));
    await fc.assert(
      fc.asyncProperty(fc.array(value, { maxLength: 5 }), async (objects) => {
        const list = joined("[", objects, "]", " ");
        const terminal = testHost({ terminal: { stdout: true } });
        const words = { json: true };
        await printDocument(screenOn(terminal, words), parseRawJson(`{"data":${list.loose}}`));
        const pipe = testHost();
        await printDocument(screenOn(pipe, words), parseRawJson(terminal.printed()));
        expect(decodeTexts(pipe.printed())).toBe(decodeTexts(`{"data":${list.compact}}\n`));
        expect(terminal.printed().split("\n").slice(0, -1).every(isIndented)).toBe(true);
      }),
    );
  });

  it("contains only the selected entries, in their order", async () => {
    const bytes = Buffer.from('{"data":[{"n":1.0},{"n":2.0},{"n":3.0}],"next":1e2}');
    expect(await printed(bytes, { json: true, shownPositions: [2, 0] })).toBe(
      '{"data":[{"n":3.0},{"n":1.0}],"next":1e2}\n',
    );
    expect(await printed(bytes, { json: true, shownPositions: [] })).toBe('{"data":[],"next":1e2}\n');
  });

  it("contains the rows of the last of two members with equal names", async () => {
    const bytes = Buffer.from('{"data":[1],"object":"list","data":[2,2]}');
    expect(await printed(bytes, { json: true, rows: 2 })).toBe('{"object":"list","data":[2,2]}\n');
  });

  it("prints values of 20,000 levels", async () => {
    const deep = `${"[".repeat(20_000)}1.0${"]".repeat(20_000)}`;
    const bytes = Buffer.from(`{"data":[{"id":${deep}}]}`);
    expect(await printed(bytes, { json: true, rows: 1 })).toBe(`{"data":[{"id":${deep}}]}\n`);
    expect(await printed(bytes, { json: true, fields: "id.a", rows: 1 })).toBe('{"data":[{"id":[{}]}]}\n');
    const host = testHost({ terminal: { stdout: true } });
    await printDocument(screenOn(host, { json: true }), parseRawJson(String(bytes)));
    expect(host.printed().replaceAll(/\s/g, "")).toBe(bytes.toString());
  });
});

const answer = '{"finish_reason":"stop","index":0,"message":{"role":"assistant","content":"a"}}';
const toTrajectory = (reward: number): string =>
  `{"messages_and_choices":[{"role":"user","content":"q"},${answer}],"reward":${reward}}`;
const goodGroup = `{"trajectories":[${[0, 1].map(toTrajectory)}]}\n`;

describe("--fields in JSON", () => {
  it("accepts spaces between names", () => {
    expect(globalOptions.fields.parse(" id, name ")).toEqual(["id", "name"]);
  });

  const bytes = Buffer.from(
    '{"data":[{"id":"a","p":{"x":"1e-7","y":2.0},"c":[{"k":1.0,"l":2},{"k":3}],"q.r":5},{"id":"b","p":null}]}',
  );

  it("picks keys by dotted name and through lists, in the requested order and with their spelling", async () => {
    expect(await printed(bytes, { json: true, fields: "c.k,p.x,id,q.r", rows: 2 })).toBe(
      '{"data":[{"c":[{"k":1.0},{"k":3}],"p":{"x":"1e-7"},"id":"a","q.r":5},{"id":"b"}]}\n',
    );
    expect(await printed(bytes, { json: true, fields: "p,id", rows: 2 })).toBe(
      '{"data":[{"p":{"x":"1e-7","y":2.0},"id":"a"},{"p":null,"id":"b"}]}\n',
    );
  });

  it("takes a key for the holder of another one only if a dot follows it", async () => {
    const similar = Buffer.from('{"data":[{"re":{"a":1},"reward":{"a":2},"reward_of":{"a":3}}]}');
    expect(await printed(similar, { json: true, fields: "reward.a,reward_of.a", rows: 1 })).toBe(
      '{"data":[{"reward":{"a":2},"reward_of":{"a":3}}]}\n',
    );
  });

  it("picks nothing from an entry that is not an object", async () => {
    const odd = Buffer.from('{"data":[7,{"id":"a"}]}');
    expect(await printed(odd, { json: true, fields: "id", rows: 2 })).toBe('{"data":[{},{"id":"a"}]}\n');
  });

  it("picks the last value of a repeated key", async () => {
    const twice = Buffer.from('{"data":[{"id":"a","p":{"x":1},"id":"b","p":{"x":2,"x":3.0}}]}');
    expect(await printed(twice, { json: true, fields: "id,p.x", rows: 1 })).toBe(
      '{"data":[{"id":"b","p":{"x":3.0}}]}\n',
    );
    expect(await printed(twice, { output: "tsv", fields: "id,p.x", rows: 1 })).toBe("b\t3.0\n");
  });

  it("refuses a name that no object has, and suggests a similar name", async () => {
    await expect(printed(bytes, { json: true, fields: "idd", rows: 2 })).rejects.toMatchObject({
      kind: "invalid-option-value",
      message: expect.stringMatching(/^invalid --fields "idd": /),
      details: { hint: "did you mean id?" },
    });
    for (const fields of ["p.z", "c.z"])
      await expect(printed(bytes, { json: true, fields, rows: 2 })).rejects.toBeInstanceOf(Failure);
  });

  it.each([
    ["check good --fields problems.rule,unreadable_lines", 0, '{"problems":[]}'],
    ["check bad --fields metrics.reward,metrics.any.name", 3, '{"metrics":{}}'],
    ["compare good good --fields tools.name,reward.difference", 0, '{"reward":{"difference":0}}'],
    ["stats bad --on-invalid skip --fields reward.mean,by.value,metrics.x.mean,pass@1", 3, '{"by":[],"pass@1":null}'],
    ["ledger status --fields cause", 0, '{"groups":null,"entries":[]}'],
  ])("accepts each key of a document, also if the document lacks it: %s", async (line, code, document) => {
    const [good = "", bad = ""] = filesOf(goodGroup, '{"trajectories":[{"messages_and_choices":[]}]}\n');
    const args = line.split(" ").map((word) => ({ good, bad })[word] ?? word);
    const ran = await runHere([...args, "--json"], { env: newHome() });
    expect(ran).toMatchObject({ code, stdout: `${document}\n` });
  });

  it.each(["", ",", "id,,id", "id,"])("refuses an empty name (row %$)", (fields) => {
    expect(globalOptions.fields.parse(fields)).toEqual({ wanted: "names separated by commas, such as id,name" });
  });
});

describe("rollcall's own document", () => {
  it("is on one line in a pipe, and is indented on a terminal", async () => {
    const host = testHost();
    await printDocument(screenOn(host, { json: true }), {
      a: [1, { b: "\u007f\u202e" }],
    });
    expect(host.printed()).toBe('{"a":[1,{"b":"\\u007f\\u202e"}]}\n');
    const terminal = testHost({ terminal: { stdout: true } });
    await printDocument(screenOn(terminal, { json: true }), {
      a: [1, {}],
      c: { d: [] },
    });
    expect(terminal.printed()).toBe('{\n  "a": [\n    1,\n    {}\n  ],\n  "c": {\n    "d": []\n  }\n}\n');
  });

  it("contains only the fields that --fields names", async () => {
    const host = testHost();
    const screen = screenOn(host, { json: true, fields: "status,groups.read" });
    await printDocument(screen, { status: "logged", groups: { read: 20, logged: 20 } });
    expect(host.printed()).toBe('{"status":"logged","groups":{"read":20}}\n');
    const checked = testHost();
    await printDocument(screenOn(checked, { json: true, fields: "status,cause" }), { status: "logged" });
    expect(checked.printed()).toBe('{"status":"logged"}\n');
  });
});
