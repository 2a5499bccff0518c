/** Which names of inputs are addresses, and what they are called where people see them. */

/** Whether a name is an address; those of buckets are refused by name. */
export const isRemote = (name: string): boolean => /^(?:https?|s3|gs|hf):\/\//i.test(name);

/** An address without a user and a query, which may be secret: what its file is called. */
export const plainName = (name: string): string => {
  const [, scheme = "", rest = ""] = /^([a-z0-9]+:\/\/)(.*)$/is.exec(name) ?? [];
  const path = /^https?:/i.test(scheme) ? rest.replace(/[?#].*$/s, "").replace(/^[^/]*@/s, "") : rest;
  return `${scheme.toLowerCase()}${path}`;
};

/** There is nothing at an address. */
export class NothingThere extends Error {
  /** What the server says of it. */
  readonly said: string | undefined;

  constructor(said: string | undefined) {
    super("there is nothing at the address");
    this.said = said;
  }
}
