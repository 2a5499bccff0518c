import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { testSources } from "./build/test-sources.ts";

export default defineConfig({
  plugins: [testSources()],
  test: {
    // Tests wait for programs and timers, so one process more than cores keeps the cores busy. Each loads all sources.
    maxWorkers: availableParallelism() + 1,
    // No test leaves state behind, so files share a process, its loaded sources and its running programs.
    isolate: false,
    include: ["test/**/*.test.ts"],
    // `npm test` leaves these out, `npm run test:all` runs them too.
    tags: [
      { name: "slow", description: "takes more than 0.3 s of processor time, or waits long" },
      { name: "browser", description: "drives Chromium" },
      { name: "database", description: "needs PostgreSQL" },
    ],
    globalSetup: ["build/setup.ts"],
    setupFiles: ["test/support/property.ts"],
    reporters: ["default", "./build/counts.ts"],
    // Limits for tests that hang. No test depends on the machine's speed.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    teardownTimeout: 60_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
