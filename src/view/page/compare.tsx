/** Shows what the prompts of a run became in another run. */
import { allGroups, type PageState, parentQuery, type RunComparison, type Summary } from "../answers.ts";
import { GroupTable } from "./groups.tsx";
import { linkTo, useFilter, usePage } from "./navigation.tsx";
import { formatCount, formatMeasure, pluralizeCount } from "./numbers.tsx";
import { PendingAnswer } from "./problems.tsx";
import { Facts } from "./sortable-table.tsx";
import { useAnswer } from "./use-answer.ts";

/** From the best to the worst. */
const states = ["always", "sometimes", "never", "failed"];

export const CompareView = ({ state, summary }: { state: PageState; summary: Summary }) => {
  const { value, error } = useAnswer("compare", { ...allGroups, compare: true });
  if (!value) return <PendingAnswer error={error} />;
  const { reward, only_a, only_b, transitions, verdict, title, lines } = value;
  const [a, b] = summary.runs;
  return (
    <section aria-label="comparison">
      <div class="position">
        <a href={linkTo(parentQuery(usePage().query))}>groups</a>
      </div>
      <h1>
        <span class="quiet">a</span> {a} <span class="quiet">b</span> {b}
      </h1>
      <p>
        <b>{verdict}</b>
      </p>
      <Facts
        facts={{
          "better, worse, equal":
            reward !== null && [reward.better, reward.worse, reward.equal].map(formatCount).join(", "),
          "only in a, only in b": [only_a, only_b].map(formatCount).join(", "),
        }}
      />
      {lines.length > 0 && (
        <section aria-label={title}>
          <h2>{title}</h2>
          <ul>
            {lines.map(({ label, text }) => (
              <li key={text}>
                <b>{label}</b> {text}
              </li>
            ))}
          </ul>
        </section>
      )}
      <Transitions transitions={transitions} pass={summary.pass} />
      <GroupTable state={state} />
    </section>
  );
};

const Transitions = ({ transitions, pass }: Pick<RunComparison, "transitions"> & Pick<Summary, "pass">) => {
  const known = states.filter((state) => transitions.some(({ from, to }) => [from, to].includes(state)));
  const countOf = (a: string, b: string) => transitions.find(({ from, to }) => from === a && to === b)?.prompts ?? 0;
  return (
    <table class="matrix" aria-label="transitions">
      <caption class="quiet">
        Prompts whose rollouts in a and in b are always, sometimes or never solved (a reward of at least{" "}
        {formatMeasure(pass)}). Click a number.
      </caption>
      <thead>
        <tr>
          <th scope="col">a ↓ b →</th>
          {known.map((to) => (
            <th key={to} scope="col">
              {to}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {known.map((from, row) => (
          <tr key={from}>
            <th scope="row">{from}</th>
            {known.map((to, column) => (
              <td key={to} class={`n${column > row ? " worse" : column < row ? " better" : ""}`}>
                <Transition from={from} to={to} prompts={countOf(from, to)} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
};

const Transition = ({ from, to, prompts }: RunComparison["transitions"][number]) => {
  const { href, ...filter } = useFilter({ from, to });
  if (prompts === 0) return "0";
  return (
    <a href={href} {...filter} aria-label={`${pluralizeCount(prompts, "prompt")} ${from} in a, ${to} in b`}>
      {formatCount(prompts)}
    </a>
  );
};
