/** Texts with a copy button. */
import { useState } from "preact/hooks";
import type { GroupDetail, SourcePosition } from "../answers.ts";

export const CopyButton = ({ text, name }: { readonly text: string; readonly name: string }) => {
  const [result, setResult] = useState("");
  const copy = async () => {
    const copied = navigator.clipboard.writeText(text).then(() => "copied");
    setResult(await copied.catch(() => "cannot copy"));
    setTimeout(() => setResult(""), 1500);
  };
  return (
    <button type="button" onClick={copy}>
      {result || `copy ${name}`}
    </button>
  );
};

const CopyableText = ({ text, name }: { readonly text: string; readonly name: string }) => (
  <span class="copied">
    <code>{text}</code>
    <CopyButton text={text} name={name} />
  </span>
);

export const Position = ({ place: { file, line }, call }: { place: SourcePosition; call?: string | undefined }) => (
  <CopyableText
    text={call ?? `${file}:${line}`}
    name={call === undefined ? "the file and line" : "the id of the call"}
  />
);

export const Command = ({ detail: { command, logged, untrainable } }: { readonly detail: GroupDetail }) =>
  command === null ? (
    <p class="quiet">
      no command logs this group, because{" "}
      {untrainable === "invalid" ? "it is invalid" : "standard input cannot be read again"}
    </p>
  ) : (
    <details>
      <summary>{logged === null ? "log this group" : "read the calls of this group"}</summary>
      <CopyableText text={command} name="the command" />
    </details>
  );
