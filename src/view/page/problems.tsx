/** Problems of the input, as `rollcall check` reports them. */
import type { Finding } from "../answers.ts";
import { counted, formatCount } from "./format.ts";
import { useLink, usePage } from "./page-context.ts";
import { useAnswer } from "./use-answer.ts";

const formatPlace = ({ place }: Finding): string =>
  place === null ? "" : [place.file, place.line, place.column ?? []].flat().join(":");

export const ProblemList = ({ findings }: { readonly findings: readonly Finding[] }) => (
  <>
    {findings.map((finding, at) => (
      <div key={at} class={`problem ${finding.severity}`}>
        <i>{finding.severity}</i> {formatPlace(finding)} <b>{finding.message}</b>{" "}
        <span class="quiet">[{finding.rule}]</span>
        {finding.advice !== "" && <div class="advice">{finding.advice}</div>}
      </div>
    ))}
  </>
);

export const PendingAnswer = ({ error }: { readonly error: string | undefined }) => {
  if (error === undefined) return <p class="quiet">reading…</p>;
  return <div role="alert">{[error && <h1>{error}</h1>, <a href="#/">all groups</a>]}</div>;
};

export const ProblemsView = () => {
  const { query } = usePage();
  const link = useLink();
  const { problems: rule } = query;
  const { value, error } = useAnswer("problems", query);
  if (value === undefined) return <PendingAnswer error={error} />;
  const { findings, others } = value;
  const sorted = findings.toSorted((a, b) => a.severity.localeCompare(b.severity));
  const kindOf = ({ severity, rule: of, advice }: Finding): string => [severity, of, advice].join("\n");
  const targetOf = ({ group, trajectory }: Finding) =>
    link({ group: (group ?? 0) + 1, trajectory: trajectory === null ? undefined : trajectory + 1 });
  return (
    <section>
      <div class="position">
        <a href={link({ problems: undefined })}>groups</a>
        {rule !== "any" && <a href={link({ problems: "any" })}>all rules</a>}
      </div>
      <h1>{rule === "any" ? counted(findings.length + others, "problem") : `problems of the rule ${rule}`}</h1>
      {[...new Set(sorted.map(kindOf))].map((kind) => {
        const [severity, name, advice] = kind.split("\n");
        const places = sorted
          .filter((finding) => kindOf(finding) === kind)
          .map((finding, at) => (
            <li key={at} title={formatPlace(finding)}>
              {finding.group !== null && <a href={targetOf(finding)}>group {formatCount(finding.group + 1)}</a>}{" "}
              {formatPlace(finding).split("/").at(-1)} {finding.message}
            </li>
          ));
        return (
          <div key={kind} class={`problem ${severity}`}>
            <h2>
              <i>{severity}</i> {name} <span class="quiet">{formatCount(places.length)}</span>
            </h2>
            <p class="advice">{advice}</p>
            <ul>{places}</ul>
          </div>
        );
      })}
      {others > 0 && <p class="quiet">{formatCount(others)} more problems are not listed</p>}
    </section>
  );
};
