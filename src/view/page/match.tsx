/** The searched text: its marks in texts, and the first match of a group. */
import type { SearchMatch } from "../answers.ts";
import { useSearchedText } from "./page-context.ts";

export const MarkedText = ({ text }: { readonly text: string }) => {
  const sought = useSearchedText();
  const [first, ...others] = sought === "" ? [text] : text.split(sought);
  return (
    <>
      {first}
      {others.map((other, at) => [<mark key={at}>{sought}</mark>, other])}
    </>
  );
};

export const Snippet = ({ match: { trajectory, before, text, after } }: { readonly match: SearchMatch }) => (
  <span class="snippet">
    trajectory {trajectory + 1}: {before}
    <mark>{text}</mark>
    {after}
  </span>
);
