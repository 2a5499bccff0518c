/** Describes endpoints of the service. */
import type * as z from "zod/mini";
import type { ReplyReader } from "./replies.ts";

/** By default, `log` and `base` have the same URL. */
export type EndpointHost = "base" | "inference" | "log";

/** The authentication is Basic for `calls` and Bearer for other uses (interface 5). */
export type CredentialUse = "log" | "inference" | "calls";

export type Credential = Readonly<{
  secret: string;
  /** The source of the secret, such as an environment variable. */
  from: string;
  /** The profile with the key, or with the command that prints the key. */
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

/** Encodes each value as one path segment, because model ids can contain `/`. */
export const fillPath = (path: string, values: Readonly<Record<string, string>>) =>
  path.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ""));
