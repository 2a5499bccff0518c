import { describe, expect, it } from "vitest";
import { listRouterModels } from "../../../src/wire/contract/reads.ts";

const markOf = (rest: object, headers: Record<string, string> = {}) => {
  const read = listRouterModels.reply(Buffer.from(JSON.stringify({ data: [{ id: "a" }], ...rest })), headers);
  return read && "value" in read ? read.value.partialMark : "unreadable";
};

describe("a list", () => {
  it.each([
    [{ has_more: true }, "has_more"],
    [{ next: "https://service.example/v1/models?page=2" }, "next"],
    [{ next: { offset: 500 } }, "next"],
    [{ next_page_token: "x" }, "next_page_token"],
    [{ total: 2 }, "total"],
    [{ error: "one region does not answer" }, "error"],
  ])("is a part of a list if a member says that more follows: $1", (rest, mark) => {
    expect(markOf(rest)).toBe(mark);
  });

  it("is a part of a list if a header links to the next part", () => {
    expect(markOf({}, { link: '<https://service.example/v1/models?page=2>; rel="next"' })).toBe("the header Link");
  });

  it.each([
    {},
    { has_more: false, total: 7, next: "x" },
    { next: null, next_page_token: " ", total: 1 },
    { error: null, first_id: "a", last_id: "a", object: "list" },
  ])("is whole if no member or header says that more follows (row %$)", (rest) => {
    expect(markOf(rest, { link: '<https://service.example/>; rel="prev"' })).toBeUndefined();
  });
});
