# Everything here needs only the Rust toolchain, gcc and make; the rest is installed on first use.

DENY_VERSION := ^0.20
DEMO         := scenarios/election/bully-p1-to-p4.txt
PICTURE      := out/bully.svg
BELLWETHER   := cargo run --release --quiet --locked --package bellwether-cli --bin bellwether --

.DEFAULT_GOAL := help
.PHONY: help demo build test verify fix bench advisories clean tools

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Replay the textbook's bully election as text and draw its picture
	@$(BELLWETHER) sim $(DEMO)
	@mkdir -p $(dir $(PICTURE))
	@$(BELLWETHER) sim $(DEMO) --trace svg --out $(PICTURE)
	@echo
	@echo "The same election as a picture: $(PICTURE) (open it in a browser)"

build: ## Build the optimised `bellwether` into target/release
	cargo build --release --locked --workspace

test: verify ## Everything CI runs: verify, then all tests and doc tests
	cargo test --workspace --locked

verify: tools ## Formatting, lints, licences, layering and docs; never writes to the tree
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo deny --locked check --allow unused-wrapper bans licenses sources
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

fix: tools ## Format, and apply what clippy can fix by itself
	cargo clippy --workspace --all-targets --fix --allow-dirty --allow-staged
	cargo fmt --all

bench: ## Measure the simulator beside a bare loop
	cargo bench --locked --package bellwether-sim

advisories: tools ## Look for known vulnerabilities; downloads the RustSec database
	cargo deny --locked check advisories

clean: ## Remove everything that was built or drawn
	cargo clean
	rm -rf out

# Installs what is missing; silent when nothing is.
tools:
	@cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	@cargo clippy --version >/dev/null 2>&1 || rustup component add clippy
	@cargo deny --version >/dev/null 2>&1 || { \
	  echo "Installing cargo-deny, which checks licences and layering: once, some four minutes."; \
	  cargo install cargo-deny --locked --version '$(DENY_VERSION)'; }
