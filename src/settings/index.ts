/** Settings and credentials: command line > environment > profile > default, resolved once. */
import type { Credential, CredentialUse, EndpointHost } from "../contract/endpoint.ts";
import type { Host } from "../host.ts";
import type { SettingSource } from "./resolve.ts";
import type { SettingName, SettingValues } from "./values.ts";

export { readSettings } from "./read.ts";
export type { SettingSource } from "./resolve.ts";
export { type SettingName, type SettingValues, settingNames } from "./values.ts";

/** Options of the command line that are settings or choose them, as typed. */
export type SettingFlags = {
  readonly profile?: string | undefined;
  readonly local?: boolean | undefined;
} & { readonly [Name in SettingName]?: string | boolean | undefined };

/** What the local service of a run is opened with. */
export interface ServiceSettings {
  readonly dataDir: string;
  /** `team/project` that calls are recorded in. */
  readonly project: string;
  /** `ROLLCALL_LOCAL_KEY`, which overrides the key kept in the data folder. */
  readonly key: string | undefined;
  readonly allowHosts: readonly string[];
  readonly maxBodyBytes: number;
}

/** What settings are read from. */
export interface SettingsSources {
  readonly host: Host;
  readonly flags: SettingFlags;
  /** Told every secret as soon as it is known, so that none is ever printed. */
  readonly hide: (secret: string) => void;
  readonly notice: (sentence: string) => void;
}

/** The settings of one run. */
export interface Settings {
  readonly profile: string;
  /** Whether everything goes to the service inside this process. */
  readonly local: boolean;
  /** The value in force; undefined where none is set and there is no default. @throws Failure `setting-wrong` */
  get<Name extends SettingName>(name: Name): SettingValues[Name] | undefined;
  /** Where the value in force came from; undefined where there is none. */
  source(name: SettingName): SettingSource | undefined;
  /** @throws Failure `setting-missing`, which says how to set it, `setting-wrong` */
  require<Name extends SettingName>(name: Name): SettingValues[Name];
  /** The address of a host of the contract, without a trailing slash or a doubled `/v1`. @throws Failure `setting-missing`, `setting-wrong` */
  address(host: EndpointHost): string;
  /**
   * The credential for a use at an origin. `refused` asks a `credential_command` once more after a 401.
   * @throws Failure `auth` where there is none, or a saved one belongs to another origin; `usage` where one can't be used
   */
  credential(use: CredentialUse, about: { readonly origin: string; readonly refused: boolean }): Promise<Credential>;
  /** What the local service is opened with. @throws Failure `place-missing` where there is no place for its data */
  readonly service: ServiceSettings;
}
