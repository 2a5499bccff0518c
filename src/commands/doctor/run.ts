/** Runs the checks of `rollcall doctor` side by side, and prints what they found. */

import { type Context, openContext } from "../../context.ts";
import { withSignal } from "../../host.ts";
import { type Line, printDocument, printList, printPage, type Tone } from "../../output/index.ts";
import type { Settings } from "../../settings/index.ts";
import { ownColumns } from "../lists/own.ts";
import { error, type Finding, failed, failureOf } from "./finding.ts";
import { folderFindings, ledgerFindings, proxyFinding, storeFindings, versionFindings } from "./machine.ts";
import { addressFindings, credentialFindings, settingsFindings, settingsFor } from "./service.ts";

/** How long a check may take where nobody says: a person waits. */
const usualMs = 10_000;

/** Looks, and prints what was found. @throws Failure `doctor-…` of the gravest error, once all of it was printed */
export const examine = async (given: Context, { offline }: { readonly offline: boolean }): Promise<void> => {
  const { screen, flags } = given;
  const over = new AbortController();
  const context = openContext({ host: withSignal(given.host, over.signal), screen, flags });
  const progress = screen.progress("looking");
  try {
    const findings = await findingsOf(context, offline).finally(progress.stop);
    await print(given, findings);
    const failure = failureOf(findings);
    if (failure !== undefined) throw failure;
  } finally {
    over.abort();
    await context.close();
  }
};

/** The findings of all checks, which run side by side, in their order. */
const findingsOf = async (context: Context, offline: boolean): Promise<readonly Finding[]> => {
  const settings = await settingsFor(context);
  const silenceMs = timeoutOf(settings);
  const asked = { context, settings, offline, silenceMs };
  const credentials = credentialFindings(asked);
  const checks: readonly (readonly [name: string, found: Promise<readonly Finding[]>])[] = [
    ["versions", versionFindings(context)],
    ["settings", settingsFindings(context)],
    ["credentials", credentials],
    ["addresses", addressFindings(asked, credentials)],
    ["proxy", proxyFinding(context, settings).then((found) => [found])],
    ["folders", folderFindings(context)],
    ["ledger", ledgerFindings(context, settings)],
    ["local store", storeFindings(context, settings)],
  ];
  const found = await Promise.all(
    checks.map(async ([name, findings]) => {
      try {
        return await Promise.race([findings, tooSlow(context, name, silenceMs)]);
      } catch (thrown) {
        context.host.signal.throwIfAborted();
        return [await failed(name, thrown)];
      }
    }),
  );
  return found.flat();
};

const timeoutOf = (settings: Settings | undefined): number => {
  try {
    return settings?.get("timeout") ?? usualMs;
  } catch {
    return usualMs;
  }
};

/** A check that takes longer than a service may be silent waits for something that does not come. */
const tooSlow = async ({ host }: Context, name: string, ms: number): Promise<readonly Finding[]> => {
  await host.sleep(ms + 1000, host.signal);
  return [
    error(name, `no answer within ${Math.round(ms / 100) / 10} s`, {
      fix: "--timeout says how long silence is allowed; --offline asks nobody",
      code: "unavailable",
    }),
  ];
};

const print = async (context: Context, findings: readonly Finding[]): Promise<void> => {
  const { screen } = context;
  if (context.screen.isForProgram) {
    const worst = (["error", "warning"] as const).find((status) => findings.some((one) => one.status === status));
    return await printDocument(screen, { status: worst ?? "ok", findings }, "findings");
  }
  if (screen.format === "table")
    await printPage(screen, { sections: [{ lines: findings.map((one) => lineOf(one, context.host.env.HOME)) }] });
  else
    await printList(screen, {
      columns: ownColumns<Finding>({ check: 0, status: 0, message: 0, fix: 0 }),
      rows: findings,
    });
};

const tones: Readonly<Record<Finding["status"], Tone | undefined>> = {
  ok: undefined,
  warning: "warning",
  error: "bad",
  skipped: "faint",
};

/** Seen without colours too. */
const marks: Readonly<Record<Finding["status"], string>> = {
  ok: "ok     ",
  warning: "WARNING",
  error: "ERROR  ",
  skipped: "skipped",
};

const lineOf = ({ check, status, message, fix }: Finding, home: string | undefined): Line => {
  const tone = tones[status];
  const text = fix === undefined ? message : `${message}\n  fix: ${fix}`;
  return { label: `${marks[status]} ${check}`, text: withoutHome(text, home), tone };
};

/** Paths as a shell takes them and a person reads them: `~/…`, but where they stand in quotes. */
const withoutHome = (text: string, home = ""): string =>
  home.length < 2 || home.endsWith("/")
    ? text
    : text.split(`${home}/`).reduce((before, rest) => before + (before.endsWith("'") ? `${home}/` : "~/") + rest);
