# SPDX-License-Identifier: GPL-2.0-only
# make help lists what there is to make.

# As many at once as there are processors; make -j1 for one.
MAKEFLAGS += -j$(shell nproc)

VERSION := 0.2.0
PREFIX  ?= /usr/local
DESTDIR ?=
# Where zsh looks under /usr/local; a package of the distribution has vendor-completions.
ZSH_DIR ?= site-functions
BUILD   ?= build

CC           ?= cc
CLANG        ?= clang
BPFTOOL      ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
PKG_CONFIG   ?= pkg-config
CLANG_FORMAT ?= clang-format
CFLAGS       ?= -O2 -g
WERROR       ?= -Werror

PKGS := libbpf libxdp libelf zlib sqlite3 jansson liblzma libzstd ncursesw
# Its header only: user/observe/metrics_server.c loads it when it is needed.
PKGS_LOADED := libmicrohttpd

WARNINGS := -Wall -Wextra -Wshadow $(WERROR)
ifdef SAN
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
BUILD    := $(BUILD)/san
endif
ALL_CFLAGS = -std=gnu11 $(WARNINGS) -D_GNU_SOURCE -DVERSION='"$(VERSION)"' -I. -Iuser -I$(BUILD) \
	     $(shell $(PKG_CONFIG) --cflags $(PKGS) $(PKGS_LOADED)) $(SANITIZE) $(CFLAGS) $(CPPFLAGS)
# Loading eleven libraries would be a quarter of the time of an add: those whose archive is at hand become part of the
# command. SHARED=1 leaves them outside, as a distribution wants it.
SHARED    ?= $(SAN)
SYSTEM    := -lm -lpthread -pthread -ldl
ALL_LIBS   = $(if $(SHARED),$(shell $(PKG_CONFIG) --libs $(PKGS)), \
	     $(foreach lib,$(filter-out $(SYSTEM),$(shell $(PKG_CONFIG) --static --libs $(PKGS))), \
	     $(if $(filter /%,$(shell $(CC) -print-file-name=$(lib:-l%=lib%.a))),$(lib:-l%=-l:lib%.a),$(lib)))) -lm
# Debian keeps asm/ in a directory of the host's own; clang has a vendor in the middle of that name.
BPF_CFLAGS = -O2 -g -std=gnu11 -target bpf -mcpu=v3 $(WARNINGS) -Ibpf \
	     $(addprefix -idirafter ,$(wildcard /usr/include/$(subst -pc-,-,$(shell $(CC) -dumpmachine))))

BPF_OBJ  := $(BUILD)/xdp_bloom.bpf.o
SKELETON := $(BUILD)/xdp_bloom.skel.h
USER_SRC := $(sort $(wildcard user/*/*.c))
# Everything but main() also goes into an archive that the tests link.
USER_OBJ := $(USER_SRC:user/%.c=$(BUILD)/user/%.o)
CORE     := $(BUILD)/core.a



all: $(BUILD)/xdp-bloom

$(BUILD)/xdp-bloom: $(BUILD)/user/verbs/main.o $(CORE) $(BUILD)/linked
	$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $(filter-out %/linked,$^) $(ALL_LIBS)

# With the libraries inside or outside: linked again when that is another than before.
$(BUILD)/linked: FORCE
	@mkdir -p $(@D)
	@echo 'SHARED=$(SHARED)' | cmp -s - $@ || echo 'SHARED=$(SHARED)' >$@

$(CORE): $(filter-out %/main.o,$(USER_OBJ))
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/user/%.o: user/%.c $(MAKEFILE_LIST) | $(SKELETON)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/%.bpf.o: bpf/%.bpf.c $(MAKEFILE_LIST)
	@mkdir -p $(@D)
	$(CLANG) $(BPF_CFLAGS) -MMD -MP -c -o $@ $<

$(SKELETON): $(BPF_OBJ)
	$(BPFTOOL) gen skeleton $< name xdp_bloom_bpf > $@.tmp && mv $@.tmp $@

-include $(wildcard $(BUILD)/*.d $(BUILD)/user/*/*.d)

# --- What is needed, from the distribution ---------------------------------------------------------------------------

DEPS := clang llvm bpftool pkg-config libbpf-dev libxdp-dev libelf-dev zlib1g-dev libsqlite3-dev libjansson-dev \
	liblzma-dev libzstd-dev libmicrohttpd-dev libncurses-dev libc6-dev iproute2
# For the tests, on top: peers to compare with, and other XDP programs to live beside.
TEST_DEPS := mandoc strace tcpdump tshark tmux zsh perl jq python3 ethtool procps util-linux xdp-tools iprange libclang-rt-dev
BENCH_DEPS := ipset nftables iptables xdp-tools iprange ethtool python3
DEB_DEPS := debhelper dpkg-dev lintian
LINT_DEPS := clang-format clang-tidy cppcheck shellcheck

deps:
	@tools/deps.sh $(DEPS)
deps-test: deps
	@tools/deps.sh $(TEST_DEPS)

# --- Use -------------------------------------------------------------------------------------------------------------

IFACE ?=
LIST  ?=

# A make of its own: what is missing changes what pkg-config and the wildcards say.
run:
	@tools/deps.sh $(DEPS) jq python3-minimal
	@$(MAKE) --no-print-directory all
	@if [ -n "$(IFACE)" ]; then tools/run.sh "$(IFACE)" "$(LIST)"; else \
		$(MAKE) --no-print-directory -C tests OUTPUT=$(abspath $(BUILD))/tests traffic && tools/demo.sh; fi

# The systemd units, with their paths filled in.
UNITS ?= $(BUILD)

units:
	@mkdir -p $(UNITS)
	@for unit in xdp-bloom.service xdp-bloom-restore.service; do \
		sed -e 's|@PREFIX@|$(PREFIX)|g' -e '/^@HARDENED@$$/r packaging/systemd/hardened' -e '/^@HARDENED@$$/d' \
			packaging/systemd/$$unit.in > $(UNITS)/$$unit || exit 1; done

install: all units
	install -D -m 644 $(UNITS)/xdp-bloom.service $(DESTDIR)$(PREFIX)/lib/systemd/system/xdp-bloom.service
	install -m 644 $(UNITS)/xdp-bloom-restore.service $(DESTDIR)$(PREFIX)/lib/systemd/system/xdp-bloom-restore.service
	install -D -m 755 $(BUILD)/xdp-bloom $(DESTDIR)$(PREFIX)/sbin/xdp-bloom
	install -D -m 644 docs/xdp-bloom.8 $(DESTDIR)$(PREFIX)/share/man/man8/xdp-bloom.8
	install -D -m 644 docs/xdp-bloom.conf.5 $(DESTDIR)$(PREFIX)/share/man/man5/xdp-bloom.conf.5
	install -D -m 644 packaging/completions/xdp-bloom.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/xdp-bloom
	install -D -m 644 packaging/completions/_xdp-bloom $(DESTDIR)$(PREFIX)/share/zsh/$(ZSH_DIR)/_xdp-bloom
	install -D -m 644 README.md $(DESTDIR)$(PREFIX)/share/doc/xdp-bloom/README.md
	install -m 644 CHANGELOG.md SECURITY.md $(DESTDIR)$(PREFIX)/share/doc/xdp-bloom/
	install -m 644 docs/design.md docs/bloom.md docs/*.svg $(DESTDIR)$(PREFIX)/share/doc/xdp-bloom/
	install -D -m 644 packaging/xdp-bloom.conf $(DESTDIR)$(PREFIX)/share/doc/xdp-bloom/examples/xdp-bloom.conf

# An installable Debian package, in build/deb.
deb:
	@tools/deps.sh $(DEPS) $(DEB_DEPS)
	@tools/deb.sh $(BUILD)/deb $(VERSION)

# Installed, used and removed, on a copy-on-write picture of this machine.
deb-test: deb
	prove --exec tests/support/ktap-status.sh packaging/deb-test.sh

clean:
	rm -rf $(BUILD)

# The README's picture: what make run shows, recorded.
docs/terminal.svg: all
	@$(MAKE) --no-print-directory -C tests OUTPUT=$(abspath $(BUILD))/tests traffic
	tools/demo.sh 2>&1 | sed 's|/[^ (]*/docs/|docs/|' | tools/terminal.py >$@.tmp && mv $@.tmp $@

# --- Tests -----------------------------------------------------------------------------------------------------------

tests: all
	@$(MAKE) --no-print-directory -C tests OUTPUT=$(abspath $(BUILD))/tests programs

# Do the folders of user/ include only what stands left of them?
rooms:
	@tools/layers.py

# No root, seconds.
check: all
	@$(MAKE) --no-print-directory -C tests OUTPUT=$(abspath $(BUILD))/tests check

# Everything: real packets in the real kernel.
test: deps-test
	@$(MAKE) --no-print-directory all
	@$(MAKE) --no-print-directory -C tests OUTPUT=$(abspath $(BUILD))/tests run_tests

# Random operations against a naive model, for as long as you like.
SOAK_SECONDS ?= 3600
soak: tests
	XDP_BLOOM=$(abspath $(BUILD))/xdp-bloom TRAFFIC=$(abspath $(BUILD))/tests/traffic SOAK_SECONDS=$(SOAK_SECONDS) \
		tests/cli/cli_soak.sh

# Predicted against measured rates, the whole grid, with the real lists in XDP_BLOOM_LISTS: minutes.
rates: tests
	XDP_BLOOM_RATES=full $(BUILD)/tests/unit_rates

# In the kernels of other Debian releases, under QEMU. KERNELS and KERNEL_TESTS say which, KERNEL_ARCH=arm64 another machine.
KERNELS ?=
test-kernels: tests
	tests/support/ktap-status.sh tests/kernels/run.sh $(KERNELS)

# Kernels, faults, compilers and fuzzers in one run of half an hour, into the README's tables.
record-kernels: deps-test
	@$(MAKE) --no-print-directory tests
	tools/record.sh

# Both sides by each clang, user space by gcc, and what the kernel says of the programs; COMPILERS says which.
compilers: deps
	tools/compilers.sh $(COMPILERS)

# As a part of the kernel's selftests, under the runner of Debian's kernel source.
kselftest: all
	tools/kselftest.sh

# The pictures of docs/bloom.md, measured anew, and the README's (as root).
docs: all
	@tools/deps.sh python3
	@$(MAKE) --no-print-directory -C tests OUTPUT=$(abspath $(BUILD))/tests measure
	$(BUILD)/tests/measure_rates >docs/rates.tsv.tmp && mv docs/rates.tsv.tmp docs/rates.tsv
	tools/rates/draw_rates.py docs/rates.tsv docs
	@$(MAKE) --no-print-directory docs/terminal.svg
.PHONY: docs

# Commands killed at random moments, a thousand times.
kill-test: tests
	XDP_BLOOM=$(abspath $(BUILD))/xdp-bloom TRAFFIC=$(abspath $(BUILD))/tests/traffic \
		XDP_BLOOM_KILLS=$(or $(KILLS),1000) XDP_BLOOM_CASES=kills tests/net/net_kill.sh

# What an older version put into force is taken over under traffic, and the other way round.
FROM ?= 2e35800
upgrade-test: tests
	@mkdir -p $(BUILD)/upgrade
	git archive $(FROM) | tar -x -C $(BUILD)/upgrade
	$(MAKE) --no-print-directory -s -C $(BUILD)/upgrade all
	OTHER=$(BUILD)/upgrade/build/xdp-bloom prove --exec tests/support/ktap-status.sh tools/upgrade.sh

# Ten million packets on two CPUs while it rotates a hundred times: every one is counted once.
counts: tests
	XDP_BLOOM=$(abspath $(BUILD))/xdp-bloom TRAFFIC=$(abspath $(BUILD))/tests/traffic \
		XDP_BLOOM_PACKETS=$(or $(PACKETS),10000000) XDP_BLOOM_CASES=counts tests/net/net_rotate.sh

# Every system call and allocation of the verbs that change something fails once.
faults: deps-test
	@$(MAKE) --no-print-directory tests
	FAULTS=all XDP_BLOOM=$(abspath $(BUILD))/xdp-bloom TRAFFIC=$(abspath $(BUILD))/tests/traffic tests/cli/cli_faults.sh

fuzz budget: all
	@$(MAKE) --no-print-directory -C tests OUTPUT=$(abspath $(BUILD))/tests $@

bench bench-quick: all
	@tools/deps.sh $(BENCH_DEPS)
	@$(MAKE) --no-print-directory -C tests OUTPUT=$(abspath $(BUILD))/tests $@

# What the last make bench found becomes the record that the documents show.
bench-record:
	python3 tests/bench/report.py record $(BUILD)/bench.json docs/benchmarks.md docs/growth.svg

C_FILES  := $(wildcard bpf/*.[ch] user/*/*.[ch] tests/*/*.[ch] tools/rates/*.c)
SH_FILES := $(wildcard tests/*/*.sh tools/*.sh packaging/*.sh)

lint: all
	@tools/deps.sh $(LINT_DEPS)
	$(CLANG_FORMAT) --dry-run -Werror $(C_FILES)
	shellcheck -x $(SH_FILES)
	cppcheck --quiet --std=c11 --error-exitcode=1 --enable=warning,performance,portability --inline-suppr \
		--suppress=missingIncludeSystem -j2 -I. -Iuser -D__x86_64__ \
		'-DLIBBPF_OPTS(type,name,...)=struct type name' '-DDECLARE_LIBXDP_OPTS(type,name,...)=struct type name' user
	@# Every memcpy() and snprintf() is insecure to the first check; the second takes va_start() for nothing in clang 14;
	@# the third finds a leak in the skeleton that bpftool makes (cppcheck looks for ours).
	printf '%s\n' $(USER_SRC) | xargs -P $(shell nproc) -I{} clang-tidy --quiet --warnings-as-errors='*' \
		--checks=-clang-analyzer-security.insecureAPI.*,-clang-analyzer-valist.Uninitialized,-clang-analyzer-unix.Malloc \
		{} -- $(filter-out -Werror,$(ALL_CFLAGS))

help:
	@echo 'make                build/xdp-bloom; SHARED=1 has the libraries outside'
	@echo 'make deps           install what building needs (apt)'
	@echo 'make run            a sandbox that shows it at work; IFACE=eth0 LIST=file filters for real'
	@echo 'make check          unit tests: no root, seconds'
	@echo 'make rooms          does every folder of user/ include only what stands left of it?'
	@echo 'make test           everything, as root'
	@echo 'make soak           random operations against a naive model, for SOAK_SECONDS (3600)'
	@echo 'make rates          predicted against measured rates of the filter, the whole grid'

	@echo 'make kill-test      commands killed at random moments, KILLS (1000) times'
	@echo 'make upgrade-test   what version FROM put into force is taken over under traffic, and the reverse'
	@echo 'make counts         ten million packets on two CPUs, a hundred rotations: every one is counted'
	@echo 'make test-kernels   the program and network tests in other kernels, under QEMU; KERNELS and KERNEL_TESTS say which'
	@echo 'make record-kernels the tables of the README, in one run of half an hour'
	@echo 'make compilers      built by clang 14 to 19 and gcc, and loaded'
	@echo 'make kselftest      the tests as the kernel runs its own; KSELFTESTS says which'
	@echo 'make faults         each system call and allocation of the verbs that change something fails once'
	@echo 'make budget         tests/prog/verifier-budget.txt, after the data path changed'
	@echo 'make bench          against ipset, nftables and BPF maps; bench-quick: under 50 s;'
	@echo '                    bench-record: into docs/'
	@echo 'make fuzz           the parsers, for FUZZ_SECONDS (60) each'
	@echo 'make docs           measure the pictures of docs/bloom.md anew, record the README'\''s'
	@echo 'make lint           clang-format, clang-tidy, cppcheck, shellcheck'
	@echo 'make deb            a Debian package; deb-test installs, uses and removes it: build/deb/xdp-bloom_VERSION_ARCH.deb'
	@echo 'make install        PREFIX (/usr/local), DESTDIR'

.DELETE_ON_ERROR:
.PHONY: FORCE docs/terminal.svg all deps deps-test run install deb deb-test clean tests check test rates soak test-kernels record-kernels compilers kselftest fuzz budget bench bench-quick bench-record units kill-test counts faults upgrade-test rooms lint help
