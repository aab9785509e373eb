# Verbs only; meson.build is the build. SPDX-License-Identifier: Apache-2.0
.PHONY: all deps test-deps run test bench lint fmt fuzz check-long clean

BUILD := build
DEPS := meson ninja-build gcc pkg-config libuv1-dev libcurl4-openssl-dev libsqlite3-dev libssl-dev libyaml-dev \
	libpcre2-dev zlib1g-dev node-llhttp
TEST_DEPS := libcmocka-dev python3 python3-pytest iproute2 util-linux openssl sqlite3
BENCH_DEPS := nginx-light wrk python3
LINT_DEPS := clang-format cppcheck python3

# Installs what is missing, as root or by sudo.
install = missing=$$(dpkg-query -W -f='$${Package} $${Status}\n' $(1) 2>/dev/null | awk '/ok installed/ {print $$1}' | sed 's/:.*//' \
	| sort > .have; printf '%s\n' $(1) | sort | comm -23 - .have; rm -f .have); \
	if [ -n "$$missing" ]; then \
	as=; [ "$$(id -u)" = 0 ] || as=sudo; $$as env DEBIAN_FRONTEND=noninteractive apt-get update -q && \
	$$as env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $$missing; fi

all: deps
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) -Dtests=false
	ninja -C $(BUILD)

deps:
	@$(call install,$(DEPS))

test-deps: deps
	@$(call install,$(TEST_DEPS))

run: all
	DEV_MODE=true $(BUILD)/outrider serve

test: test-deps
	@test -f $(BUILD)-test/build.ninja || meson setup $(BUILD)-test -Dtest_build=true -Dtests=true
	ninja -C $(BUILD)-test
	python3 tests/run --build $(BUILD)-test

bench: all
	@$(call install,$(BENCH_DEPS))
	BENCH_LOAD=$(BUILD)/tools/bench/bench-load BENCH_SINK=$(BUILD)/tools/bench/bench-sink tools/bench/bench

lint: test-deps
	@$(call install,$(LINT_DEPS))
	python3 tools/layers
	cppcheck --quiet --error-exitcode=1 --enable=warning,portability --inline-suppr --suppress=missingIncludeSystem -Isrc src tools/bench

fmt:
	git ls-files 'src/*.[ch]' 'tools/*.[ch]' 'fuzz/*.[ch]' | xargs clang-format -i

fuzz: test-deps
	tools/fuzz $${SECONDS_EACH:-60}

check-long: test
	KILL_ROUNDS=1000 python3 -m pytest -q tests/stories/test_kill.py

clean:
	rm -rf $(BUILD) $(BUILD)-test build-fuzz
