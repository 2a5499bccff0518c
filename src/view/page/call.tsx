/** One call: what is known of it, and its conversation as `call read` has it. */
import type { CallDetail } from "../call-shapes.ts";
import { askJson, useAnswer } from "./ask.ts";
import { Copied } from "./copy.tsx";
import { conversationOfCall } from "./entries.ts";
import { Reader } from "./reader.tsx";
import { callAddress, tableAddress } from "./routes.ts";

export const Call = ({ id }: { readonly id: string }) => {
  const answer = useAnswer(`api/calls/${encodeURIComponent(id)}`, askJson<CallDetail>);
  if (answer.state === "waiting") return <p class="quiet">reading…</p>;
  if (answer.state === "trouble") return <p role="alert">{answer.text}</p>;
  return <Shown key={id} detail={answer.value} />;
};

const Shown = ({ detail }: { readonly detail: CallDetail }) => {
  const { id, at, of, facts, why, lines, json, trajectory, before, after, command } = detail;
  return (
    <article>
      <p class="way">
        <a href={tableAddress()}>calls</a> › call {at + 1} of {of}
      </p>
      <h1>
        {facts === null || facts.name === "" ? "a call" : facts.name}
        <span class="quiet"> · {facts?.status ?? "unread"}</span>
      </h1>
      <Copied text={id} name="the id" />
      {why !== null && <p role="alert">{why}</p>}
      <dl class="lines">
        {lines.map(({ label, text }, line) => (
          <div key={line}>
            <dt>{label}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <Reader
        json={json}
        conversation={conversationOfCall(json, trajectory)}
        next={after === null ? undefined : callAddress(after)}
        previous={before === null ? undefined : callAddress(before)}
      />
      <h2>read this call</h2>
      <Copied text={command} name="the command" />
    </article>
  );
};
