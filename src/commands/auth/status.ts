/** `rollcall auth status`: which credential goes with which use. */
import { settingsSources } from "../../connect.ts";
import type { Context } from "../../context.ts";
import type { CredentialUse } from "../../contract/endpoint.ts";
import { Failure } from "../../failure.ts";
import { type Column, printList } from "../../output/index.ts";
import type { Settings } from "../../settings/index.ts";

import { tryRead } from "./try.ts";

/** What is known of the credential of one use. */
interface StatusRow {
  readonly use: CredentialUse;
  /** Null where the use has no address. */
  readonly origin: string | null;
  readonly state: "ready" | "command" | "elsewhere" | "missing" | "no address";
  /** Where the credential comes from. */
  readonly from: string | null;
  readonly username: string | null;
  /** Whether the service took it; null where it was not asked, or has no read to ask with. */
  readonly check: "taken" | "refused" | "silent" | null;
}

/**
 * Shows which credential goes with which use. In JSON `{"profile","credentials":[{"use","origin","state","from","username","check"}]}`.
 * @throws Failure `credentials-none` where no use has one, and what a check ended with
 */
export const showStatus = async (
  context: Context,
  { only, check }: { readonly only: CredentialUse | undefined; readonly check: boolean },
): Promise<void> => {
  const { credentialUses, originOf, readSettings, triedFor } = await context.settingsRoom();
  const settings = await readSettings({ ...settingsSources(context), defaults: { max_wait: triedFor } });
  const uses = only === undefined ? credentialUses : [only];
  const rows: StatusRow[] = [];
  let failed: Failure | undefined;
  for (const use of uses) {
    const row = await statusOf(settings, { use, origin: settings.local ? undefined : originOf(settings, use) });
    const asked = check && (row.state === "ready" || row.state === "command");
    const tried = asked ? await tryRead(context, settings, [use]) : undefined;
    if (tried !== undefined && "failure" in tried) failed ??= tried.failure;
    rows.push({ ...row, check: tried === undefined || tried.kind === "no-read" ? null : tried.kind });
  }
  const none = rows.every(({ state }) => state !== "ready" && state !== "command");
  failed ??= none ? noneFailure(settings.profile, rows) : undefined;
  // Which use lacks its credential is wanted most where something is wrong.
  const bytes = Buffer.from(JSON.stringify({ profile: settings.profile, credentials: rows }));
  const columns = statusColumns.filter(({ name }) => name !== "check" || check);
  await printList(context.screen, { columns, rows, wire: { bytes, member: "credentials" } });
  if (failed !== undefined) throw failed;
};

const statusOf = async (
  settings: Settings,
  { use, origin }: { readonly use: CredentialUse; readonly origin: string | undefined },
): Promise<Omit<StatusRow, "check">> => {
  if (settings.local) {
    const username = use === "calls" ? "api" : null;
    return { use, origin: null, state: "ready", from: "the local service's own key", username };
  }
  if (origin === undefined) return { use, origin: null, state: "no address", from: null, username: null };
  const { state, from = null, username = null } = await settings.credentialSource(use, origin);
  return { use, origin, state, from, username };
};

const noneFailure = (profile: string, rows: readonly StatusRow[]): Failure =>
  new Failure("credentials-none", { profile, uses: rows.map(({ use, state }) => `${use} (${state})`) });

const statusColumns: readonly Column<StatusRow>[] = [
  { name: "use", heading: "use", rank: 0, cell: ({ use }) => use, value: ({ use }) => use },
  {
    name: "state",
    heading: "state",
    rank: 0,
    cell: ({ state }) => state,
    value: ({ state }) => state,
  },
  { name: "origin", heading: "origin", rank: 1, cell: ({ origin }) => origin ?? "", value: ({ origin }) => origin },
  { name: "from", heading: "from", rank: 2, cell: ({ from }) => from ?? "", value: ({ from }) => from },
  {
    name: "username",
    heading: "username",
    rank: 3,
    cell: ({ username }) => username ?? "",
    value: ({ username }) => username,
  },
  {
    name: "check",
    heading: "check",
    rank: 1,
    cell: ({ check }) => check ?? "",
    value: ({ check }) => check,
  },
];
