/** Describes endpoints of the service. */
import type * as z from "zod/mini";
import type { ReplyReader } from "./replies.ts";

/** `log` has the URL of `base` by default. */
export type EndpointHost = "base" | "inference" | "log";

/** Basic for `calls`, Bearer for the others (interface 5). */
export type CredentialUse = "log" | "inference" | "calls";

/** A key, or the password of call reads (interface 5). */
export type Credential = Readonly<{
  secret: string;
  /** Such as a variable. */
  from: string;
  /** The profile with the key or its command. */
  profile?: string | undefined;
  /** For call reads. Default: `api`. */
  username?: string | undefined;
}>;

export type Schema = z.ZodMiniType;
export type SchemaInput<Of extends Schema> = z.input<Of>;
export type SchemaOutput<Of extends Schema> = z.output<Of>;

/** Interface 4. */
export type Endpoint<Parameters extends Schema = Schema, Body extends Schema = Schema, Reply = unknown> = Readonly<{
  name: string;
  method: "GET" | "POST";
  host: EndpointHost;
  path: `/${string}`;
  /** Undefined for public operations. */
  use?: CredentialUse;
  repeatable: boolean;
  parameters: Parameters;
  /** `z.undefined()` if requests have no body. */
  body: Body;
  reply: ReplyReader<Reply>;
}>;

export const endpoint = <P extends Schema, B extends Schema, R>(value: Endpoint<P, B, R>) => value;

/** Each value becomes one segment, because model ids contain `/`, spaces and `%`. */
export const fillPath = (path: string, values: Readonly<Record<string, string>>) =>
  path.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ""));
