/** Which credential goes with a request: from the environment, saved at login, or from a command. */
import type { Credential, CredentialUse } from "../contract/endpoint.ts";
import type { Host } from "../host.ts";
import { type Hide, hideAll, readSecret, type Secret } from "./secrets.ts";

/** The user name of call reads where nobody said one. */
const defaultUsername = "api";

/** Makes a secret the credential of a use (service-interface 5). */
export const credentialOf = (use: CredentialUse, { text, from }: Secret, username = defaultUsername): Credential =>
  use === "calls" ? { scheme: "basic", username, password: text, from } : { scheme: "bearer", token: text, from };

/** The secret in the environment for a use; the API key where it has none of its own. */
export const environmentSecret = async (
  use: CredentialUse,
  about: { readonly host: Pick<Host, "env">; readonly hide: Hide },
): Promise<Secret | undefined> => {
  const own = { log: "ROLLCALL_TOKEN", inference: undefined, calls: "ROLLCALL_PASSWORD" } as const;
  const variable = own[use];
  const secret = variable === undefined ? undefined : await readSecret(variable, about);
  const found = secret ?? (await readSecret("ROLLCALL_API_KEY", about));
  if (found !== undefined) hideAll(about.hide, found.text, about.host.env.ROLLCALL_USERNAME || defaultUsername);
  return found;
};
