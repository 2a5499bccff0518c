/** The filters of the table of groups, which are in the URL. */
import { useEffect, useRef, useState } from "preact/hooks";
import { maxSearchLength, type Query } from "../query.ts";
import { formatCount, formatRange } from "./format.ts";
import { useKeys } from "./keys.tsx";
import { linkTo, replaceQuery, usePage } from "./page-context.ts";

/** An exported page has no filter by an expression. */
export const Filters = ({ hasWhere }: { readonly hasWhere: boolean }) => {
  const { query } = usePage();
  const { reward, mean, spread, trainable, rule, file, text, where } = query;
  const change = (changed: Partial<Query>): Query => ({ ...query, page: 1, ...changed });
  const link = (name: string, changed: Partial<Query>, isOn = true) => (
    <a class={isOn ? "on" : ""} href={linkTo(change(changed))}>
      {name}
    </a>
  );
  return (
    <nav class="filters" aria-label="filters">
      {link("trainable", { trainable: trainable === true ? undefined : true }, trainable === true)}
      {link("not trainable", { trainable: trainable === false ? undefined : false }, trainable === false)}
      {link("with problems", { rule: rule === "any" ? undefined : "any" }, rule === "any")}
      <SearchField
        label="search text"
        sought={text}
        search={(typed) => replaceQuery(change({ text: typed || undefined }))}
      />
      {hasWhere && (
        <SearchField
          label="where (CEL), such as reward > 0.5, then Enter"
          isExpression
          sought={where}
          search={(typed) => replaceQuery(change({ where: typed || undefined }))}
        />
      )}
      {file !== undefined && link(`${file.split("/").at(-1)} ×`, { file: undefined })}
      {reward !== undefined && link(`a reward of ${formatRange(reward)} ×`, { reward: undefined })}
      {mean !== undefined &&
        spread !== undefined &&
        link(`mean ${formatRange(mean)}, spread ${formatRange(spread)} ×`, { mean: undefined, spread: undefined })}
    </nav>
  );
};

/** A search for text starts after this pause. An expression needs Enter, because its start is invalid. */
const searchDelayMs = 250;

interface SearchProps {
  readonly label: string;
  readonly isExpression?: boolean;
  readonly sought: string | undefined;
  readonly search: (typed: string) => void;
}

const SearchField = ({ label, isExpression = false, sought = "", search }: SearchProps) => {
  const [value, setValue] = useState(sought);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => setValue(sought), [sought]);
  const submit = (): void => {
    const isLong = value.length > maxSearchLength;
    const refusal = `at most ${formatCount(maxSearchLength)} characters, found ${formatCount(value.length)}`;
    field.current?.setCustomValidity(isLong ? refusal : "");
    if (isLong) field.current?.reportValidity();
    else if (value !== sought) search(value);
  };
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    submit();
  };
  useEffect(() => {
    if (isExpression || value === sought) return undefined;
    const timer = setTimeout(submit, searchDelayMs);
    return () => clearTimeout(timer);
  }, [value]);
  useKeys(isExpression ? {} : { "/": () => field.current?.focus() });
  const onInput = ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) => setValue(currentTarget.value);
  return (
    <form noValidate onSubmit={onSubmit}>
      <input ref={field} type="search" aria-label={label} placeholder={label} {...{ value, onInput }} />
      {isExpression && value !== sought && <span class="enter">press Enter</span>}
    </form>
  );
};
