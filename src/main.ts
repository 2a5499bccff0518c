/** What is started: the version is answered at once, everything else is a run. */

import { version } from "../package.json" with { type: "json" };

/** Runs rollcall. Resolves with the exit code; never throws and never ends the process itself. */
export const main = async (process: NodeJS.Process): Promise<number> => {
  if (isVersionRequest(process.argv.slice(2)) && (await tryWrite(process.stdout, `${version}\n`))) return 0;
  return await (await import("./run.ts")).run(process);
};

/** What scripts ask for most, alone: it is answered before anything else is loaded, in half of the time. */
const isVersionRequest = ([word, ...others]: readonly string[]): boolean =>
  others.length === 0 && (word === "--version" || word === "-V");

/** Writes a text. Whether that went well: if not, a run tries it again, and says what is wrong. */
const tryWrite = async (stream: NodeJS.WritableStream, text: string): Promise<boolean> =>
  await new Promise((resolve) => {
    // Without a listener, a broken pipe would end the process with a stack trace.
    stream.once("error", () => resolve(false));
    try {
      stream.write(text, (error) => resolve(!error));
    } catch {
      // Devices and files are written in place, and throw in place.
      resolve(false);
    }
  });
