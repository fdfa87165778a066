// Bundles src/main.ts into the one script of the page: node build.mjs FILE
import { build } from "esbuild";

await build({
  entryPoints: [new URL("src/main.ts", import.meta.url).pathname],
  outfile: process.argv[2],
  bundle: true,
  format: "iife",
  target: "es2022",
  minify: true,
  charset: "ascii", // no "</script>" or "<!--" can arise from escapes, and no encoding can hurt it
  legalComments: "none",
});
