import { describe, expect, it } from "vitest";
import { key, openHome } from "./home.ts";

describe("rollcall auth status", () => {
  it("exits with 5 with --check if the service does not answer", async () => {
    const { auth } = await openHome();
    const closed = "http://127.0.0.1:1";
    await auth(`login --with-token --no-check --base-url ${closed} --inference-base-url ${closed}`, { stdin: key });
    const { code, stdout } = await auth("status --check --for inference --max-wait 0s");
    expect([code, stdout]).toEqual([5, `inference\tready\t${closed}\tlogin of the profile default\t\tsilent\n`]);
  });
});
