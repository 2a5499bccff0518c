/** Answers `--version` without loading other modules, and otherwise runs the command line. */

import { version } from "../package.json" with { type: "json" };

export const main = async (process: NodeJS.Process) => {
  const [word, ...others] = process.argv.slice(2);
  const isVersionRequest = others.length === 0 && (word === "--version" || word === "-V");
  if (isVersionRequest && (await tryWrite(process.stdout, `${version}\n`))) return 0;
  return await (await import("./run.ts")).run(process);
};

const tryWrite = (stream: NodeJS.WritableStream, text: string) =>
  new Promise((resolve) => {
    // Without a listener, a broken pipe would end the process.
    stream.once("error", () => resolve(false));
    try {
      stream.write(text, (error) => resolve(!error));
    } catch {
      // `write` throws the errors of files and devices.
      resolve(false);
    }
  });
