import preact from "@preact/preset-vite";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";
import { ExplorerModule } from "./src/site/module.ts";

// In development the page comes from Vite and everything else from a server that runs already:
// `bellwether explore`, or the address that `bellwether up` prints.
const server = process.env["BELLWETHER"] ?? "http://127.0.0.1:7490";
// A server lets only its own page change anything, and knows it by `Host` and `Origin` being the same: so
// `Host` stays as the browser sent it.
const proxied = { target: server, changeOrigin: false };

// The page has the version of the program that it is built into.
const version = /^version = "(.*)"/m.exec(readFileSync(new URL("../Cargo.toml", import.meta.url), "utf8"))?.[1];

/** How many bytes all scripts of the page may have, compressed. */
const SCRIPTS_MAX = 120_000;

/** Beside every file that gets shorter by it, the same file compressed: the program sends it as it is. */
function compressed(): Plugin {
  return {
    name: "compressed",
    apply: "build",
    writeBundle({ dir }) {
      if (!dir) return;
      let scripts = 0;
      for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile() || entry.name.startsWith(".")) continue;
        const path = join(entry.parentPath, entry.name);
        const bytes = readFileSync(path);
        const shorter = gzipSync(bytes, { level: 9 });
        if (shorter.length < bytes.length) writeFileSync(`${path}.gz`, shorter);
        if (entry.name.endsWith(".js")) scripts += shorter.length;
      }
      if (scripts > SCRIPTS_MAX) throw new Error(`the scripts have ${scripts} bytes compressed, and may have ${SCRIPTS_MAX}`);
    },
  };
}

/** The first page of the folder leads to the explorer, with all that the link says. */
const START = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Bellwether</title>
<script>location.replace("explore/" + location.search + location.hash)</script>
<p><a href="explore/">The explorer</a></p>
</html>
`;

/**
 * The page without a server: the module that simulates in the browser, the answers that never change as files, and the
 * page under `explore/`, so that its links are those of a server.
 */
function site(module: Buffer, moduleName: string): Plugin {
  return {
    name: "site",
    apply: "build",
    writeBundle({ dir }) {
      if (!dir) return;
      writeFileSync(join(dir, "assets", moduleName), module);
      const explorer = new ExplorerModule(new WebAssembly.Module(new Uint8Array(module)));
      for (const name of ["catalogue", "gallery"]) {
        const { status, body } = explorer.answer(`/v1/explore/${name}`, "");
        if (status !== 200) throw new Error(`the module answers ${status} for the ${name}`);
        writeFileSync(join(dir, `${name}.json`), body);
      }
      mkdirSync(join(dir, "explore"), { recursive: true });
      const page = readFileSync(join(dir, "index.html"), "utf8");
      writeFileSync(join(dir, "explore", "index.html"), page.replaceAll('="./', '="../'));
      writeFileSync(join(dir, "index.html"), START);
      rmSync(join(dir, ".gitkeep"), { force: true });
    },
  };
}

/** What `make site` adds; the environment names the WebAssembly module. */
function siteParts() {
  const path = process.env["BELLWETHER_MODULE"];
  if (!path) throw new Error("BELLWETHER_MODULE names no WebAssembly module; use `make site`");
  const module = readFileSync(path);
  const name = `explorer-${createHash("sha256").update(module).digest("hex").slice(0, 8)}.wasm`;
  return { name, plugin: site(module, name) };
}

export default defineConfig(({ mode }) => {
  const parts = mode === "site" ? siteParts() : null;
  return {
    plugins: [preact(), parts ? parts.plugin : compressed()],
    // Relative, so that the folder can be put anywhere.
    base: parts ? "./" : "/",
    define: {
      __BELLWETHER_VERSION__: JSON.stringify(version),
      __BELLWETHER_SITE__: JSON.stringify(parts !== null),
      __BELLWETHER_MODULE__: JSON.stringify(parts?.name ?? ""),
    },
    build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false } },
    worker: { format: "es" },
    server: { proxy: { "/v1": proxied, "/openapi.json": proxied } },
    // A busy machine takes its time.
    test: { include: ["src/**/*.test.ts", "src/**/*.test.tsx"], testTimeout: 30_000 },
  };
});
