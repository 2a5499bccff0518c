import { availableParallelism } from "node:os";
import { defineConfig, type Plugin } from "vitest/config";
import { kernel } from "./build/kernel.ts";

/** Gives each load of the page, such as `main.tsx?load=2`, its own modules of the page, as browsers do. */
const pageLoads: Plugin = {
  name: "page-loads",
  enforce: "pre",
  async resolveId(source, importer = "") {
    const [, own, load] = /^(.*\/src\/view\/page\/.*)(\?load=\d+)$/.exec(importer) ?? [];
    const found = own !== undefined && source.startsWith("./") ? await this.resolve(source, own) : undefined;
    return found && `${found.id}${load}`;
  },
};

export default defineConfig({
  // The script of `view` is drawn by a browser only, from the built program.
  plugins: [
    kernel(),
    pageLoads,
    { name: "page", load: (id) => (id.endsWith("?page") ? 'export default "";' : undefined) },
  ],
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
