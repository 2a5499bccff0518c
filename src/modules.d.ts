/** Single files of undici load twice as fast as all of undici. undici's types lack iterable bodies. */
declare module "undici/lib/dispatcher/agent.js" {
  import type { Dispatcher, Agent as UndiciAgent } from "undici";
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

/** The script of `rollcall view`, bundled for a browser (build/page.ts). */
declare module "*?page" {
  const script: string;
  export default script;
}

/** The text of a file (build/raw.ts). */
declare module "*?raw" {
  const text: string;
  export default text;
}
