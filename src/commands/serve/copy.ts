/** `rollcall serve store copy`: what one store of the local service holds, in another place. */

import { localSettings } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { counted } from "../../counted.ts";
import { Failure } from "../../failure.ts";
import { printDocument } from "../../output/index.ts";
import { copyStore, examineStore, openStore, type StorePlace, storePath } from "../../service/index.ts";

/** Copies what the first has and the second has not. @throws Failure `copy-source-missing`, and as `copyStore` */
export const copy = async (context: Context, typed: { readonly from: string; readonly to: string }): Promise<void> => {
  const { host, screen } = context;
  const places = { from: await placeOf(context, typed.from), to: await placeOf(context, typed.to) };
  if ((await examineStore(places.from, { host })) === undefined) {
    throw new Failure("copy-source-missing", { path: storePath(places.from), isStore: true });
  }
  const onAway = (code: string) => screen.notice(`a store's database is away (${code}): it is asked again`);
  const opened = async (place: Placed) => ({
    store: context.keep(await openStore(place, { host, onAway, maxWaitMs: place.maxWaitMs })),
    path: storePath(place),
  });
  const both = { from: await opened(places.from), to: await opened(places.to) };
  const onMissing = (requests: number) => screen.notice(`${counted(requests, "request is", "requests are")} copied`);
  const { requests, calls, copied, digest } = await copyStore(both, { signal: host.signal, onMissing });
  if (screen.isForProgram) await printDocument(screen, { status: "copied", requests, calls, copied, digest });
  else screen.notice(`both have ${counted(requests, "request")}, the same: ${digest}`);
};

/** Where a store is, and how long its database is waited for at most. */
type Placed = StorePlace & { readonly maxWaitMs: number };

/** A store where it was typed; its password is found as the service finds it. */
const placeOf = async (context: Context, store: string): Promise<Placed> => {
  const settings = await localSettings(context, { store });
  return { ...settings.service(), maxWaitMs: settings.require("max_wait") };
};
