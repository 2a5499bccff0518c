import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { platform } from "node:os";
import { describe, expect, it } from "vitest";
import * as hosts from "../../src/system/host.ts";

/** Opens a host whose process gets only the signals of the test. */
const openSignaled = (own: Readonly<{ env?: object; ppid?: number }> = {}) => {
  const signals = new EventEmitter();
  const process = Object.create(globalThis.process, {
    env: { value: own.env ?? {} },
    ppid: { value: own.ppid ?? globalThis.process.pid },
    on: { value: signals.on.bind(signals) },
    off: { value: signals.off.bind(signals) },
  });
  return { host: hosts.openHost(process), signals };
};

const signalNames = ["SIGHUP", "SIGINT", "SIGTERM"] as const;

describe("a signal", () => {
  it.each(signalNames)("aborts the run if it is %s, and a second signal abandons the requests", (name) => {
    for (const second of signalNames) {
      const { host, signals } = openSignaled();
      signals.emit(name);
      expect([host.signal.aborted, host.urgent.aborted]).toEqual([true, false]);
      expect(host.signal.reason).toMatchObject({ message: `interrupted by ${name}` });
      signals.emit(second);
      expect(host.urgent.reason).toBe(host.signal.reason);
      // Node ends the process at a signal without a listener.
      expect(signals.eventNames()).toEqual(signalNames.filter((own) => own !== second));
      host.close();
      expect(signals.eventNames()).toEqual([]);
    }
  });

  it.skipIf(platform() !== "linux")("has no effect if it is SIGHUP, and nohup or the parent ignores it", async () => {
    const parent = spawn("bash", ["-c", "trap '' HUP; echo; read"], { stdio: ["pipe", "pipe", "ignore"] });
    await once(parent.stdout, "data");
    for (const own of [{ env: { _: "/usr/bin/nohup" } }, { ppid: parent.pid ?? 0 }]) {
      const { host, signals } = openSignaled(own);
      signals.emit("SIGHUP");
      expect(host.signal.aborted).toBe(false);
      signals.emit("SIGTERM");
      expect(host.signal.reason).toMatchObject({ message: "interrupted by SIGTERM" });
      signals.emit("SIGHUP");
      expect(host.urgent.aborted).toBe(false);
    }
    parent.stdin.end();
  });
});

describe("the host of a process", () => {
  const openWith = (stdout: object, stderr: object) => {
    const own = { stdout, stderr, hrtime: { bigint: () => 2_500_000n }, argv: ["node", "rollcall", "log", "a"] };
    const properties = Object.entries(own).map(([name, value]) => [name, { value }]);
    const host = hosts.openHost(Object.create(globalThis.process, Object.fromEntries(properties)));
    host.close();
    return host;
  };

  it("has the width of the terminal of either stream, or 80 columns", () => {
    const sizeOf = (stdout: object, stderr: object) => {
      const { stdout: out, stderr: err, columns, isSizeUnknown } = openWith(stdout, stderr).terminal;
      return [out, err, columns, isSizeUnknown];
    };
    const [one, other, unknown] = [120, 100, 0].map((columns) => ({ isTTY: true, columns }));
    expect(sizeOf(one ?? {}, other ?? {})).toEqual([true, true, 120, false]);
    expect(sizeOf({}, other ?? {})).toEqual([false, true, 100, false]);
    expect(sizeOf(one ?? {}, {})).toEqual([true, false, 120, false]);
    expect(sizeOf(unknown ?? {}, unknown ?? {})).toEqual([true, true, 80, true]);
    expect(sizeOf({}, {})).toEqual([false, false, 80, false]);
  });

  it("has the words of the command line, a clock in milliseconds, and waits that a signal ends", async () => {
    const { argv, elapsed, sleep } = openWith({}, {});
    expect([argv, elapsed()]).toEqual([["log", "a"], 2.5]);
    await expect(sleep(60_000, AbortSignal.abort(new Error("stop")))).rejects.toThrow("stop");
  });
});

describe("the environment of another program", () => {
  it("lacks secrets, also those in the URL of a database", () => {
    const secrets = "ROLLCALL_API_KEY ROLLCALL_TOKEN ROLLCALL_PASSWORD ROLLCALL_LOCAL_KEY PGPASSWORD".split(" ");
    const files = secrets.slice(0, 4).map((name) => `${name}_FILE`);
    const others = ["WANDB_API_KEY", "ROLLCALL_API_KEYS", "MY_ROLLCALL_TOKEN", "PATH", "ROLLCALL_PROFILE"];
    const all = Object.fromEntries([...secrets, ...files, ...others, "pgpassword"].map((name) => [name, "x"]));
    const urls = { ROLLCALL_LEDGER: "postgres://a:b@c/d", ROLLCALL_STORE: "postgres://a:b@c/d", OTHER: "https://a" };
    expect(Object.keys(hosts.removeSecrets({ ...all, ...urls }))).toEqual([...others, "OTHER"]);
    const paths = { ROLLCALL_LEDGER: "ledger.db", ROLLCALL_STORE: "local.db", ROLLCALL_BASE_URL: "https://a" };
    expect(hosts.removeSecrets(paths)).toEqual(paths);
    expect(Object.keys(all).filter(hosts.isSecretVariable)).toEqual([...secrets, "WANDB_API_KEY", "pgpassword"]);
  });
});

it("decodePercent keeps a text that is not encoded", () => {
  expect(["a%20b%2F", "100%", "%ff"].map(hosts.decodePercent)).toEqual(["a b/", "100%", "%ff"]);
});
