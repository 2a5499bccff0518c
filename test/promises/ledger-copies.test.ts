/** Runs with copies of a ledger, and ledgers that other programs change or name. */
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
} from "node:fs";
import { describe, expect, it, type TestContext } from "vitest";
import { accept } from "../support/raw-server.ts";
import { canMount, oneEach, openThree, type Place } from "./place.ts";

const ends = ["", "-journal"];

const copyFiles = (place: Place, from: string, to: string, kept: readonly string[] = ends) => {
  mkdirSync(place.path(to));
  for (const end of kept)
    if (existsSync(place.path(`${from}/l.db${end}`)))
      copyFileSync(place.path(`${from}/l.db${end}`), place.path(`${to}/l.db${end}`));
};

/** Copies the files of a ledger when each request arrives, which is as if the run was killed then. */
const runWithCopies = async (context: TestContext) => {
  const opened = await openThree(context, { inFolder: true });
  const { service, place, file } = opened;
  mkdirSync(place.path("run"));
  service.mend(async (asked) => {
    copyFiles(place, "run", `at${service.requests()}`);
    await accept(asked);
  });
  expect((await place.log([file, ...oneEach, "--ledger", "run/l.db"])).code).toBe(0);
  copyFiles(place, "run", "at4");
  service.mend();
  return opened;
};

describe("a copy of the ledger that was made during a run", () => {
  it.for([ends, [""]])("has all requests that arrived (row %$)", async (kept, context) => {
    const { service, place, file } = await runWithCopies(context);
    for (const at of [1, 2, 3, 4]) {
      copyFiles(place, `at${at}`, `file${at}`, kept);
      const before = service.logged.length;
      const args = [file, ...oneEach, "--ledger", `file${at}/l.db`, "--require-ledger"];
      const { code, stderr } = await place.log(args);
      expect([at, code], stderr).toEqual([at, at === 4 ? 0 : 8]);
      expect(service.logged.slice(before).filter((group) => group <= at)).toEqual([]);
    }
    expect(readdirSync(place.path("run"))).toEqual(["l.db"]);
  });
});

const overwrite = (to: string, from: string) => execFileSync("sh", ["-c", 'cat "$1" > "$2"', "sh", from, to]);

/** Changes of a ledger. `old.db` is a copy from before the run, and `twin.db` is the ledger of an equal run. */
const harms: Readonly<Record<string, (place: Place, ledger: string) => void>> = {
  "is emptied": (_, ledger) => truncateSync(ledger),
  "is cut": (_, ledger) => truncateSync(ledger, 40_000),
  "is overwritten by an older copy": (place, ledger) => overwrite(ledger, place.path("old.db")),
  "is overwritten by another ledger": (place, ledger) => overwrite(ledger, place.path("twin.db")),
  "is overwritten by another file": (place, ledger) => overwrite(ledger, place.write("text", "x".repeat(100_000))),
  "is replaced by an older copy": (place, ledger) => {
    rmSync(ledger);
    copyFileSync(place.path("old.db"), ledger);
  },
  "is deleted": (_, ledger) => rmSync(ledger),
  "loses its lock": (place) => {
    for (const name of readdirSync(place.folder)) if (name.startsWith("l.db.lock-")) rmSync(place.path(name));
  },
};

describe.concurrent("a ledger that changes during a run", () => {
  it.for(
    Object.entries(harms).flatMap(([name, harm]) =>
      // After the last request, a run needs no lock.
      (name === "loses its lock" ? [1] : [1, 3]).map((request) => ({ name, request, harm })),
    ),
  )(
    "ends the run before the next request if it $name at request $request",
    async ({ name, harm, request }, context) => {
      const { service, place, file } = await openThree(context, { inFolder: true });
      const earlier = place.write("earlier.jsonl", readFileSync(file, "utf8").replaceAll('"reward":', '"reward":1'));
      for (const ledger of ["l.db", "other.db"]) await place.log([earlier, "--ledger", ledger]);
      copyFileSync(place.path("l.db"), place.path("old.db"));
      const before = service.logged.length;
      const at = (first: number, work: () => void) =>
        service.mend(async (asked) => {
          if (service.logged.length === first + request - 1) work();
          await accept(asked);
        });
      at(before, () => copyFileSync(place.path("other.db"), place.path("twin.db")));
      await place.log([file, ...oneEach, "--ledger", "other.db"]);
      at(before + 3, () => harm(place, place.path("l.db")));
      const { code, error, document } = await place.log([file, ...oneEach, "--ledger", "l.db"]);
      const logged = `${request === 1 ? "1 group" : "3 groups"} logged, ${3 - request} not logged`;
      const message = new RegExp(`^${logged}: .*ledger l.db was deleted, replaced or overwritten during the run$`);
      expect([code, error?.message, error?.cause]).toEqual([
        request === 1 ? 7 : 11,
        expect.stringMatching(message),
        "storage",
      ]);
      const rest = name === "loses its lock" ? "rerun the same command" : "copy the remaining groups to a new file";
      const next = request === 1 ? `. Then ${rest}.*` : "";
      expect(error?.hint).toMatch(new RegExp(`^restore the ledger as it was, .* that this ledger had${next}$`));
      expect(document?.groups).toMatchObject({ logged: request, unknown: 0 });
      expect(service.logged.length).toBe(before + 3 + request);
    },
  );

  it("does not hide an unknown outcome, and its restoration comes first", async (context) => {
    const { service, place, file } = await openThree(context, { inFolder: true, echoes: true });
    service.next(accept, async (asked) => {
      await asked.take();
      rmSync(place.path("l.db"));
      asked.reset();
    });
    const { code, error, document } = await place.log([file, ...oneEach, "--ledger", "l.db", "--max-wait", "0s"]);
    expect([code, error?.retryable, document?.groups]).toMatchObject([
      8,
      false,
      { logged: 1, unknown: 1, not_sent: 1 },
    ]);
    expect(error?.hint).toMatch(/^restore the ledger as it was, .* Then run `rollcall ledger resolve r2 /);
  });
});

describe("a ledger with several names", () => {
  it("is refused if they are hard links, until one is left", async (context) => {
    const { service, place, file } = await openThree(context, { inFolder: true });
    expect((await place.log([file, "--ledger", "l.db"])).code).toBe(0);
    linkSync(place.path("l.db"), place.path("other.db"));
    for (const name of ["l.db", "other.db"]) {
      const { code, error } = await place.log([file, "--ledger", name]);
      expect([code, error?.message, error?.hint]).toEqual([
        11,
        `the ledger ${name} has 2 names (hard links), but must have one; nothing was sent`,
        expect.stringContaining(`find / -xdev -samefile ${name}`),
      ]);
      expect((await place.run(["ledger", "status", "--ledger", name])).code).toBe(11);
    }
    rmSync(place.path("l.db"));
    expect((await place.log([file, "--ledger", "other.db"])).document?.status).toBe("already_logged");
    expect(service.requests()).toBe(1);
  });

  it("is refused before the next request if a hard link is made during a run", async (context) => {
    const { service, place, file } = await openThree(context, { inFolder: true });
    service.mend(async (asked) => {
      if (service.requests() === 1) linkSync(place.path("l.db"), place.path("other.db"));
      await accept(asked);
    });
    const { code, error, document } = await place.log([file, ...oneEach, "--ledger", "l.db"]);
    expect([code, error?.message]).toEqual([7, expect.stringContaining("the ledger l.db has 2 names (hard links)")]);
    expect([document?.groups, service.logged]).toMatchObject([{ logged: 1, unknown: 0, not_sent: 2 }, [1]]);
    rmSync(place.path("other.db"));
    expect((await place.log([file, ...oneEach, "--ledger", "l.db"])).document?.groups).toMatchObject({ logged: 2 });
  });

  it.skipIf(!canMount())("is one ledger if the file or its folder is mounted", { tags: "slow" }, async (context) => {
    const { service, place, file } = await openThree(context, {
      inFolder: true,
      otherwise: async (asked) => {
        await asked.body();
        await new Promise((resolve) => setTimeout(resolve, 100));
        await accept(asked);
      },
    });
    for (const name of ["a folder", "mounted folder"]) mkdirSync(place.path(name));
    for (const name of ["a folder/l.db", "mounted.db"]) place.write(name, "");
    execFileSync("mount", ["--bind", place.path("a folder"), place.path("mounted folder")]);
    execFileSync("mount", ["--bind", place.path("a folder/l.db"), place.path("mounted.db")]);
    try {
      const names = ["a folder/l.db", "mounted folder/l.db", "mounted.db"];
      const ran = await Promise.all(
        names.map(async (name) => await place.log([file, ...oneEach, "--ledger", name, "--max-wait", "30s"])),
      );
      expect(ran.map(({ code, stderr }) => (code === 0 ? "" : stderr))).toEqual(["", "", ""]);
      expect(service.logged).toEqual([1, 2, 3]);
      expect(readdirSync(place.path("a folder"))).toEqual(["l.db"]);
      // As in a container that has only the file.
      execFileSync("umount", [place.path("mounted folder")]);
      execFileSync("mount", ["-t", "tmpfs", "none", place.path("a folder")]);
      const { code, error } = await place.log([file, "--ledger", "mounted.db"]);
      execFileSync("umount", [place.path("a folder")]);
      expect([code, error?.message]).toEqual([
        11,
        "mounted.db is mounted as a single file, without its folder; nothing was sent",
      ]);
    } finally {
      for (const name of ["mounted.db", "mounted folder"]) {
        try {
          execFileSync("umount", [place.path(name)], { stdio: "ignore" });
        } catch {
          // Not mounted.
        }
      }
    }
  });
});

describe.concurrent("a file without tables", () => {
  it("is not a ledger, unless it is empty", async (context) => {
    const { service, place, file } = await openThree(context, { inFolder: true });
    place.write("notes", "x");
    for (const args of [
      ["ledger", "status"],
      ["log", "m", "--split", "train", file],
    ]) {
      const { code, stderr } = await place.run([...args, "--ledger", "notes"]);
      expect([code, stderr.replaceAll(/\s+/g, " ")]).toEqual([11, expect.stringContaining("is not a rollcall ledger")]);
    }
    expect([readFileSync(place.path("notes"), "utf8"), service.requests()]).toEqual(["x", 0]);
    expect(readdirSync(place.folder).toSorted()).toEqual(["a.jsonl", "notes"]);
  });
});
