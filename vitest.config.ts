import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["build/setup.ts"],
    reporters: ["default", "./build/counts.ts"],
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
