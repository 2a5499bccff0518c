/** What an endpoint of the service is: the value that both the client and the local service are built from. */
import type * as z from "zod/mini";
import type { ReplyReader } from "./replies.ts";

/** Which of the service's addresses an operation is sent to. `log` is `base` unless a setting says otherwise. */
export type EndpointHost = "base" | "inference" | "log";

/** How an operation authenticates (interface 5). */
export type AuthScheme = "bearer" | "basic" | "none";

/** Which credential an operation needs (interface 5). */
export type CredentialUse = "log" | "inference" | "calls";

/** A credential for one use (interface 5). `from` says where it came from, without a secret. */
export type Credential =
  | { readonly scheme: "bearer"; readonly token: string; readonly from: string }
  | { readonly scheme: "basic"; readonly username: string; readonly password: string; readonly from: string };

/** A schema, for modules that only pass one on. */
export type Schema = z.ZodMiniType;

/** What a schema takes. */
export type SchemaInput<Of extends Schema> = z.input<Of>;

/** What a schema makes of it. */
export type SchemaOutput<Of extends Schema> = z.output<Of>;

/** One operation of the service (interface 4). */
export interface Endpoint<Parameters extends Schema = Schema, Body extends Schema = Schema, Reply = unknown> {
  readonly name: string;
  readonly method: "GET" | "POST";
  readonly host: EndpointHost;
  /** Path below the address, with parameters in braces. Each parameter fills one segment. */
  readonly path: `/${string}`;
  readonly auth: AuthScheme;
  /** Undefined if `auth` is `none`. */
  readonly use: CredentialUse | undefined;
  /** True if the optional project header is sent (interface 4.2). */
  readonly projectHeader: boolean;
  /** True if the interface names `Content-Type: application/json` among the headers, also without a body. */
  readonly jsonContentType: boolean;
  /** True if sending it twice does the same as sending it once. */
  readonly repeatable: boolean;
  readonly parameters: Parameters;
  /** `z.undefined()` if there is none. */
  readonly body: Body;
  readonly reply: ReplyReader<Reply>;
}

/** Keeps the exact types of an endpoint value. */
export const endpoint = <P extends Schema, B extends Schema, R>(value: Endpoint<P, B, R>): Endpoint<P, B, R> => value;

/** Names of the parameters in an endpoint's path, in their order. */
export const parameterNames = (path: string): readonly string[] =>
  Array.from(path.matchAll(/\{([a-z_]+)\}/g), (match) => match[1] ?? "");

/** Fills a path. Each value becomes exactly one segment, percent-encoded: model ids contain `/`, spaces and `%`. */
export const fillPath = (path: string, values: Readonly<Record<string, string>>): string =>
  path.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ""));
