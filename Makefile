# moonloop: one Makefile for everything. `make help` lists the targets, `V=1` shows the commands.
#
# Objects live in $(BUILD)/<compiler>-<configuration>/, one folder for each combination of
# CC, SAN, FAULTS and COV, so that configurations do not disturb each other; the names directly
# below $(BUILD) are links into the one built last. ML_* variables are ours; a packager's
# CPPFLAGS, CFLAGS, LDFLAGS and LDLIBS come after them and are never overwritten.

VERSION := 0.1.0

PREFIX   ?= /usr/local
BUILD    ?= build
LUA_CMOD ?= $(PREFIX)/lib/lua/5.4
WERROR   ?= -Werror
PKG_CONFIG  ?= pkg-config
LLVM_CONFIG ?= llvm-config-19
ifeq ($(origin CC),default)
CC := gcc
endif
AR      := ar
JOBS    ?= $(shell nproc 2>/dev/null || echo 2)
Q       := $(if $(filter 1,$(V)),,@)
say      = $(if $(filter 1,$(V)),,@echo '  $(1)')
comma   := ,
empty   :=
space   := $(empty) $(empty)

# ---------------------------------------------------------------- configuration

override SAN := $(if $(filter 1,$(SAN)),address$(comma)undefined,$(filter-out 0,$(SAN)))
FAULTS  ?=
COV     ?=
CCNAME  := $(notdir $(firstword $(filter-out %ccache,$(CC))))
CONFIG  := $(if $(SAN),san-$(subst $(comma),-,$(SAN)),release)$(if $(filter 1,$(FAULTS)),-faults)$(if $(filter 1,$(COV)),-cov)
OUT     := $(BUILD)/$(CCNAME)-$(CONFIG)

# These goals start a make of their own, or compile nothing: they must work before anything is installed.
LIGHT   := help clean test check demo bench fuzz races golden cov lint tidy format format-check doc \
           dist uninstall deps
HEAVY   := $(filter-out $(LIGHT),$(or $(MAKECMDGOALS),all))

# configure.sh writes config.h and config.mk (only when they change) at each start, ~50 ms:
# a library installed since the last run is found without a `make clean`.
ifneq ($(HEAVY),)
CONFIGURED := $(shell CC='$(CC)' PKG_CONFIG='$(PKG_CONFIG)' LLVM_CONFIG='$(LLVM_CONFIG)' \
                VERSION='$(VERSION)' sh scripts/configure.sh '$(OUT)' >&2 && echo yes)
ifneq ($(CONFIGURED),yes)
$(error the configuration failed (see above); scripts/install-deps.sh installs what is needed)
endif
include $(OUT)/config.mk
endif

# ---------------------------------------------------------------- sources

LIB_DIRS   := core verify primitives codegen tune model work
every       = $(filter-out $(SKIP_FILES),$(sort $(wildcard $(1))))
SKIP_FILES := $(wildcard $(SKIP))

# Without LLVM's headers its row of codegen/code/backends.def says so.
SKIP_FILES += $(if $(filter 0,$(HAVE_LLVM)),$(wildcard src/codegen/llvm/*.c))

DRAW_SRCS := $(call every,src/draw/*.c)
LIB_SRCS  := $(call every,$(foreach d,$(LIB_DIRS),src/$(d)/*.c src/$(d)/*/*.c src/$(d)/*/*/*.c))
REPL_SRCS := $(call every,src/repl/*.c src/repl/*/*.c src/repl/*/*/*.c)
MAIN_SRC  := $(filter src/repl/main.c,$(REPL_SRCS))
# The Lua module holds the bindings alone; the session and what needs a terminal stay out.
BIND_SRCS := $(filter src/repl/bind/%,$(REPL_SRCS))
TERM_SRCS := $(filter-out $(MAIN_SRC) $(BIND_SRCS),$(REPL_SRCS))

LUA_FILES  := $(sort $(wildcard lua/*.lua lua/*/*.lua lua/*/*/*.lua lua/*/*/*/*.lua))
CASE_FILES := $(sort $(wildcard src/primitives/cases/*.case))
PUBLIC     := $(sort $(wildcard src/moonloop.h $(foreach d,$(LIB_DIRS),src/$(d)/*.h src/$(d)/*.def \
                src/$(d)/*/*.h src/$(d)/*/*.def src/$(d)/*/*/*.h src/$(d)/*/*/*.def)))

objs       = $(patsubst %.c,$(OUT)/%.o,$(1))
LIB_OBJS  := $(call objs,$(LIB_SRCS)) $(OUT)/case_files.o
BIND_OBJS := $(call objs,$(BIND_SRCS)) $(if $(REPL_SRCS),$(OUT)/lua_files.o)
TERM_OBJS := $(call objs,$(TERM_SRCS))
MAIN_OBJ  := $(call objs,$(MAIN_SRC))
DRAW_OBJS := $(call objs,$(DRAW_SRCS))

# A test is a program (test_*.c) or a script (test_*.sh); other .c files beside it are its helpers.
# The folders of the library are tested without the REPL; all others are linked with everything.
LEAN_TESTS := $(LIB_DIRS) selfcheck arith script lower llvm runtime worker trace fuzz
TEST_ALL   := $(call every,tests/*/test_*.c tests/*/*/test_*.c tests/*/test_*.sh)
TEST_PICK  := $(if $(T),$(foreach t,$(TEST_ALL),$(if $(strip $(foreach w,$(T),$(findstring $(w),$(t)))),$(t))),$(TEST_ALL))
TEST_C     := $(filter %.c,$(TEST_PICK))
TEST_SH    := $(filter %.sh,$(TEST_PICK))
TEST_PROGS := $(patsubst %.c,$(OUT)/%,$(TEST_C))
FAKE_PROGS := $(patsubst %.c,$(OUT)/%,$(if $(filter tests/selfcheck/%,$(TEST_SH)),$(call every,tests/selfcheck/fake_*.c)))
FUZZ_PROGS := $(patsubst %.c,$(OUT)/%,$(call every,tests/fuzz/fuzz_*.c))
# tests/fuzz/test_*.sh runs them for a moment
FUZZ_TESTED := $(if $(filter tests/fuzz/%,$(TEST_SH)),$(FUZZ_PROGS))
BENCH_PROGS := $(patsubst %.c,$(OUT)/%,$(call every,tests/bench/bench_*.c))
helpers_in  = $(filter-out $(addprefix $(1)/,test_% fuzz_% fake_% bench_%),$(call every,$(1)/*.c))
TESTLIB_OBJS := $(call objs,$(call helpers_in,tests))

# ---------------------------------------------------------------- flags

ML_WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wcast-qual \
           -Wwrite-strings -Wundef -Wvla -Wformat=2 -Wimplicit-fallthrough -Wpointer-arith \
           -Wdouble-promotion
ML_CPPFLAGS := -D_POSIX_C_SOURCE=200809L -Isrc -I$(OUT)
ML_CFLAGS   := -std=c11 $(ML_WARN) $(WERROR) -g $(if $(SAN),-O1 -fno-omit-frame-pointer,-O2) \
               -fPIC -fno-semantic-interposition -ffile-prefix-map='$(CURDIR)'=. -pthread
ML_LDFLAGS  := -pthread -Wl,--as-needed
ML_LDLIBS   := -ldl -lm $(SQLITE_LIBS)
ifneq ($(SAN),)
ML_CFLAGS  += -fsanitize=$(SAN) -fno-sanitize-recover=all
ML_LDFLAGS += -fsanitize=$(SAN)
endif
ifeq ($(FAULTS),1)
ML_CPPFLAGS += -DML_FAULTS
endif
ifeq ($(COV),1)
ML_CFLAGS  += --coverage -O0
ML_LDFLAGS += --coverage
endif

# remember FILE,TEXT: keeps TEXT in $(OUT)/FILE, whose time changes only when TEXT does. What depends
# on a list of files or on flags depends on such a file, so that a removed file is noticed too.
nospace  = $(subst $(space),^,$(strip $(subst %,.,$(1))))
same     = $(and $(filter x$(call nospace,$(1)),x$(call nospace,$(2))),$(filter x$(call nospace,$(2)),x$(call nospace,$(1))))
remember = $(if $(call same,$(2),$(if $(wildcard $(OUT)/$(1)),$(file <$(OUT)/$(1)),^none)),,$(file >$(OUT)/$(1),$(2)))
ifneq ($(HEAVY),)
$(call remember,flags.txt,$(filter-out %ccache,$(CC)) $(ML_CPPFLAGS) $(CPPFLAGS) $(filter-out -Werror,$(ML_CFLAGS)) $(CFLAGS) $(LUA_CFLAGS))
$(call remember,link.txt,$(ML_LDFLAGS) $(LDFLAGS) $(ML_LDLIBS) $(LDLIBS) $(LUA_LIBS) $(READLINE_LIBS) $(CURSES_LIBS))
$(call remember,lib.txt,$(LIB_OBJS))
$(call remember,repl.txt,$(BIND_OBJS) $(TERM_OBJS))
$(call remember,lua.txt,$(LUA_FILES))
$(call remember,cases.txt,$(CASE_FILES))
endif

# ---------------------------------------------------------------- what is built

LIB     := $(OUT)/libmoonloop.a
REPLLIB := $(OUT)/librepl.a
TESTLIB := $(if $(TESTLIB_OBJS),$(OUT)/libtests.a)
PROGRAMS := $(if $(MAIN_SRC),$(OUT)/moonloop) $(if $(and $(DRAW_SRCS),$(filter 1,$(HAVE_GRAPHVIZ))),$(OUT)/moonloop-draw)
MODULE  := $(if $(and $(MAIN_SRC),$(filter src/repl/bind/%,$(REPL_SRCS))),$(OUT)/moonloop.so)

.PHONY: all lib headers links
all: lib $(PROGRAMS) $(MODULE) links
	@:$(if $(HEAVY),$(if $(MAIN_SRC),,$(info note: src/repl/main.c is missing: build/moonloop and build/moonloop.so are not built)))
	@:$(if $(filter 0,$(HAVE_GRAPHVIZ)),$(info note: no Graphviz (libgraphviz-dev): build/moonloop-draw is not built))

lib: $(LIB) headers
	$(Q)ln -sfn $(notdir $(OUT))/$(notdir $(LIB)) $(BUILD)/$(notdir $(LIB))

links: $(PROGRAMS) $(MODULE)
	$(Q)for f in $(notdir $^); do ln -sfn $(notdir $(OUT))/$$f $(BUILD)/$$f; done

$(OUT)/%.o: %.c $(OUT)/config.h $(OUT)/flags.txt
	@mkdir -p $(@D)
	$(call say,CC      $<)
	$(Q)$(CC) $(ML_CPPFLAGS) $(CPPFLAGS) $(ML_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(OUT)/%_files.o: $(OUT)/%_files.c $(OUT)/flags.txt
	$(Q)$(CC) $(ML_CPPFLAGS) $(CPPFLAGS) $(ML_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(OUT)/lua_files.c: $(LUA_FILES) $(OUT)/lua.txt scripts/embed.sh
	$(call say,EMBED   lua/)
	$(Q)sh scripts/embed.sh ml_lua_files lua/ $(LUA_FILES) >$@.new && mv $@.new $@

$(OUT)/case_files.c: $(CASE_FILES) $(OUT)/cases.txt scripts/embed.sh
	$(call say,EMBED   src/primitives/cases/)
	$(Q)sh scripts/embed.sh ml_case_files src/primitives/cases/ $(CASE_FILES) >$@.new && mv $@.new $@

# version.h changes with the commit; only the file that prints the version includes it.
$(OUT)/version.h: FORCE
	$(Q)mkdir -p $(@D) && sh scripts/configure.sh --version-header $@
.PHONY: FORCE
$(if $(MAIN_SRC),$(shell grep -ls '"version.h"' src/*/*.c src/*/*/*.c | sed 's|^\(.*\)\.c$$|$(OUT)/\1.o|')): $(OUT)/version.h

# The third-party headers, each visible only where style allows it (scripts/lint.sh checks the rest).
$(OUT)/src/repl/%.o: ML_CPPFLAGS += $(LUA_CFLAGS) $(READLINE_CFLAGS) $(CURSES_CFLAGS)
$(OUT)/src/draw/%.o: ML_CPPFLAGS += $(GRAPHVIZ_CFLAGS)
$(OUT)/src/codegen/llvm/%.o: ML_CPPFLAGS += $(LLVM_CFLAGS)
$(OUT)/tests/%.o:    ML_CPPFLAGS += -Itests $(LUA_CFLAGS) $(CMOCKA_CFLAGS)
$(OUT)/tests/%.o:    ML_CFLAGS   += -Wno-unused-parameter

$(LIB): $(LIB_OBJS) $(OUT)/lib.txt
	$(call say,AR      $@)
	$(Q)rm -f $@ && $(AR) rcsD $@ $(LIB_OBJS)

$(REPLLIB): $(BIND_OBJS) $(TERM_OBJS) $(OUT)/repl.txt
	$(Q)rm -f $@ && $(AR) rcsD $@ $(BIND_OBJS) $(TERM_OBJS)

ifneq ($(TESTLIB),)
$(TESTLIB): $(TESTLIB_OBJS)
	$(Q)rm -f $@ && $(AR) rcsD $@ $^
endif

# -E: C modules that a script requires find the Lua functions of the program.
$(OUT)/moonloop: $(MAIN_OBJ) $(REPLLIB) $(LIB) $(OUT)/link.txt
	$(call say,LINK    $@)
	$(Q)$(CC) $(ML_CFLAGS) $(CFLAGS) $(ML_LDFLAGS) $(LDFLAGS) -Wl,-E -o $@ $(MAIN_OBJ) $(REPLLIB) $(LIB) \
	    $(LUA_LIBS) $(READLINE_LIBS) $(CURSES_LIBS) $(ML_LDLIBS) $(LDLIBS)

$(OUT)/moonloop-draw: $(DRAW_OBJS) $(OUT)/link.txt
	$(call say,LINK    $@)
	$(Q)$(CC) $(ML_CFLAGS) $(CFLAGS) $(ML_LDFLAGS) $(LDFLAGS) -o $@ $(DRAW_OBJS) $(GRAPHVIZ_LIBS) $(LDLIBS)

# The Lua module: what luaopen_moonloop reaches, with that one name exported. The host brings Lua
# itself; a name of ours that stays undefined would fail only at require, so it fails here
# (a sanitizer takes over names of the C library, without versions: no check then).
$(OUT)/moonloop.so: $(BIND_OBJS) $(LIB) $(OUT)/link.txt
	$(call say,LINK    $@)
	$(Q)printf '{ global: luaopen_moonloop; local: *; };\n' >$(OUT)/moonloop.map
	$(Q)$(CC) $(ML_CFLAGS) $(CFLAGS) $(ML_LDFLAGS) $(LDFLAGS) -shared -Wl,--version-script=$(OUT)/moonloop.map \
	    -o $@.new $(BIND_OBJS) $(LIB) $(ML_LDLIBS) $(LDLIBS)
	$(Q)if [ -z '$(SAN)' ] && nm -u $@.new | grep -v @ | grep -E ' U [a-zA-Z]' | grep -vE ' U (lua(L|open)?|sqlite3)_'; then \
	    echo "$@: the names above are undefined in the Lua module (they need main.c, line.c or curses)" >&2; \
	    rm -f $@.new; exit 1; fi
	$(Q)mv $@.new $@

# Public headers: every include between them is made relative, so that they work below any -I.
INCLUDED := $(patsubst src/%,$(BUILD)/include/moonloop/%,$(PUBLIC))
headers: $(INCLUDED) $(BUILD)/include/moonloop/primitives.h

# Typed functions for the primitives, written by a small program that reads the table.
$(OUT)/primitives-h: scripts/primitives_h.c $(LIB) $(OUT)/link.txt
	$(Q)$(CC) $(ML_CPPFLAGS) $(CPPFLAGS) $(ML_CFLAGS) $(CFLAGS) $(ML_LDFLAGS) $(LDFLAGS) -o $@ $< $(LIB) $(ML_LDLIBS) $(LDLIBS)
$(BUILD)/include/moonloop/primitives.h: $(OUT)/primitives-h
	@mkdir -p $(@D)
	$(call say,WRITE   $@)
	$(Q)$< >$@.new && mv $@.new $@
$(BUILD)/include/moonloop/%: src/%
	@mkdir -p $(@D)
	$(Q)up=$$(echo '$*' | sed 's|[^/]*$$||; s|[^/]*/|../|g'); \
	sed -E "s%^(#[[:space:]]*include[[:space:]]+\")($(subst $(space),|,$(LIB_DIRS)))/%\1$$up\2/%" $< >$@.new && mv $@.new $@

# ---------------------------------------------------------------- tests

# test_program NAME: links tests/<dir>/NAME.c with the helpers of its folder and the libraries.
ALL_LIBS = $(LUA_LIBS) $(READLINE_LIBS) $(CURSES_LIBS)
define test_program
$(1): $(1).o $(call objs,$(call helpers_in,$(patsubst $(OUT)/%/,%,$(dir $(1))))) $(TESTLIB) \
      $(if $(filter $(LEAN_TESTS),$(notdir $(patsubst %/,%,$(dir $(1))))),,$(REPLLIB)) $(LIB) $(OUT)/link.txt
	$$(call say,LINK    $$@)
	$$(Q)$$(CC) $$(ML_CFLAGS) $$(CFLAGS) $$(ML_LDFLAGS) $$(LDFLAGS) -o $$@ $$(filter %.o %.a,$$^) \
	    $(if $(filter $(LEAN_TESTS),$(notdir $(patsubst %/,%,$(dir $(1))))),,$$(ALL_LIBS)) \
	    $$(CMOCKA_LIBS) $$(ML_LDLIBS) $$(LDLIBS)
endef
$(foreach p,$(sort $(TEST_PROGS) $(FUZZ_PROGS) $(BENCH_PROGS) $(FAKE_PROGS)),$(eval $(call test_program,$(p))))

.PHONY: test check run-tests test-programs
SUBMAKE = $(MAKE) --no-print-directory $(if $(findstring -j,$(MAKEFLAGS)),,-j$(JOBS))
test check:
	@sh scripts/install-deps.sh test
	@$(SUBMAKE) run-tests

# Everything that compiles is built and run; a build that breaks is one more failure.
NEEDS_ALL := $(if $(TEST_SH)$(filter tests/codegen/worker/% tests/tune/%,$(TEST_C))$(filter-out $(addprefix tests/,$(addsuffix /%,$(LIB_DIRS))),$(TEST_C)),all)
test-programs: $(NEEDS_ALL) $(TEST_PROGS) $(FAKE_PROGS) $(FUZZ_TESTED)
run-tests:
	$(if $(and $(TEST_C),$(filter 0,$(HAVE_CMOCKA))),$(error the tests need cmocka (Debian package libcmocka-dev)))
	@built=yes; $(MAKE) --no-print-directory -k test-programs || built=no; \
	ML_BUILT=$$built ML_SAN='$(SAN)' ML_JOBS='$(JOBS)' CC='$(CC)' \
	    bash scripts/run-tests.sh '$(OUT)' $(TEST_PROGS) $(TEST_SH)

.PHONY: golden races fuzz bench cov
golden:
	@sh scripts/install-deps.sh test
	@ML_GOLDEN=1 $(SUBMAKE) run-tests T=golden

# The tests of contexts and schedules between threads, under the thread sanitizer.
races:
	@sh scripts/install-deps.sh test
	@$(SUBMAKE) run-tests SAN=thread T=parallel

N    ?= 1000
SEED ?= 1
fuzz:
	@$(SUBMAKE) run-fuzz
run-fuzz: $(FUZZ_PROGS) all
	@MOONLOOP='$(abspath $(OUT))/moonloop' ML_JOBS='$(JOBS)' bash scripts/fuzz.sh '$(N)' '$(SEED)' '$(FAULTS)' $(FUZZ_PROGS)

bench:
	@sh scripts/install-deps.sh build
	@$(SUBMAKE) run-bench
run-bench: $(BENCH_PROGS) all
	$(if $(BENCH_PROGS)$(wildcard tests/bench/bench_*.sh),,$(error there is no benchmark yet (tests/bench/bench_*)))
	@set -e; for p in $(BENCH_PROGS) $(sort $(wildcard tests/bench/bench_*.sh)); do \
	    MOONLOOP='$(abspath $(OUT))/moonloop' $$(realpath $$p) $(if $(filter 1,$(JSON)),--json); done

cov:
	@sh scripts/install-deps.sh test
	@$(SUBMAKE) run-tests COV=1; status=$$?; \
	    bash scripts/cov.sh '$(OUT)-cov'; exit $$status

# ---------------------------------------------------------------- demo, lint, documents

.PHONY: demo deps lint tidy format format-check doc
demo:
	@sh scripts/install-deps.sh build
	@$(SUBMAKE) all
	@if [ -f scripts/demo.sh ]; then MOONLOOP='$(abspath $(BUILD))/moonloop' bash scripts/demo.sh; \
	else echo 'there is no demonstration yet (scripts/demo.sh)' >&2; exit 1; fi

deps:
	@sh scripts/install-deps.sh all

C_FILES := $(sort $(wildcard src/*.h src/*/*.[ch] src/*/*/*.[ch] src/*/*/*/*.[ch] tests/*.[ch] tests/*/*.[ch] tests/*/*/*.[ch]))
lint: format-check
	@bash scripts/lint.sh
	@$(MAKE) --no-print-directory tidy

# clang-tidy sees what the compiler sees: the flags come from the configured make.
tidy:
	@sh scripts/install-deps.sh lint
	@$(SUBMAKE) run-tidy
run-tidy: $(patsubst %.c,$(OUT)/%.tidy,$(LIB_SRCS) $(REPL_SRCS) $(if $(filter 1,$(HAVE_GRAPHVIZ)),$(DRAW_SRCS)))
$(OUT)/%.tidy: %.c .clang-tidy $(OUT)/config.h $(OUT)/version.h
	@mkdir -p $(@D)
	$(call say,TIDY    $<)
	$(Q)clang-tidy --quiet --warnings-as-errors='*' $< -- -std=c11 $(ML_CPPFLAGS) $(LUA_CFLAGS) $(GRAPHVIZ_CFLAGS) $(LLVM_CFLAGS) $(CPPFLAGS) \
	    >$@.new 2>$@.err || { cat $@.new $@.err; exit 1; }
	$(Q)mv $@.new $@

format:
	@sh scripts/install-deps.sh lint
	clang-format -i $(C_FILES)
format-check:
	@sh scripts/install-deps.sh lint
	@clang-format --dry-run --Werror $(C_FILES) && echo 'format: $(words $(C_FILES)) files as clang-format wants them'

# The manual is written by the program, from its tables; its examples are run meanwhile.
doc:
	@sh scripts/install-deps.sh build
	@$(SUBMAKE) run-doc
.PHONY: run-doc
run-doc: $(BUILD)/moonloop.1 $(BUILD)/manual.html
	@ls -l $^
$(BUILD)/moonloop.1 $(BUILD)/manual.html: $(OUT)/moonloop
	$(call say,WRITE   $@)
	$(Q)$< --manual=$(if $(filter %.1,$@),man,html) >$@.new && mv $@.new $@

# ---------------------------------------------------------------- install, dist, clean

.PHONY: install uninstall dist clean help
DEST_BIN := $(DESTDIR)$(PREFIX)/bin
DEST_LIB := $(DESTDIR)$(PREFIX)/lib
DEST_INC := $(DESTDIR)$(PREFIX)/include/moonloop
DEST_SHARE := $(DESTDIR)$(PREFIX)/share/moonloop
DEST_DATA := $(DESTDIR)$(PREFIX)/share
MAN_PAGE  := $(DEST_DATA)/man/man1/moonloop.1
# bash, zsh and fish look there
SHELL_FILES := bash:$(DEST_DATA)/bash-completion/completions/moonloop \
               zsh:$(DEST_DATA)/zsh/site-functions/_moonloop \
               fish:$(DEST_DATA)/fish/vendor_completions.d/moonloop.fish
install: all $(if $(MAIN_SRC),$(BUILD)/moonloop.1)
	mkdir -p $(DEST_BIN) $(DEST_LIB) $(DEST_INC) $(DEST_SHARE) $(dir $(MAN_PAGE))
	$(if $(MAIN_SRC),install -m 644 $(BUILD)/moonloop.1 $(MAN_PAGE))
	$(if $(MAIN_SRC),set -e; for f in $(SHELL_FILES); do mkdir -p "$$(dirname "$${f#*:}")"; \
	    $(OUT)/moonloop --manual="$${f%%:*}" >"$${f#*:}"; done)
	$(if $(PROGRAMS),install -m 755 $(PROGRAMS) $(DEST_BIN))
	install -m 644 $(LIB) $(DEST_LIB)
	cp -R $(BUILD)/include/moonloop/. $(DEST_INC)
	$(if $(MODULE),mkdir -p $(DESTDIR)$(LUA_CMOD) && install -m 755 $(MODULE) $(DESTDIR)$(LUA_CMOD))
	$(if $(wildcard lua),rm -rf $(DEST_SHARE)/lua && cp -R lua $(DEST_SHARE)/lua)
	$(if $(wildcard examples),rm -rf $(DEST_SHARE)/examples && cp -R examples $(DEST_SHARE)/examples)

uninstall:
	rm -f $(DEST_BIN)/moonloop $(DEST_BIN)/moonloop-draw $(DEST_LIB)/libmoonloop.a $(DESTDIR)$(LUA_CMOD)/moonloop.so
	rm -f $(MAN_PAGE) $(foreach f,$(SHELL_FILES),$(lastword $(subst :, ,$(f))))
	rm -rf $(DEST_INC) $(DEST_SHARE)

dist:
	@mkdir -p $(BUILD)
	git archive --format=tar.gz --prefix=moonloop-$(VERSION)/ -o $(BUILD)/moonloop-$(VERSION).tar.gz HEAD
	@echo '$(BUILD)/moonloop-$(VERSION).tar.gz'

clean:
	rm -rf $(BUILD)

help:
	@echo 'make                 build/moonloop, moonloop-draw, libmoonloop.a with headers, moonloop.so'
	@echo 'make lib             libmoonloop.a and its headers only'
	@echo 'make test            all tests (= check); T=WORDS: those whose path holds one of the words'
	@echo 'make test SAN=1      with address and undefined behaviour sanitizers; SAN=thread for races'
	@echo 'make demo            installs what is missing, builds and shows the program at work'
	@echo 'make bench           benchmarks; JSON=1 for machine-readable results'
	@echo 'make fuzz            random programs and schedules on all cores; N=, SEED=, FAULTS=1 (built-in faults)'
	@echo 'make races           the tests between threads with the thread sanitizer'
	@echo 'make golden          rewrite the expected texts of tests/golden'
	@echo 'make cov             tests with coverage, and the lines reached by file'
	@echo 'make lint            format-check, rules of the house (scripts/lint.sh), clang-tidy'
	@echo 'make tidy format format-check   the parts of it, and reformatting'
	@echo 'make doc             the manual: build/moonloop.1 and build/manual.html'
	@echo 'make install         PREFIX=, DESTDIR=, LUA_CMOD=; make uninstall'
	@echo 'make dist clean deps a source archive; remove build/; install all packages'
	@echo
	@echo 'variables            CC=clang, V=1 (show commands), WERROR= (warnings do not stop), BUILD=,'
	@echo '                     JOBS=, SKIP="src/.../*.c" (leave sources out), CFLAGS= LDFLAGS= (added last)'

.DELETE_ON_ERROR:
-include $(patsubst %.o,%.d,$(LIB_OBJS) $(BIND_OBJS) $(TERM_OBJS) $(MAIN_OBJ) $(DRAW_OBJS) $(TESTLIB_OBJS))
-include $(patsubst %,%.d,$(TEST_PROGS) $(FUZZ_PROGS) $(BENCH_PROGS) $(FAKE_PROGS))
-include $(wildcard $(OUT)/tests/*/*.d $(OUT)/tests/*/*/*.d)
