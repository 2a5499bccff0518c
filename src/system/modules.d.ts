/** Declares untyped imports, such as single files of undici, which load faster than all of undici. */
declare module "undici/lib/dispatcher/agent.js" {
  import type { Dispatcher, Agent as UndiciAgent } from "undici";
  /** undici accepts iterable bodies, but its types do not. */
  export interface Request extends Omit<Dispatcher.DispatchOptions, "body"> {
    readonly body?: Uint8Array | AsyncIterable<Uint8Array> | undefined;
  }
  export default class Agent {
    constructor(options?: UndiciAgent.Options);
    dispatch(request: Request, handler: Dispatcher.DispatchHandler): boolean;
    destroy(): Promise<void>;
  }
}
declare module "undici/lib/dispatcher/proxy-agent.js" {
  import type { ProxyAgent as UndiciProxyAgent } from "undici";
  import Agent from "undici/lib/dispatcher/agent.js";
  export default class ProxyAgent extends Agent {
    constructor(options: UndiciProxyAgent.Options);
  }
}
declare module "undici/lib/dispatcher/pool.js" {
  export { Pool as default } from "undici";
}
declare module "undici/lib/core/connect.js" {
  export { buildConnector as default } from "undici";
}

/** build/page.ts bundles the browser's script for `rollcall view`. */
declare module "*?page" {
  const script: string;
  export default script;
}

/** build/raw.ts imports a file as text. */
declare module "*?raw" {
  const text: string;
  export default text;
}
