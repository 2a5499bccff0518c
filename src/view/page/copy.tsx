/** What can be copied: a place in a file, a command. */
import { useState } from "preact/hooks";
import type { GroupDetail, Place } from "../shapes.ts";

/** A button that copies a text. */
export const CopyButton = ({ text, name }: { readonly text: string; readonly name: string }) => {
  const [done, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <button type="button" aria-label={`copy ${name}`} onClick={() => void copy().catch(() => undefined)}>
      {done ? "copied" : "copy"}
    </button>
  );
};

/** A text with a button that copies it. */
export const Copied = ({ text, name }: { readonly text: string; readonly name: string }) => (
  <span class="copied">
    <code>{text}</code>
    <CopyButton text={text} name={name} />
  </span>
);

/** What logs a group. */
export const LogCommand = ({ command }: Pick<GroupDetail, "command">) => (
  <>
    <h2>log this group</h2>
    {command === null ? (
      <p>it came from standard input, which can't be read again: what is written to a file has a command here</p>
    ) : (
      <Copied text={command} name="the command" />
    )}
  </>
);

/** Where something stands. */
export const PlaceShown = ({ place: { file, line } }: { readonly place: Place }) => (
  <Copied text={`${file}:${line}`} name="the file and line" />
);
