/** The settings in force in one run, as the other rooms see them. */

import type { Credential, CredentialUse, EndpointHost } from "../contract/endpoint.ts";
import type { DatabasePlace } from "../database/index.ts";
import type { Problem } from "../failure.ts";
import type { Host } from "../host.ts";
import type { SettingName, SettingValues } from "./values.ts";

/** Options of the command line that are settings or choose them, as typed. */
export type SettingFlags = {
  readonly profile?: string | undefined;
  readonly local?: boolean | undefined;
  /** The data folder, which is no setting. */
  readonly data_dir?: string | undefined;
  /** Where the local service's store is, which is none either. */
  readonly store?: string | undefined;
} & { readonly [Name in SettingName]?: string | boolean | undefined };

/** Where a value in force came from. */
export type SettingSource = "command line" | "environment" | "profile" | "default";

/** What settings are read from, and whom to tell what is found on the way. */
export interface SettingsSources {
  readonly host: Host;
  readonly flags: SettingFlags;
  /** Told every secret as soon as it is known, so that none is ever printed. */
  readonly hide: (secret: string) => void;
  /** Told what a person should know of how settings were chosen; each sentence once. */
  readonly notice: (sentence: string) => void;
  /** Told of files that others can read. */
  readonly warn: (problem: Problem) => void;
  /** What settings are where nobody said, in place of their own defaults. */
  readonly defaults?: { readonly [Name in SettingName]?: string } | undefined;
  /** Whether a profile that nothing is saved for yet will do, as for a login. */
  readonly newProfile?: boolean;
}

/** What the local service of a run is opened with. */
export interface ServiceSettings {
  readonly dataDir: string;
  /** Where its store is; undefined for the file of the data folder. */
  readonly store: DatabasePlace | undefined;
  /** `team/project` that calls are recorded in. */
  readonly project: string;
  /** `ROLLCALL_LOCAL_KEY`, which overrides the key kept in the data folder. */
  readonly key: string | undefined;
  readonly allowHosts: readonly string[];
  readonly maxBodyBytes: number;
}

/** Which credential would go with requests of a use, without anything of it. */
export interface CredentialSource {
  /** `command`: one would be asked; `elsewhere`: the saved one belongs to another origin. */
  readonly state: "ready" | "command" | "elsewhere" | "missing";
  /** Where it comes from, in words; undefined where there is none. */
  readonly from: string | undefined;
  /** The user name of call reads. */
  readonly username: string | undefined;
  /** The origin that a saved one belongs to. */
  readonly boundTo: string | undefined;
}

/** The settings of one run. */
export interface Settings {
  readonly profile: string;
  /** Whether everything goes to the service inside this process. */
  readonly local: boolean;
  /** Where rollcall keeps its files; undefined where there is no place for them. @throws Failure `place-foreign` */
  dataFolder(): string | undefined;
  /** Where the ledger is that was typed, or else the one in force; undefined where there is no place for one. @throws Failure `database-address` */
  readonly ledgerPlace: (typed?: string) => DatabasePlace | undefined;
  /** Where the local service's store is; undefined for the file of its data folder. @throws Failure `database-address` */
  readonly storePlace: () => DatabasePlace | undefined;
  /** The value in force; undefined where none is set and there is no default. @throws Failure `setting-wrong` */
  get<Name extends SettingName>(name: Name): SettingValues[Name] | undefined;
  /** Where the value in force came from; undefined where there is none. */
  source(name: SettingName): SettingSource | undefined;
  /** @throws Failure `setting-missing`, which says how to set it, `setting-wrong` */
  require<Name extends SettingName>(name: Name): SettingValues[Name];
  /** The address of a host of the contract, without a trailing slash or a doubled `/v1`. @throws Failure `setting-missing`, `setting-wrong` */
  address(host: EndpointHost): string;
  /**
   * The credential for a use at an origin. `refused` asks a `credential_command` once more after a 401; a credential
   * from elsewhere is then the same object as before.
   * @throws Failure `auth` where there is none, or a saved one belongs to another origin; `usage` where one can't be used
   */
  credential(use: CredentialUse, about: { readonly origin: string; readonly refused: boolean }): Promise<Credential>;
  /** What `credential` would give. Runs no command. @throws Failure `usage` where one can't be used */
  credentialSource(use: CredentialUse, origin: string): Promise<CredentialSource>;
  /** What the local service is opened with. @throws Failure `place-foreign`, `place-missing` where there is no place for its data */
  service(): ServiceSettings;
}
