/** Asks the server, with the token that the address brought. */
import { useEffect, useState } from "preact/hooks";
import { heldAnswer, isHeld } from "./held.ts";

const kept = "rollcall-view-token";

/** Takes the token out of the address, so that an address that is copied does not hold it; a tab opened later has it too. Whether there was one. */
export const takeToken = (): boolean => {
  if (isHeld) return false;
  const [, token] = /^#token=([\w-]+)$/.exec(location.hash) ?? [];
  if (token === undefined) return false;
  localStorage.setItem(kept, token);
  history.replaceState(null, "", "#/");
  return true;
};

/** What went wrong with a request. */
export class Trouble extends Error {
  readonly status: number;
  constructor(status: number, detail: string) {
    super(detail);
    this.status = status;
  }
}

const asked = async (path: string, signal: AbortSignal): Promise<Response> => {
  const response = (await heldAnswer(path)) ?? (await served(path, signal));
  if (response.ok) return response;
  const said: { readonly detail: string } = await response.json();
  throw new Trouble(response.status, said.detail);
};

const served = async (path: string, signal: AbortSignal): Promise<Response> => {
  const headers = { Authorization: `Bearer ${localStorage.getItem(kept) ?? ""}` };
  return await fetch(path, { headers, signal }).catch((thrown: unknown) => {
    if (signal.aborted) throw thrown;
    throw new Trouble(0, "rollcall view has ended: start it again to go on");
  });
};

/** A value of the server: of the type that its side says (../shapes.ts), since both are built together. */
export const askJson = async <Value>(path: string, signal: AbortSignal): Promise<Value> => {
  const value: Value = await (await asked(path, signal)).json();
  return value;
};

/** A text of the server. */
export const askText = async (path: string, signal: AbortSignal): Promise<string> =>
  await (await asked(path, signal)).text();

/** What was asked for, as far as it has come. */
type Answer<Value> =
  | { readonly state: "waiting" }
  | { readonly state: "there"; readonly value: Value }
  | { readonly state: "trouble"; readonly text: string };

/** What an address answers; nothing is asked where it is undefined. A change asks anew, and lets go of what was asked before. */
export const useAnswer = <Value>(
  path: string | undefined,
  ask: (path: string, signal: AbortSignal) => Promise<Value>,
): Answer<Value> => {
  const [answer, setAnswer] = useState<{ readonly path: string | undefined; readonly answer: Answer<Value> }>();
  useEffect(() => {
    if (path === undefined) return undefined;
    const leaving = new AbortController();
    ask(path, leaving.signal).then(
      (value) => leaving.signal.aborted || setAnswer({ path, answer: { state: "there", value } }),
      (thrown: unknown) => {
        const text = thrown instanceof Error ? thrown.message : String(thrown);
        if (!leaving.signal.aborted) setAnswer({ path, answer: { state: "trouble", text } });
      },
    );
    return () => leaving.abort();
  }, [path]);
  return answer?.path === path && answer !== undefined ? answer.answer : { state: "waiting" };
};
