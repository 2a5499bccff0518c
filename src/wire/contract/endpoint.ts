/** Describes endpoints of the service. */
import type { ReplyReader } from "./replies.ts";

/** By default, `log` and `base` have the same URL. */
export type EndpointHost = "base" | "inference" | "log";

export const urlSettingName = (host: EndpointHost) => (host === "base" ? "base_url" : (`${host}_base_url` as const));

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

type PathName<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathName<Rest>
  : never;

/** The values of the names in braces. */
export type PathValues<Path extends string> = Readonly<Record<PathName<Path>, string>>;

/** An operation of the service (interface 4). */
export type Endpoint<Path extends string = string, Body = never, Reply = unknown> = Readonly<{
  name: string;
  method: "GET" | "POST";
  host: EndpointHost;
  path: Path;
  /** Undefined for public operations. */
  use?: CredentialUse;
  repeatable: boolean;
  /** Returns the JSON value of a request; undefined for a request without a body. */
  toJson?: (body: Body) => unknown;
  reply: ReplyReader<Reply>;
}>;

export const endpoint = <const Path extends string, Body, Reply>(value: Endpoint<Path, Body, Reply>) => value;

/** Encodes each value as one path segment, because model ids can contain `/`. */
export const fillPath = (path: string, values: Readonly<Record<string, string>>) =>
  path.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ""));

/** Logs trajectories (interface 4.1). */
export const logTrajectories = endpoint({
  name: "log trajectories",
  method: "POST",
  host: "log",
  path: "/v1/preview/models/{model_id}/log",
  use: "log",
  repeatable: false,
  // Assumed: with a success status, any body is valid.
  reply: () => ({ value: undefined }),
});
