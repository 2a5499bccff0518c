/** Limits the work of V8's optimizers, which cost a short run more than they save. */
import process from "node:process";

const setFlagsFromString = (flags: string) => process.getBuiltinModule("node:v8").setFlagsFromString(flags);

const defaultBudget = 1_800_000;

/**
 * The functions of WebAssembly modules that `work` compiles are optimized after they ran for `budget`, in units of V8.
 * A process of Node 20 waits for the optimizer at its exit.
 */
export const withTieringBudget = <Result>(budget: number, work: () => Result): Result => {
  if (Number.parseInt(process.versions.node, 10) >= 22) return work();
  setFlagsFromString(`--wasm-tiering-budget=${budget}`);
  try {
    return work();
  } finally {
    setFlagsFromString(`--wasm-tiering-budget=${defaultBudget}`);
  }
};

/**
 * Functions that are optimized from now on contain less of the functions that they call. This saves a third of V8's
 * optimizing: 15 % of the processor time of `log` for 8 MB, and 10 % for 170 MB and 1 GB. V8 then refuses the compiled
 * code of chunks, so that only large inputs are worth it.
 */
export const limitInlining = () => setFlagsFromString("--max-inlined-bytecode-size-cumulative=150");
