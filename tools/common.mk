# SPDX-License-Identifier: GPL-2.0-only
#
# What the Makefiles of the command and of its tests share.

CC	   ?= cc
CLANG	   ?= clang
BPFTOOL	   ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
PKG_CONFIG ?= pkg-config
CFLAGS	   ?= -O2 -g
# A warning of a compiler that was never tried does not stop a build. Developers and CI set WERROR=-Werror.
WERROR	   ?=

PKGS := libbpf libxdp libelf zlib sqlite3 jansson liblzma libzstd ncursesw
# Its header only: user/observe/web_server.c loads it when it is needed.
PKGS_LOADED := libmicrohttpd
# Of xdp-bloom-fetch alone.
PKGS_FETCH := libcurl libsodium
# Of xdp-bloom-fleet alone.
PKGS_FLEET := hiredis gnutls

WARNINGS := -Wall -Wextra -Wshadow $(WERROR)
ifdef SAN
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
endif

PKGS_ALL := $(PKGS) $(PKGS_LOADED) $(PKGS_FETCH) $(PKGS_FLEET)

# Asked once, and only when something is compiled. hiredis would decide how all else reads directories: readdir64() is
# another function than the one that the unit tests stand in for.
PKG_CFLAGS = $(eval PKG_CFLAGS := $(filter-out -D_FILE_OFFSET_BITS=%,$(shell $(PKG_CONFIG) --cflags $(PKGS_ALL))))$(PKG_CFLAGS)
PKG_LIBS   = $(eval PKG_LIBS := $(shell $(PKG_CONFIG) --libs $(PKGS)))$(PKG_LIBS)
# Debian keeps asm/ in a directory of the host's own; clang has a vendor in the middle of that name.
BPF_ASM	   = $(eval BPF_ASM := $(addprefix -idirafter ,$(wildcard \
	     /usr/include/$(subst -pc-,-,$(shell $(CC) -dumpmachine)))))$(BPF_ASM)
# bpf: the byte order of this machine.
BPF_ORDER  ?= bpf
BPF_CFLAGS = -O2 -g -std=gnu11 -target $(BPF_ORDER) -mcpu=v3 $(WARNINGS) $(BPF_ASM)

# $(call say,CC,file.c): what the rest of the recipe's line does, in two words. V=1 shows the line itself, -s nothing.
ifneq ($(V)$(findstring s,$(filter-out --%,$(firstword -$(MAKEFLAGS)))),)
say =
else
say = @printf '%-4s %s\n' '$1' '$2';
endif

# $(call remember,FILE,WORDS): a rule for a file that holds these words, and that is new when they are others than before.
define remember
ifneq ($$(file <$1),$(strip $2))
$1: FORCE
endif
$1:
	@mkdir -p $$(@D)
	@printf '%s\n' '$(subst ','\'',$(strip $2))' >$$@
endef

.DELETE_ON_ERROR:
.PHONY: FORCE
