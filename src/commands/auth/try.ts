/** Tries a credential with a read, where there is one that takes it. */
import { openClient } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { readCall } from "../../contract/call.ts";
import type { CredentialUse } from "../../contract/endpoint.ts";
import { listModels } from "../../contract/models.ts";
import { Failure } from "../../failure.ts";
import type { Settings } from "../../settings/index.ts";

/** What a read said of a credential. */
type Tried =
  | { readonly kind: "taken"; readonly use: CredentialUse }
  | { readonly kind: "refused" | "silent"; readonly use: CredentialUse; readonly failure: Failure }
  | { readonly kind: "no-read"; readonly use: undefined };

/** A call id that no call has: the answer to it says whether the credential was taken. */
const noCall = "00000000-0000-0000-0000-000000000000";

/**
 * Reads with the credential of the first use that has a read: the models, or a call that there is not where a project is
 * set. Nothing but logging takes the credential for log.
 * @throws Failure `usage` where the credential may not travel
 */
export const tryRead = async (context: Context, settings: Settings, uses: readonly CredentialUse[]): Promise<Tried> => {
  const project = settings.get("project");
  const use = uses.find((each) => each === "inference" || (each === "calls" && project !== undefined));
  if (use === undefined) return { kind: "no-read", use };
  const client = await openClient(context, settings);
  try {
    if (use === "inference") await client.send(listModels, { parameters: {}, body: undefined });
    else await client.send(readCall, { parameters: {}, body: { project_id: project ?? "", id: noCall } });
    return { kind: "taken", use };
  } catch (failure) {
    if (!(failure instanceof Failure) || failure.code === "usage" || failure.code === "interrupted") throw failure;
    if (failure.code === "auth") return { kind: "refused", use, failure };
    return use === "calls" && failure.code === "not_found" ? { kind: "taken", use } : { kind: "silent", use, failure };
  }
};
