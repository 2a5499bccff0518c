/** Settings and credentials: command line > environment > profile > default, resolved once. */
import type { Credential, CredentialUse, EndpointHost } from "../contract/endpoint.ts";
import type { Host } from "../host.ts";

/** Options of the command line that are settings, as typed. */
export interface SettingFlags {
  readonly profile?: string;
  readonly local?: boolean;
  readonly base_url?: string;
  readonly inference_base_url?: string;
  readonly log_base_url?: string;
  readonly project?: string;
  readonly timeout?: string;
  readonly max_wait?: string;
  readonly insecure_http?: boolean;
  readonly split?: string;
  readonly max_request_size?: string;
}

/** Every setting (cli.md, "Settings and credentials"), with its type once resolved. Durations are milliseconds, sizes bytes. */
export interface SettingValues {
  readonly base_url: string;
  readonly inference_base_url: string;
  readonly log_base_url: string;
  readonly analysis_provider: string;
  readonly router_provider: string;
  readonly project: string;
  readonly vendor_prefix: string;
  readonly project_header: string;
  readonly account: string;
  readonly split: string;
  readonly batch: string;
  readonly max_request_size: number;
  readonly timeout: number;
  readonly max_wait: number;
  readonly idempotency: "auto" | "never";
  readonly insecure_http: boolean;
  readonly credential_command: string;
}

/** Name of a setting, as in the settings file and in `config set`. */
export type SettingName = keyof SettingValues;

/** Where a value in force came from. */
export type SettingSource = "command line" | "environment" | "profile" | "default";

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

/** The settings of one run. */
export interface Settings {
  readonly profile: string;
  /** Whether everything goes to the service inside this process. */
  readonly local: boolean;
  /** The value in force; undefined where none is set and there is no default. */
  get<Name extends SettingName>(name: Name): SettingValues[Name] | undefined;
  /** Where the value in force came from; undefined where there is none. */
  source(name: SettingName): SettingSource | undefined;
  /** @throws Failure `setting-missing`, which says how to set it */
  require<Name extends SettingName>(name: Name): SettingValues[Name];
  /** The address of a host of the contract, without a trailing slash or a doubled `/v1`. @throws Failure `setting-missing` */
  address(host: EndpointHost): string;
  /**
   * The credential for a use at an origin. `refused` asks a `credential_command` once more after a 401.
   * @throws Failure `auth` where there is none, or a saved one belongs to another origin
   */
  credential(use: CredentialUse, about: { readonly origin: string; readonly refused: boolean }): Promise<Credential>;
  /** What the local service is opened with. */
  readonly service: ServiceSettings;
}

/** Reads the settings in force. `hide` is told every secret as soon as it is known, so that none is ever printed. */
export const readSettings = async (_options: {
  readonly host: Host;
  readonly flags: SettingFlags;
  readonly hide: (secret: string) => void;
  readonly notice: (sentence: string) => void;
}): Promise<Settings> => {
  throw new Error("settings is being built");
};
