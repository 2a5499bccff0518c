import { afterAll, expect, it } from "vitest";
import { formatOwnCommand, nameProgram, nameProgramAfter } from "../../src/system/program.ts";

afterAll(() => nameProgramAfter("rollcall", "/"));

it.each([
  ["/usr/bin/rollcall", "/home/a", "rollcall"],
  ["/home/a/rollcall", "/home/a", "rollcall"],
  ["/home/a/node_modules/rollcall/bin/rollcall.js", "/home/a", "rollcall"],
  ["C:\\a\\node_modules\\rollcall\\bin\\rollcall.js", "C:\\a", "rollcall"],
  ["/home/a/roll/bin/rollcall.js", "/home/a/roll", "node bin/rollcall.js"],
  ["/home/a/roll/bin/rollcall.js", "/home/a", "node roll/bin/rollcall.js"],
  ["/home/a/rollcall/bin/rollcall.js", "/home/a/roll", "node /home/a/rollcall/bin/rollcall.js"],
  ["/home/a/roll/bin/rollcall.js", "/home/a/roll/bin/more", "node /home/a/roll/bin/rollcall.js"],
  ["/home/a/roll/bin/rollcall.js", "/home/b", "node /home/a/roll/bin/rollcall.js"],
  ["/home/a b/rollcall.mjs", "/home", "node 'a b/rollcall.mjs'"],
  ["/home/a/rollcall.cjs", "/", "node /home/a/rollcall.cjs"],
])("commands name the program %s in the folder %s as %s", (script, folder, name) => {
  nameProgramAfter(script, folder);
  expect(formatOwnCommand(["check", "a b"])).toBe(`${name} check 'a b'`);
  expect(nameProgram("run `rollcall check | rollcall stats`, not rollcall")).toBe(
    `run \`${name} check | ${name} stats\`, not rollcall`,
  );
});
