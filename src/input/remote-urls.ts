/** Tells which names of inputs are addresses, and how messages name them. */

/** True if a name is an address. Those of buckets (`s3:`, `gs:`) are refused by name. */
export const isRemote = (name: string): boolean => /^(?:https?|s3|gs|hf):\/\//i.test(name);

/** Returns an address without its user and query, which can be secret. */
export const plainUrl = (name: string): string => {
  const [, scheme = "", rest = ""] = /^([a-z0-9]+:\/\/)(.*)$/is.exec(name) ?? [];
  const path = /^https?:/i.test(scheme) ? rest.replace(/[?#].*$/s, "").replace(/^[^/]*@/s, "") : rest;
  return `${scheme.toLowerCase()}${path}`;
};

/** There is no file at an address. */
export class RemoteNotFound extends Error {
  /** The server's message. */
  readonly serverMessage: string | undefined;

  constructor(said: string | undefined) {
    super("there is nothing at the address");
    this.serverMessage = said;
  }
}
