/** Draws texts with a copy button. */
import { useState } from "preact/hooks";
import type { SourcePosition } from "../answers.ts";

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

export const CopyablePosition = ({ position: { file, line } }: { position: SourcePosition }) => {
  const text = `${file}:${line}`;
  return (
    <span class="copied">
      <code>{text}</code>
      <CopyButton text={text} name="the file and line" />
    </span>
  );
};
