import preact from "@preact/preset-vite";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

// In development the page comes from Vite and everything else from a server that runs already:
// `bellwether explore`, or the address that `bellwether up` prints.
const server = process.env["BELLWETHER"] ?? "http://127.0.0.1:7490";
// A server lets only its own page change anything, and knows it by `Host` and `Origin` being the same: so
// `Host` stays as the browser sent it.
const proxied = { target: server, changeOrigin: false };

// The page has the version of the program that it is built into.
const version = /^version = "(.*)"/m.exec(readFileSync(new URL("../Cargo.toml", import.meta.url), "utf8"))?.[1];

/** Beside every file that gets shorter by it, the same file compressed: the program sends it as it is. */
function compressed(): Plugin {
  return {
    name: "compressed",
    apply: "build",
    writeBundle({ dir }) {
      if (!dir) return;
      for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile() || entry.name.startsWith(".")) continue;
        const path = join(entry.parentPath, entry.name);
        const bytes = readFileSync(path);
        const shorter = gzipSync(bytes, { level: 9 });
        if (shorter.length < bytes.length) writeFileSync(`${path}.gz`, shorter);
      }
    },
  };
}

export default defineConfig({
  plugins: [preact(), compressed()],
  define: { __BELLWETHER_VERSION__: JSON.stringify(version) },
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  server: { proxy: { "/v1": proxied, "/openapi.json": proxied } },
  test: { include: ["src/**/*.test.ts", "src/**/*.test.tsx"] },
});
