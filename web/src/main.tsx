import { render } from "preact";
import { App } from "./app";
import "./style/tokens.css";
import "./style/base.css";
import "./style/print.css";

if (__BELLWETHER_SITE__) void import("./site/engine").then(({ warmUp }) => warmUp());
const root = document.getElementById("app");
if (root) render(<App />, root);
