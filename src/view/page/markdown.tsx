/** Draws Markdown without links, and marks matches of the search. */
import type { ComponentChildren } from "preact";
import { usePage, useSearchedText } from "./navigation.tsx";

export const MarkdownButton = () => {
  const { isMarkdownOn, toggleMarkdown } = usePage();
  return (
    <button type="button" aria-pressed={isMarkdownOn} onClick={toggleMarkdown}>
      render Markdown <kbd>m</kbd>
    </button>
  );
};

export const MarkedText = ({ text }: { text: string }) => {
  const sought = useSearchedText();
  const [first, ...others] = sought === "" ? [text] : text.split(sought);
  return (
    <>
      {first}
      {others.map((other, at) => [<mark key={at}>{sought}</mark>, other])}
    </>
  );
};

/** Captures the fence, its character, the language, and the code. */
const fenced = /^ {0,3}(([`~])\2{2,})((?<=`)[^`\n]*|(?<=~).*)$\n*([\s\S]*?)(?:^ {0,3}\1\2*[ \t]*$|(?![\s\S]))\n*/m;

/** A block ends at a blank line, after a heading, and before a heading, list item or table. */
const blockEnd = /\n\s*\n|\n(?<=^#{1,6} .*\n)|\n(?=#{1,6} | *(?:[-*+]|\d+[.)]) |\|.*\n\|?[ :]*-[ |:-]*$)/m;

export const Markdown = ({ text }: { text: string }) => {
  const parts = text.replaceAll("\r\n", "\n").split(fenced);
  return (
    <div class="markdown">
      {parts.map((part, at) => {
        if (at % 5 === 4) return renderCode(part, parts[at - 1]?.trim());
        return at % 5 === 0 && part.split(blockEnd).map(renderBlock);
      })}
    </div>
  );
};

const renderCode = (text: string, language = "") => (
  <pre>
    {language !== "" && <span class="quiet">{`${language}\n`}</span>}
    <MarkedText text={text.trimEnd()} />
  </pre>
);

const renderBlock = (block: string) => {
  if (block.trim() === "") return null;
  const [head = "", rule = "", ...rows] = block.trim().split("\n");
  if (head.includes("|") && /^[ |:-]+$/.test(rule) && rule.includes("-") && rule.includes("|")) {
    return (
      <table>
        {renderRow(head, "th")}
        {rows.map((row) => renderRow(row, "td"))}
      </table>
    );
  }
  if (block.startsWith(">")) return <blockquote>{renderSpans(block.replaceAll(/^> ?/gm, ""))}</blockquote>;
  const [, indent = "", mark = "", text = block] = /^( *)(#{1,6}|[-*+]|\d+[.)]) +([\s\S]*)$/.exec(block) ?? [];
  if (mark.startsWith("#")) return <h3>{renderSpans(text)}</h3>;
  return (
    <p style={{ marginLeft: `${Math.min(16, indent.length)}ch` }}>
      {mark && `${/\d/.test(mark) ? mark : "•"} `}
      {renderSpans(text.trim())}
    </p>
  );
};

const renderRow = (row: string, Cell: "th" | "td") => (
  <tr>
    {row
      .trim()
      .replaceAll(/^\||(?<!\\)\|$/g, "")
      .split(/(?<!\\)\|/)
      .map((cell, at) => (
        <Cell key={at}>{renderSpans(cell.trim().replaceAll("\\|", "|"))}</Cell>
      ))}
  </tr>
);

/** Emphasis begins and ends at the edges of words. The limit bounds the search for a missing end. */
const span = /(`+|(?<![\w*_])(?:\*\*?|__?)(?![\s*_]))(.{1,2000}?)\1(?:(?<=`)|(?![\w*_]))/s;

const renderSpans = (text: string): ComponentChildren => {
  const pieces = text.split(span);
  return pieces.map((piece, at) => {
    if (at % 3 === 0) return <MarkedText key={at} text={piece} />;
    if (at % 3 === 1) return null;
    const mark = pieces[at - 1];
    const Tag = mark === "*" || mark === "_" ? "em" : mark?.startsWith("`") ? "code" : "b";
    return <Tag key={at}>{Tag === "code" ? <MarkedText text={piece} /> : renderSpans(piece)}</Tag>;
  });
};
