/** The searched text: its marks in texts, and its first match. */
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { SearchMatch } from "../answers.ts";

const SearchedText = createContext("");

/** Provides the searched text to all texts of a view. */
export const SearchedTextProvider = SearchedText.Provider;

/** Returns the searched text; empty without a search. */
export const useSearchedText = (): string => useContext(SearchedText);

/** Returns the starts of the searched text in a text. */
export const findStarts = (text: string, sought: string): readonly number[] => {
  const starts: number[] = [];
  if (sought === "") return starts;
  for (let at = text.indexOf(sought); at >= 0; at = text.indexOf(sought, at + sought.length)) starts.push(at);
  return starts;
};

/** A text in which the searched text is marked. */
export const MarkedText = ({ text }: { readonly text: string }) => {
  const sought = useSearchedText();
  if (sought === "" || !text.includes(sought)) return <>{text}</>;
  const [first, ...others] = text.split(sought);
  return (
    <>
      {first}
      {others.map((other, at) => (
        <span key={at}>
          <mark>{sought}</mark>
          {other}
        </span>
      ))}
    </>
  );
};

/** The first match of a group, with its trajectory. */
export const Snippet = ({ match: { trajectory, before, text, after } }: { readonly match: SearchMatch }) => (
  <span class="snippet">
    trajectory {trajectory + 1}: {before}
    <mark>{text}</mark>
    {after}
  </span>
);

/** Returns the first mark of a view. */
export const findMark = (view: ParentNode): Element | null => view.querySelector("mark, .found");
