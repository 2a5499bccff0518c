/** Who asks an S3 store, where it is and in which region: from the variables and files that AWS's own tools read. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../../failure.ts";
import { codeOf } from "../../files.ts";
import type { Host } from "../../host.ts";

/** A key that requests are signed with. */
interface AwsKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
  /** Where it was found, for people. */
  readonly from: string;
}

/** How an S3 store is asked. */
export interface AwsSettings {
  /** Undefined where there is none: a bucket may be open to all. */
  readonly key: AwsKey | undefined;
  readonly region: string;
  /** Address of a store that is not Amazon's. */
  readonly endpoint: string | undefined;
}

type Values = ReadonlyMap<string, string>;

/** @throws Failure `aws-profile-unusable`, `input-unreadable` */
export const awsSettings = ({ env, platform }: Pick<Host, "env" | "platform">): AwsSettings => {
  const home = (platform === "win32" ? env.USERPROFILE : env.HOME) ?? "";
  const named = textOf(env.AWS_PROFILE) ?? textOf(env.AWS_DEFAULT_PROFILE);
  const name = named ?? "default";
  const credentials = sectionsIn(env.AWS_SHARED_CREDENTIALS_FILE, home, "credentials").get(name);
  const config = sectionsIn(env.AWS_CONFIG_FILE, home, "config").get(name === "default" ? name : `profile ${name}`);
  const own = keyIn(env);
  if (own === undefined && named !== undefined && credentials === undefined && config === undefined) {
    throw new Failure("aws-profile-unusable", { profile: name, by: undefined });
  }
  const profile: Values = new Map([...(config ?? []), ...(credentials ?? [])]);
  return {
    key: own ?? keyOf(profile, name),
    region: textOf(env.AWS_REGION) ?? textOf(env.AWS_DEFAULT_REGION) ?? profile.get("region") ?? "us-east-1",
    endpoint: textOf(env.AWS_ENDPOINT_URL_S3) ?? textOf(env.AWS_ENDPOINT_URL) ?? profile.get("endpoint_url"),
  };
};

const textOf = (value: string | undefined): string | undefined => (value === "" ? undefined : value);

const keyIn = (env: Host["env"]): AwsKey | undefined => {
  const [accessKeyId, secretAccessKey] = [textOf(env.AWS_ACCESS_KEY_ID), textOf(env.AWS_SECRET_ACCESS_KEY)];
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined;
  return { accessKeyId, secretAccessKey, sessionToken: textOf(env.AWS_SESSION_TOKEN), from: "AWS_ACCESS_KEY_ID" };
};

/** What a profile may have in place of a key: AWS's own tools go on to ask somebody for one. */
const otherWays =
  /^(?:sso_|role_arn$|source_profile$|credential_process$|credential_source$|web_identity|login_session$)/;

const keyOf = (profile: Values, name: string): AwsKey | undefined => {
  const [accessKeyId, secretAccessKey] = [profile.get("aws_access_key_id"), profile.get("aws_secret_access_key")];
  if (accessKeyId !== undefined && secretAccessKey !== undefined) {
    return { accessKeyId, secretAccessKey, sessionToken: profile.get("aws_session_token"), from: `profile ${name}` };
  }
  const by = [...profile.keys()].find((key) => otherWays.test(key));
  if (by !== undefined) throw new Failure("aws-profile-unusable", { profile: name, by });
  return undefined;
};

/** The sections of a file, each with its values. What is indented belongs to a value above it, and none of it is read. */
const sectionsIn = (named: string | undefined, home: string, file: string): ReadonlyMap<string, Values> => {
  const path = textOf(named) ?? join(home, ".aws", file);
  const sections = new Map<string, Map<string, string>>();
  let section = new Map<string, string>();
  for (const line of home === "" && textOf(named) === undefined ? [] : linesOf(path)) {
    const [, head] = /^\s*\[\s*(.*?)\s*\]/.exec(line) ?? [];
    const [, key = "", value = ""] = /^([\w-]+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (head !== undefined) {
      section = sections.get(head) ?? new Map();
      sections.set(head, section);
    } else if (key !== "" && value !== "") section.set(key.toLowerCase(), value.replace(/\s+[#;].*$/, ""));
  }
  return sections;
};

const linesOf = (path: string): readonly string[] => {
  try {
    return readFileSync(path, "utf8").split(/\r?\n/);
  } catch (thrown) {
    const code = codeOf(thrown);
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw new Failure("input-unreadable", { file: path, code }, { cause: thrown });
  }
};
