/** Draws texts with the matches of a search, and Markdown: blocks, code, emphasis. Links are text. */
import { type ComponentChildren, Fragment } from "preact";
import { usePage, useSearchedText } from "./page-context.ts";

export const MarkdownButton = () => {
  const { isMarkdownOn, toggleMarkdown } = usePage();
  return (
    <button type="button" aria-pressed={isMarkdownOn} onClick={toggleMarkdown}>
      render Markdown <kbd>m</kbd>
    </button>
  );
};

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

/** The kinds of blocks, in the order in which the start of a text is compared with them. */
const blocks: readonly (readonly [pattern: RegExp, render: (found: RegExpExecArray) => ComponentChildren])[] = [
  [/^\s*\n/, () => null],
  [
    /^ {0,3}(`{3,}|~{3,})[^\n]*\n([\s\S]*?)(?:\n {0,3}\1[^\n]*(?:\n|$)|$)/,
    ([, , code = ""]) => <pre>{<MarkedText text={code} />}</pre>,
  ],
  [/^(?: *\|[^\n]*(?:\n|$)){2,}/, ([table]) => <pre>{<MarkedText text={table} />}</pre>],
  [/^ {0,3}#{1,6} +([^\n]*)(?:\n|$)/, ([, title = ""]) => <h3>{renderInline(title)}</h3>],
  [
    /^(?: {0,3}>[^\n]*(?:\n|$))+/,
    ([quoted]) => <blockquote>{renderBlocks(quoted.replaceAll(/^ {0,3}> ?/gm, ""))}</blockquote>,
  ],
  [/^(?: *(?:[-*+]|\d+[.)]) +[^\n]*(?:\n|$)(?: {2,}[^\n]+(?:\n|$))*)+/, ([list]) => renderList(list)],
  // A paragraph ends before a blank line or the start of another block.
  [
    /^[^\n]+(?:\n(?! {0,3}(?:#{1,6} |`{3}|~{3}|>|[-*+] |\d+[.)] |\|)|\s*\n)[^\n]+)*\n?/,
    ([paragraph]) => <p>{renderInline(paragraph.trimEnd())}</p>,
  ],
];

const renderBlocks = (text: string): readonly ComponentChildren[] => {
  const rendered: ComponentChildren[] = [];
  for (let rest = text; rest !== ""; ) {
    const key = rest.length;
    for (const [pattern, render] of blocks) {
      const found = pattern.exec(rest);
      if (found === null) continue;
      rendered.push(<Fragment key={key}>{render(found)}</Fragment>);
      rest = rest.slice(found[0].length);
      break;
    }
  }
  return rendered;
};

const renderList = (text: string) => (
  <ul>
    {text.split(/\n(?= *(?:[-*+]|\d+[.)]) )/).map((item, at) => {
      const [, indent = "", mark = "", content = item] = /^( *)([-*+]|\d+[.)]) +([\s\S]*)$/.exec(item) ?? [];
      return (
        <li key={at} style={{ marginLeft: `${Math.min(16, indent.length)}ch` }}>
          {/\d/.test(mark) ? mark : "•"} {renderInline(content.trimEnd())}
        </li>
      );
    })}
  </ul>
);

const spans =
  /(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)|(\*\*|__)(?=\S)([\s\S]*?\S)\3|(?<!\w)([*_])(?=\S)([^*_\n]*?\S)\5(?!\w)/g;

const renderInline = (text: string): readonly ComponentChildren[] => {
  const parts: ComponentChildren[] = [];
  let end = 0;
  for (const found of text.matchAll(spans)) {
    const [match, , code, , strong, , weak = ""] = found;
    parts.push(<MarkedText key={end} text={text.slice(end, found.index)} />);
    const key = `${found.index} span`;
    if (code !== undefined) parts.push(<code key={key}>{<MarkedText text={code} />}</code>);
    else if (strong !== undefined) parts.push(<b key={key}>{renderInline(strong)}</b>);
    else parts.push(<em key={key}>{renderInline(weak)}</em>);
    end = found.index + match.length;
  }
  return [...parts, <MarkedText key="end" text={text.slice(end)} />];
};

export const Markdown = ({ text }: { readonly text: string }) => (
  <div class="markdown">{renderBlocks(text.replaceAll("\r\n", "\n"))}</div>
);
