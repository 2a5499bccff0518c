/** Texts with a copy button. */
import { useState } from "preact/hooks";
import type { GroupDetail, SourcePosition } from "../answers.ts";

export const CopyButton = ({ text, name }: { readonly text: string; readonly name: string }) => {
  const [done, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <button type="button" onClick={() => void copy().catch(() => undefined)}>
      {done ? "copied" : `copy ${name}`}
    </button>
  );
};

const CopyableText = ({ text, name }: { readonly text: string; readonly name: string }) => (
  <span class="copied">
    <code>{text}</code>
    <CopyButton text={text} name={name} />
  </span>
);

export const Position = ({ place, call = null }: { place: SourcePosition | null; call?: string | null }) => {
  if (place !== null) return <CopyableText text={`${place.file}:${place.line}`} name="the file and line" />;
  return call === null ? null : <CopyableText text={call} name="the id of the call" />;
};

export const Command = ({ detail: { command, logged, valid } }: { readonly detail: GroupDetail }) => (
  <>
    <h2>{logged === null ? "log this group" : "read the calls of this group"}</h2>
    {command === null ? (
      <p>no command, because {valid ? "standard input cannot be read again" : "the group is invalid"}</p>
    ) : (
      <CopyableText text={command} name="the command" />
    )}
  </>
);
