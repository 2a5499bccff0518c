/** `rollcall ledger copy`: one ledger's requests, in another place. */

import { settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { counted } from "../../counted.ts";
import { Failure } from "../../failure.ts";
import { printDocument } from "../../output/index.ts";
import { ledgerCopyDoor, ledgerDoor } from "../../trajectories/index.ts";

/** Copies what the first has and the second has not. @throws Failure `copy-source-missing`, `copy-contradicts`, `copy-in-flight`, `copy-differs` */
export const copy = async (context: Context, places: { readonly from: string; readonly to: string }): Promise<void> => {
  const { host, screen } = context;
  const settings = await settingsInForce(context);
  const [{ openExistingLedger, openLedger }, { copyLedger }] = await Promise.all([ledgerDoor(), ledgerCopyDoor()]);
  const waiting = {
    host,
    maxWaitMs: settings.require("max_wait"),
    onAway: (code: string) =>
      screen.notice(`a ledger's database is away (${code}): it is asked again until --max-wait is over`),
  };
  const placeOf = (typed: string) => settings.ledgerPlace(typed) ?? { path: typed };
  const from = await openExistingLedger(placeOf(places.from), { ...waiting, toRead: false });
  if (from === undefined) throw new Failure("copy-source-missing", { path: placeOf(places.from).path });
  try {
    const to = await openLedger(placeOf(places.to), { ...waiting, make: true });
    if (to === undefined) throw new Failure("ledger-placeless", { needed: true });
    try {
      const { signal } = host;
      const onMissing = (requests: number) =>
        screen.notice(`${counted(requests, "request is", "requests are")} copied`);
      const { requests, groups, copied, digest } = await copyLedger({ from, to }, { signal, onMissing });
      if (screen.isForProgram) await printDocument(screen, { status: "copied", requests, groups, copied, digest });
      else screen.notice(`both have ${counted(requests, "request")}, the same: ${digest}`);
    } finally {
      await to.close();
    }
  } finally {
    await from.close();
  }
};
