// Types that openapi-typescript made of a member's document, with openapi-fetch, against a running cluster.
import createClient from "openapi-fetch";
import type { paths } from "./member.js";

declare const process: { argv: string[]; exit(code: number): never };

const address = process.argv[2] ?? "";
const plain = createClient<paths>({ baseUrl: address });

function check(so: unknown, what: unknown): asserts so {
  if (!so) {
    console.error("wrong:", what);
    process.exit(1);
  }
}

async function session(client: string) {
  const { data, error } = await plain.POST("/v1/sessions", { body: { client, ttl_ms: 10_000 } });
  check(data, error);
  const headers = { Authorization: `Bearer ${data.key}` };
  return { id: data.session, api: createClient<paths>({ baseUrl: address, headers }) };
}

const one = await session("typescript one");
const other = await session("typescript other");

// A lock: busy, waited for, released.
const ask = (who: typeof one, wait_ms: number) =>
  who.api.POST("/v1/sessions/{session}/locks", {
    params: { path: { session: who.id } },
    body: { locks: [{ name: "typescript" }], wait_ms },
  });
const held = await ask(one, 0);
check(held.data, held.error);
const busy = await ask(other, 0);
check(busy.response.status === 409 && busy.error?.code === "busy", busy.error);
const waiting = ask(other, 20_000);
const path = { session: one.id, number: held.data.number };
const released = await one.api.DELETE("/v1/sessions/{session}/locks/{number}", { params: { path } });
check(released.data, released.error);
const next = await waiting;
check(next.data && next.data.token > held.data.token, next.error);

// A role, and a stream of its changes.
const role = { path: { role: "typescript role" } };
const leads = await one.api.POST("/v1/roles/{role}/campaign", { params: role, body: { session: one.id, value: "v" } });
check(leads.data?.leads, leads.error);
const watch = await plain.GET("/v1/roles/{role}/watch", { params: role, parseAs: "stream" });
check(watch.data, watch.error);
const reader = (watch.data as ReadableStream<Uint8Array>).getReader();
let text = "";
while (!text.includes('"value":"v"')) {
  const { value, done } = await reader.read();
  check(!done, text);
  text += new TextDecoder().decode(value);
}
await reader.cancel();
const resigned = await one.api.POST("/v1/roles/{role}/resign", { params: role, body: { session: one.id } });
check(resigned.data, resigned.error);

// Errors have codes.
const alive = (who: typeof one, id: string) =>
  who.api.POST("/v1/sessions/{session}/keep-alive", { params: { path: { session: id } } });
const stolen = await alive(other, one.id);
check(stolen.response.status === 403 && stolen.error?.code === "wrong-key", stolen.error);
await one.api.DELETE("/v1/sessions/{session}", { params: { path: { session: one.id } } });
const over = await alive(one, one.id);
check(over.response.status === 410 && over.error?.code === "no-session", over.error);
await other.api.DELETE("/v1/sessions/{session}", { params: { path: { session: other.id } } });
console.log("TypeScript: session, lock, wait, release, campaign, watch and errors work");
process.exit(0);
