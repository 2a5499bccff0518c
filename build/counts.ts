/** Ends a test run with one plain line, `N passed, N failed`, for whoever reads only that. */
import type { Reporter, SerializedError, TestModule } from "vitest/node";

/** A reporter for vitest. A file that can't be run, and an error outside of all tests, count as a failure each. */
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
