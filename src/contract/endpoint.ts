/** Describes endpoints of the service. The client and the local service use the same descriptions. */
import type * as z from "zod/mini";
import type { ReplyReader } from "./replies.ts";

/** By default, the URL of `log` is that of `base`. */
export type EndpointHost = "base" | "inference" | "log";

/** Basic for `calls`, Bearer for the others (interface 5). */
export type CredentialUse = "log" | "inference" | "calls";

/** A key, or the password of call reads (interface 5). */
export interface Credential {
  readonly secret: string;
  /** The source of the secret, such as a variable. */
  readonly from: string;
  /** The profile with the key or the command that prints the key; undefined if from the environment. */
  readonly profile?: string | undefined;
  /** The user name of call reads. Default: `api`. */
  readonly username?: string | undefined;
}

export type Schema = z.ZodMiniType;
export type SchemaInput<Of extends Schema> = z.input<Of>;
export type SchemaOutput<Of extends Schema> = z.output<Of>;

/** An operation (interface 4). */
export interface Endpoint<Parameters extends Schema = Schema, Body extends Schema = Schema, Reply = unknown> {
  readonly name: string;
  readonly method: "GET" | "POST";
  readonly host: EndpointHost;
  /** Each parameter in braces fills one segment. */
  readonly path: `/${string}`;
  /** If undefined, the operation is public. */
  readonly use?: CredentialUse;
  /** Interface 4.2. */
  readonly projectHeader?: true;
  /** True if the interface requires `Content-Type: application/json`, even without a body. */
  readonly jsonContentType?: true;
  readonly repeatable: boolean;
  readonly parameters: Parameters;
  /** `z.undefined()` if requests have no body. */
  readonly body: Body;
  readonly reply: ReplyReader<Reply>;
}

export const endpoint = <P extends Schema, B extends Schema, R>(value: Endpoint<P, B, R>): Endpoint<P, B, R> => value;

/** Each value becomes one percent-encoded segment, because model ids contain `/`, spaces and `%`. */
export const fillPath = (path: string, values: Readonly<Record<string, string>>): string =>
  path.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ""));
