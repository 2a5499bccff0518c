/** `rollcall serve`: the local service in the foreground. */
import { type Command, Option } from "commander";
import type { Start } from "../../context.ts";
import type { CredentialUse } from "../../contract/endpoint.ts";
import { examples, verbsIn } from "../help.ts";
import { takeFromAbove } from "../words.ts";
import type { TypedPlace } from "./keys.ts";
import type { TypedServe } from "./run.ts";

/** Declares `serve`. */
export const declareServe = (parent: Command, start: Start): void => {
  const command = parent
    .command("serve")
    .summary("run the local service in the foreground")
    .description("run the local service in the foreground; what is logged to it is kept on disk")
    .option("--host <address>", "the address to listen on", "127.0.0.1")
    .option("--port <number>", "the port to listen on; 0 is any free one", "8700")
    .option("--data-dir <dir>", "the folder of its key, its catalogs and its store")
    .option("--store <place>", "where it keeps what is logged: a file, or postgres://…")
    .option("--allow-host <name>", "a name beside loopback that it goes by; may be given again", also, [])
    .option("--max-body-size <size>", "the largest request that it takes, such as 64MiB")
    .addOption(
      new Option("--log <form>", "what is said of requests: text or json").choices(["text", "json"]).default("text"),
    )
    .action(async (typed: TypedServe, own: Command) => await (await import("./run.ts")).serve(start(own), typed));
  declareKeys(parent, command, start);
  examples(command, ["rollcall serve", "rollcall serve --port 0 --data-dir ./service"]);
};

const uses = ["log", "inference", "calls"] as const satisfies readonly CredentialUse[];

const declareKeys = (root: Command, serve: Command, start: Start): void => {
  const keys = serve.command("keys").description("the keys of people, kept in the store as digests");
  takeFromAbove(keys, ["--data-dir", "--store"]);
  examples(keys, ["rollcall serve keys list", "rollcall serve keys add ann --project research/kimi"]);
  // What everywhere else is one project of the run may be several of a key: they come where all look for it.
  const projects: string[] = [];
  root.on("option:project", (project: string) => projects.push(project));
  const project = new Option("--project <team/project>", "a project that it is for; may be given again");
  const verb = verbsIn(keys);
  verb("add", "make a key, for the projects of --project and the uses of --use, or for all; it is printed this once", [
    "rollcall serve keys add ann",
    "rollcall serve keys add ci --project research/kimi --use log",
  ])
    .argument("<name>", "whose key it is")
    .addOption(project.argParser(also).default([]))
    .addOption(
      new Option("--use <use>", "a use that it is for: log, inference or calls; may be given again")
        .choices(uses)
        .argParser(also)
        .default([]),
    )
    .action(
      async (name: string, { use }: { readonly use: readonly CredentialUse[] }, own: Command) =>
        await (await verbs()).addKey(
          start(own),
          { name, uses: use.length === 0 ? uses : use, projects },
          own.optsWithGlobals<TypedPlace>(),
        ),
    );
  verb("list", "the keys, what each is for, and which were revoked", [
    "rollcall serve keys list",
    "rollcall serve keys list --json",
  ]).action(
    async (_: unknown, own: Command) => await (await verbs()).listKeys(start(own), own.optsWithGlobals<TypedPlace>()),
  );
  verb("revoke", "refuse a key from now on, on every service of the store", ["rollcall serve keys revoke ann"])
    .argument("<name>", "whose key")
    .action(
      async (name: string, _: unknown, own: Command) =>
        await (await verbs()).revokeKey(start(own), name, own.optsWithGlobals<TypedPlace>()),
    );
};

const verbs = () => import("./keys.ts");

const also = (name: string, before: readonly string[]): readonly string[] => [...before, name];
