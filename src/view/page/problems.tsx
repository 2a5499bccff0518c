/** Draws positions, and the problems that `rollcall check` reports. */
import { useState } from "preact/hooks";
import { formatPosition } from "../../text/sentences.ts";
import type { Finding, GroupDetail, SourcePosition } from "../answers.ts";

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

/** @param about the index of a trajectory; null for the group itself */
export const listFindings = ({ findings }: Pick<GroupDetail, "findings">, about: number | null | undefined) =>
  findings.filter(({ trajectory }) => trajectory === about);

export const ProblemList = ({ findings }: { findings: readonly Finding[] }) => (
  <>
    {findings.map((finding, at) => (
      <div key={at} class={`problem ${finding.severity}`}>
        <i>{finding.severity}</i> {formatPosition(finding)} <b>{finding.message}</b>{" "}
        <span class="quiet">[{finding.rule}]</span>
        {finding.advice && <div class="advice">{finding.advice}</div>}
      </div>
    ))}
  </>
);

export const PendingAnswer = ({ error }: { error: string | undefined }) =>
  error === undefined ? <p class="quiet">reading…</p> : <p role="alert">{error || "not loaded"}</p>;
