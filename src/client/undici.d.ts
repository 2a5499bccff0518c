/** The part of undici that is loaded: its index would load fetch, caches and mocks with it, and takes twice as long. */
declare module "undici/lib/dispatcher/client.js" {
  import type { Client, Dispatcher } from "undici";

  type Options = Omit<Dispatcher.DispatchOptions, "body"> & {
    readonly body?: Uint8Array | AsyncIterable<Uint8Array> | null;
  };
  export default class OneClient extends Client {
    override dispatch(options: Options, handler: Dispatcher.DispatchHandler): boolean;
  }
}
