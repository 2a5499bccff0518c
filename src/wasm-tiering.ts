/** Delays V8's optimization of WebAssembly, because a process of Node 20 waits for the optimizer at its exit. */
import process from "node:process";
import { setFlagsFromString } from "node:v8";

const defaultBudget = 1_800_000;

/** The functions of modules that `work` compiles are optimized after they ran for `budget`, in units of V8. */
export const withTieringBudget = <Result>(budget: number, work: () => Result): Result => {
  if (Number.parseInt(process.versions.node, 10) >= 22) return work();
  setFlagsFromString(`--wasm-tiering-budget=${budget}`);
  try {
    return work();
  } finally {
    setFlagsFromString(`--wasm-tiering-budget=${defaultBudget}`);
  }
};
