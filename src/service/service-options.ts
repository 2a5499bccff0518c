/** Defines the options of the local service. */
import type { Problem } from "../failure.ts";
import type { Host } from "../system/host.ts";
import type { StoreLocation } from "./store/store.ts";

export type ServiceOptions = StoreLocation &
  Readonly<{
    host: Host;
    address: string;
    port: number;
    /** The project of logged calls, as `team/project`. */
    project: string;
    key: string | undefined;
    allowHosts: readonly string[];
    maxBodyBytes: number;
    warn: (problem: Problem) => void;
    trace: ((line: string) => void) | undefined;
  }>;
