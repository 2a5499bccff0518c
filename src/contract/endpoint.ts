/** Describes endpoints of the service. */
import type * as z from "zod/mini";
import type { ReplyReader } from "./replies.ts";

/** `log` has the URL of `base` by default. */
export type EndpointHost = "base" | "inference" | "log";

/** The authentication is Basic for `calls`, otherwise Bearer (interface 5). */
export type CredentialUse = "log" | "inference" | "calls";

export type Credential = Readonly<{
  secret: string;
  /** The source of the secret, such as a variable. */
  from: string;
  /** The profile that has the key or the command for the key. */
  profile?: string | undefined;
  /** The user name for call reads (interface 5). Default: `api`. */
  username?: string | undefined;
}>;

export type Schema = z.ZodMiniType;
export type SchemaInput<Of extends Schema> = z.input<Of>;
export type SchemaOutput<Of extends Schema> = z.output<Of>;

/** An operation of the service (interface 4). */
export type Endpoint<Parameters extends Schema = Schema, Body extends Schema = Schema, Reply = unknown> = Readonly<{
  name: string;
  method: "GET" | "POST";
  host: EndpointHost;
  path: `/${string}`;
  /** Undefined for public operations. */
  use?: CredentialUse;
  repeatable: boolean;
  parameters: Parameters;
  body: Body;
  reply: ReplyReader<Reply>;
}>;

export const endpoint = <P extends Schema, B extends Schema, R>(value: Endpoint<P, B, R>) => value;

/** Encodes each value as one segment, because model ids contain `/`, spaces and `%`. */
export const fillPath = (path: string, values: Readonly<Record<string, string>>) =>
  path.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ""));
