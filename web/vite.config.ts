import preact from "@preact/preset-vite";
import { readFileSync } from "node:fs";
import { defineConfig } from "vitest/config";

// In development the page comes from Vite and everything else from a server that runs already:
// `bellwether explore`, or the address that `bellwether up` prints.
const server = process.env["BELLWETHER"] ?? "http://127.0.0.1:7490";

// The page has the version of the program that it is built into.
const version = /^version = "(.*)"/m.exec(readFileSync(new URL("../Cargo.toml", import.meta.url), "utf8"))?.[1];

export default defineConfig({
  plugins: [preact()],
  define: { __BELLWETHER_VERSION__: JSON.stringify(version) },
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  server: { proxy: { "/v1": server } },
  test: { include: ["src/**/*.test.ts", "src/**/*.test.tsx"] },
});
