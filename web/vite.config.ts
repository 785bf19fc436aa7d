import preact from "@preact/preset-vite";
import { defineConfig } from "vitest/config";

// In development the page comes from Vite and everything else from a server that runs already:
// `bellwether explore`, or the address that `bellwether up` prints.
const server = process.env["BELLWETHER"] ?? "http://127.0.0.1:7490";

export default defineConfig({
  plugins: [preact()],
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  server: { proxy: { "/v1": server } },
  test: { include: ["src/**/*.test.ts", "src/**/*.test.tsx"] },
});
