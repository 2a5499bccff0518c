/** Failures of opening and reading inputs. */
import { Failure, type FailureDetails } from "../failure.ts";
import { formatRoundedSize } from "../sentences.ts";

export const inputMissing = (): Failure => {
  const message = "there is nothing to read: no file is named, and standard input is a terminal";
  return new Failure("usage", "input-missing", message, {
    hint: "name a file with a group or a trajectory on each line, or - for standard input",
  });
};

export const duplicateStdin = (): Failure =>
  new Failure("usage", "duplicate-stdin", "standard input is named twice, and can be read once", {
    hint: "name - once",
  });

export const inputChanged = (file: string, about: FailureDetails = {}): Failure =>
  new Failure("invalid_input", "input-changed", `${file} changed while rollcall read it`, {
    hint: "run the same command again once nothing writes to it any more",
    subject: file,
    retryable: true,
    ...about,
  });

/** What could be opened can't be read. */
export const inputUnreadable = (file: string, code: string, about: FailureDetails): Failure =>
  new Failure("invalid_input", "input-unreadable", `${file} can't be read to its end (${code})`, {
    hint: "the same command again goes on once it can be read; or copy it to another disk",
    retryable: true,
    ...about,
  });

/** Standard input, or what was unpacked, can't be kept in a folder. */
export const spoolFailed = (folder: string, code: string, about: FailureDetails = {}): Failure =>
  new Failure("storage", "spool-failed", `the input can't be kept in ${folder} while it is checked (${code})`, {
    hint: "TMPDIR names another folder; an uncompressed file of rollcall's own shape, on a disk of this machine, needs none",
    ...about,
  });

/** Why an input's address can't be read. */
type UrlFault = "malformed" | "user" | "http" | "s3" | "gs" | "dataset" | "endpoint";

export const invalidRemoteUrl = (name: string, fault: UrlFault): Failure => {
  const bucket = `${name} is a bucket's address, which rollcall does not read`;
  const [message, hint] = {
    malformed: [`${name} is no address that a file can stand at`, "https://host/path or hf://datasets/owner/name/path"],
    user: [
      `the address of ${name} holds a user or a password`,
      "take it out: others can see a command line; what curl gets with a netrc file can be piped into standard input",
    ],
    http: [
      `${name} is plain http: whoever is in between could change it`,
      "use https://, or --insecure-http where that is meant",
    ],
    s3: [bucket, `pipe it from the bucket's own client: ${pipeCommand("aws s3 cp", name, " -")}`],
    gs: [bucket, `pipe it from the bucket's own client: ${pipeCommand("gcloud storage cat", name)}`],
    dataset: [
      `${name} names no file of a dataset`,
      "hf://datasets/owner/name/path, or owner/name@revision; one that ends in / is a folder",
    ],
    endpoint: [
      `the endpoint ${name} can't be used: it is no address, or plain http`,
      "HF_ENDPOINT holds an https:// address; --insecure-http where http is meant",
    ],
  }[fault];
  return new Failure("usage", "invalid-remote-url", message ?? name, { hint });
};

/** A pipe that reads a bucket's file with the bucket's own client. */
const pipeCommand = (client: string, name: string, end = ""): string => {
  const address = /^\w+:\/\/[\w./-]+$/.test(name) && !name.endsWith("/") ? name : `${name.slice(0, 5)}bucket/key`;
  return `${client} ${address}${end} | rollcall log <model-id> --split train`;
};

/** What an input's address is of: any server, or the Hub. */
export type RemoteStore = "web" | "hub";

const formatServerMessage = ({ http }: FailureDetails): string => (http?.said === undefined ? "" : `: ${http.said}`);

/** What an input's server answers with 401 or 403. @param from where the credential came from, if one was sent */
export const remoteRefused = (
  { name, status, store, from }: { name: string; status: number; store: RemoteStore; from: string | undefined },
  about: FailureDetails,
): Failure => {
  const credential = from === undefined ? ", and no credential went along" : ` to the credential from ${from}`;
  return new Failure(
    "auth",
    "remote-refused",
    `${name} is not given out${credential} (${status})${formatServerMessage(about)}`,
    {
      hint:
        store === "web"
          ? "give a signed address; or pipe the file into standard input: curl … | rollcall … -"
          : "HF_TOKEN is a token that may read it; a dataset that is not there is answered in the same way",
      ...about,
    },
  );
};

/** @param askedMs how long the server asked to wait, if it did */
export const remoteUnavailable = (
  { name, status, askedMs, tries }: { name: string; status: number; askedMs: number | undefined; tries: number },
  about: FailureDetails,
): Failure => {
  const message = `the server of ${name} answered ${status}${tries > 1 ? `, ${tries} times` : ""}${formatServerMessage(about)}`;
  return new Failure("unavailable", "remote-unavailable", message, {
    hint:
      askedMs === undefined
        ? "the same command again is safe; --max-wait says how long is waited"
        : `it asks to wait ${Math.round(askedMs / 1000)} s: try again then, or give a longer --max-wait`,
    ...about,
  });
};

/** An answer that is neither the file nor a reason. @param to where it redirects to, if nothing is followed there */
export const remoteUnexpectedStatus = (
  { name, status, to }: { name: string; status: number; to: string | undefined },
  about: FailureDetails,
): Failure => {
  const message =
    to === undefined
      ? `the server of ${name} answered ${status}${formatServerMessage(about)}`
      : `${name} leads to ${to}, which is plain http`;
  return new Failure("refused", "remote-unexpected-status", message, {
    hint: "look whether a browser or curl gets the file there; it can be piped into standard input too",
    ...about,
  });
};

/** An input was cut off, and its server gives nothing that tells the rest from that of another file. */
export const remoteTruncated = (name: string, bytes: number, cause: unknown): Failure => {
  const message = `${name} was cut off after ${formatRoundedSize(bytes)}, and its server says neither an ETag nor a date to go on by`;
  return new Failure("unavailable", "remote-truncated", message, {
    hint: "the same command again reads it from its beginning; or save it first: curl -O",
    cause,
  });
};
