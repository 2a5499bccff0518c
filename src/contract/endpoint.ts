/** What an endpoint of the service is: the value that both the client and the local service are built from. */
import * as z from "zod/mini";
import { Mistyped } from "./fields.ts";

/** Which of the service's addresses an operation is sent to. `log` is `base` unless a person says otherwise. */
export type EndpointHost = "base" | "inference" | "log";

/** How an operation authenticates (interface 5). */
export type AuthScheme = "bearer" | "basic" | "none";

/** Which credential goes with an operation (interface 5). */
export type CredentialUse = "log" | "inference" | "calls";

/** A credential for one use (interface 5), and where it came from, in words that hold no secret. */
export type Credential =
  | { readonly scheme: "bearer"; readonly token: string; readonly from: string }
  | { readonly scheme: "basic"; readonly username: string; readonly password: string; readonly from: string };

/** A schema, for the rooms that only hand one on. */
export type Schema = z.ZodMiniType;

/** What a schema takes. */
export type Given<Of extends Schema> = z.input<Of>;

/** What a schema makes of it. */
export type Checked<Of extends Schema> = z.output<Of>;

/** One operation of the service (interface 4). */
export interface Endpoint<
  Parameters extends Schema = Schema,
  Body extends Schema = Schema,
  Reply extends Schema = Schema,
> {
  /** Name of the operation, a noun and a verb. */
  readonly name: string;
  readonly method: "GET" | "POST";
  readonly host: EndpointHost;
  /** Path below the address, with parameters in braces; each parameter fills one segment. */
  readonly path: `/${string}`;
  readonly auth: AuthScheme;
  /** The credential that goes along; none where `auth` is `none`. */
  readonly use: CredentialUse | undefined;
  /** Whether the optional project header goes along (interface 4.2). */
  readonly projectHeader: boolean;
  /** Whether the interface names `Content-Type: application/json` among the headers, also without a body. */
  readonly jsonContentType: boolean;
  /** Whether sending it twice does the same as sending it once. */
  readonly repeatable: boolean;
  readonly parameters: Parameters;
  /** `z.undefined()` where there is none. */
  readonly body: Body;
  readonly reply: Reply;
  /** The member of the reply that is a list, so that it is read entry by entry (`entries.ts`). */
  readonly list?: string;
  /** Whether only the fields of what the reply holds are looked at, and nothing in them (`entries.ts`). */
  readonly outline?: true;
}

/** Keeps the exact schema types of an endpoint value. */
export const endpoint = <P extends Schema, B extends Schema, R extends Schema>(
  value: Endpoint<P, B, R>,
): Endpoint<P, B, R> => value;

/** Names of the parameters in an endpoint's path, in their order. */
export const parameterNames = (path: string): readonly string[] =>
  Array.from(path.matchAll(/\{([a-z_]+)\}/g), (match) => match[1] ?? "");

/** Fills a path; each value becomes exactly one segment, percent-encoded (model ids hold `/`, spaces and `%`). */
export const fillPath = (path: string, values: Readonly<Record<string, string>>): string =>
  path.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ""));

/** What a JSON Schema says of a field beside its type. */
interface FieldNote {
  readonly description?: string;
  /** Its name in the `$defs` of a document. */
  readonly id?: string;
  /** A number of which the interface says that it is whole. */
  readonly whole?: true;
}

/** What is noted of fields. */
export const fieldNotes = z.registry<FieldNote>();

// What a command starts with is made of schemas: those that say the same are one.
const anythingElse = z.pipe(
  z.unknown(),
  z.transform((value) => new Mistyped(value)),
);

/**
 * A field of a reply, read leniently: absent (`undefined`), `null`, of its type, or `Mistyped` with what came instead.
 * Only the reply's outer shape can fail.
 */
export const field = <Of extends Schema>(schema: Of, note?: FieldNote) => {
  const read = z.optional(z.union([z.nullable(schema), anythingElse]));
  if (note !== undefined) fieldNotes.add(read, note);
  return read;
};

const text = z.string();

/** A field that is a text. */
export const textField = field(text);

/** The same that says more of itself. */
export const notedText = (note: FieldNote) => field(text, note);
