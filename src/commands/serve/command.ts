/** `rollcall serve`: the local service in the foreground, and the keys of people for it. */
import { choice, choices, command, port, required, several, text, type Values, withDefault } from "../../cli/index.ts";

const place = {
  "data-dir": text("the folder of its key, its catalogs and its store", "dir"),
  store: text("where it keeps what is logged: a file, or postgres://…", "place"),
};

const options = {
  host: withDefault(text("the address to listen on", "address"), "127.0.0.1"),
  port: port("8700"),
  ...place,
  "allow-host": several("a name beside loopback that it goes by; may be given again", "name"),
  "max-body-size": text("the largest request that it takes, such as 64MiB", "size"),
  log: withDefault(choice("what is said of requests: text or json", ["text", "json"], "form"), "text"),
};

const keyOptions = {
  // What everywhere else is one project of the run may be several of a key.
  project: several("a project that it is for; may be given again", "team/project"),
  use: choices(
    "a use that it is for: log, inference or calls; may be given again",
    ["log", "inference", "calls"],
    "use",
  ),
};

/** What was typed for `serve`, and for the verbs of `serve keys`. */
export type TypedServe = Values<typeof options>;
export type TypedPlace = Values<typeof place>;
export type TypedKey = Values<typeof keyOptions> & TypedPlace & { readonly name: string };

const verbs = () => import("./keys.ts");

/** `serve`, and the verbs of `serve keys`. */
export const serve = command({
  words: "serve",
  summary: "run the local service in the foreground",
  about: "run the local service in the foreground; what is logged to it is kept on disk",
  options,
  examples: ["rollcall serve", "rollcall serve --port 0 --data-dir ./service"],
  run: async (context, typed) => await (await import("./run.ts")).serve(context, typed),
  verbs: [
    command({
      words: "serve keys",
      about: "the keys of people, kept in the store as digests",
      above: place,
      examples: ["rollcall serve keys list", "rollcall serve keys add ann --project research/kimi"],
      verbs: [
        command({
          words: "serve keys add",
          about: "make a key, for the projects of --project and the uses of --use, or for all; it is printed this once",
          args: { name: required(text("whose key it is")) },
          options: keyOptions,
          above: place,
          examples: ["rollcall serve keys add ann", "rollcall serve keys add ci --project research/kimi --use log"],
          run: async (context, typed) => await (await verbs()).addKey(context, typed),
        }),
        command({
          words: "serve keys list",
          about: "the keys, what each is for, and which were revoked",
          above: place,
          examples: ["rollcall serve keys list", "rollcall serve keys list --json"],
          run: async (context, typed) => await (await verbs()).listKeys(context, typed),
        }),
        command({
          words: "serve keys revoke",
          about: "refuse a key from now on, on every service of the store",
          args: { name: required(text("whose key")) },
          above: place,
          examples: ["rollcall serve keys revoke ann"],
          run: async (context, typed) => await (await verbs()).revokeKey(context, typed.name, typed),
        }),
      ],
    }),
  ],
});
