import { Failure, type FailureLocation } from "../failure.ts";
import { describeSystemCode, formatInputName } from "../text/sentences.ts";

type FileFault = Readonly<{ file: string; code: string; cause?: unknown }>;

export const catalogFileUnreadable = ({ file, code, cause }: FileFault) => {
  const message = `cannot read ${formatInputName(file)}: ${describeSystemCode(code)}`;
  const hint = `check the name of the file, or ${catalogHint}`;
  return new Failure("invalid_input", "catalog-file-unreadable", message, { hint, where: { file }, cause });
};

export const invalidCatalogFile = (file: string, reason: string, where: FailureLocation = { file }) => {
  const message = `${formatInputName(file)} is not a catalog: ${reason}`;
  return new Failure("invalid_input", "invalid-catalog-file", message, { hint: catalogHint, where });
};

const catalogHint = "write a catalog to a file: `rollcall catalog router --json > router.json`";
