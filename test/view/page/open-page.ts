/** Opens a page that `rollcall view --html` writes in a document without layout, and acts on it like a reader. */
import { setMaxListeners } from "node:events";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, vi } from "vitest";
import { testPage } from "../../../build/test-sources.ts";
import { runHere } from "../../support/here.ts";

/** The HTML of the page for these arguments of `view`. */
export const writePage = async (args: readonly string[], env = {}) => {
  const file = join(mkdtempSync(join(tmpdir(), "view-")), "page.html");
  expect(await runHere(["view", ...args, "--html", file], { env })).toMatchObject({ stdout: "" });
  return readFileSync(file, "utf8");
};

export const addressOf = (query: object) => `#/${encodeURIComponent(JSON.stringify(query))}`;

/** Loads a package without its types, which would add those of browsers to all sources. */
const load = async (name: string) => await import(/* @vite-ignore */ name);
const { parseHTML } = await load("linkedom");
const { options, render } = await load("preact");

/** What a test reads of an element. */
export interface PageElement {
  readonly textContent: string;
  readonly outerHTML: string;
  readonly className: string;
  readonly getAttribute: (name: string) => string | null;
  readonly focus: () => void;
  readonly contains: (other: PageElement | null) => boolean;
  readonly dispatchEvent: (event: Event) => boolean;
}

const nothing = () => undefined;
let focused: PageElement | undefined;
let width = 0;

/** All documents share these prototypes, which lack the focus and positions, and give listeners another `this`. */
const { prototype } = parseHTML("").window.Element;
const { matches, addEventListener } = prototype;
const listeners = new WeakMap<object, (event: Event) => void>();
Object.assign(prototype, {
  focus(this: PageElement) {
    focused = this;
  },
  matches(this: PageElement, selector: string) {
    if (selector === ":focus") return this === focused;
    return selector === ":focus-within" ? this.contains(focused ?? null) : matches.call(this, selector);
  },
  addEventListener(this: PageElement, type: string, listener: (event: Event) => void) {
    const own = listeners.get(listener) ?? ((event: Event) => listener.call(event.currentTarget, event));
    listeners.set(listener, own);
    addEventListener.call(this, type, own);
  },
  ...{ scrollIntoView: nothing, scrollTo: nothing, setCustomValidity: nothing, reportValidity: () => true },
  getBoundingClientRect: () => ({ left: 0, width: 10, top: 10 }),
});
Object.defineProperty(prototype, "clientWidth", { get: () => width });

interface PageOptions {
  readonly query?: object;
  readonly hash?: string;
  /** In pixels. */
  readonly width?: number;
  readonly fetch?: (path: string, options: { readonly headers: Readonly<Record<string, string>> }) => Promise<Response>;
}

/** Each page has its own modules, as in a browser. */
let loads = 0;
let closeLast = async (): Promise<void> => undefined;
export const closePage = async () => {
  await closeLast();
  closeLast = async () => undefined;
};

export const openPage = async (html: string, { query, hash, width: innerWidth = 1600, fetch }: PageOptions = {}) => {
  await closePage();
  const { window, document } = parseHTML(html);
  const events = new EventTarget();
  setMaxListeners(0, events);
  const state = { focused: () => focused, hash: hash ?? (query ? addressOf(query) : ""), loads: 0, copied: "" };
  const storage = new Map<string, string>();
  const dispatch = (type: string, values: object = {}) => {
    const event = new Event(type, { cancelable: true });
    for (const [name, value] of Object.entries(values)) Object.defineProperty(event, name, { value });
    events.dispatchEvent(event);
    return event;
  };
  const go = (to: string) => {
    if (to === state.hash) return;
    state.hash = to;
    dispatch("hashchange");
  };
  const location = {
    get hash() {
      return state.hash;
    },
    assign: go,
    reload: () => state.loads++,
  };
  [focused, width] = [undefined, innerWidth];
  const getFocused = (): PageElement => (focused && document.contains(focused) ? focused : document.body);
  Object.defineProperty(document, "activeElement", { get: getFocused });
  Object.assign(document, { elementFromPoint: () => null });
  const globals = {
    ...{ document, location, fetch, innerWidth, scrollY: 0, scrollTo: nothing },
    ...{ HTMLInputElement: window.HTMLInputElement, SVGElement: window.SVGElement },
    history: { replaceState: (_data: unknown, _title: string, url: string) => Object.assign(state, { hash: url }) },
    addEventListener: events.addEventListener.bind(events),
    removeEventListener: events.removeEventListener.bind(events),
    dispatchEvent: events.dispatchEvent.bind(events),
    HashChangeEvent: Event,
    localStorage: { getItem: (key: string) => storage.get(key) ?? null, setItem: storage.set.bind(storage) },
    navigator: { clipboard: { writeText: async (text: string) => Object.assign(state, { copied: text }) } },
    CSS: { escape: (text: string) => text.replaceAll('"', '\\"') },
    getComputedStyle: () => ({ fontSize: "16px" }),
    ResizeObserver: class {
      observe = nothing;
      disconnect = nothing;
    },
  };
  for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value);
  const { requestAnimationFrame } = options;
  options.requestAnimationFrame = (draw: () => void) => setTimeout(draw);
  closeLast = async () => {
    render(null, document.body);
    await settle();
    Object.assign(options, { requestAnimationFrame });
    vi.unstubAllGlobals();
  };
  await load(`${pathToFileURL(testPage)}?load=${++loads}`);
  await settle();
  const find = (selector: string) => {
    const element: PageElement | null = document.querySelector(selector);
    if (!element) throw new Error(`no ${selector} in ${document.body.textContent}`);
    return element;
  };
  const all = (selector: string): readonly PageElement[] => [...document.querySelectorAll(selector)];
  const findText = (selector: string, text: string) => {
    const found = all(selector).find((element) => element.textContent.trim().startsWith(text));
    if (!found) throw new Error(`no ${selector} with ${text}: ${all(selector).map((one) => one.textContent)}`);
    return found;
  };
  const send = (element: PageElement, type: string, values: object = {}) => {
    const event = Object.assign(new window.Event(type, { bubbles: true, cancelable: true }), values);
    element.dispatchEvent(event);
    return event;
  };
  const write = (name: string, value: string) => {
    const field = Object.assign(find(`input[aria-label^="${name}"]`), { value });
    send(field, "input");
    return field;
  };
  return {
    state,
    find,
    textsOf: (selector: string) => all(selector).map(({ textContent }) => textContent.replaceAll(/\s+/g, " ").trim()),
    attributesOf: (selector: string, name: string) => all(selector).map((element) => element.getAttribute(name)),
    query: () => JSON.parse(decodeURIComponent(state.hash.slice(2)) || "{}"),
    focusedText: () => getFocused().textContent,
    title: (): string => document.title,
    async show(query: object) {
      go(addressOf(query));
      await settle();
    },
    /** Clicks the first element whose text starts so. */
    async click(text: string, selector = "a, button, summary") {
      const element = findText(selector, text);
      send(element, "click");
      const href = element.getAttribute("href");
      if (href) go(href);
      await settle();
    },
    async press(...keys: readonly string[]) {
      for (const key of keys) {
        const target = getFocused();
        const { defaultPrevented } = send(target, "keydown", { key });
        if (!defaultPrevented) dispatch("keydown", { key, target });
        await settle();
      }
    },
    /** Types without Enter. */
    write,
    /** @param next what the user types before the search is drawn */
    async type(name: string, text: string, next?: string) {
      const field = write(name, text);
      await settle();
      // The browser would send the form and load the page again.
      expect(send(field, "submit")).toMatchObject({ defaultPrevented: true });
      if (next !== undefined) write(name, next);
      await settle();
    },
    dispatch,
  };
};

/** Waits until effects and answers of an exported page have been drawn. */
export const settle = async () => {
  for (let turn = 0; turn < 6; turn++) await new Promise((resolve) => setTimeout(resolve));
};

const blocks = "header|section|h[1-3]|p|dl|ul|ol|li|table|tr|nav|figure|svg|a|article|main|details|pre|form";

/** Formats HTML with a line for each block, without most end tags. */
export const formatHtml = (html: string) =>
  html
    .replaceAll(/<\/(?!(?:ins|mark|em|code|b)>)[^>]*>/g, "")
    .replaceAll(/#\/(%7B[^"]*)/g, (_, json) => decodeURIComponent(json))
    .replaceAll(new RegExp(`(?=<(?:${blocks})[ >])`, "g"), "\n")
    .replaceAll(/\n\s*/g, "\n");
