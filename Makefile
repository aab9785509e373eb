# Verbs only; meson.build is the build. SPDX-License-Identifier: Apache-2.0
.PHONY: all deps test-deps run test bench lint fmt fuzz check-long clean

BUILD := build
DEPS := gcc libc6-dev meson ninja-build pkg-config libuv1-dev libcurl4-openssl-dev libsqlite3-dev libssl-dev libyaml-dev \
	libpcre2-dev zlib1g-dev node-llhttp ca-certificates
TEST_DEPS := libcmocka-dev python3 python3-pytest iproute2 mount util-linux openssl
BENCH_DEPS := nginx-light wrk python3
LINT_DEPS := cppcheck python3 git
FMT_DEPS := clang-format git
FUZZ_DEPS := clang libclang-rt-14-dev libjansson-dev

# Installs what is missing, as root or by sudo. Without apt-get or dpkg the packages are the user's affair.
define install
missing=; for p in $(1); do dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; done; \
if [ -n "$$missing" ] && command -v apt-get >/dev/null; then \
	as=; [ "$$(id -u)" = 0 ] || as=sudo; export DEBIAN_FRONTEND=noninteractive; echo "installing$$missing"; \
	$$as apt-get update -q && $$as apt-get install -q -y --no-install-recommends $$missing; \
fi
endef

all: deps
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) -Dtests=false
	ninja -C $(BUILD)

deps:
	@$(call install,$(DEPS))

test-deps: deps
	@$(call install,$(TEST_DEPS))

run: all
	DEV_MODE=true $(BUILD)/outrider serve

# A build folder of its own: it has the null and flaky destinations and fault points.
test: test-deps
	@test -f $(BUILD)-test/build.ninja || meson setup $(BUILD)-test -Dtest_build=true -Dtests=true
	ninja -C $(BUILD)-test
	python3 tests/run --build $(BUILD)-test

bench: all
	@$(call install,$(BENCH_DEPS))
	BENCH_LOAD=$(BUILD)/tools/bench/bench-load BENCH_SINK=$(BUILD)/tools/bench/bench-sink tools/bench/bench

lint: deps
	@$(call install,$(LINT_DEPS))
	tools/layers
	python3 -c 'import ast, sys; [ast.parse(open(name).read(), name) for name in sys.argv[1:]]' \
		tests/run tools/layers tools/bench/bench $$(git ls-files '*.py')
	cppcheck --quiet --error-exitcode=1 --enable=warning,portability --inline-suppr --suppressions-list=tools/cppcheck.txt \
		--std=c11 -D_GNU_SOURCE -DOUTRIDER_VERSION='""' -Isrc src tools/bench fuzz

fmt:
	@$(call install,$(FMT_DEPS))
	git ls-files 'src/*.[ch]' 'tools/*.[ch]' 'fuzz/*.[ch]' | xargs clang-format -i

fuzz: deps
	@$(call install,$(FUZZ_DEPS))
	tools/fuzz

check-long: test
	OUTRIDER=$(abspath $(BUILD))-test/outrider KILL_ROUNDS=1000 /usr/bin/python3 -m pytest -q tests/stories/test_kill.py

clean:
	rm -rf $(BUILD) $(BUILD)-test $(BUILD)-fuzz
