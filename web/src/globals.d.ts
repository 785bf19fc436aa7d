/** The version of the page, from the workspace's Cargo.toml. */
declare const __BELLWETHER_VERSION__: string;
