# SPDX-License-Identifier: GPL-2.0-only
# make help lists what there is to make.

# As many at once as there are processors; make -j1 for one.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif

VERSION := 0.2.0
PREFIX  ?= /usr/local
DESTDIR ?=
# Where zsh looks under /usr/local; a package of the distribution has vendor-completions.
ZSH_DIR ?= site-functions
BUILD   ?= build

include tools/common.mk
ifdef SAN
BUILD	:= $(BUILD)/san
endif
# With a value, all libraries stay outside, as a distribution wants it.
SHARED     ?= $(SAN)
ALL_CFLAGS  = -std=gnu11 $(WARNINGS) -D_GNU_SOURCE -DVERSION='"$(VERSION)"' -I. -Iuser -I$(BUILD) \
	      $(PKG_CFLAGS) $(SANITIZE) $(CFLAGS) $(CPPFLAGS)

SKELETON := $(patsubst %,$(BUILD)/%.skel.h,xdp_bloom xdp_bloom_to xdp_bloom_both xdp_bloom_out xdp_bloom_out_to xdp_bloom_out_both)
# What the service shows to a browser.
PAGE	 := $(BUILD)/page_text.h
USER_SRC := $(sort $(wildcard user/*/*.c))
# With a value, the command alone, where the libraries of these two are missing: make ALONE=1 build/xdp-bloom
ifdef ALONE
USER_SRC := $(filter-out user/fetch/main.c user/fleet/main.c,$(sort $(shell grep -LE '#include <(curl/|sodium|hiredis/|gnutls/)' $(USER_SRC))))
PKGS_FETCH :=
PKGS_FLEET :=
endif
# Everything but each main() also goes into an archive that the tests link.
USER_OBJ := $(USER_SRC:user/%.c=$(BUILD)/user/%.o)
MAIN_OBJ := $(BUILD)/user/verbs/main.o
# What speaks to servers is a program of its own: the command has nothing of their libraries.
FETCH_OBJ := $(BUILD)/user/fetch/main.o
FLEET_OBJ := $(BUILD)/user/fleet/main.o
CORE     := $(BUILD)/core.a

.DEFAULT_GOAL := $(BUILD)/xdp-bloom

# --- Build -----------------------------------------------------------------------------------------------------------

all: $(BUILD)/xdp-bloom $(BUILD)/xdp-bloom-fetch $(BUILD)/xdp-bloom-fleet $(BUILD)/feeds ## the command, in build/; SHARED=1: its libraries outside; V=1: show the commands; WERROR=-Werror
	@:

$(BUILD)/xdp-bloom: $(MAIN_OBJ) $(CORE) $(BUILD)/libraries
	$(call say,LINK,$@)$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $(MAIN_OBJ) $(CORE) @$(BUILD)/libraries

$(BUILD)/xdp-bloom-fetch: $(FETCH_OBJ) $(CORE) $(BUILD)/libraries $(BUILD)/fetch-libraries
	$(call say,LINK,$@)$(CC) $(SANITIZE) $(LDFLAGS) -Wl,--as-needed -o $@ $(FETCH_OBJ) $(CORE) \
		@$(BUILD)/libraries @$(BUILD)/fetch-libraries

$(BUILD)/xdp-bloom-fleet: $(FLEET_OBJ) $(CORE) $(BUILD)/libraries $(BUILD)/fleet-libraries
	$(call say,LINK,$@)$(CC) $(SANITIZE) $(LDFLAGS) -Wl,--as-needed -o $@ $(FLEET_OBJ) $(CORE) \
		@$(BUILD)/libraries @$(BUILD)/fleet-libraries

# What each of these two asks for beyond that. In a file that the compiler reads: on a busy machine make, and a shell, have
# lost what came by a pipe, and make what it read, with no word of why, and a link lacked all of it.
define libraries_of
$(BUILD)/$1-libraries: $(BUILD)/$1-linked-with
	@$(PKG_CONFIG) --libs $2 >$$@.new && [ -s $$@.new ] && mv $$@.new $$@
endef
$(eval $(call libraries_of,fetch,$(PKGS_FETCH)))
$(eval $(call libraries_of,fleet,$(PKGS_FLEET)))

# Where the command looks for it as long as it is not installed.
$(BUILD)/feeds: packaging/feeds
	@mkdir -p $(@D)
	@cp $< $@

# Tried when a compiler, a library or a directory of theirs is newer, not each time.
$(BUILD)/libraries: $(BUILD)/linked-with tools/link.sh
	$(call say,TRY,which libraries can be linked as archives)tools/link.sh $@ '$(CC)' '$(PKG_CONFIG)' '$(SHARED)' $(PKGS)

$(CORE): $(filter-out $(MAIN_OBJ) $(FETCH_OBJ) $(FLEET_OBJ),$(USER_OBJ)) $(BUILD)/made-of
	@rm -f $@
	$(call say,AR,$@)$(AR) rcs $@ $(filter %.o,$^)

$(BUILD)/user/%.o: user/%.c $(BUILD)/compiled-with | $(SKELETON) $(PAGE)
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(ALL_CFLAGS) -MMD -MP -MT $@ -c -o $@ $<

$(BUILD)/%.bpf.o: bpf/%.bpf.c $(BUILD)/compiled-with
	@mkdir -p $(@D)
	$(call say,BPF,$<)$(CLANG) $(BPF_CFLAGS) -Ibpf -MMD -MP -MT $@ -c -o $@ $<

# What debuggers would want is left out: half of the object.
ifndef PACKED
$(SKELETON): $(BUILD)/%.skel.h: $(BUILD)/%.bpf.o
	$(call say,SKEL,$@)$(BPFTOOL) gen object $(BUILD)/$*.o $< && \
		$(BPFTOOL) gen skeleton $(BUILD)/$*.o name $*_bpf >$@.tmp && mv $@.tmp $@
else
# bpftool reads this machine's byte order alone: the skeleton is that of such an object, and has the other one in it.
$(SKELETON): $(BUILD)/%.skel.h: $(BUILD)/%.bpf.o tools/pack_object.sh tools/drop_lines.py
	$(call say,SKEL,$@)$(CLANG) $(BPF_CFLAGS) -target bpf -Ibpf -c -o $(BUILD)/$*.native.o bpf/$*.bpf.c && \
		$(BPFTOOL) gen skeleton $(BUILD)/$*.native.o name $*_bpf >$@.tmp && tools/pack_object.sh $@.tmp $*_bpf $< && mv $@.tmp $@
endif

$(PAGE): tools/embed.sh user/observe/page.html user/observe/page.css user/observe/page.js
	@mkdir -p $(@D)
	$(call say,PAGE,$@)tools/embed.sh $(filter-out $<,$^) >$@.tmp && mv $@.tmp $@

$(eval $(call remember,$(BUILD)/compiled-with,$(CC) $(CLANG) $(VERSION) $(WARNINGS) $(SANITIZE) $(CFLAGS) $(CPPFLAGS) $(PKGS_ALL)))
$(eval $(call remember,$(BUILD)/linked-with,$(CC) $(SANITIZE) $(LDFLAGS) $(if $(SHARED),shared) $(PKGS)))
$(eval $(call remember,$(BUILD)/fetch-linked-with,$(CC) $(SANITIZE) $(LDFLAGS) $(PKGS_FETCH)))
$(eval $(call remember,$(BUILD)/fleet-linked-with,$(CC) $(SANITIZE) $(LDFLAGS) $(PKGS_FLEET)))
$(eval $(call remember,$(BUILD)/made-of,$(USER_SRC)))

-include $(wildcard $(BUILD)/*.d $(BUILD)/user/*/*.d)

# The systemd units, with their paths filled in.
UNITS ?= $(BUILD)

units:
	@mkdir -p $(UNITS)
	@cp packaging/systemd/*.socket $(UNITS)/
	@for unit in xdp-bloom.service xdp-bloom-restore.service xdp-bloom-fetch@.service xdp-bloom-fleet@.service; do \
		sed -e 's|@PREFIX@|$(PREFIX)|g' -e '/^@HARDENED@$$/r packaging/systemd/hardened' -e '/^@HARDENED@$$/d' \
			-e '/^@NOBODY@$$/r packaging/systemd/nobody' -e '/^@NOBODY@$$/d' \
			packaging/systemd/$$unit.in > $(UNITS)/$$unit || exit 1; done

# Mode, file, and where it goes below PREFIX.
define INSTALLED
644 $(UNITS)/xdp-bloom.service lib/systemd/system/xdp-bloom.service
644 $(UNITS)/xdp-bloom-restore.service lib/systemd/system/xdp-bloom-restore.service
644 $(UNITS)/xdp-bloom-fetch.socket lib/systemd/system/xdp-bloom-fetch.socket
644 $(UNITS)/xdp-bloom-fetch@.service lib/systemd/system/xdp-bloom-fetch@.service
644 $(UNITS)/xdp-bloom-fleet.socket lib/systemd/system/xdp-bloom-fleet.socket
644 $(UNITS)/xdp-bloom-fleet@.service lib/systemd/system/xdp-bloom-fleet@.service
755 packaging/systemd/xdp-bloom-generator lib/systemd/system-generators/xdp-bloom-generator
755 $(BUILD)/xdp-bloom sbin/xdp-bloom
755 $(BUILD)/xdp-bloom-fetch lib/xdp-bloom/xdp-bloom-fetch
755 $(BUILD)/xdp-bloom-fleet lib/xdp-bloom/xdp-bloom-fleet
644 packaging/feeds share/xdp-bloom/feeds
644 docs/xdp-bloom.8 share/man/man8/xdp-bloom.8
644 docs/xdp-bloom.conf.5 share/man/man5/xdp-bloom.conf.5
644 packaging/completions/xdp-bloom.bash share/bash-completion/completions/xdp-bloom
644 packaging/completions/_xdp-bloom share/zsh/$(ZSH_DIR)/_xdp-bloom
$(foreach file,README.md CHANGELOG.md SECURITY.md docs/contract.md docs/design.md docs/bloom.md $(wildcard docs/*.svg docs/*.png),644 $(file) \
	share/doc/xdp-bloom/$(notdir $(file))$(newline))644 packaging/xdp-bloom.conf share/doc/xdp-bloom/examples/xdp-bloom.conf
endef
export INSTALLED
define newline


endef

install: all units ## into PREFIX (/usr/local), below DESTDIR
	@printf '%s\n' "$$INSTALLED" | tools/install.sh install '$(DESTDIR)' '$(PREFIX)'

uninstall: ## what install has put there; before it: xdp-bloom detach --all --purge
	@printf '%s\n' "$$INSTALLED" | tools/install.sh uninstall '$(DESTDIR)' '$(PREFIX)'

dist: ## the last commit as build/dist/xdp-bloom-VERSION.tar.gz, twice, byte for byte the same; TRY=1: built outside git
	@tools/dist.sh $(BUILD)/dist $(VERSION) $(if $(TRY),try)

deb: ## Debian packages, source and binary: build/deb/xdp-bloom_VERSION-1_ARCH.deb
	@tools/deps.sh $(DEPS) $(DEB_DEPS)
	+@tools/deb.sh $(BUILD)/deb $(VERSION)

crowdsec-test: all ## ten minutes beside a real CrowdSec agent: START (100000) decisions, 10,000 more, and its failures
	@tools/deps.sh $(RUN_DEPS) && tools/unpack.sh $(BUILD)/peers crowdsec
	@$(MAKE) --no-print-directory -C tests OUTPUT=$(abspath $(BUILD))/tests traffic
	for what in '0 0 $(or $(START),100000)' '560 10000 1000'; do \
		XDP_BLOOM=$(abspath $(BUILD))/xdp-bloom TRAFFIC=$(abspath $(BUILD))/tests/traffic \
		XDP_BLOOM_CROWDSEC="$$what" XDP_BLOOM_CASES=real_agent tests/net/net_crowdsec.sh || exit 1; done

routes-test: all tests ## a million routes by BIRD and by FRR, 10,000 of them changed a second, and both ended and killed
	@tools/deps.sh $(ROUTES_DEPS)
	XDP_BLOOM_DAEMONS='1000000 60 10000' tests/net/net_routes_daemons.sh

fleet-test: tests ## MEMBERS (16) of a fleet and a real Redis: how soon a ban on one drops packets on all, BANS (1000) of them; and faults; SEED
	@tools/deps.sh $(FLEET_DEPS)
	XDP_BLOOM=$(abspath $(BUILD))/xdp-bloom TRAFFIC=$(abspath $(BUILD))/tests/traffic $(if $(SEED),XDP_BLOOM_SEED=$(SEED)) \
		XDP_BLOOM_MEMBERS=$(or $(MEMBERS),16) XDP_BLOOM_BANS=$(or $(BANS),1000) XDP_BLOOM_AGREE=$(or $(AGREE),5) \
		prove --exec tests/support/ktap-status.sh --verbose tests/net/net_fleet_sixteen.sh tests/net/net_fleet_faults.sh

deb-test: ## the package by lintian and autopkgtest, installed, used and removed, on a copy-on-write picture of this machine
	@tools/deps.sh $(DEPS) $(DEB_DEPS) $(DEB_TEST_DEPS)
	@$(MAKE) --no-print-directory deb all
	@$(MAKE) --no-print-directory -C tests OUTPUT=$(abspath $(BUILD))/tests traffic
	prove --exec tests/support/ktap-status.sh packaging/deb-test.sh

rpm: ## RPM packages, source and binary, in build/rpm
	@tools/deps.sh $(DEPS) $(RPM_DEPS)
	+@tools/rpm.sh $(BUILD)/rpm $(VERSION)

rpm-test: ## the packages by rpmlint, installed, used and removed, on a copy-on-write picture of this machine
	@tools/deps.sh $(DEPS) $(RPM_DEPS) $(RPM_TEST_DEPS)
	@$(MAKE) --no-print-directory rpm all
	@$(MAKE) --no-print-directory -C tests OUTPUT=$(abspath $(BUILD))/tests traffic
	prove --exec tests/support/ktap-status.sh packaging/rpm-test.sh

container: static ## build/container/xdp-bloom-VERSION-ARCH.tar: the static command as an image for podman, Docker, containerd
	@tools/deps.sh $(CONTAINER_DEPS)
	@tools/container.sh $(BUILD)/container/xdp-bloom-$(VERSION)-$(ARCH).tar $(BUILD)/static/$(ARCH)/xdp-bloom $(ARCH) $(VERSION)

container-test: ## the image by crun, with real packets and with each right taken away; and the YAML by its schemas
	@tools/deps.sh $(DEPS) $(CONTAINER_TEST_DEPS)
	@$(MAKE) --no-print-directory container all
	@$(MAKE) --no-print-directory -C tests OUTPUT=$(abspath $(BUILD))/tests traffic
	prove --exec tests/support/ktap-status.sh --verbose packaging/container-test.sh

# What all of these look at: with ARCH that machine alone.
MACHINES ?= $(if $(filter undefined,$(origin ARCH)),amd64 arm64 armhf mipsel riscv64 s390x,$(ARCH))
MACHINES := $(MACHINES)
# A Debian kernel for an emulated machine, and a pair of interfaces in it.
BOOTED	 := $(filter arm64 armhf riscv64 s390x,$(MACHINES))
ARCH     ?= $(shell dpkg --print-architecture)
static: ## build/static/ARCH/xdp-bloom, which needs no other file: amd64, arm64, armhf, mipsel, riscv64, s390x; WITH=core: smaller
	@tools/deps.sh $(DEPS) $(STATIC_DEPS)
	+@tools/static.sh $(BUILD)/static $(ARCH) '$(WITH)'

record-static: ## how large those are that were made, of each architecture, into docs/design.md
	@tools/static_record.sh $(BUILD)/static/sizes docs/design.md

static-check: ## the unit tests with it, on emulated CPUs of all MACHINES, or of ARCH; CHECKS='unit_state unit_image'
	@tools/deps.sh $(DEPS) $(STATIC_DEPS) qemu-user-static perl file
	+@for machine in $(MACHINES); do tools/static.sh $(BUILD)/static $$machine '$(WITH)' '$(or $(CHECKS),all)' || failed=yes; done; [ ! $$failed ]

static-test: all ## what it says, and images between MACHINES, on emulated CPUs; with ARCH that one alone
	@tools/deps.sh $(DEPS) $(STATIC_DEPS) $(RUN_DEPS) qemu-user-static perl file binutils
	+@for machine in $(MACHINES); do tools/static.sh $(BUILD)/static $$machine '$(WITH)' || exit 1; done
	@$(MAKE) --no-print-directory -C tests OUTPUT=$(abspath $(BUILD))/tests traffic
	MACHINES='$(MACHINES)' prove --exec tests/support/ktap-status.sh --verbose packaging/static-test.sh

static-boot: all ## it in Debian's own kernels of MACHINES (arm64, armhf, riscv64, s390x), under QEMU, with real packets; or ARCH
	@tools/deps.sh $(DEPS) $(STATIC_DEPS) perl
	+@for machine in $(BOOTED); do tools/static.sh $(BUILD)/static $$machine '$(WITH)' traffic || exit 1; done
	@for machine in $(BOOTED); do tests/support/ktap-status.sh tests/kernels/static.sh $$machine || failed=yes; done; [ ! $$failed ]

clean: ## remove build/
	rm -rf $(BUILD)

# --- What is needed, from the distribution ---------------------------------------------------------------------------

DEPS := clang bpftool pkgconf,pkg-config libbpf-dev libxdp-dev libelf-dev zlib1g-dev libsqlite3-dev libjansson-dev \
	liblzma-dev libzstd-dev libmicrohttpd-dev libncurses-dev libcurl4-gnutls-dev libsodium-dev libhiredis-dev libgnutls28-dev libc6-dev
# Each of these on top of those for building.
RUN_DEPS   := iproute2 jq python3-minimal util-linux mount
CHECK_DEPS := perl python3
# Peers to compare with, and other XDP programs to live beside.
TEST_DEPS  := $(RUN_DEPS) $(CHECK_DEPS) mandoc strace tcpdump tshark tmux zsh procps ethtool xdp-tools iprange ipset nftables systemd curl wireguard-tools openssl minisign ca-certificates sqlite3 valkey-tools,redis-tools zstd
# And servers that are spoken to, unpacked only: installed, they would run.
TEST_PEERS := nginx nginx-common chrony ntpsec dbus-daemon systemd-timesyncd
FUZZ_DEPS  := libclang-rt-dev llvm
BENCH_DEPS := iproute2 ipset nftables iptables xdp-tools iprange ethtool python3
ROUTES_DEPS := $(RUN_DEPS) bird2 frr
FLEET_DEPS := $(RUN_DEPS) valkey-tools,redis-tools nftables
STATIC_DEPS = lld llvm dpkg-dev xz-utils tcl python3-minimal $(if $(filter s390x,$(ARCH) $(MACHINES)),binutils-s390x-linux-gnu)
DEB_DEPS   := debhelper build-essential
DEB_TEST_DEPS := $(RUN_DEPS) perl python3 procps gcc lintian autopkgtest systemd
RPM_DEPS   := rpm gcc
RPM_TEST_DEPS := $(RUN_DEPS) perl rpmlint systemd
CONTAINER_DEPS := buildah
CONTAINER_TEST_DEPS := $(RUN_DEPS) perl crun python3-yaml python3-kubernetes docker-compose
LINT_DEPS  := clang-format clang-tidy cppcheck shellcheck python3
FRESH_DEPS := mmdebstrap git
PAGE_DEPS  := $(RUN_DEPS) chromium
MUTANT_DEPS := python3 util-linux mount llvm libclang-rt-dev

# Where rights or the kernel are missing, what an emulated machine needs.
VM_DEPS     = $(shell tools/rights.sh >/dev/null 2>&1; [ $$? != 1 ] || tests/kernels/instead.sh packages)
# $(call here_or_apart,COMMAND,COMMAND): the first where rights and kernel are there, else the second.
here_or_apart = why=$$(tools/rights.sh); case $$? in 0) $1 ;; 1) echo "In an emulated machine: $$why"; $2 ;; *) exit 1 ;; esac

deps: ## what building needs
	@tools/deps.sh $(DEPS)
deps-test: ## what the tests need
	@tools/deps.sh $(DEPS) $(TEST_DEPS) $(if $(VM_DEPS),$(VM_DEPS) $(FUZZ_DEPS))
	@tools/unpack.sh $(BUILD)/peers $(TEST_PEERS) || echo 'what needs them is skipped'
deps-check:
	@tools/deps.sh $(DEPS) $(CHECK_DEPS)
deps-mutants:
	@tools/deps.sh $(DEPS) $(TEST_DEPS) $(MUTANT_DEPS)
deps-fuzz:
	@tools/deps.sh $(DEPS) $(FUZZ_DEPS)
deps-bench:
	@tools/deps.sh $(DEPS) $(BENCH_DEPS)
deps-lint:
	@tools/deps.sh $(DEPS) $(LINT_DEPS)

# --- Use -------------------------------------------------------------------------------------------------------------

IFACE ?=
LIST  ?=

# A make of its own: what is missing changes what pkg-config and the wildcards say.
run: ## a sandbox that shows it at work; IFACE=eth0 LIST=file filters for real
	@tools/deps.sh $(DEPS) $(RUN_DEPS) $(if $(IFACE),,$(VM_DEPS))
	@$(MAKE) --no-print-directory all
	@if [ -n "$(IFACE)" ]; then tools/run.sh "$(IFACE)" "$(LIST)"; else \
		$(MAKE) --no-print-directory -C tests OUTPUT=$(abspath $(BUILD))/tests traffic && \
		$(call here_or_apart,tools/demo.sh,tests/kernels/instead.sh show tools/demo.sh); fi

# --- Tests -----------------------------------------------------------------------------------------------------------

tests: all ## build them
	@$(MAKE) --no-print-directory -C tests OUTPUT=$(abspath $(BUILD))/tests programs

rooms: errors ## does every folder of user/ include only what stands left of it?
	@tools/layers.py

# because() marks an error: compared with -ENOENT it would be missed.
errors:
	@! grep -rnE '[!=]= -E[A-Z]|case -E[A-Z]|strerror\(-' user tests/unit || \
		{ echo 'Errors are compared by err_is(), and put into words by errno_text() or reason() (base/log.h).'; false; }

check: deps-check ## unit tests: no root, seconds
	@$(MAKE) --no-print-directory rooms all
	@$(MAKE) --no-print-directory -C tests OUTPUT=$(abspath $(BUILD))/tests check

test: deps-test ## everything: real packets in the real kernel; TESTS='unit_% net_attach.sh': only these; VM=1: emulated
	@$(MAKE) --no-print-directory all
	@$(call here_or_apart,\
	$(MAKE) --no-print-directory -C tests OUTPUT=$(abspath $(BUILD))/tests run_tests,\
	$(MAKE) --no-print-directory -C tests OUTPUT=$(abspath $(BUILD))/tests run_tests_apart)

fresh: ## the README's commands in a Debian that has nothing else; RELEASE=bookworm or trixie; CONFINED=1; COMMANDS='make deb-test'
	@tools/deps.sh $(FRESH_DEPS)
	@tools/fresh.sh $(RELEASE)

fresh-trixie: ## the same in Debian 13
	@$(MAKE) --no-print-directory fresh RELEASE=trixie

confined-test: ## all tests with what a container of Docker has, in emulated machines: some hours
	@CONFINED=1 VM_SECONDS=14400 $(MAKE) --no-print-directory fresh RELEASE=$(RELEASE)

KERNELS ?=
test-kernels: deps-test ## program and network tests in other kernels, under QEMU; KERNELS, KERNEL_TESTS, KERNEL_ARCH=arm64
	@$(MAKE) --no-print-directory tests
	+tests/support/ktap-status.sh tests/kernels/run.sh $(KERNELS)

virtio-test: deps-test ## virtio_net in other kernels, under QEMU: queues, and what its host joins; KERNELS
	@$(MAKE) --no-print-directory tests
	tests/support/ktap-status.sh tests/kernels/virtio.sh $(KERNELS)

hardened-test: deps-test ## kernels that are locked down (integrity, confidentiality), or have no JIT, under QEMU; KERNELS
	@$(MAKE) --no-print-directory tests
	for told in lockdown=integrity lockdown=confidentiality sysctl.net.core.bpf_jit_enable=0; do \
		echo "# $$told"; \
		KERNEL_LIMIT=$(or $(KERNEL_LIMIT),1200) KERNEL_APPEND=$$told KERNEL_TESTS='$(or $(KERNEL_TESTS),net_doctor.sh XDP_BLOOM_CASES=ipv..plain:net_modes.sh)' \
			tests/support/ktap-status.sh tests/kernels/run.sh $(KERNELS) || exit 1; done

ANALYZE ?= $(USER_SRC)
lint: deps-lint ## clang-format, clang-tidy, cppcheck, shellcheck; ANALYZE=user/state/state.c: clang-tidy of this alone
	@$(MAKE) --no-print-directory rooms all
	$(CLANG_FORMAT) --dry-run -Werror $(C_FILES)
	shellcheck -x $(SH_FILES)
	cppcheck --quiet --std=c11 --error-exitcode=1 --enable=warning,performance,portability --inline-suppr \
		--suppress=missingIncludeSystem -j2 -I. -Iuser -D__x86_64__ \
		'-DLIBBPF_OPTS(type,name,...)=struct type name' '-DDECLARE_LIBXDP_OPTS(type,name,...)=struct type name' user
	@# Every memcpy() and snprintf() is insecure to the first check; the second takes va_start() for nothing in clang 14;
	@# the third finds a leak in the skeleton that bpftool makes (cppcheck looks for ours).
	printf '%s\n' $(ANALYZE) | grep . | xargs -r -P $(shell nproc) -I{} clang-tidy --quiet --warnings-as-errors='*' \
		--checks=-clang-analyzer-security.insecureAPI.*,-clang-analyzer-valist.Uninitialized,-clang-analyzer-unix.Malloc \
		{} -- $(filter-out -Werror,$(ALL_CFLAGS))

CLANG_FORMAT ?= clang-format
C_FILES  := $(wildcard bpf/*.[ch] user/*/*.[ch] tests/*/*.[ch] tools/rates/*.c)
SH_FILES := $(wildcard tests/*/*.sh tools/*.sh packaging/*.sh packaging/systemd/*-generator)

# --- Tests at length -------------------------------------------------------------------------------------------------

fuzz: deps-fuzz ## the parsers, for FUZZ_SECONDS (60) each
	@$(MAKE) --no-print-directory all
	@$(MAKE) --no-print-directory -C tests OUTPUT=$(abspath $(BUILD))/tests fuzz

SOAK_SECONDS ?= 3600
soak: tests ## random operations against a naive model, for SOAK_SECONDS (3600)
	XDP_BLOOM=$(abspath $(BUILD))/xdp-bloom TRAFFIC=$(abspath $(BUILD))/tests/traffic SOAK_SECONDS=$(SOAK_SECONDS) \
		tests/cli/cli_soak.sh

rates: tests ## predicted against measured rates of the filter, the whole grid, with the lists in XDP_BLOOM_LISTS
	XDP_BLOOM_RATES=full $(BUILD)/tests/unit_rates
	XDP_BLOOM_RATES=full $(BUILD)/tests/unit_detect_plan

detect-test: tests ## the bounds of the detector against a naive model, ROUNDS (250) of them, more than ten million packets; SEED
	$(if $(SEED),XDP_BLOOM_SEED=$(SEED)) XDP_BLOOM_ROUNDS=$(or $(ROUNDS),250) $(BUILD)/tests/unit_detect

first-drop-test: tests ## how soon the first packet above a limit is dropped, ATTACKS (1000) of them, by the numbers of the packets
	XDP_BLOOM=$(abspath $(BUILD))/xdp-bloom TRAFFIC=$(abspath $(BUILD))/tests/traffic \
		XDP_BLOOM_ATTACKS=$(or $(ATTACKS),1000) XDP_BLOOM_CASES=first_drop tests/net/net_police.sh

scenes-test: tests ## attacks beside clients with real sockets: what the attackers get through, and what the clients lose; SEED
	XDP_BLOOM=$(abspath $(BUILD))/xdp-bloom TRAFFIC=$(abspath $(BUILD))/tests/traffic $(if $(SEED),XDP_BLOOM_SEED=$(SEED)) \
		tests/net/net_scenes.sh

kill-test: tests ## commands killed at random moments, KILLS (1000) times
	XDP_BLOOM=$(abspath $(BUILD))/xdp-bloom TRAFFIC=$(abspath $(BUILD))/tests/traffic \
		XDP_BLOOM_KILLS=$(or $(KILLS),1000) XDP_BLOOM_CASES=kills tests/net/net_kill.sh

confirm-test: tests ## changes with --confirm whose session breaks, CONFIRMS (1000) of them: each goes back in time
	XDP_BLOOM=$(abspath $(BUILD))/xdp-bloom TRAFFIC=$(abspath $(BUILD))/tests/traffic \
		XDP_BLOOM_CONFIRMS=$(or $(CONFIRMS),1000) XDP_BLOOM_LANES=24 tests/net/net_confirm.sh

ends-test: tests ## bans with a time, BANS (10000) of them: each ends by itself, with no process; and while the date is set
	XDP_BLOOM=$(abspath $(BUILD))/xdp-bloom TRAFFIC=$(abspath $(BUILD))/tests/traffic \
		XDP_BLOOM_BANS=$(or $(BANS),10000) XDP_BLOOM_SECONDS=20 tests/net/net_ends.sh

feeds-test: tests ## a week of a service that keeps FEEDS (200) lists of ENTRIES (10000) fresh, in the time that its work takes
	XDP_BLOOM=$(abspath $(BUILD))/xdp-bloom TRAFFIC=$(abspath $(BUILD))/tests/traffic TMPDIR=/dev/shm XDP_BLOOM_CASES=a_week \
		XDP_BLOOM_FEEDS=$(or $(FEEDS),200) XDP_BLOOM_ENTRIES=$(or $(ENTRIES),10000) XDP_BLOOM_DAYS=$(or $(DAYS),7) \
		tests/net/net_fresh.sh

flash-test: tests ## what BANS (1000) of them and a day of four lists write to a device, counted by the kernel and bounded
	@tools/deps.sh e2fsprogs
	XDP_BLOOM=$(abspath $(BUILD))/xdp-bloom TRAFFIC=$(abspath $(BUILD))/tests/traffic XDP_BLOOM_CASES=flash \
		XDP_BLOOM_BANS=$(or $(BANS),1000) tests/net/net_fresh.sh

parts-test: tests ## the filter's parts are taken away under the service and traffic, FAULTS (200) random sequences; SEED
	XDP_BLOOM=$(abspath $(BUILD))/xdp-bloom TRAFFIC=$(abspath $(BUILD))/tests/traffic $(if $(SEED),XDP_BLOOM_SEED=$(SEED)) \
		XDP_BLOOM_FAULTS=$(or $(FAULTS),200) XDP_BLOOM_OPEN_MS=1000 XDP_BLOOM_CASES=random tests/net/net_parts.sh

samples-test: tests ## what report says of MIXES (200) random mixes of lists against what was sent, and the first ten of 10,000; SEED
	$(if $(SEED),XDP_BLOOM_SEED=$(SEED)) XDP_BLOOM_RUNS=100 $(abspath $(BUILD))/tests/unit_recent
	XDP_BLOOM=$(abspath $(BUILD))/xdp-bloom TRAFFIC=$(abspath $(BUILD))/tests/traffic $(if $(SEED),XDP_BLOOM_SEED=$(SEED)) \
		XDP_BLOOM_MIXES=$(or $(MIXES),200) tests/net/net_samples.sh

status-test: all ## status in 10 ms with LISTS (200) lists and BANS (a million) bans with ends and reasons
	@$(MAKE) --no-print-directory -C tests OUTPUT=$(abspath $(BUILD))/tests traffic
	XDP_BLOOM=$(abspath $(BUILD))/xdp-bloom TRAFFIC=$(abspath $(BUILD))/tests/traffic \
		XDP_BLOOM_LISTS=$(or $(LISTS),200) XDP_BLOOM_BANS=$(or $(BANS),1000000) tests/bench/status.sh

counts: tests ## PACKETS (ten million) on two CPUs during a hundred rotations: every one is counted once; and a thousand rotations
	XDP_BLOOM=$(abspath $(BUILD))/xdp-bloom TRAFFIC=$(abspath $(BUILD))/tests/traffic XDP_BLOOM_ROTATIONS=1000 \
		XDP_BLOOM_PACKETS=$(or $(PACKETS),10000000) XDP_BLOOM_CASES='counts|rotates' tests/net/net_rotate.sh

scale-test: tests ## HOSTS (a million) and a twentieth as many prefixes, by real packets and by test, against a model
	XDP_BLOOM=$(abspath $(BUILD))/xdp-bloom TRAFFIC=$(abspath $(BUILD))/tests/traffic \
		XDP_BLOOM_SCALE=$(or $(HOSTS),1000000) tests/net/net_scale.sh

replay-test: tests ## PACKETS (ten million) of every shape: what replay says of each is what the kernel does with it
	XDP_BLOOM_PACKETS=$(or $(PACKETS),10000000) $(BUILD)/tests/prog_replay

codes-test: tests ## the codes of a roster, of each of the 2^32 addresses: they mean that one and no other
	XDP_BLOOM_ALL=1 $(BUILD)/tests/unit_codes

scope-test: tests ## PACKETS (a million) through lists with scopes, exceptions, shadows and bans: as a naive model says
	XDP_BLOOM_PACKETS=$(or $(PACKETS),1000000) $(BUILD)/tests/prog_scope

page-test: ## the service's page in a real browser, and what a hundred open ones cost
	@tools/deps.sh $(DEPS) $(PAGE_DEPS)
	@$(MAKE) --no-print-directory all
	@$(MAKE) --no-print-directory -C tests OUTPUT=$(abspath $(BUILD))/tests traffic
	XDP_BLOOM=$(abspath $(BUILD))/xdp-bloom TRAFFIC=$(abspath $(BUILD))/tests/traffic \
		prove --exec tests/support/ktap-status.sh tests/browser/page.sh

FROM ?= 2e35800
upgrade-from: tests
	@mkdir -p $(BUILD)/upgrade
	git archive $(FROM) | tar -x -C $(BUILD)/upgrade
	$(MAKE) --no-print-directory -s -C $(BUILD)/upgrade all

upgrade-test: upgrade-from ## what version FROM (0.1) put into force is taken over under traffic, and the reverse
	OTHER=$(BUILD)/upgrade/build/xdp-bloom prove --exec tests/support/ktap-status.sh --verbose tools/upgrade.sh

upgrade-deb-test: upgrade-from deb ## from the package of FROM (0.1) to this one, back and forth, under traffic
	+$(MAKE) --no-print-directory -C $(BUILD)/upgrade deb
	OLDER_DEB=$$(ls $(abspath $(BUILD))/upgrade/build/deb/xdp-bloom_*.deb) XDP_BLOOM_CASES=traffic \
		prove --exec tests/support/ktap-status.sh --verbose packaging/deb-test.sh

upgrade-fuzz: upgrade-from ## STATES (10000) made at random from those in tests/upgrades, here and in FROM (0.1): opened or refused; SEED
	XDP_BLOOM=$(abspath $(BUILD))/xdp-bloom TRAFFIC=$(abspath $(BUILD))/tests/traffic OTHER=$(abspath $(BUILD))/upgrade/build/xdp-bloom \
		TMPDIR=/dev/shm XDP_BLOOM_STATES=$(or $(STATES),10000) XDP_BLOOM_LANES=$(shell nproc) XDP_BLOOM_CASES=fuzzed \
		$(if $(SEED),XDP_BLOOM_SEED=$(SEED)) tests/cli/cli_upgrades.sh

record-state: tests ## what this version leaves, into tests/upgrades, for the versions that follow
	XDP_BLOOM=$(abspath $(BUILD))/xdp-bloom TRAFFIC=$(abspath $(BUILD))/tests/traffic RECORD=$(VERSION) tests/cli/cli_upgrades.sh

faults: deps-test ## each field of the state is damaged in each way, each system call and allocation of each verb fails once
	@$(MAKE) --no-print-directory tests
	FAULTS=all $(BUILD)/tests/unit_state_rows
	FAULTS=all XDP_BLOOM=$(abspath $(BUILD))/xdp-bloom TRAFFIC=$(abspath $(BUILD))/tests/traffic tests/cli/cli_faults.sh

N    ?= 120
SEED ?=
AREA ?=
ONLY ?=
mutants: deps-mutants ## N (120) random mistakes in the code: do the tests notice? SEED='1 2', AREA='bpf state', ONLY=7, QUICK=1
	@tools/mutants.py -n $(N) $(SEED:%=-s %) $(AREA:%=-a %) $(ONLY:%=-i %) $(if $(QUICK),-q) -o $(BUILD)/mutants

guards: deps-test ## every need of a machine by every verb that puts something into force: refused, and done with --force
	@$(MAKE) --no-print-directory tests
	GUARDS=all XDP_BLOOM=$(abspath $(BUILD))/xdp-bloom TRAFFIC=$(abspath $(BUILD))/tests/traffic tests/cli/cli_guards.sh

match: deps-test ## a million made packets by source, by destination and by both, held against a naive model
	@$(MAKE) --no-print-directory tests
	XDP_BLOOM_PACKETS=1000000 $(BUILD)/tests/prog_match

matrix: deps-test ## each mode, match and family on each type of link, and GRE's types, here and in other kernels with every driver (KERNELS), under QEMU
	@$(MAKE) --no-print-directory tests
	XDP_BLOOM=$(abspath $(BUILD))/xdp-bloom TRAFFIC=$(abspath $(BUILD))/tests/traffic tests/net/net_matrix.sh || [ $$? = 4 ]
	+KERNEL_LIMIT=$(or $(KERNEL_LIMIT),1800) KERNEL_FLAVOUR= KERNEL_TESTS='net_matrix.sh XDP_BLOOM_CASES=tagged|types:net_bare.sh' \
		tests/support/ktap-status.sh tests/kernels/run.sh $(or $(KERNELS),bullseye bookworm trixie)

compilers: deps ## both sides by clang 14 to 19, user space by gcc, and what the kernel says of the programs; COMPILERS
	+tools/compilers.sh $(COMPILERS)

kselftest: all ## as a part of the kernel's selftests, under the runner of Debian's kernel source; KSELFTESTS
	+tools/kselftest.sh

NIGHTLY ?= test fresh fresh-trixie lint fuzz faults guards match matrix kill-test confirm-test ends-test feeds-test flash-test parts-test counts scale-test replay-test scope-test codes-test \
	   samples-test detect-test first-drop-test scenes-test fleet-test upgrade-test upgrade-deb-test upgrade-fuzz compilers \
	   test-kernels virtio-test hardened-test confined-test deb-test rpm-test container-test static-check static-test static-boot rates soak mutants
nightly: ## all that is too long for CI, one after the other, into docs/nightly.md; NIGHTLY='soak mutants': only these
	+@MAKE='$(MAKE)' tools/nightly.sh docs/nightly.md $(NIGHTLY)

# --- Benchmarks, records and pictures --------------------------------------------------------------------------------

bench bench-quick: deps-bench ## against ipset, nftables and BPF maps; bench-quick takes less than 50 s
	@$(MAKE) --no-print-directory all
	@$(MAKE) --no-print-directory -C tests OUTPUT=$(abspath $(BUILD))/tests $@

bench-record: ## what the last make bench found, into docs/
	python3 tests/bench/report.py record $(BUILD)/bench.json docs/benchmarks.md docs/growth.svg

budget: all ## tests/prog/verifier-budget.txt and ways.txt, after the data path changed
	@$(MAKE) --no-print-directory -C tests OUTPUT=$(abspath $(BUILD))/tests $@

record-kernels: ## kernels, faults, compilers and fuzzers in one run of half an hour, into the README
	@tools/deps.sh $(DEPS) $(TEST_DEPS) $(FUZZ_DEPS)
	@$(MAKE) --no-print-directory tests
	+tools/record.sh

docs: all ## the pictures of docs/bloom.md, measured, and the README's, recorded (as root)
	@tools/deps.sh python3 tmux $(RUN_DEPS)
	@$(MAKE) --no-print-directory -C tests OUTPUT=$(abspath $(BUILD))/tests measure
	$(BUILD)/tests/measure_rates >docs/rates.tsv.tmp && mv docs/rates.tsv.tmp docs/rates.tsv
	tools/rates/draw_rates.py docs/rates.tsv docs
	@$(MAKE) --no-print-directory docs/terminal.svg docs/status.svg docs/top.svg docs/page.png

# The service's page under attack, by Chromium.
docs/page.png: all
	@tools/deps.sh $(PAGE_DEPS)
	@$(MAKE) --no-print-directory -C tests OUTPUT=$(abspath $(BUILD))/tests traffic
	XDP_BLOOM=$(abspath $(BUILD))/xdp-bloom TRAFFIC=$(abspath $(BUILD))/tests/traffic tests/browser/picture.sh $@

# What make run shows.
docs/terminal.svg: all
	@$(MAKE) --no-print-directory -C tests OUTPUT=$(abspath $(BUILD))/tests traffic
	tools/demo.sh 2>&1 | sed 's|/[^ (]*/docs/|docs/|' | tools/terminal.py >$@.tmp && mv $@.tmp $@

# What these show under attack.
docs/status.svg docs/top.svg: docs/%.svg: all
	@$(MAKE) --no-print-directory -C tests OUTPUT=$(abspath $(BUILD))/tests traffic
	tools/attack.sh $* | tools/terminal.py >$@.tmp && mv $@.tmp $@

help: ## this
	@awk '/^# --- / { sub(/^# --- /, ""); sub(/ -+$$/, ""); printf "\n%s\n", $$0 } \
		/^[a-z -]+:.*## / { target = text = $$0; sub(/:.*/, "", target); sub(/.*## /, "", text); \
			gsub(/ /, ", ", target); printf "  make %-17s %s\n", target, text }' Makefile

.PHONY: confined-test all units install uninstall static record-static static-check static-test static-boot dist deb rpm rpm-test container container-test fleet-test routes-test deb-test clean deps deps-test deps-check deps-mutants deps-fuzz deps-bench deps-lint run tests rooms errors check \
	test fresh fresh-trixie test-kernels virtio-test hardened-test lint fuzz soak rates detect-test first-drop-test scenes-test kill-test confirm-test ends-test feeds-test flash-test crowdsec-test parts-test samples-test counts scale-test replay-test scope-test page-test status-test upgrade-from upgrade-test upgrade-deb-test upgrade-fuzz record-state faults guards mutants match matrix compilers kselftest nightly \
	bench bench-quick bench-record budget record-kernels docs docs/terminal.svg docs/status.svg docs/top.svg docs/page.png help
