/** Recognizes results of tools that are errors (metrics.md), in Node and in browsers. */
import { isObject, parseJson } from "../../json/object.ts";
import { isBlankText } from "../../text/sentences.ts";

export const errorStatus = /^(?:error|errored|failed|failure)$/i;
/** The longest start of a text that can name an exception, in bytes or UTF-16 units. */
export const maxExceptionLength = 200;

/** An exception of Python, Java or JavaScript, or a shell's or a tool's `Error:`. White space can be escaped. */
const exceptionStart =
  /^(?:\s|\\[nrt])*(?:<tool_use_error>|Traceback \(most recent call last\)|(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)\b(?::|\(|$)|(?:Uncaught )?(?:Error|Exception|ERROR|error):)/;

/** Expects the whole text if it is JSON, or else its start. */
export const isErrorText = (text: string) =>
  /^\s*\{/.test(text) ? hasError(parseJson(text)?.value) : exceptionStart.test(text.slice(0, maxExceptionLength));

export const hasError = (value: unknown) => {
  if (!isObject(value)) return false;
  const { error, isError, is_error } = value;
  return isTrue(isError) || isTrue(is_error) || !isEmpty(error);
};

/** Some writers turn booleans into texts or numbers. */
export const isTrue = (flag: unknown) => /^(?:true|1)$/i.test(String(flag));

/** An object can state nothing, as `{"message": null}` does. */
const isEmpty = (error: unknown) =>
  isObject(error)
    ? Object.values(error).every((value) => value === null || value === "")
    : Array.isArray(error)
      ? error.length === 0
      : isBlankText(String(error ?? ""));
