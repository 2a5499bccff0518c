/** Draws the filters and the search. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { parsePosition } from "../answer-queries.ts";
import * as answers from "../answers.ts";
import { linkTo, parseHash, replaceQuery, useFilter, useKeys, usePage } from "./navigation.tsx";
import * as numbers from "./numbers.tsx";
import { fetchAnswer } from "./use-answer.ts";

export const Filter = ({ name, filter }: { name: string; filter: Partial<answers.Query> }) => (
  <a {...useFilter(filter)}>{name}</a>
);

type FiltersProps = { summary: answers.Summary; children: ComponentChildren };

export const Filters = ({ summary, children }: FiltersProps) => {
  const { stepName, lastStep, series, all, hasToolErrors } = summary;
  const { reward, file, step } = usePage().query;
  const worst: answers.Query = { ...answers.allGroups, step: lastStep ?? undefined, sort: "mean" };
  return (
    <nav class="filters" aria-label="filters" tabIndex={-1}>
      <Filter name="trainable" filter={{ trainable: true }} />
      <Filter name="not trainable" filter={{ trainable: false }} />
      <Filter name="truncated" filter={{ truncated: true }} />
      {all.failures > 0 && <Filter name="failed" filter={{ failed: true }} />}
      {hasToolErrors && <Filter name="tool errors" filter={{ toolErrors: true }} />}
      <Filter name="with problems" filter={{ rule: "any" }} />
      {series.includes("step") && lastStep !== null && (
        <a href={linkTo(worst)}>
          worst of {stepName} {lastStep}
        </a>
      )}
      {file !== undefined && <Filter name={`${file.split("/").at(-1)} ×`} filter={{ file }} />}
      {step !== undefined && <Filter name={`${stepName} ${step} ×`} filter={{ step }} />}
      {reward !== undefined && <Filter name={`a reward of ${numbers.formatRange(reward)} ×`} filter={{ reward }} />}
      <SearchField />
      {children}
    </nav>
  );
};

const searchDelayMs = 250;

const SearchField = () => {
  const sought = usePage().query.text ?? "";
  const [value, setValue] = useState(sought);
  const field = useRef<HTMLInputElement>(null);
  const searched = useRef(sought);
  const left = useRef(location.hash);
  useEffect(() => {
    // The own search arrives late, when the user may have typed more.
    if (sought !== searched.current) setValue(sought);
    searched.current = sought;
  }, [sought]);
  const search = () => {
    const refusal = `at most ${numbers.formatCount(answers.maxSearchLength)} characters, found ${numbers.formatCount(value.length)}`;
    field.current?.setCustomValidity(value.length > answers.maxSearchLength ? refusal : "");
    // A filter or another view can have changed the query since the text was typed.
    const query = parseHash(location.hash);
    if (value !== sought && answers.selectView(query) === "groups" && field.current?.reportValidity()) {
      searched.current = value;
      replaceQuery({ ...query, page: 1, text: value || undefined });
    }
  };
  useEffect(() => {
    const timer = setTimeout(search, searchDelayMs);
    return () => clearTimeout(timer);
    // After Enter, a late search would undo what the user did since then.
  }, [value, sought]);
  useKeys({ "/": () => field.current?.focus() });
  const onInput = ({ currentTarget }: { currentTarget: HTMLInputElement }) => setValue(currentTarget.value);
  const onSubmit = async (event: Event) => {
    event.preventDefault();
    const find = async () => (await fetchAnswer("rows", { ...answers.allGroups, text: value })).rows;
    // The table also reports a failure.
    const [found, other] = parsePosition(value) ? await find().catch(() => []) : [];
    if (!found || other) return search();
    // The way back leads to the list before the search for `step-6.jsonl:4`.
    history.replaceState(null, "", left.current);
    location.assign(linkTo({ ...answers.allGroups, group: found.group + 1 }));
  };
  return (
    <form noValidate onSubmit={onSubmit}>
      <input
        ref={field}
        type="search"
        aria-label="search text"
        placeholder="search text"
        value={value}
        onInput={onInput}
        onFocus={() => {
          left.current = location.hash;
        }}
      />
    </form>
  );
};

export const Snippet = ({ match: { trajectory, before, text, after } }: { match: answers.SearchMatch }) => (
  <span class="snippet">
    trajectory {trajectory + 1}: {before}
    <mark>{text}</mark>
    {after}
  </span>
);
