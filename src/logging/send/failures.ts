import { Failure, type FailureDetails } from "../../failure.ts";
import { explainUnwritable, getErrorCode } from "../../system/files.ts";
import { formatRoundedSize } from "../../text/units.ts";

export const fileNotFollowable = (file: string, found: "not-a-file" | "compressed" | "document") => {
  const why = {
    compressed: "it is compressed",
    document: "it is one JSON document, not lines",
    "not-a-file": "it is not a file",
  }[found];
  const hint = "run without --follow, or name the file that the training run writes";
  return new Failure("usage", "file-not-followable", `cannot follow ${file}: ${why}`, { hint });
};

export const requestTooLarge = (bytes: number, details: FailureDetails) => {
  const hint = "make the group smaller, or ask the operator for a larger limit";
  const message = `the service refused a request of ${formatRoundedSize(bytes)} with one group as too large (413)`;
  return new Failure("refused", "request-too-large", message, { hint, ...details });
};

const otherRejectsHint = "choose another file with --rejects";

export const rejectsExist = (file: string) =>
  new Failure(
    "usage",
    "rejects-exist",
    `${file} already exists. Either rollcall did not write the file, or it was changed after rollcall wrote it`,
    {
      hint: `move the file away, or ${otherRejectsHint}`,
    },
  );

export const rejectsUnwritable = (file: string, cause: unknown) => {
  const { reason, hint } = explainUnwritable(file, getErrorCode(cause), otherRejectsHint);
  return new Failure("storage", "rejects-unwritable", `cannot write ${file}: ${reason}`, { hint, cause });
};
