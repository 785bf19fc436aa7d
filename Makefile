# Everything here needs only the Rust toolchain, gcc and make; the rest is installed on first use. The page
# in the browser needs Node.js, too; without it everything else works.

DEMO         := scenarios/election/bully-p1-to-p4.txt
PICTURE      := out/bully.svg
BELLWETHER   := cargo run --release --quiet --locked --package bellwether-cli --bin bellwether --

# The command as `cargo build` and the tests have it: ready soonest, and fast enough for short time-outs.
COMMAND      := $${CARGO_TARGET_DIR:-target}/debug/bellwether

# How many random schedules `make soak` runs for each of the six elections.
SCHEDULES    := 20000

# How long it then makes faults on real members and clients, with three members and with five.
TORTURE      := 5m
NAMESPACES   := 10m

.DEFAULT_GOAL := help
.PHONY: help up web site wasm test-engines test-clients packages unit-file deb day-two unit e2e shots chromium bench-page bench-failover bench-locks bench-roles bench-report peers zookeeper demo build test test-clusters test-processes test-computing check-quick check-all verify fix soak bench pictures advisories clean tools

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

up: web ## Start five real members on this machine and watch them elect; q ends
	@test -x $(COMMAND) || echo "Building the command, once: some minutes on two cores. cargo shows how far it is."
	@cargo build --locked --package bellwether-cli
	@$(COMMAND) up

demo: web ## Replay the textbook's bully election as text and draw its picture
	@mkdir -p $(dir $(PICTURE))
	@$(BELLWETHER) sim $(DEMO) --trace svg --out $(PICTURE)
	@echo
	@echo "The same election as a picture: $(PICTURE) (open it in a browser)"

build: web ## Build the optimised `bellwether` into target/release
	cargo build --release --locked --workspace

# The command as the tests have it. Where they have just built it, it is not built again: alone it has other
# features than in the workspace, and everything would be compiled again.
BUILT           :=
BUILD_FOR_TESTS  = $(if $(BUILT),@true,cargo build --quiet --locked --workspace --bin bellwether)

# The page comes first: the commands that the tests start have it built in. Examples are compiled by clippy. Then three
# parts run side by side; each part's output comes when it is over. Tests of real processes mostly wait. Tests that compute
# take what these leave of the cores: they run only while nothing else wants to. On a machine with one core, or with
# make test LANES=1, the parts run one after the other.
CORES    := $(shell nproc 2>/dev/null || echo 1)
LANES    := $(if $(filter 1,$(CORES)),1,3)
# Without the flags of make: cargo takes them for offers of a job server, which it cannot reach.
TESTS    := env -u MAKEFLAGS cargo test --workspace --locked
BESIDE    = $(if $(filter 1,$(LANES)),,$(shell chrt --idle 0 true 2>/dev/null && echo chrt --idle 0 || echo nice -n 19))

test: web verify ## Everything CI runs: verify, all tests and doc tests, the quick checks, the page in a browser
	$(TESTS) --no-run --lib --bins --tests
	@$(MAKE) --no-print-directory --jobs=$(LANES) $(if $(filter-out 1,$(LANES)),--output-sync=target) \
	  test-clusters test-processes test-computing BUILT=yes

# Tests that start whole clusters, one program after the other: commands look for the one cluster on this host. Then those of
# single members, clients, connections and engines, and those of the laboratory, some of which run algorithms between real processes. They
# are started without cargo, which compiles most of the dependencies again where one test is asked for.
CLUSTERS  := cli/ops
PROCESSES := node/members net/connections client/sessions cli/engines cli/lab
WAITING   := $(notdir $(CLUSTERS) $(PROCESSES))
RUN = built=$$($(TESTS) --no-run --lib --bins --tests 2>&1) || { echo "$$built"; exit 1; }; \
  export RUST_TEST_THREADS=$(shell expr 2 \* $(CORES)); for each in $(1); do \
    program=$$(echo "$$built" | sed -n "s|.* tests/$${each\#*/}/main.rs (\(.*\))$$|\1|p") && program=$$(realpath "$$program") && \
    echo "$$program" && (cd crates/$${each%/*} && "$$program") || exit 1; done

test-clusters:
	@$(call RUN,$(CLUSTERS))
	@$(MAKE) --no-print-directory test-clients e2e

test-processes:
	@$(call RUN,$(PROCESSES))

test-computing:
	$(BESIDE) $(TESTS) --lib --bins $(addprefix --test ,$(filter-out $(WAITING),$(TEST_BINARIES)))
	$(BESIDE) $(TESTS) --doc
	@$(BESIDE) $(MAKE) --no-print-directory unit check-quick packages

# The names of all integration tests.
TEST_BINARIES = $(sort $(basename $(notdir $(wildcard crates/*/tests/*.rs examples/*/tests/*.rs))) \
                  $(notdir $(patsubst %/main.rs,%,$(wildcard crates/*/tests/*/main.rs examples/*/tests/*/main.rs))))

# The schemas of Kubernetes' API, as a package for Python.
SCHEMAS  := out/python/bin/kubernetes-validate
packages: unit-file ## Check the files for Kubernetes against the schemas of its API, if Python is there, and the unit of systemd
	@test -x $(SCHEMAS) || { python3 -m venv out/python && out/python/bin/pip install --quiet kubernetes-validate; } \
	  || { echo "No Python with venv and pip here, so packaging/kubernetes is not checked."; exit 0; }; \
	$(SCHEMAS) --strict --quiet --kubernetes-version 1.31 \
	  $(filter-out %/kustomization.yaml,$(wildcard packaging/kubernetes/*.yaml))

# The unit names no folder of the command, which need not be installed here: any command stands in for it.
unit-file:
	@if ! command -v systemd-analyze >/dev/null; then \
	  echo "No systemd-analyze here, so packaging/bellwether.service is not checked."; exit 0; fi; \
	folder=$$(mktemp -d) && sed 's|=bellwether |=/bin/true |' packaging/bellwether.service > "$$folder/bellwether.service" \
	  && systemd-analyze verify --recursive-errors=no "$$folder/bellwether.service"; \
	code=$$?; rm -r "$$folder"; exit $$code

# make deb PROFILE=dev packages the command that the tests have: ready soonest, to look at the package.
PROFILE     := dist
INSTALL_DEB := cargo install cargo-deb --locked
# What checks the package: Debian's lintian, and systemd in a container. Missing programs are installed once if this user can.
DEB_TOOLS   := lintian systemd-container
HAS_TOOLS   := command -v lintian >/dev/null && command -v systemd-nspawn >/dev/null
deb: web ## Write a package for Debian and Ubuntu into out/, check it with lintian, and try its service under systemd; needs cargo-deb
	@cargo deb --version >/dev/null 2>&1 || { echo "cargo-deb is not here. To install it: $(INSTALL_DEB)"; exit 1; }
	cargo build --locked --workspace --bin bellwether --profile $(PROFILE)
	@rm -f out/bellwether_*.deb
	cargo deb --no-build --package bellwether-cli --profile $(PROFILE) --output out/
	@$(HAS_TOOLS) || ! { test "$$(id -u)" = 0 && command -v apt-get >/dev/null; } || { \
	  echo "Installing Debian's $(DEB_TOOLS), once."; \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends $(DEB_TOOLS) >/dev/null; }
	@if command -v lintian >/dev/null; then lintian --fail-on error,warning out/bellwether_*.deb; \
	  else echo "No lintian here, so the package is not checked with it. To install it: apt-get install lintian"; fi
	@packaging/under-systemd.py out/bellwether_*.deb

day-two: ## Carry out the tasks of docs/operations.md on real members while clients work: grow, replace, crash, restore; 2 minutes
	$(BUILD_FOR_TESTS)
	@packaging/day-two.py $(COMMAND)

# One suite for the client's two engines: members of ours, and servers of etcd if they are here (make peers installs them).
test-engines: ## Run the client's suite on three members and on three servers of etcd; half a minute each
	cargo test --locked --package bellwether-cli --test engines -- --nocapture

test-clients: ## Try the Go package and generated clients for Python and TypeScript on a cluster; validate the OpenAPI documents
	$(BUILD_FOR_TESTS)
	@clients/test/run.sh $(COMMAND) $${CARGO_TARGET_DIR:-target}/clients

# The page in the browser. Without npm nothing is built; the command then says so where the page would be.
NPM      := $(shell command -v npm 2>/dev/null)
NO_NPM   := No npm here, so the page is left as it is. It needs Node.js 20.19 or later.
PAGE     := web/dist/index.html
PAGE_OF  := $(shell find web/src web/public web/openapi -type f -not -path 'web/src/api/*.d.ts' 2>/dev/null) \
            web/index.html web/vite.config.ts web/tsconfig.json Cargo.toml
# The browser without a window: the same engine, and a page costs a third of the processor time. A machine that has only the
# one with a window uses that.
SHELL_OF_CHROMIUM := /usr/bin/chromium-headless-shell
CHROMIUM ?= $(firstword $(wildcard $(SHELL_OF_CHROMIUM) /usr/bin/chromium) $(SHELL_OF_CHROMIUM))
export CHROMIUM

web: $(if $(NPM),$(PAGE)) ## Build the page, if npm is there and something has changed
	@$(if $(NPM),true,echo "$(NO_NPM)")

$(PAGE): web/node_modules/.package-lock.json $(PAGE_OF)
	cd web && npm run --silent build
	@touch $@

web/node_modules/.package-lock.json: web/package-lock.json
	cd web && npm ci --loglevel=error
	@touch $@

# The explorer without a server. The compiler needs the standard library for WebAssembly: rustup has it compiled,
# Debian has it as sources for its newest compiler. That is compiled once, in minutes, with crates that cargo downloads.
WASM     := wasm32-unknown-unknown
MODULE   := $${CARGO_TARGET_DIR:-target}/$(WASM)/site/bellwether_wasm.wasm
HAS_WASM := $(wildcard $(shell rustc --print sysroot 2>/dev/null)/lib/rustlib/$(WASM))
WASM_LD  := $(firstword $(notdir $(wildcard /usr/bin/wasm-ld /usr/bin/wasm-ld-*)))
DEB_WASM := $(and $(wildcard /usr/bin/rustc),$(wildcard /usr/lib/rustlib/src/rust/library/std),$(WASM_LD))
BUILD_STD = RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$(WASM_LD) \
            CARGO_UNSTABLE_BUILD_STD=std,panic_abort

site: $(if $(NPM),web/node_modules/.package-lock.json wasm) ## Write the explorer for any static host into out/site: no server needed
	$(if $(NPM),@module=$$(realpath "$(MODULE)") && cd web && BELLWETHER_MODULE="$$module" npm run --silent site,@echo "$(NO_NPM)"; exit 1)
	@echo "The site is in out/site. To look at it: python3 -m http.server --directory out/site"

wasm:
	@$(if $(HAS_WASM)$(DEB_WASM),true,echo "There is no standard library for $(WASM) here. Install it with one of:"; \
	  echo "  rustup target add $(WASM)"; \
	  echo "  apt-get install rustc-web rust-web-src lld-19    (Debian, where rustc-web is 1.95 or later)"; exit 1)
	$(if $(HAS_WASM),,$(BUILD_STD)) cargo build --locked --profile site --target $(WASM) --package bellwether-wasm

unit: $(if $(NPM),web) ## Test the parts of the page that need no browser
	$(if $(NPM),cd web && npm run --silent unit,@echo "$(NO_NPM)")

# The site is tested too where rustup's standard library for WebAssembly is installed, and where the site has been written before:
# Debian's has to be compiled first, which takes minutes.
TESTS_SITE := $(or $(HAS_WASM),$(wildcard out/site/explore/index.html))

e2e: $(if $(NPM),web chromium $(if $(TESTS_SITE),site)) ## Test the page in a real browser, against real servers
	$(if $(NPM),$(BUILD_FOR_TESTS))
	$(if $(NPM),cd web && npm run --silent e2e,@echo "$(NO_NPM)")

shots: web chromium ## Make the page's screenshots for the documentation again
	$(BUILD_FOR_TESTS)
	cd web && npm run --silent shots

bench-page: web chromium ## Measure how the page opens and scrubs a run of 10,000 events
	cd web && node tests/bench-scrub.mjs

# Debian's browser; another one can be named: make e2e CHROMIUM=/path/to/chrome
chromium:
	@test -x "$(CHROMIUM)" || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null; } || { \
	  echo "There is no browser at $(CHROMIUM). Install one (apt-get install chromium-headless-shell) or name it: make e2e CHROMIUM=..."; exit 1; }
	@test -x "$(CHROMIUM)" || { echo "Installing Debian's chromium-headless-shell, once."; \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium-headless-shell >/dev/null; }

# With the command that the tests have built; it is slower than an optimised one, which takes longer to build.
check-quick: ## Explore every run of the small clusters of docs/verification.txt
	$(BUILD_FOR_TESTS)
	@$${CARGO_TARGET_DIR:-target}/debug/bellwether checks docs/verification.txt --quick

check-all: ## Explore all clusters of docs/verification.txt and write docs/verification.md; takes long
	@$(BELLWETHER) checks docs/verification.txt --out docs/verification.md --images $(IMAGES)
	LONG=1 cargo test --release --locked --package bellwether-check --test it -- member:: --nocapture
	LONG=1 cargo test --release --locked --package bellwether-log --test it -- worlds:: basics:: leases:: once:: repeats:: deaths:: --nocapture

# The algorithms' files. A macro declares them, and cargo fmt does not find them there.
LISTED   := $(wildcard crates/algorithms/src/*/*.rs crates/cli/tests/lab/one_file/*.rs)

# rustdoc reads what clippy has left of our crates and of the dependencies: with the examples, it asks for the same
# features as clippy for all targets, and with these variables, which cargo clippy sets, for the same files.
CLIPPY   = RUSTC_WORKSPACE_WRAPPER="$$(rustc --print sysroot)/bin/clippy-driver" \
           CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__

verify: tools ## Formatting, lints, docs, and cargo-deny if it is installed; never writes to the tree
	cargo fmt --all --check
	rustfmt --edition 2024 --check $(LISTED)
	cd bench && cargo fmt --check && cargo fetch --quiet --locked
	cargo clippy --workspace --all-targets --locked -- -D warnings
	$(CLIPPY) RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --lib --bin claimer --examples
	@if $(HAS_DENY); then cargo deny --locked check --allow unused-wrapper bans licenses sources; \
	  else echo "cargo-deny is skipped, a test checks the same rules. To install it: $(INSTALL_DENY)"; fi

fix: tools ## Format, and apply what clippy can fix by itself
	cargo clippy --workspace --all-targets --fix --allow-dirty --allow-staged
	cargo fmt --all
	rustfmt --edition 2024 $(LISTED)
	cd bench && cargo fmt

soak: ## Random schedules and the member in storms, more than in make test; real processes tortured; 25 minutes, and 10 more as root
	SCHEDULES=10000 cargo test --locked --release --package bellwether-sim --package bellwether-coordination --test it schedules
	SCHEDULES=$(SCHEDULES) cargo test --locked --release --package bellwether-member --test it storms:: -- --nocapture --test-threads 1
	SCHEDULES=100000 cargo test --locked --release --package bellwether-member --test it clients:: -- --nocapture
	$(BELLWETHER) torture --members 3 --for $(TORTURE)
	$(BELLWETHER) torture --members 5 --for $(TORTURE)
	@if [ "$$(id -u)" = 0 ]; then $(BELLWETHER) torture --namespaces --members 5 --for $(NAMESPACES); \
	  else echo "torture --namespaces is skipped: it needs root"; fi

bench: ## Measure the simulator, clocks, graphs and waits beside bare loops, the checker beside stateright
	cargo bench --locked --package bellwether-sim --package bellwether-algorithms --package bellwether-coordination --package bellwether-check

bench-failover: peers ## Measure failover beside etcd; faults, hand-overs, false elections and the cost of idle members; 30 minutes
	cargo build --release --quiet --locked --package bellwether-cli --bin bellwether
	@missed=0; for verb in failover hand-over idle; do echo "bellwether-bench $$verb"; (cd bench && \
	  cargo run --release --quiet --locked -- $$verb --bellwether ../target/release/bellwether $(BENCH)) || missed=1; echo; \
	  done; exit $$missed

# Beside etcd, Redis and ZooKeeper, in a workspace of its own. Seconds and trials: make bench-locks BENCH="--for 10"
BENCH    :=

bench-locks: peers zookeeper ## Measure locks beside etcd, Redis and ZooKeeper: pairs a second, hand-off, memory; 15 minutes
	cargo build --release --quiet --locked --package bellwether-cli --bin bellwether
	cd bench && cargo run --release --quiet --locked -- locks --bellwether ../target/release/bellwether $(BENCH)

bench-roles: peers ## Measure how soon a killed leader of an application is replaced, beside etcd; 3 minutes
	cargo build --release --quiet --locked --package bellwether-cli --bin bellwether
	cd bench && cargo run --release --quiet --locked -- roles --bellwether ../target/release/bellwether $(BENCH)

# Each writes its file of docs/figures; then the page is written from the files.
# One of them again: make bench-report REPORT=failover:failover
REPORT   := locks:locks roles:roles failover:failover hand-over:hand-over idle:idle simulator:simulator \
            trace-disk:trace trace-memory:trace+--durability=memory counts:counts reads:reads
bench-report: peers zookeeper ## Measure everything that docs/performance.md has a generated table for, and write the tables; an hour, needs valgrind
	cargo build --release --quiet --locked --package bellwether-cli --bin bellwether
	cd bench && cargo build --release --quiet --locked
	@for each in $(REPORT); do run=$$(echo $${each#*:} | tr + ' '); echo "bellwether-bench $$run"; \
	  bench/target/release/bellwether-bench $$run --figures docs/figures/$${each%%:*}.json || test $$? -eq 1 || exit 1; done
	UPDATE=1 cargo test --quiet --locked --package bellwether-cli --test lab figures

# Debian's servers, and the compiler that etcd's client is built with.
PEERS    := etcd-server redis-server protobuf-compiler libprotobuf-dev
PRESENT  := command -v etcd >/dev/null && command -v redis-server >/dev/null \
            && command -v protoc >/dev/null \
            && { test "$$(command -v protoc)" != /usr/bin/protoc || test -e /usr/include/google/protobuf/struct.proto; }
peers:
	@$(PRESENT) || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null; } || { \
	  echo "Not all of etcd, redis-server and protoc are here. Install them: apt-get install $(PEERS)"; exit 1; }
	@$(PRESENT) || { echo "Installing Debian's $(PEERS), once."; \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends $(PEERS) >/dev/null; }

# ZooKeeper needs Java. It is left out where it cannot be installed.
zookeeper:
	@test -e /usr/share/java/zookeeper.jar || ! { test "$$(id -u)" = 0 && command -v apt-get >/dev/null; } || { \
	  echo "Installing Debian's zookeeper and its Java, once."; apt-get update -qq \
	  && apt-get install -y -qq --no-install-recommends zookeeper >/dev/null || echo "ZooKeeper is left out."; }

IMAGES   := docs/images
# Below a picture, its page names in a comment the command that draws it. A run that breaks an invariant ends
# with 1, and is meant to.
pictures: ## Redraw the pictures of the documentation, as the comments below them say
	@sed -nE '/\]\(images\/.*\.svg\)$$/ { N; s/.*\((.*)\)\n<!-- bellwether (.*) -->$$/\1 \2/p }' docs/*.md | \
	while read -r picture run; do \
	  case $$run in compare*) to=--svg ;; *) to='--quiet --trace svg --out' ;; esac; \
	  echo "docs/$$picture: bellwether $$run"; \
	  $(BELLWETHER) $$run $$to docs/$$picture </dev/null >/dev/null || test $$? -eq 1 || exit 1; done

# cargo-deny takes minutes to compile, so it is installed only for what no test can do.
HAS_DENY     := cargo deny --version >/dev/null 2>&1
INSTALL_DENY := cargo install cargo-deny --locked --version '^0.20'

advisories: ## Look for known vulnerabilities; downloads the RustSec database
	@$(HAS_DENY) || { echo "Installing cargo-deny: once, some four minutes."; $(INSTALL_DENY); }
	cargo deny --locked check advisories

clean: ## Remove everything that was built or drawn
	cargo clean
	cd bench && cargo clean
	rm -rf out web/dist web/out

# Installs what is missing; silent when nothing is.
tools:
	@cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	@cargo clippy --version >/dev/null 2>&1 || rustup component add clippy
