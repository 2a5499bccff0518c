/** Draws texts with a copy button. */
import { useState } from "preact/hooks";
import type { GroupDetail, SourcePosition } from "../answers.ts";

export const CopyButton = ({ text, name }: { text: string; name: string }) => {
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

const CopyableText = ({ text, name }: { text: string; name: string }) => (
  <span class="copied">
    <code>{text}</code>
    <CopyButton text={text} name={name} />
  </span>
);

export const CopyablePosition = ({ position: { file, line } }: { position: SourcePosition }) => (
  <CopyableText text={`${file}:${line}`} name="the file and line" />
);

export const Command = ({ command }: GroupDetail) =>
  command !== null && (
    <details>
      <summary>log this group</summary>
      <CopyableText text={command} name="the command" />
    </details>
  );
