/** Problems of the input, as `rollcall check` reports them. */
import type { Finding } from "../answers.ts";
import { formatCount } from "./format.ts";
import { useLink, usePage } from "./page-context.ts";
import { useAnswer } from "./use-answer.ts";

export const ProblemList = ({ findings, isLinked }: { findings: readonly Finding[]; isLinked?: boolean }) => {
  const link = useLink();
  return (
    <>
      {findings.map(({ severity, rule, message, advice, place, group, trajectory }, at) => {
        const where = place === null ? "" : [place.file, place.line, place.column ?? []].flat().join(":");
        const target = { group: (group ?? 0) + 1, trajectory: trajectory === null ? undefined : trajectory + 1 };
        return (
          <div key={at} class={`problem ${severity}`}>
            {severity} {isLinked && group !== null ? <a href={link(target)}>{where}</a> : where} <b>{message}</b>{" "}
            <span class="quiet">[{rule}]</span>
            {advice !== "" && <div class="advice">{advice}</div>}
          </div>
        );
      })}
    </>
  );
};

export const PendingAnswer = ({ error }: { readonly error: string | undefined }) =>
  error === undefined ? <p class="quiet">reading…</p> : <p role="alert">{error}</p>;

export const ProblemsView = () => {
  const { query } = usePage();
  const link = useLink();
  const { problems: rule } = query;
  const { value, error } = useAnswer("problems", query);
  if (value === undefined) return <PendingAnswer error={error} />;
  const { findings, others } = value;
  return (
    <section>
      <div class="position">
        <a href={link({ problems: undefined })}>groups</a>
        {rule !== "any" && <a href={link({ problems: "any" })}>all rules</a>}
      </div>
      <h1>problems{rule === "any" ? "" : ` of the rule ${rule}`}</h1>
      {findings.length === 0 && <p>no problems</p>}
      <ProblemList findings={findings} isLinked />
      {others > 0 && <p class="quiet">{formatCount(others)} more problems are not listed</p>}
    </section>
  );
};
