import { expect, it } from "vitest";
import { findInBytes, redactText } from "../../../src/rollouts/rules/known-secrets.ts";

// With quadratic time, each text would take minutes.
it("searches a long message for the end of a private key in linear time", { tags: "slow" }, () => {
  const letters = "a".repeat(2 ** 20);
  expect(redactText(`${letters} ${letters}`)).toBe(`${letters} ${letters}`);
  expect(redactText(`x ${"a".repeat(40)}\\n-----END PRIVATE KEY-----`)).toBe("x ***");
});

it("passes over mentions of private keys in linear time", { tags: "slow" }, () => {
  expect(findInBytes(Buffer.from("-----BEGIN PRIVATE KEY-----".repeat(50_000)))).toEqual([]);
});
