/** Markdown that is rendered on request: blocks, code, emphasis. Links are text, and nothing is loaded. */
import { type ComponentChildren, createContext } from "preact";
import { useContext } from "preact/hooks";
import { MarkedText } from "./match.tsx";

/** True if texts are rendered, and a function that switches between text and rendering. */
const Rendering = createContext({ isOn: false, toggle: (): void => undefined });

export const MarkdownProvider = Rendering.Provider;

export const useMarkdown = () => useContext(Rendering);

export const MarkdownButton = () => {
  const { isOn, toggle } = useMarkdown();
  return (
    <button type="button" aria-pressed={isOn} onClick={toggle}>
      render Markdown <kbd>m</kbd>
    </button>
  );
};

const fence = /^ {0,3}(`{3,}|~{3,})[^\n]*\n([\s\S]*?)(?:\n {0,3}\1[^\n]*(?:\n|$)|$)/;
const heading = /^ {0,3}(#{1,6}) +([^\n]*)(?:\n|$)/;
const rule = /^ {0,3}(?:-{3,}|\*{3,}|_{3,}) *(?:\n|$)/;
const quotation = /^(?: {0,3}>[^\n]*(?:\n|$))+/;
const list = /^(?: *(?:[-*+]|\d+[.)]) +[^\n]*(?:\n|$)(?: {2,}[^\n]+(?:\n|$))*)+/;
const table = /^(?: *\|[^\n]*(?:\n|$)){2,}/;
const blank = /^\s*\n/;
/** Text up to a blank line or the start of another block. */
const paragraph = /^[^\n]+(?:\n(?! {0,3}(?:#{1,6} |`{3}|~{3}|>|[-*+] |\d+[.)] |\|)|\s*\n)[^\n]+)*\n?/;

/** Parses the blocks of a text. */
const renderBlocks = (text: string): readonly ComponentChildren[] => {
  const blocks: ComponentChildren[] = [];
  let rest = text;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    const found = pattern.exec(rest);
    if (found !== null) rest = rest.slice(found[0].length);
    return found;
  };
  while (rest !== "") {
    const key = rest.length;
    if (take(blank) !== null) continue;
    const code = take(fence) ?? take(table);
    if (code !== null) {
      blocks.push(<pre key={key}>{<MarkedText text={code[2] ?? code[0]} />}</pre>);
      continue;
    }
    const title = take(heading);
    if (title !== null) {
      blocks.push(<h3 key={key}>{renderInline(title[2] ?? "")}</h3>);
    } else if (take(rule) !== null) blocks.push(<hr key={key} />);
    else {
      const quoted = take(quotation)?.[0].replaceAll(/^ {0,3}> ?/gm, "");
      const listed = quoted === undefined ? take(list)?.[0] : undefined;
      if (quoted !== undefined) blocks.push(<blockquote key={key}>{renderBlocks(quoted)}</blockquote>);
      else if (listed !== undefined) blocks.push(renderList(listed, key));
      else {
        const [own = rest] = take(paragraph) ?? [];
        if (rest.length === key) rest = "";
        blocks.push(<p key={key}>{renderInline(own.trimEnd())}</p>);
      }
    }
  }
  return blocks;
};

/** Renders items with their marks, each indented as in the text. */
const renderList = (text: string, key: number) => (
  <ul key={key}>
    {text.split(/\n(?= *(?:[-*+]|\d+[.)]) )/).map((item, at) => {
      const [, indent = "", mark = "", own = item] = /^( *)([-*+]|\d+[.)]) +([\s\S]*)$/.exec(item) ?? [];
      return (
        <li key={at} style={{ marginLeft: `${Math.min(16, indent.length)}ch` }}>
          {/\d/.test(mark) ? mark : "•"} {renderInline(own.trimEnd())}
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
    const [all, , code, , strong, , weak = ""] = found;
    parts.push(<MarkedText key={end} text={text.slice(end, found.index)} />);
    const key = `${found.index} span`;
    if (code !== undefined) parts.push(<code key={key}>{<MarkedText text={code} />}</code>);
    else if (strong !== undefined) parts.push(<b key={key}>{renderInline(strong)}</b>);
    else parts.push(<em key={key}>{renderInline(weak)}</em>);
    end = found.index + all.length;
  }
  return [...parts, <MarkedText key="end" text={text.slice(end)} />];
};

export const Markdown = ({ text }: { readonly text: string }) => (
  <div class="markdown">{renderBlocks(text.replaceAll("\r\n", "\n"))}</div>
);
