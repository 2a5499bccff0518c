import { describe, expect, it } from "vitest";
import { readListReply } from "../../../src/wire/contract/replies.ts";

const markOf = (rest: object, headers: Record<string, string> = {}) => {
  const read = readListReply(Buffer.from(JSON.stringify({ data: [{ id: "a" }], ...rest })), headers);
  return read && "value" in read ? read.value.partialMark : "unreadable";
};

describe("a list", () => {
  it.each([
    [{ has_more: true }, "has_more"],
    [{ hasMore: true }, "hasMore"],
    [{ next: "https://service.example/v1/models?page=2" }, "next"],
    [{ next_page_token: "x" }, "next_page_token"],
    [{ nextPageToken: "x" }, "nextPageToken"],
    [{ cursor: "x" }, "cursor"],
    [{ links: { next: "/models?offset=500" } }, "links.next"],
    [{ meta: { pagination: { total: 2 } } }, "meta.pagination.total"],
    [{ total_count: 2 }, "total_count"],
    [{ truncated: true }, "truncated"],
    [{ error: "one region does not answer" }, "error"],
    [{ page: 1, total_pages: 3 }, "total_pages"],
  ])("is a part of a list if a member says that more follows: $1", (rest, mark) => {
    expect(markOf(rest)).toBe(mark);
  });

  it.each([
    ["link", '<https://service.example/v1/models?page=2>; rel="next"', "the header Link"],
    ["x-next-page", "2", "the header X-Next-Page"],
    ["x-total-count", "9", "the header X-Total-Count"],
    ["x-total", "9", "the header X-Total"],
    ["x-has-more", "true", "the header X-Has-More"],
    ["x-pagination-total-pages", "2", "the header X-Pagination-Total-Pages"],
    ["x-pagination", '{"TotalCount":9,"HasNext":true}', "the header X-Pagination"],
    ["next-page-token", "abc", "the header Next-Page-Token"],
    ["content-range", "items 0-0/9", "the header Content-Range"],
  ])("is a part of a list if a header says that more follows: %s", (name, value, mark) => {
    expect(markOf({}, { [name]: value })).toBe(mark);
  });

  it.each([
    {},
    { has_more: false, total: 7, next: "x" },
    { next: null, next_page_token: "", total: 1, truncated: false },
    { links: { next: null, prev: "x" }, page: 3, total_pages: 3 },
    { error: null, first_id: "a", last_id: "a", object: "list" },
  ])("is whole if no member or header says that more follows (row %$)", (rest) => {
    expect(
      markOf(rest, { link: '<https://service.example/>; rel="prev"', "x-total-count": "1", "x-has-more": "false" }),
    ).toBeUndefined();
  });
});
