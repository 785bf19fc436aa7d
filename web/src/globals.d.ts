/** The version of the page, from the workspace's Cargo.toml. */
declare const __BELLWETHER_VERSION__: string;
/** Whether this is the page that `make site` writes, which has no server. */
declare const __BELLWETHER_SITE__: boolean;
/** The file of the WebAssembly module, beside the scripts; only where there is no server. */
declare const __BELLWETHER_MODULE__: string;
