/** A headless Chromium that opens pages and says what they do, over its DevTools protocol. */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WebSocket } from "undici";
import { onTestFinished } from "vitest";

const programs = ["chromium", "chromium-browser", "google-chrome"];

/** The browser there is; undefined where there is none. */
export const chromium = programs.find((name) => spawnSync(name, ["--version"]).status === 0);

/** A page that is open. */
export interface OpenPage {
  /** Runs an expression in the page and gives its value; what it awaits is waited for. */
  evaluate(expression: string): Promise<unknown>;
  /** Presses keys in the page, each by its name. */
  press(...keys: readonly ("Tab" | "Enter" | "Space")[]): Promise<void>;
  /** What the page was kept from, what it threw, what it asked for, and what it wrote to the console. */
  readonly troubles: readonly string[];
}

/** Opens a page in a browser of its own, which ends with the test. */
export const openInBrowser = async (url: string, { dark = false } = {}): Promise<OpenPage> => {
  if (chromium === undefined) throw new Error("there is no chromium");
  const folder = mkdtempSync(join(tmpdir(), "browser-"));
  const child = spawn(
    chromium,
    [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--remote-debugging-port=0",
      `--user-data-dir=${folder}`,
      "about:blank",
    ],
    { stdio: ["ignore", "ignore", "pipe"], env: { PATH: process.env.PATH, HOME: folder, TMPDIR: folder } },
  );
  const ended = new Promise((settle) => child.once("close", settle));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const address = await new Promise<string>((settle, fail) => {
    let said = "";
    child.stderr.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      const [, found] = /DevTools listening on (ws:\S+)/.exec(said) ?? [];
      if (found !== undefined) settle(found);
    });
    child.once("close", () => fail(new Error(`the browser ended: ${said}`)));
  });
  const { call, on } = await connect(address);
  const { targetId } = await call("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await call("Target.attachToTarget", { targetId, flatten: true });
  const inPage = (method: string, parameters: object = {}) => call(method, parameters, String(sessionId));
  const troubles: string[] = [];
  const loaded = new Promise<void>((settle) => {
    on(({ method, params }) => {
      if (method === "Page.loadEventFired") settle();
      if (method === "Log.entryAdded" || method === "Runtime.exceptionThrown" || method === "Runtime.consoleAPICalled")
        troubles.push(JSON.stringify(params));
      if (method === "Network.requestWillBeSent") {
        const asked = requestOf(params);
        if (asked !== url) troubles.push(`asked for ${asked}`);
      }
      if (method === "Page.javascriptDialogOpening") troubles.push(JSON.stringify(params));
    });
  });
  for (const domain of ["Log", "Runtime", "Network", "Page"]) await inPage(`${domain}.enable`);
  if (dark) await inPage("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "dark" }] });
  await inPage("Page.navigate", { url });
  await loaded;
  return {
    troubles,
    async evaluate(expression) {
      const reply = await inPage("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
      if (reply.exceptionDetails !== undefined) throw new Error(JSON.stringify(reply.exceptionDetails));
      return valueIn(reply.result);
    },
    async press(...keys) {
      for (const key of keys) {
        const text = { Tab: undefined, Enter: "\r", Space: " " }[key];
        const about = { key: key === "Space" ? " " : key, code: key, windowsVirtualKeyCode: keyCodes[key] };
        await inPage("Input.dispatchKeyEvent", { type: "keyDown", ...about, ...(text === undefined ? {} : { text }) });
        await inPage("Input.dispatchKeyEvent", { type: "keyUp", ...about });
      }
    },
  };
};

const keyCodes = { Tab: 9, Enter: 13, Space: 32 };

type Values = Readonly<Record<string, unknown>>;

const isValues = (value: unknown): value is Values => typeof value === "object" && value !== null;

const valueIn = (value: unknown): unknown => (isValues(value) ? value.value : undefined);

const requestOf = (params: unknown): unknown =>
  isValues(params) && isValues(params.request) ? params.request.url : undefined;

/** Speaks the protocol: calls by their numbers, and whatever else is said. */
const connect = async (address: string) => {
  const socket = new WebSocket(address);
  const waiting = new Map<unknown, (message: Values) => void>();
  const listeners: ((message: Values) => void)[] = [];
  await new Promise((settle, fail) => {
    socket.addEventListener("open", settle, { once: true });
    socket.addEventListener("error", fail, { once: true });
  });
  socket.addEventListener("message", ({ data }) => {
    const message: unknown = JSON.parse(String(data));
    if (!isValues(message)) return;
    const settle = waiting.get(message.id);
    if (settle === undefined) for (const listener of listeners) listener(message);
    else settle(message);
  });
  let calls = 0;
  return {
    on: (listener: (message: Values) => void) => void listeners.push(listener),
    call: async (method: string, params: object, sessionId?: string): Promise<Values> => {
      const id = ++calls;
      const reply = new Promise<Values>((settle) => waiting.set(id, settle));
      socket.send(JSON.stringify({ id, method, params, ...(sessionId === undefined ? {} : { sessionId }) }));
      const { error, result } = await reply;
      if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
      return isValues(result) ? result : {};
    },
  };
};
