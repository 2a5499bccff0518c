/** A field that searches: what is typed is in the address, so that it can be shared and gone back to. */
import { useEffect, useRef, useState } from "preact/hooks";
import { mostSought } from "../shapes.ts";
import { useKeys } from "./keys.tsx";
import { showInstead } from "./routes.ts";
import { number } from "./text.ts";

/** How long nothing is typed before it is searched for; an expression waits for Enter, since its beginning is none. */
const pauseMs = 250;

export const SearchField = ({
  label,
  keyName,
  isExpression = false,
  sought = "",
  addressOf,
}: {
  readonly label: string;
  /** The key that goes there. */
  readonly keyName?: string;
  readonly isExpression?: boolean;
  readonly sought: string | undefined;
  /** The address at which something else is looked for; for an empty text nothing. */
  readonly addressOf: (typed: string) => string;
}) => {
  const [value, setValue] = useState(sought);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => setValue(sought), [sought]);
  const search = (typed: string): void => {
    const isLong = typed.length > mostSought;
    field.current?.setCustomValidity(
      isLong ? `at most ${number(mostSought)} characters: these are ${number(typed.length)}` : "",
    );
    if (isLong) field.current?.reportValidity();
    else if (typed !== sought) showInstead(addressOf(typed));
  };
  useEffect(() => {
    if (isExpression || value === sought) return undefined;
    const timer = setTimeout(() => search(value), pauseMs);
    return () => clearTimeout(timer);
  }, [value]);
  useKeys(keyName === undefined ? {} : { [keyName]: () => field.current?.focus() });
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        search(value);
      }}
    >
      <input
        ref={field}
        type="search"
        aria-label={label}
        placeholder={label}
        value={value}
        onInput={(event) => setValue(event.currentTarget.value)}
      />
    </form>
  );
};
