/** Reads a command's settings, and opens a client of the service. */

import type { Service } from "../service/open-service.ts";
import type { SettingFlags } from "../settings/layers.ts";
import { readSettings, type Settings } from "../settings/read.ts";
import { toOptionArgs } from "../text/sentences.ts";
import { formatSeconds } from "../text/units.ts";
import type { Retry } from "../wire/client/build-request.ts";
import type { Client } from "../wire/client/client.ts";
import { type Endpoint, fillPath, logTrajectories, type PathValues } from "../wire/contract/endpoint.ts";
import type { Context, GlobalFlags } from "./context.ts";

export const readEffectiveSettings = (context: Context, flags: SettingFlags = {}) =>
  readSettings({ ...context, flags: { ...context.flags, ...flags } });

export const toRequestOptions = ({ host, screen, flags }: Context, settings: Settings) => ({
  host,
  timeoutMs: settings.get("timeout"),
  maxWaitMs: settings.require("max_wait"),
  isMaxWaitSet: settings.source("max_wait") !== "default",
  waitsForHost: settings.source("max_wait") === "command line",
  insecureHttp: settings.require("insecure_http"),
  onRetry: (reason: string, retry: Retry) => screen.notice(`${reason}, ${formatRetry(retry)}`),
  trace: flags.debug ? screen.trace : undefined,
  clean: screen.cleaner.outside,
});

export const formatRetry = ({ attempt, waitMs, leftMs }: Retry) => {
  const format = (ms: number) => formatSeconds(ms, Math.ceil, ms < 10_000 ? 10 : 1);
  return `retrying in ${format(waitMs)} (attempt ${attempt}, ${format(waitMs + leftMs)} left)`;
};

export const openServiceClient = async (context: Context, settings: Settings): Promise<Client> => {
  const module = await import("../wire/client/client.ts");
  const local = settings.local ? await getLocalService(context, settings) : undefined;
  const project = settings.get("project");
  return context.closeAtEnd(
    new module.ServiceClient({
      ...toRequestOptions(context, settings),
      baseUrl: (host) => local?.url ?? settings.serviceUrl(host),
      credential: async (use, origin) =>
        local ? { secret: local.key, from: "the local service" } : await settings.credential(use, origin),
      project: project ? { header: settings.require("project_header"), value: project } : undefined,
      // A retry would not repair a service in this process.
      ...(local ? { maxWaitMs: Number.POSITIVE_INFINITY, retries: false, serviceError: local.lastError } : {}),
    }),
  );
};

/**
 * Checks all of a request that depends on neither input nor network, so that a failure costs no input: settings, URL,
 * plain http, proxy, path, project and, if the request will be sent, its credential.
 */
export const checkRequest = async <Path extends string>(
  context: Context,
  settings: Settings,
  endpoint: Endpoint<Path>,
  { parameters, isSent = true }: { parameters: PathValues<Path>; isSent?: boolean },
) => {
  // Throws for an invalid setting.
  toRequestOptions(context, settings);
  if (settings.local) return void (await settings.service());
  const client = await openServiceClient(context, settings);
  const { url } = client.describeRequest(endpoint, parameters);
  if (isSent && endpoint.use) await settings.credential(endpoint.use, new URL(url).origin);
};

const localServices = new WeakMap<Context, Promise<Service>>();

const getLocalService = async (context: Context, settings: Settings) => {
  const service = localServices.get(context) ?? openLocalService(context, settings);
  localServices.set(context, service);
  return await service;
};

const openLocalService = async (context: Context, settings: Settings) => {
  const { openService } = await import("../service/open-service.ts");
  const base = { address: "127.0.0.1", port: 0, allowHosts: [], warn: () => undefined, trace: undefined };
  const service = context.closeAtEnd(await openService({ ...(await settings.service()), ...base, host: context.host }));
  context.screen.hideSecret(service.key);
  return service;
};

export const hasNoLogUrl = (settings: Settings) =>
  !settings.local && !settings.get("log_base_url") && !settings.get("base_url");

export const resolveLogDestination = async (context: Context, settings: Settings, modelId: string) => {
  const openStore = async () => (await getLocalService(context, settings)).store;
  return (await createResolver(settings, openStore))(modelId);
};

export const createDestinationFilter = async ({ host }: Context, settings: Settings) => {
  const account = settings.require("account");
  const identifyStore = async () => {
    const { storeIdentity } = await import("../service/store/store.ts");
    return await storeIdentity(await settings.service(), { host });
  };
  const resolve = await createResolver(settings, identifyStore);
  return (logged: Readonly<Record<"destination" | "account" | "model", string>>) =>
    logged.account === account && logged.destination === resolve(logged.model);
};

const createResolver = async (settings: Settings, identifyStore: () => Promise<string | undefined>) => {
  if (settings.local) {
    const store = `store ${(await identifyStore()) ?? ""}`;
    return (_: string) => store;
  }
  const address = settings.serviceUrl(logTrajectories.host);
  return (model: string) => `${address}${fillPath(logTrajectories.path, { model_id: model })}`;
};

export const listServiceArgs = ({ local, profile, base_url, log_base_url, insecure_http }: GlobalFlags) =>
  toOptionArgs({ local, profile, base_url, log_base_url, insecure_http });
