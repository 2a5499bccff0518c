/** What is wrong: problems of `rollcall check`, in a list or beside what they are about. */
import type { Finding, Findings } from "../shapes.ts";
import { askJson, useAnswer } from "./ask.ts";
import { groupAddress, problemsAddress, queryOf, trajectoryAddress } from "./routes.ts";
import { number } from "./text.ts";

const addressOf = ({ group, trajectory }: Finding): string | undefined => {
  if (group === null) return undefined;
  return trajectory === null ? groupAddress(group) : trajectoryAddress(group, trajectory);
};

const Problem = ({ finding, linked = false }: { readonly finding: Finding; readonly linked?: boolean }) => {
  const { severity, rule, message, advice, place } = finding;
  const address = linked ? addressOf(finding) : undefined;
  const where = place === null ? "" : `${place.file}:${place.line}`;
  return (
    <p class={`problem ${severity}`}>
      <b>{severity}</b> {address === undefined ? where : <a href={address}>{where}</a>} {message}{" "}
      <span class="quiet">[{rule}]</span>
      {advice !== "" && <span class="advice">{advice}</span>}
    </p>
  );
};

/** Problems one below the other; nothing where there are none. */
export const ProblemsOf = ({ findings }: { readonly findings: readonly Finding[] }) => (
  <>
    {findings.map((finding, at) => (
      <Problem key={at} finding={finding} />
    ))}
  </>
);

/** All problems, or those of a rule. */
export const Problems = ({ rule }: { readonly rule: string | undefined }) => {
  const answer = useAnswer(`api/problems${queryOf(rule === undefined ? {} : { rule })}`, askJson<Findings>);
  if (answer.state === "waiting") return <p class="quiet">reading…</p>;
  if (answer.state === "trouble") return <p role="alert">{answer.text}</p>;
  const { findings, others } = answer.value;
  return (
    <section>
      <h1>problems{rule === undefined ? "" : ` of the rule ${rule}`}</h1>
      {rule !== undefined && <a href={problemsAddress()}>all rules</a>}
      {findings.length === 0 && <p>nothing is wrong</p>}
      {findings.map((finding, at) => (
        <Problem key={at} finding={finding} linked />
      ))}
      {others > 0 && <p class="quiet">{number(others)} more are not listed</p>}
    </section>
  );
};
