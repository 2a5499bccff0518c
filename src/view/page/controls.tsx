/** Controls of the views of a group and a trajectory: the bar with their neighbors, and texts with a copy button. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { GroupDetail, SourcePosition } from "../answers.ts";
import type { Query } from "../query.ts";
import { useKeys } from "./keys.tsx";
import { replaceQuery } from "./page-context.ts";

type NavigationBarProps = { children: ComponentChildren; before: Query | undefined; after: Query | undefined };

/** The name of the pressed button, which gets the focus again in the next bar. */
let pressed: string | undefined;

/** The bar of a group or a trajectory, which stays visible: its position, its rewards, and its neighbors. */
export const NavigationBar = ({ children, before, after }: Readonly<NavigationBarProps>) => {
  const show = (query: Query | undefined, button?: string) => () => {
    pressed = button;
    if (query !== undefined) replaceQuery(query);
  };
  useKeys({ p: show(before), n: show(after) });
  const bar = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    bar.current?.querySelector<HTMLElement>(`[name="${pressed}"]`)?.focus({ preventScroll: true });
    document.documentElement.style.setProperty("--bar", `${bar.current?.offsetHeight}px`);
  }, []);
  return (
    <div class="position" ref={bar}>
      {children}
      <span class="steps">
        <button type="button" name="before" disabled={before === undefined} onClick={show(before, "before")}>
          ‹ previous <kbd>p</kbd>
        </button>
        <button type="button" name="after" disabled={after === undefined} onClick={show(after, "after")}>
          next › <kbd>n</kbd>
        </button>
      </span>
    </div>
  );
};

export const CopyButton = ({ text, name }: { readonly text: string; readonly name: string }) => {
  const [result, setResult] = useState("");
  const copy = async (): Promise<void> => {
    const copied = navigator.clipboard.writeText(text).then(() => "copied");
    setResult(await copied.catch(() => "cannot copy"));
    setTimeout(() => setResult(""), 1500);
  };
  return (
    <>
      <button type="button" onClick={() => void copy()}>
        {result === "copied" ? result : `copy ${name}`}
      </button>
      <span role="status">{result === "copied" ? "" : result}</span>
    </>
  );
};

const CopyableText = ({ text, name }: { readonly text: string; readonly name: string }) => (
  <span class="copied">
    <code>{text}</code>
    <CopyButton text={text} name={name} />
  </span>
);

export const Position = ({ place: { file, line }, call }: { place: SourcePosition; call?: string | undefined }) =>
  call === undefined ? (
    <CopyableText text={`${file}:${line}`} name="the file and line" />
  ) : (
    <CopyableText text={call} name="the id of the call" />
  );

export const Command = ({ detail: { command, logged, untrainable } }: { readonly detail: GroupDetail }) =>
  command === null ? (
    <p class="quiet">
      no command logs this group, because{" "}
      {untrainable === "invalid" ? "it is invalid" : "standard input cannot be read again"}
    </p>
  ) : (
    <details>
      <summary>{logged === null ? "log this group" : "read the calls of this group"}</summary>
      <CopyableText text={command} name="the command" />
    </details>
  );
