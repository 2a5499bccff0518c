/** A search field, whose text is in the URL. */
import { useEffect, useRef, useState } from "preact/hooks";
import { maxSearchLength } from "../query.ts";
import { formatCount } from "./format.ts";
import { useKeys } from "./keys.tsx";

/** A search for text starts after this pause. An expression needs Enter, because its start is invalid. */
const searchDelayMs = 250;

interface SearchProps {
  readonly label: string;
  /** The key that focuses the field. */
  readonly keyName?: string;
  readonly isExpression?: boolean;
  readonly sought: string | undefined;
  readonly search: (typed: string) => void;
}

export const SearchField = ({ label, keyName, isExpression = false, sought = "", search }: SearchProps) => {
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
  useKeys(keyName === undefined ? {} : { [keyName]: () => field.current?.focus() });
  return (
    <form noValidate onSubmit={onSubmit}>
      <input
        ref={field}
        type="search"
        aria-label={label}
        placeholder={label}
        value={value}
        onInput={(event) => setValue(event.currentTarget.value)}
      />
      {isExpression && value !== sought && <span class="enter">press Enter</span>}
    </form>
  );
};
