# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# Targets: all run setup test unit fuzz-replay integration e2e escape check-asan fuzz analyze cppcheck
#          tidy format format-check shellcheck headers layers docs-check lint bench install uninstall clean
# V=1 shows commands. MODE=release|debug|asan|analyze picks flags; BUILD= picks the output tree.

PREFIX      ?= /usr/local
BINDIR      ?= $(PREFIX)/bin
LIBDIR      ?= $(PREFIX)/lib/agent-supervisor
UNITDIR     ?= $(PREFIX)/lib/systemd/user
MANDIR      ?= $(PREFIX)/share/man
SHAREDIR    ?= $(PREFIX)/share/agent-supervisor
BASHCOMPDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHCOMPDIR  ?= $(PREFIX)/share/zsh/site-functions
FISHCOMPDIR ?= $(PREFIX)/share/fish/vendor_completions.d
MODE        ?= release
BUILD       ?= build/$(MODE)
VERSION     := 0.1.0
PKGS        := libsystemd libseccomp libsodium ncursesw jansson
CC          := gcc
FUZZ_CC     ?= clang
FUZZ_TIME   ?= 60
JOBS        ?= $(shell nproc 2>/dev/null || echo 2)

# Debian packages that each kind of work needs; `make setup` installs what is missing.
PACKAGES_BUILD := gcc make pkg-config libc6-dev libseccomp-dev libsystemd-dev libsodium-dev \
                  libncurses-dev libjansson-dev
PACKAGES_TEST  := libcmocka-dev tmux git nodejs npm python3 vim-tiny dbus procps util-linux file \
                  strace golang-go bubblewrap firejail zsh fish man-db curl netcat-openbsd
PACKAGES_LINT  := clang-format clang-tidy clang cppcheck shellcheck

PKG_CFLAGS  := $(patsubst -I%,-isystem %,$(shell pkg-config --cflags $(PKGS) 2>/dev/null))
PKG_LIBS    := $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lpthread
CPPFLAGS_   := -I. -D_GNU_SOURCE -DAGENT_SUPERVISOR_VERSION='"$(VERSION)"'
WARN        := -Wall -Wextra -Werror -Wshadow -Wvla -Wundef -Wcast-qual -Wwrite-strings -Wpointer-arith \
               -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wformat=2 -Wswitch-enum \
               -Wconversion -Wnull-dereference -Wimplicit-fallthrough -Wdouble-promotion
WARN_GCC    := -Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wjump-misses-init -Wformat-signedness \
               -Wformat-overflow=2 -Walloca -Wframe-larger-than=32768
HARDEN      := -fstack-protector-strong -fstack-clash-protection -fcf-protection=full -fno-common \
               -fno-strict-aliasing -ftrivial-auto-var-init=zero -fzero-call-used-regs=used-gpr
LDHARDEN    := -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed -Wl,--fatal-warnings
ifeq ($(MODE),release)
OPT := -O2 -g -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 $(HARDEN)
LDX := $(LDHARDEN)
else ifeq ($(MODE),asan)
OPT := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
LDX := -fsanitize=address,undefined
else ifeq ($(MODE),debug)
OPT := -O0 -g3
else ifeq ($(MODE),analyze)
OPT := -O2 -fanalyzer
else
$(error MODE is release, debug, asan or analyze, not "$(MODE)")
endif
CFLAGS_ := -std=gnu17 $(WARN) $(WARN_GCC) $(OPT) $(PKG_CFLAGS) -MMD -MP $(CPPFLAGS_) -fPIE
Q := $(if $(V),,@)

# One static library per layer; LAYERS goes from the lowest to the highest.
LAYERS   := supervisord/base supervisord/proto supervisord/client policy-lang audit-log \
            supervisord/sandbox supervisord/broker supervisord/daemon
lib       = $(BUILD)/lib/$(subst /,-,$(1)).a
mains    := supervisord/broker/main.c supervisord/daemon/main.c
srcs      = $(filter-out $(mains),$(sort $(wildcard $(1)/*.c)))
objs      = $(patsubst %.c,$(BUILD)/%.o,$(call srcs,$(1)))
# The archives that a program or test may link: the named layers, highest first.
libs      = $(foreach l,$(1),$(call lib,$(l)))
B_BASE    := supervisord/proto supervisord/base
B_CLIENT  := supervisord/client $(B_BASE)
B_POLICY  := policy-lang $(B_BASE)
B_AUDIT   := audit-log $(B_BASE)
B_SANDBOX := supervisord/sandbox policy-lang $(B_BASE)
B_BROKER  := supervisord/broker supervisord/sandbox policy-lang $(B_CLIENT)
B_DAEMON  := supervisord/daemon policy-lang audit-log $(B_CLIENT)
B_CTL     := supervisord/sandbox policy-lang audit-log $(B_CLIENT)

BINS := $(addprefix $(BUILD)/bin/,agentctl agent-supervisord agent-broker agent-tui)
PRELOAD := $(BUILD)/lib/agent-supervisor-open.so

.PHONY: all run setup setup-test setup-lint test unit fuzz-replay integration e2e escape check-asan fuzz \
        analyze cppcheck tidy format format-check shellcheck headers layers docs-check lint bench \
        install uninstall clean
.DELETE_ON_ERROR:
.SECONDARY:
all: $(BINS) $(PRELOAD)

# Set-up ------------------------------------------------------------------------------------------

setup:
	$(Q)sh contrib/packaging/install-packages.sh $(PACKAGES_BUILD)
setup-test:
	$(Q)sh contrib/packaging/install-packages.sh $(PACKAGES_BUILD) $(PACKAGES_TEST)
setup-lint:
	$(Q)sh contrib/packaging/install-packages.sh $(PACKAGES_BUILD) $(PACKAGES_LINT)

# pkg-config may have come with setup: a second make sees it. CMD is the shell's text, not make's.
run: setup
	$(Q)$(MAKE) --no-print-directory -q all >/dev/null 2>&1 || echo "building $(BUILD)/bin ..." >&2
	$(Q)$(MAKE) --no-print-directory -s -j$(JOBS) all
	$(Q)[ ! -t 2 ] || echo "questions are answered in a second terminal: $(BUILD)/bin/agentctl approve" >&2
	$(Q)exec $(BUILD)/bin/agentctl run -- $(if $(value CMD),sh -c '$(subst ','\'',$(value CMD))',$${SHELL:-/bin/bash} -i)

# Objects, libraries, programs ---------------------------------------------------------------------

$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_) $(CFLAGS) -c -o $@ $<

define lib_rule
$(call lib,$(1)): $(call objs,$(1))
	@mkdir -p $$(@D)
	$$(Q)rm -f $$@ && $$(AR) rcs $$@ $$^
endef
$(foreach l,$(LAYERS),$(eval $(call lib_rule,$(l))))

-include policy-lang/embed.mk

link = $(Q)$(CC) -pie $(LDX) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(PKG_LIBS)
$(BUILD)/bin/agentctl: $(call objs,agentctl) $(call libs,$(B_CTL))
	@mkdir -p $(@D)
	$(link)
$(BUILD)/bin/agent-tui: $(call objs,tui) $(call libs,$(B_CLIENT))
	@mkdir -p $(@D)
	$(link)
$(BUILD)/bin/agent-broker: $(BUILD)/supervisord/broker/main.o $(call libs,$(B_BROKER))
	@mkdir -p $(@D)
	$(link)
$(BUILD)/bin/agent-supervisord: $(BUILD)/supervisord/daemon/main.o $(call libs,$(B_DAEMON))
	@mkdir -p $(@D)
	$(link)

# Loaded into the agent's processes: no sanitizer, no dependency beyond libc.
$(PRELOAD): supervisord/preload/open.c Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 $(WARN) -O2 -fPIC -shared $(CPPFLAGS_) -Wl,-z,relro,-z,now -o $@ $<

# Tests -------------------------------------------------------------------------------------------

# Unit tests of a layer link that layer and the ones below it.
define unit_rule
UNIT_$(1) := $$(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$$(sort $$(wildcard tests/unit/$(1)/test_*.c)))
$(BUILD)/tests/unit/$(1)/test_%: $(BUILD)/tests/unit/$(1)/test_%.o $(call libs,$(2))
	$$(Q)$$(CC) -pie $$(LDX) -o $$@ $$^ $$(PKG_LIBS) -lcmocka
.PHONY: unit-$(1)
unit-$(1): $$(UNIT_$(1))
	$$(Q)BUILD=$(BUILD) sh tests/lib/run_unit.sh $$(UNIT_$(1))
UNIT_ALL += $$(UNIT_$(1))
endef
$(eval $(call unit_rule,base,supervisord/base))
$(eval $(call unit_rule,proto,$(B_BASE)))
$(eval $(call unit_rule,client,$(B_CLIENT)))
$(eval $(call unit_rule,policy-lang,$(B_POLICY)))
$(eval $(call unit_rule,audit-log,$(B_AUDIT)))
$(eval $(call unit_rule,sandbox,$(B_SANDBOX)))
$(eval $(call unit_rule,broker,$(B_BROKER)))
$(eval $(call unit_rule,daemon,supervisord/broker/link $(B_DAEMON)))
$(eval $(call unit_rule,agentctl,agentctl $(B_CTL)))

# agentctl's verbs as a library for its unit tests; the broker's link for the daemon's.
$(BUILD)/lib/agentctl.a: $(filter-out $(BUILD)/agentctl/main.o,$(call objs,agentctl))
	@mkdir -p $(@D)
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$(BUILD)/lib/supervisord-broker-link.a: $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard supervisord/broker/link*.c)) supervisord/broker/spool.c)
	@mkdir -p $(@D)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

unit: $(UNIT_ALL)
	$(Q)BUILD=$(BUILD) sh tests/lib/run_unit.sh $(UNIT_ALL)

FUZZERS := $(patsubst tests/fuzz/%.c,$(BUILD)/tests/fuzz/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
$(BUILD)/tests/fuzz/fuzz_%: $(BUILD)/tests/fuzz/fuzz_%.o $(BUILD)/tests/fuzz/replay_main.o $(call libs,$(B_CTL))
	$(Q)$(CC) -pie $(LDX) -o $@ $^ $(PKG_LIBS)
fuzz-replay: $(FUZZERS)
	$(Q)sh tests/lib/run_fuzz_replay.sh $(FUZZERS)

# Programs that tests run inside sessions and beside the daemon.
TOOLS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(sort $(wildcard tests/fixtures/*.c tests/escape/*.c \
           tests/bench/*.c)))
$(BUILD)/tests/fixtures/% $(BUILD)/tests/escape/% $(BUILD)/tests/bench/%: tests/%.c
$(BUILD)/tests/fixtures/%: tests/fixtures/%.c Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 -Wall -Wextra -Werror -O2 -g $(CPPFLAGS_) -o $@ $< -lpthread -lutil
$(BUILD)/tests/escape/%: tests/escape/%.c Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 -Wall -Wextra -Werror -O2 -g $(CPPFLAGS_) -o $@ $< -lpthread
$(BUILD)/tests/bench/%: tests/bench/%.c Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 -Wall -Wextra -Werror -O2 -g $(CPPFLAGS_) -o $@ $< -lpthread

INTEGRATION_C := $(patsubst tests/integration/%.c,$(BUILD)/tests/integration/%,$(sort $(wildcard tests/integration/it_*.c)))
$(BUILD)/tests/integration/it_%: $(BUILD)/tests/integration/it_%.o $(call libs,supervisord/broker/link $(B_DAEMON))
	$(Q)$(CC) -pie $(LDX) -o $@ $^ $(PKG_LIBS) -lcmocka
integration: all $(INTEGRATION_C) $(TOOLS)
	$(Q)BUILD=$(BUILD) sh tests/lib/run_scripts.sh integration $(INTEGRATION_C) $(sort $(wildcard tests/integration/it_*.sh))
e2e: all $(TOOLS)
	$(Q)BUILD=$(BUILD) sh tests/lib/run_scripts.sh e2e $(sort $(wildcard tests/e2e/*.sh))
escape: all $(TOOLS)
	$(Q)BUILD=$(BUILD) sh tests/lib/run_scripts.sh escape $(sort $(wildcard tests/escape/*.sh))

# Everything; each part adds to one count, printed at the end.
test: setup-test
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) all
	$(Q)MAKE="$(MAKE)" MODE=$(MODE) BUILD=$(BUILD) JOBS=$(JOBS) sh tests/lib/run_all.sh unit fuzz-replay integration e2e escape
check-asan: setup-test
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) MODE=asan BUILD=build/asan all
	$(Q)MAKE="$(MAKE)" MODE=asan BUILD=build/asan JOBS=$(JOBS) sh tests/lib/run_all.sh unit fuzz-replay integration

fuzz: setup-lint
	$(Q)set -e; for f in $(wildcard tests/fuzz/fuzz_*.c); do n=$$(basename $$f .c); mkdir -p build/fuzz build/corpus/$$n; \
	  $(FUZZ_CC) -std=gnu17 -g -O1 $(CPPFLAGS_) $(PKG_CFLAGS) -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
	    -o build/fuzz/$$n $$f $(foreach d,$(B_CTL),$(call srcs,$(d))) $(FUZZ_EXTRA) $(PKG_LIBS); \
	  build/fuzz/$$n -max_total_time=$(FUZZ_TIME) -max_len=65536 build/corpus/$$n tests/fuzz/corpus/$${n#fuzz_}; done
bench: setup-test all $(TOOLS)
	$(Q)BUILD=$(BUILD) python3 tests/bench/bench.py

# Lint --------------------------------------------------------------------------------------------

C_FILES  = $(shell find supervisord agentctl tui policy-lang audit-log tests -name '*.[ch]' 2>/dev/null | sort)
SH_FILES = $(shell find tests contrib .ci -name '*.sh' 2>/dev/null | sort) .ci/run
analyze:
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) MODE=analyze all
cppcheck:
	$(Q)cppcheck --quiet -j$(JOBS) --std=c11 --enable=warning,performance,portability --suppress=memleak \
	  --suppress=resourceLeak --suppress=missingIncludeSystem --inline-suppr --error-exitcode=1 -I. -D_GNU_SOURCE \
	  $(filter-out tests/%,$(filter %.c,$(C_FILES)))
# One file at a time: with several, clang-tidy 14 takes every va_list of the later ones for uninitialised.
tidy:
	$(Q)printf '%s\n' $(filter-out tests/%,$(filter %.c,$(C_FILES))) | xargs -P$(JOBS) -I{} \
	  clang-tidy --quiet {} -- -std=gnu17 $(CPPFLAGS_) $(PKG_CFLAGS) 2>/dev/null
format:
	$(Q)clang-format -i $(C_FILES)
format-check:
	$(Q)clang-format --dry-run -Werror $(C_FILES)
shellcheck:
	$(Q)shellcheck -x -S warning $(SH_FILES)
headers:
	$(Q)for h in $(filter %.h,$(C_FILES)); do printf '#include "%s"\n' $$h | \
	  $(CC) -std=gnu17 $(CPPFLAGS_) $(PKG_CFLAGS) -fsyntax-only -x c - || exit 1; done
layers:
	$(Q)sh tests/lib/check_layers.sh
docs-check:
	$(Q)sh tests/lib/check_docs.sh
lint: setup-lint
	$(Q)$(MAKE) --no-print-directory format-check shellcheck headers layers docs-check cppcheck tidy

# Installation --------------------------------------------------------------------------------------

install: all
	install -D -m0755 -t $(DESTDIR)$(BINDIR) $(BINS)
	install -D -m0755 -t $(DESTDIR)$(LIBDIR) $(PRELOAD)
	install -D -m0644 -t $(DESTDIR)$(UNITDIR) contrib/systemd/agent-supervisord.socket
	sed 's|/usr/local/bin|$(BINDIR)|' contrib/systemd/agent-supervisord.service | \
	  install -D -m0644 /dev/stdin $(DESTDIR)$(UNITDIR)/agent-supervisord.service
	install -D -m0644 -t $(DESTDIR)$(MANDIR)/man1 contrib/man/agentctl.1 contrib/man/agent-tui.1
	install -D -m0644 -t $(DESTDIR)$(MANDIR)/man5 contrib/man/agent-policy.5
	install -D -m0644 -t $(DESTDIR)$(MANDIR)/man8 contrib/man/agent-supervisord.8
	install -D -m0644 contrib/completions/agentctl.bash $(DESTDIR)$(BASHCOMPDIR)/agentctl
	install -D -m0644 -t $(DESTDIR)$(ZSHCOMPDIR) contrib/completions/_agentctl
	install -D -m0644 -t $(DESTDIR)$(FISHCOMPDIR) contrib/completions/agentctl.fish
	install -D -m0644 -t $(DESTDIR)$(SHAREDIR)/policies contrib/policies/*.policy
uninstall:
	rm -f $(addprefix $(DESTDIR)$(BINDIR)/,$(notdir $(BINS))) $(DESTDIR)$(LIBDIR)/$(notdir $(PRELOAD)) \
	  $(DESTDIR)$(UNITDIR)/agent-supervisord.service $(DESTDIR)$(UNITDIR)/agent-supervisord.socket \
	  $(DESTDIR)$(MANDIR)/man1/agentctl.1 $(DESTDIR)$(MANDIR)/man1/agent-tui.1 \
	  $(DESTDIR)$(MANDIR)/man5/agent-policy.5 $(DESTDIR)$(MANDIR)/man8/agent-supervisord.8 \
	  $(DESTDIR)$(BASHCOMPDIR)/agentctl $(DESTDIR)$(ZSHCOMPDIR)/_agentctl $(DESTDIR)$(FISHCOMPDIR)/agentctl.fish
	rm -rf $(DESTDIR)$(SHAREDIR)
	-rmdir $(DESTDIR)$(LIBDIR) 2>/dev/null
clean:
	rm -rf build

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
