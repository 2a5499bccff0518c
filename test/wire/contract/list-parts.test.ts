import { describe, expect, it } from "vitest";
import { listRouterModels } from "../../../src/wire/contract/reads.ts";

const markOf = (rest: object, headers: Record<string, string> = {}) => {
  const read = listRouterModels.reply(Buffer.from(JSON.stringify({ data: [{ id: "a" }], ...rest })), headers);
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
    [{ truncated: false, next: "x" }, "next"],
    [{ next: true }, "next"],
    [{ next: { offset: 500 } }, "next"],
    [{ error: "one region does not answer" }, "error"],
    [{ page: 1, total_pages: 3 }, "total_pages"],
    [{ total_pages: 2 }, "total_pages"],
  ])("is a part of a list if a member says that more follows: $1", (rest, mark) => {
    expect(markOf(rest)).toBe(mark);
  });

  it("knows the names of marks", () => {
    const more = `next after cursor continuation nextPage next_page_token continuation_token next_url next_uri next_link
      next_href next_cursor next_offset`;
    const totals = `total count_total total_count full_count totalSize total_results totalItems total_models total_records
      total_elements full_entries`;
    const named = (names: string, value: unknown) =>
      names.split(/\s+/).map((name) => [name, markOf({ page: 1, [name]: value })]);
    const marks = [...named(more, "x"), ...named(totals, 9), ...named("total_pages pageCount pages last_page", 3)];
    expect(marks.filter(([name, mark]) => mark !== name)).toEqual([]);
    const wrappers = "links _links meta _meta metadata pagination paging page page_info cursors".split(" ");
    expect(wrappers.map((name) => markOf({ [name]: { next: "x" } }))).toEqual(wrappers.map((name) => `${name}.next`));
    for (const name of ["page", "current_page", "pageNumber"]) expect(markOf({ [name]: 3, pages: 3 })).toBeUndefined();
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
    { next: " ", count: 9, created: 1762000000, pages: "9" },
    { error: null, first_id: "a", last_id: "a", object: "list" },
  ])("is whole if no member or header says that more follows (row %$)", (rest) => {
    expect(
      markOf(rest, {
        link: '<https://service.example/>; rel="prev"',
        ...{ "x-total-count": "1", "x-has-more": "false", "content-range": "items 0-0/1" },
      }),
    ).toBeUndefined();
  });
});
