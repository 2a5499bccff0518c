import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { kernel } from "./build/kernel.ts";

export default defineConfig({
  plugins: [kernel()],
  test: {
    // Most tests wait for programs that they run, and some for time to pass: twice as many files as there are cores keep those busy.
    maxWorkers: 2 * availableParallelism(),
    // No test leaves anything behind for those after it: sources are loaded, and programs started, once for many files.
    isolate: false,
    include: ["test/**/*.test.ts"],
    // `npm test` leaves these out, `npm run test:all` runs them too.
    tags: [
      { name: "slow", description: "takes more than 0.3 s of processor time, or waits long" },
      { name: "browser", description: "drives Chromium" },
      { name: "database", description: "needs PostgreSQL" },
    ],
    globalSetup: ["build/setup.ts"],
    reporters: ["default", "./build/counts.ts"],
    // No test depends on how fast the machine is: these only end what hangs.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    teardownTimeout: 60_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
