import { defineConfig } from "rolldown";
import { licenses } from "./build/licenses.ts";

/** One chunk a room, loaded when it is used; all but libsql inside. */
export default defineConfig({
  input: { main: "src/main.ts" },
  platform: "node",
  external: ["libsql"],
  plugins: [licenses()],
  output: {
    dir: "dist",
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "[name].js",
    minify: false,
    cleanDir: true,
  },
});
