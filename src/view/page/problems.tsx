/** Shows the problems that `rollcall check` reports. */
import { formatPosition } from "../../text/sentences.ts";
import type { Finding, GroupDetail } from "../answers.ts";
import { useLink, usePage } from "./navigation.tsx";
import { formatCount, pluralizeCount } from "./numbers.tsx";
import { useAnswer } from "./use-answer.ts";

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

export const PendingAnswer = ({ error }: { error: string | undefined }) => {
  if (error === undefined) return <p class="quiet">reading…</p>;
  return <div role="alert">{[error && <h1>{error}</h1>, <a href="#/">all groups</a>]}</div>;
};

export const ProblemsView = () => {
  const { query } = usePage();
  const link = useLink();
  const { problems: rule } = query;
  const { value, error } = useAnswer("problems", query);
  if (!value) return <PendingAnswer error={error} />;
  const { findings, counts } = value;
  const total = counts.reduce((sum, { count }) => sum + count, 0);
  const rules = counts
    .toSorted((a, b) => a.severity.localeCompare(b.severity))
    .map((ofRule) => ({
      ...ofRule,
      listed: findings.filter((finding) => finding.rule === ofRule.rule && finding.severity === ofRule.severity),
    }));
  return (
    <section>
      <div class="position">
        <a href={link({ problems: undefined })}>groups</a>
        {rule !== "any" && <a href={link({ problems: "any" })}>all rules</a>}
      </div>
      <h1>{rule === "any" ? pluralizeCount(total, "problem") : `problems of the rule ${rule}`}</h1>
      {rules.map(({ rule: name, severity, count, listed }) => (
        <div key={`${severity} ${name}`} class={`problem ${severity}`}>
          <h2>
            <i>{severity}</i> {name} <span class="quiet">{formatCount(count)}</span>
          </h2>
          <FindingList findings={listed} />
          {count > listed.length && (
            <p class="quiet">
              {formatCount(count - listed.length)} more{" "}
              {rule === "any" ? <a href={link({ problems: name })}>of this rule</a> : "are not listed"}
            </p>
          )}
        </div>
      ))}
    </section>
  );
};

const FindingList = ({ findings }: { findings: readonly Finding[] }) => {
  const link = useLink();
  const targetOf = ({ group, trajectory }: Finding) =>
    link({ group: (group ?? 0) + 1, trajectory: trajectory === null ? undefined : trajectory + 1 });
  return (
    <ul>
      {findings.map((finding, at) => (
        <li key={at} title={formatPosition(finding)}>
          {finding.group !== null && <a href={targetOf(finding)}>group {formatCount(finding.group + 1)}</a>}{" "}
          {formatPosition(finding).split("/").at(-1)} {finding.message}
          {finding.advice !== findings[at + 1]?.advice && <p class="advice">{finding.advice}</p>}
        </li>
      ))}
    </ul>
  );
};
