/** Looks at a store without opening it for a service: what is in it, and what tells it from others. */
import type { RemoteOptions } from "../../database/index.ts";
import { isDatabaseAddress } from "../../files.ts";
import type { ExaminedStore } from "./file-store.ts";
import { type StorePlace, storePath, storeTitle } from "./store.ts";

type Asking = Pick<RemoteOptions, "host">;

/** Looks at a store without changing it; undefined where there is none. Of a database, only whether it answers. @throws as `openStore` */
export const examineStore = async (
  place: StorePlace,
  asking: Asking,
): Promise<ExaminedStore | { readonly path: string; readonly isRemote: true } | undefined> => {
  const path = storePath(place);
  if (!isDatabaseAddress(path)) return (await import("./file-store.ts")).examineFileStore(path);
  return (await remoteIdentity(place, asking)) === undefined ? undefined : { path, isRemote: true };
};

/** What tells a store from others; undefined where there is none. @throws as `openStore` */
export const storeIdentity = async (place: StorePlace, asking: Asking): Promise<string | undefined> => {
  const path = storePath(place);
  if (!isDatabaseAddress(path)) return (await import("./file-store.ts")).fileStoreIdentity(path);
  return await remoteIdentity(place, asking);
};

const remoteIdentity = async (place: StorePlace, { host }: Asking): Promise<string | undefined> => {
  const { postgresStoreIdentity } = await import("./postgres-store.ts");
  return await postgresStoreIdentity({
    path: storePath(place),
    title: storeTitle,
    password: place.store?.password,
    passwordCommand: place.store?.passwordCommand,
    host,
    // Who looks can look again.
    maxWaitMs: 0,
    onAway: () => undefined,
  });
};
