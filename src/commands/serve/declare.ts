/** `rollcall serve`: the local service in the foreground. */
import type { Command } from "commander";
import type { Start } from "../../context.ts";
import { examples } from "../help.ts";
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
    .action(async (typed: TypedServe, own: Command) => await (await import("./run.ts")).serve(start(own), typed));
  examples(command, ["rollcall serve", "rollcall serve --port 0 --data-dir ./service"]);
};

const also = (name: string, before: readonly string[]): readonly string[] => [...before, name];
