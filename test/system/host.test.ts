import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { openHost } from "../../src/system/host.ts";

/** Opens a host whose process gets only the signals of the test. */
const openSignaled = () => {
  const signals = new EventEmitter();
  const process = Object.create(globalThis.process, {
    on: { value: signals.on.bind(signals) },
    off: { value: signals.off.bind(signals) },
  });
  return { host: openHost(process), signals };
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

  it.each([
    ["SIGHUP", true],
    ["SIGINT", false],
    ["SIGTERM", true],
  ] as const)("aborts the run while the terminal is lent only if it is not Ctrl-C (%s)", (name, isAborted) => {
    const { host, signals } = openSignaled();
    const restore = [host.lendTerminal(), host.lendTerminal()];
    signals.emit(name);
    restore[0]?.();
    signals.emit(name);
    expect([host.signal.aborted, host.urgent.aborted]).toEqual([isAborted, isAborted]);
    restore[1]?.();
    signals.emit("SIGINT");
    expect(host.signal.aborted).toBe(true);
  });
});
