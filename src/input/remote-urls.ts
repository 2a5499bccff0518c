/** URLs as names of inputs. */

/** True if a name is a URL. Buckets (`s3:`, `gs:`) get a failure of their own. */
export const isRemote = (name: string): boolean => /^(?:https?|s3|gs|hf):\/\//i.test(name);

/** Returns a URL without its user and query, which can be secret. */
export const plainUrl = (name: string): string => {
  const [, scheme = "", rest = ""] = /^([a-z0-9]+:\/\/)(.*)$/is.exec(name) ?? [];
  const path = /^https?:/i.test(scheme) ? rest.replace(/[?#].*$/s, "").replace(/^[^/]*@/s, "") : rest;
  return `${scheme.toLowerCase()}${path}`;
};

/** The server has no file at the URL. */
export class RemoteNotFound extends Error {
  readonly serverMessage: string | undefined;

  constructor(said: string | undefined) {
    super("not found");
    this.serverMessage = said;
  }
}
