/** A vitest reporter that ends a run with one plain line: `N passed, N failed`. */
import type { Reporter, SerializedError, TestModule } from "vitest/node";

/** A file that cannot run, and an error outside of tests, count as one failure each. */
export default class Counts implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const counts = { passed: 0, failed: errors.length, skipped: 0, pending: 0 };
    for (const module of modules) {
      counts.failed += module.errors().length;
      for (const test of module.children.allTests()) counts[test.result().state]++;
    }
    const skipped = counts.skipped + counts.pending;
    if (skipped > 0) process.stdout.write(`${skipped} skipped\n`);
    process.stdout.write(`${counts.passed} passed, ${counts.failed} failed\n`);
  }
}
