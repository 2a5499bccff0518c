import { Failure, type FailureDetails } from "../../failure.ts";
import { describeSystemCode } from "../../text/sentences.ts";
import type { DownloadReply } from "../../wire/client/download.ts";
import type { Problems } from "../rules/problems.ts";
import type { RuleData, RuleName } from "../rules/rules.ts";

export class UnusableInput<Name extends RuleName = RuleName> extends Error {
  readonly rule: Name;
  readonly data: RuleData<Name>;

  constructor(rule: Name, data: RuleData<Name>, message?: string, cause?: unknown) {
    super(message, { cause });
    this.rule = rule;
    this.data = data;
  }

  report(problems: Problems, file: string): void {
    problems.report(this.rule, this.data, { file });
  }
}

/** @param wrong the defect; `more` means that other data follows the compressed data */
export const corruptData = (by: "gzip" | "zstd", wrong: RuleData<"gzip-corrupt">["wrong"], cause?: unknown) =>
  new UnusableInput(`${by}-corrupt`, { wrong }, `invalid ${by} data`, cause);

export const decompressedTooLarge = (
  limit: number,
  maxUnpackedBytes: number,
  kind: RuleData<"decompressed-too-large">["kind"],
) => {
  const data = { limit, kind, isSetting: limit === maxUnpackedBytes };
  return new UnusableInput("decompressed-too-large", data, `it decompresses to more than ${limit} bytes`);
};

export const inputMissing = () =>
  new Failure("usage", "input-missing", "no file is named, and standard input is a terminal", {
    hint: "name a file, or pipe one into standard input",
  });

export const duplicateStdin = () =>
  new Failure("usage", "duplicate-stdin", "- is given twice, but standard input can be read only once", {
    hint: "pass - only once",
  });

export const invalidRewards = (fault: string, hint?: string) =>
  new Failure("usage", "invalid-option-value", fault, { hint });

export const inputUnreadable = (file: string, code: string, details: FailureDetails) =>
  new Failure("invalid_input", "input-unreadable", `read error in ${file} (${code})`, {
    hint: "copy the file to another disk and rerun the command",
    retryable: true,
    ...details,
  });

export const spoolFailed = (folder: string, code: string, details: FailureDetails = {}) =>
  new Failure("storage", "spool-failed", `cannot write temporary data to ${folder}: ${describeSystemCode(code)}`, {
    hint: `set TMPDIR to a folder ${/^E(?:NOSPC|DQUOT|FBIG)$/.test(code) ? "with more space" : "that you can write to"}, or read an uncompressed local file in rollcall's format`,
    ...details,
  });

type UrlFault = "malformed" | "user" | "http" | "bucket" | "dataset" | "endpoint";

export const invalidRemoteUrl = (name: string, fault: UrlFault) => {
  const [message = name, hint] = {
    malformed: [`cannot read ${name} as a URL`, "use https://host/path or hf://datasets/owner/name/path"],
    user: [
      `the URL of ${name} contains a user name or password, which other users of this machine can see`,
      "remove the user and password from the URL, and let curl read them from a netrc file: curl -n … | rollcall … -",
    ],
    http: [
      `${name} is plain http, so others on the network could change the file`,
      "use https://, or pass --insecure-http to read it anyway",
    ],
    bucket: [
      `cannot read ${name}: rollcall cannot download from buckets`,
      "download the file first: aws s3 cp <url> <file>, or gcloud storage cp <url> <file>",
    ],
    dataset: [
      `${name} does not name a file of a dataset`,
      "use hf://datasets/owner/name/path or hf://datasets/owner/name@revision/path, with / at the end for a folder",
    ],
    endpoint: [
      `invalid HF_ENDPOINT ${name}: expected an https:// URL`,
      "set HF_ENDPOINT to an https:// URL, or pass --insecure-http for http://",
    ],
  }[fault];
  return new Failure("usage", "invalid-remote-url", message, { hint });
};

export type RemoteLocation = Readonly<{
  name: string;
  store: "web" | "hub";
  credentialSource: string | undefined;
  url: URL;
  /** The credential for the origin of `url`. */
  headers: readonly (readonly [name: string, value: string])[];
}>;

const pipeHint = "pipe the file into standard input: curl … | rollcall … -";

export const remoteFailure = (location: RemoteLocation, reply: DownloadReply, said?: string) => {
  const { name, store, credentialSource } = location;
  const { status } = reply;
  const details = { http: { method: "GET", url: name, status, said }, where: { file: name } };
  const suffix = said ? `: ${said}` : "";
  if (status === 401 || status === 403) {
    const sent = credentialSource ? `the credential from ${credentialSource}` : "no credential";
    const hint =
      store === "web"
        ? `use a signed URL, or ${pipeHint}`
        : "set HF_TOKEN to a token that can read the dataset (the server gives the same answer if the dataset does not exist)";
    const message = `the server refused access to ${name} (${status}; rollcall sent ${sent})${suffix}`;
    return new Failure("auth", "remote-refused", message, { hint, ...details });
  }
  const answer = `the server of ${name} answered ${status}${suffix}`;
  if (status === 408 || status === 429 || status >= 500) {
    const hint = "try again later, or allow longer retries with --max-wait";
    return new Failure("unavailable", "remote-unavailable", answer, { hint, ...details });
  }
  return remoteUnexpectedStatus(answer, details);
};

const remoteUnexpectedStatus = (message: string, details: FailureDetails) =>
  new Failure("refused", "remote-unexpected-status", message, {
    hint: `check the URL in a browser, or ${pipeHint}`,
    ...details,
  });

export const unsafeRedirect = (name: string, status: number, { protocol, host, pathname }: URL) =>
  remoteUnexpectedStatus(`${name} redirects to ${protocol}//${host}${pathname}, which is not https`, {
    http: { method: "GET", url: name, status },
    where: { file: name },
  });
