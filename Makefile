# Requirements: Python 3.10+, JDK 17+, make. Rust and a C compiler add the native decoder, without which reading is slower.
# `make setup`, which the targets call, installs packages into .venv and caches server jars in the user's cache directory.

PYTHON ?= python3
PYTEST_ARGS ?=
CASES ?=
REPEATS ?=
SCALE ?=
BENCH_ARGS ?=
MINUTES ?= 10
SEED ?=
CHAOS_ARGS ?=
SEEDS ?= 300
SIM_ARGS ?=
PROTOCOL ?= zookeeper
PLANTED_SEEDS ?= 2000
VERSIONS ?=
MATRIX_ARGS ?=
MUTANTS_ARGS ?=
WORKERS ?= 5
DOCUMENTS_ARGS ?=

BIN := .venv/bin
INSTALL := $(PYTHON) requirements/install.py

# Spark's workers use the Python of .venv. Without this Spark starts the first python3 on the path.
export PYSPARK_PYTHON := $(CURDIR)/.venv/bin/python
export PYSPARK_DRIVER_PYTHON := $(CURDIR)/.venv/bin/python
# Keep what cargo builds out of the sources.
export CARGO_TARGET_DIR := $(CURDIR)/.venv/native
SPARK_CLASSES := $(CURDIR)/.venv/spark-classes.jsa
# Tests start several JVMs at the same time.
# Sparks of tests live for seconds: what the JVM's second compiler gains costs more than it saves, and
# so do 50 tasks that read the log of a table with three commits.
TEST_ENV := PYSPARK_SUBMIT_ARGS='--driver-memory 1g --conf spark.ui.enabled=false \
	--conf spark.sql.shuffle.partitions=2 --conf spark.databricks.delta.snapshotPartitions=1 \
	--conf "spark.driver.defaultJavaOptions=-XX:+UseSerialGC -XX:TieredStopAtLevel=1" pyspark-shell' \
	SPARK_SUBMIT_OPTS=-XX:SharedArchiveFile=$(SPARK_CLASSES) SPARK_LOCAL_IP=127.0.0.1 MPLBACKEND=agg

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup demo quick test test-long test-matrix try-documents bench bench-short bench-publish sim sim-planted mutants chaos exercise notebooks fuzz fuzz-formats fuzz-planted check environment format lint types imports words rust wheel audit notices lock docs clean

help:
	@echo "make demo       three Spark drivers share a topic on their own Kafka and ZooKeeper; one joins, leaves and is killed; every record is counted"
	@echo "make quick      the tests that need no server, and a short simulation; takes a minute"
	@echo "make test       all tests except the long ones, in five processes (WORKERS=1: in one)"
	@echo "make test-long  the long tests"
	@echo "make test-matrix  the same few queries on PySpark 4.0, 4.1, 4.2 and 4.3, with brokers 3.9, 4.1 and 4.4; VERSIONS='4.0 4.3' selects some"
	@echo "make try-documents  each block of README and docs, each command, job and notebook in a fresh clone with an empty HOME;"
	@echo "                DOCUMENTS_ARGS='--only docs/delta.md' selects a part"
	@echo "make sim        members in virtual time, for SEEDS=300; SEED=7 prints the story of one; sim-planted checks that it finds bugs;"
	@echo "                PROTOCOL=coordinator or light: members of a coordinator; kafka: a group of the brokers"
	@echo "make mutants    changes decisions in the code mechanically, and lists changes that no test notices; takes forty minutes"
	@echo "make chaos      faults on real servers and three Spark drivers, for MINUTES=10; SEED=7 repeats their order;"
	@echo "                PROTOCOL=kafka, light, coordinator or zookeeper"
	@echo "make exercise SEED=7  six groups, each with a fault for an operator to name; a key file has the answers;"
	@echo "                PROTOCOL=kafka: groups that the brokers coordinate"
	@echo "make fuzz       feeds changed record batches to both decoders, for MINUTES=10; fuzz-planted checks that it finds faults"
	@echo "make fuzz-formats  feeds random bytes to the parsers of JSON, Avro and Protobuf, MINUTES=10 for each"
	@echo "make bench      compares with Spark's own Kafka source; takes about 20 minutes on two idle cores"
	@echo "make bench-short  five cases, in five minutes; make bench-publish writes the newest results to README.md and docs/benchmarks.md"
	@echo "make check      format, lint, types, import contracts, words, and the Rust sources; each is also a separate target"
	@echo "make wheel      the source distributions, and from them the wheels, of the package and its sandbox, into dist/"
	@echo "make notebooks  runs the notebooks and saves their output"
	@echo "make docs       builds the documentation site in build/site, in a separate environment; dead links and orphan pages are errors"
	@echo "make audit      checks pinned packages for known vulnerabilities (needs uv, cargo-audit and their databases)"
	@echo "make setup      installs .venv and the server jars, which the other targets need"
	@echo "make lock       pins the newest packages that setup.cfg allows (needs uv)"
	@echo "make clean      removes build results; .venv stays"
	@echo
	@echo "make test PYTEST_ARGS='-k claim'    make PYTHON=python3.12 test    make bench CASES='100B-* decode' REPEATS=5"

# Java is checked first: a machine without it gets an error before anything is downloaded.
setup:
	@$(INSTALL) --java
	@$(BIN)/python requirements/servers.py

demo: setup
	@$(BIN)/zkgroup demo

# No server, so no Java. Property tests draw a quarter of what they draw in `make test`.
quick: environment rust
	@$(BIN)/python -m pytest -n auto --hypothesis-profile=quick --quiet \
		tests/unit tests/property tests/golden tests/test_architecture.py tests/test_sizes.py $(PYTEST_ARGS)
	@$(BIN)/python -m tests.sim --seeds 40

# Two of five workers run the tests that keep the cores busy, the others those that wait for servers: see tests/conftest.py.
test: setup $(SPARK_CLASSES)
	@$(TEST_ENV) $(BIN)/python -m pytest $(if $(filter-out 1,$(WORKERS)),-n $(WORKERS) --no-loadscope-reorder) $(PYTEST_ARGS)

$(SPARK_CLASSES): requirements/dev.txt
	@echo "setup: recording Spark's classes for the tests"
	@$(TEST_ENV) $(BIN)/python -m tests.harness.spark_classes $@ || \
		{ echo "setup: this JVM records none (it may lack the archive of Java's classes); the tests take longer"; : > $@; }

# VERSIONS: lines of PySpark, such as '4.0 4.1'; MATRIX_ARGS='--brokers 3.9 --cases restart' selects a part. The results are in
# build/matrix.json. Each version has a separate environment in the user's cache.
test-matrix: setup
	@$(BIN)/python -m tests.matrix.run $(if $(VERSIONS),--spark $(VERSIONS)) $(MATRIX_ARGS)

# DOCUMENTS_ARGS='--only PAGE' or the name of a scene, selects a part; with '--keep DIR' the next run reuses what this one has set
# up; '--list'. The results are in build/documents.log. Nothing is set up here: the clone does that.
try-documents:
	@$(PYTHON) -m tests.documents.run $(DOCUMENTS_ARGS)

test-long: setup $(SPARK_CLASSES)
	@$(TEST_ENV) $(BIN)/python -m pytest -m long $(PYTEST_ARGS)

sim: environment
	@$(BIN)/python -m tests.sim --protocol $(PROTOCOL) $(if $(SEED),--seed $(SEED) $(SIM_ARGS),--seeds $(SEEDS) $(SIM_ARGS))

# Checks that the simulation finds bugs planted in the product, each in up to PLANTED_SEEDS seeds.
sim-planted: environment
	@PYTHONHASHSEED=0 $(BIN)/python -m tests.sim.find_planted --protocol $(PROTOCOL) --seeds $(PLANTED_SEEDS)

# Changes that no test notices are in build/mutants.json. Takes forty minutes on two cores. MUTANTS_ARGS='--sample 50 planner' selects a part.
mutants: environment
	@$(BIN)/python -m tests.mutants.run $(MUTANTS_ARGS)

# The results are in build/chaos.json.
chaos: setup
	@$(BIN)/python -m tests.chaos.run --protocol $(PROTOCOL) --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(CHAOS_ARGS)

# Runs until it is stopped; the key is next to its logs.
exercise: setup
	@$(BIN)/python -m tests.exercise --protocol $(PROTOCOL) $(if $(SEED),--seed $(SEED))

# Save what it finds in tests/golden/mutations.
fuzz: environment
	@$(BIN)/python -m tests.harness.mutations --seconds $$((60 * $(MINUTES)))

fuzz-formats: environment
	@for format in json avro protobuf; do \
		$(BIN)/python -m tests.harness.format_fuzz $$format --seconds $$((60 * $(MINUTES))) || exit 1; done

# Checks that it finds faults planted in copies of the native decoder.
fuzz-planted: environment
	@$(BIN)/python -m pytest -m long -v tests/property/test_planted_faults.py $(PYTEST_ARGS)

# CASES: names with * for any part; REPEATS: how often each is measured; SCALE: a fraction of the usual number of records;
# BENCH_ARGS='--peer NAME=VALUE': an option for Spark's own source.
BENCH = SPARK_LOCAL_IP=127.0.0.1 $(BIN)/python -m tests.bench.main --cases "$(CASES)" $(if $(REPEATS),--repeats $(REPEATS)) \
	$(if $(SCALE),--scale $(SCALE)) $(BENCH_ARGS)

bench: setup
	@$(BENCH)

bench-short: setup
	@$(BENCH) --short

bench-publish: environment
	@$(BIN)/python -m tests.bench.publish

check: format lint types imports words rust

environment:
	@$(INSTALL)

format: environment
	$(BIN)/ruff format --check .

lint: environment
	$(BIN)/ruff check .

types: environment
	$(BIN)/mypy

imports: environment
	$(BIN)/lint-imports --no-logo
	cd sandbox && ../$(BIN)/lint-imports --no-logo

# Finds words that the project does not use: tests/harness/words.txt.
words: environment
	$(BIN)/python -m tests.harness.words

# The tests of the Rust sources link no Python library: they need none, and distributions keep it in a separate package.
RUST_TEST := cargo test --locked --quiet
ifeq ($(shell uname),Linux)
RUST_TEST := PYO3_BUILD_EXTENSION_MODULE=1 RUSTFLAGS='-C link-arg=-Wl,--unresolved-symbols=ignore-all' $(RUST_TEST)
endif

# Each step runs if the toolchain has that part.
rust: environment
	@if cargo --version >/dev/null 2>&1 && rustc --version >/dev/null 2>&1; then \
		cd pyspark_zkgroup/records/_native && \
		if cargo fmt --version >/dev/null 2>&1; then cargo fmt --check; else echo "rust: no rustfmt here"; fi && \
		if cargo clippy --version >/dev/null 2>&1; then cargo clippy --locked --quiet --all-targets -- -D warnings; \
		else echo "rust: no clippy here"; fi && \
		$(RUST_TEST); \
	else echo "rust: left out, as there is no Rust toolchain here"; fi

# The wheel is built from the source distribution, so files missing there are noticed. Package indexes refuse wheels named
# after one Linux machine: auditwheel renames them after the glibc they need. Without Rust the wheel is for every machine.
wheel: environment
	$(BIN)/python -m build --no-isolation
	for wheel in dist/*-linux_*.whl; do \
		[ ! -e "$$wheel" ] || { PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist "$$wheel" && rm "$$wheel"; }; done
	$(BIN)/python -m build --no-isolation --outdir dist sandbox
	$(BIN)/python requirements/supply.py sbom dist

# The site, in build/site. A warning is an error: a dead link, or a page that the home page does not list.
DOCS := build/docs-environment
docs: $(DOCS)/installed.txt
	$(DOCS)/bin/python -m sphinx --fail-on-warning --keep-going --quiet --fresh-env docs build/site
	@echo "the site is in build/site: open build/site/index.html"

$(DOCS)/installed.txt: requirements/docs.txt
	$(PYTHON) -m venv --clear $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $<
	cp $< $@

# Run after a change to a notebook, or to what it shows.
notebooks: setup
	@$(TEST_ENV) $(BIN)/python -m tests.documents.notebooks

# Checks for known vulnerabilities. The databases are on the network, so the commands are not part of the daily checks.
audit: environment
	uvx pip-audit --requirement requirements/dev.txt --disable-pip --require-hashes
	uvx pip-audit --requirement requirements/docs.txt --disable-pip --require-hashes
	cd pyspark_zkgroup/records/_native && cargo audit

# Run after a change to Cargo.lock.
notices: environment
	$(BIN)/python requirements/supply.py notices

# Keeps existing pins that still fit; PIN_ARGS=--upgrade takes the newest versions.
lock:
	uv pip compile setup.cfg --quiet --universal --python-version 3.10 --generate-hashes --no-emit-index-url --no-emit-find-links \
		--extra spark --extra delta --extra dev --extra notebooks \
		--custom-compile-command "make lock" --output-file requirements/dev.txt $(PIN_ARGS)
	uv pip compile requirements/docs.in --quiet --universal --python-version 3.10 --generate-hashes --no-emit-index-url --no-emit-find-links \
		--custom-compile-command "make lock" --output-file requirements/docs.txt $(PIN_ARGS)

clean:
	rm -rf build dist *.egg-info sandbox/build sandbox/*.egg-info .venv/native .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis spark-warehouse
