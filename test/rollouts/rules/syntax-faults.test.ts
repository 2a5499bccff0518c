import { expect, it } from "vitest";
import { findFault } from "../../../src/json/reader.ts";
import { reportSyntaxFault } from "../../../src/rollouts/rules/problems.ts";

it.each<[json: string, rule: string, data: object]>([
  ['{"a":[1', "json-truncated", { last: false, isDocument: false }],
  ["{} {}", "json-syntax", { fault: "more", word: "", character: "{" }],
  ["{'a':1}", "json-syntax", { fault: "single-quote", word: "", character: "'" }],
  ["[1 // a", "json-syntax", { fault: "comment", word: "", character: "/" }],
  ['{"a": NaN}', "json-not-finite", { word: "NaN", key: "a" }],
  ['{"a":[nan]}', "json-not-finite", { word: "nan", key: undefined }],
  ['{"b":1,"a": -Infinity}', "json-not-finite", { word: "-Infinity", key: "a" }],
  ["[inf]", "json-not-finite", { word: "inf", key: undefined }],
  ["[True]", "json-syntax", { fault: "python", word: "True", character: "T" }],
  ["[none]", "json-syntax", { fault: "word", word: "none", character: "n" }],
  ["[\u{1f600}]", "json-syntax", { fault: "character", word: "", character: "\u{1f600}" }],
  ["[\u00a0]", "json-syntax", { fault: "character", word: "", character: "U+00A0" }],
  ['["a\tb"]', "json-syntax", { fault: "control", word: "", character: "U+0009" }],
  ['{"a":}', "json-syntax", { fault: "comma", word: "", character: "}" }],
  ["[01]", "json-syntax", { fault: "number", word: "01", character: "0" }],
])("a fault of JSON is reported with its word, its key or its character: %s", (json, rule, data) => {
  const bytes = Buffer.from(json);
  const fault = findFault(bytes);
  const found: unknown[] = [];
  if (fault) reportSyntaxFault({ bytes, fault }, (...report) => found.push(report));
  const isSyntax = rule === "json-syntax" && { isDocument: false, isFormatGiven: false };
  expect(found).toEqual([[rule, { ...data, ...isSyntax }]]);
  const given: unknown[] = [];
  if (fault) reportSyntaxFault({ bytes, fault, key: "k" }, (_, data) => given.push(data));
  expect(given).toEqual([{ ...data, ...isSyntax, ...(data && "key" in data ? { key: "k" } : {}) }]);
});
