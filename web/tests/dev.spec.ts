import { createServer as createHttp } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { createServer } from "vite";
import { expect, test } from "@playwright/test";

// `npm run dev`: the page from Vite, and everything else from a server that runs already.
test("in development the server sees the host that the browser called", async () => {
  const seen: string[] = [];
  const behind = createHttp((request, response) => {
    seen.push(`${request.url} ${request.headers.host === new URL(request.headers.origin ?? "http://none").host}`);
    response.end("{}");
  });
  await new Promise<void>((done) => behind.listen(0, "127.0.0.1", done));
  process.env["BELLWETHER"] = `http://127.0.0.1:${(behind.address() as AddressInfo).port}`;
  const root = fileURLToPath(new URL("..", import.meta.url));
  const vite = await createServer({ root, logLevel: "error", server: { host: "127.0.0.1", port: 0 }, optimizeDeps: { noDiscovery: true } });
  try {
    await vite.listen();
    const { port } = vite.httpServer?.address() as AddressInfo;
    const origin = `http://127.0.0.1:${port}`;
    for (const path of ["/v1/explore/run", "/openapi.json"]) await fetch(origin + path, { method: "POST", headers: { origin } });
    expect(seen).toEqual(["/v1/explore/run true", "/openapi.json true"]);
  } finally {
    delete process.env["BELLWETHER"];
    await vite.close();
    behind.close();
  }
});
