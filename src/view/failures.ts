/** Failures of writing the page. */
import { Failure } from "../failure.ts";

export const pageExists = (file: string): Failure =>
  new Failure("usage", "page-exists", `${file} is there already, and is no page that rollcall wrote`, {
    hint: "name another file, or take that one away",
  });

export const pageUnwritable = (file: string, code: string): Failure =>
  new Failure("storage", "page-unwritable", `the page can't be written to ${file} (${code})`, {
    hint: "name a file in a folder that is there and can be written: --html page.html",
  });
