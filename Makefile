# moonloop: `make help` lists the targets, `V=1` shows the commands. This file says what is built, and how;
# scripts/sources.mk from which files, scripts/flags.mk with which flags, scripts/check.mk has the tests and
# whatever else looks at the program, scripts/install.mk installs it.
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

.PHONY: all lib headers links help clean
all:

# ---------------------------------------------------------------- configuration

comma   := ,
override SAN := $(if $(filter 1,$(SAN)),address$(comma)undefined,$(filter-out 0,$(SAN)))
FAULTS  ?=
COV     ?=
CCNAME  := $(notdir $(firstword $(filter-out %ccache,$(CC))))
CONFIG  := $(if $(SAN),san-$(subst $(comma),-,$(SAN)),release)$(if $(filter 1,$(FAULTS)),-faults)$(if $(filter 1,$(COV)),-cov)
OUT     := $(BUILD)/$(CCNAME)-$(CONFIG)

# These goals start a make of their own, or compile nothing: they must work before anything is installed.
LIGHT   := help clean test check demo bench bench-compile bench-forms bench-model train-model bench-kernels rivals fuzz fuzz-space races golden cov lint tidy format format-check doc \
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

include scripts/sources.mk scripts/flags.mk

# ---------------------------------------------------------------- what is built

LIB     := $(OUT)/libmoonloop.a
REPLLIB := $(OUT)/librepl.a
DRAW    := $(if $(filter 1,$(HAVE_GRAPHVIZ)),$(OUT)/moonloop-draw)
PROGRAMS := $(if $(MAIN_SRC),$(OUT)/moonloop) $(DRAW)
MODULE  := $(if $(MAIN_SRC),$(OUT)/moonloop.so)

all: lib $(PROGRAMS) $(MODULE) links
	@:$(if $(MAIN_SRC),,$(info note: src/repl/main.c is missing: build/moonloop and build/moonloop.so are not built))
	@:$(if $(DRAW),,$(info note: no Graphviz (libgraphviz-dev): build/moonloop-draw is not built))

lib: $(LIB) headers
	$(Q)ln -sfn $(notdir $(OUT))/$(notdir $(LIB)) $(BUILD)/$(notdir $(LIB))

links: $(PROGRAMS) $(MODULE)
	$(Q)for f in $(notdir $^); do ln -sfn $(notdir $(OUT))/$$f $(BUILD)/$$f; done

$(OUT)/%.o: %.c $(OUT)/config.h $(OUT)/flags.txt
	@mkdir -p $(@D)
	$(call say,CC      $<)
	$(Q)$(COMPILE) -MMD -MP -c -o $@ $<

$(OUT)/src/tune/model/xgb/shipped.o: share/model.ubj

# What is compiled in as text: the Lua of the program, the cases of the primitives.
$(OUT)/lua_files.c: $(LUA_FILES) $(OUT)/lua.txt
$(OUT)/lua_files.c: FOLDER := lua/
$(OUT)/case_files.c: $(CASE_FILES) $(OUT)/cases.txt
$(OUT)/case_files.c: FOLDER := src/primitives/cases/
$(OUT)/%_files.c: scripts/embed.sh
	$(call say,EMBED   $(FOLDER))
	$(Q)sh $< ml_$*_files $(FOLDER) $(filter $(FOLDER)%,$^) >$@.new && mv $@.new $@
$(OUT)/%_files.o: $(OUT)/%_files.c $(OUT)/flags.txt
	$(Q)$(COMPILE) -MMD -MP -c -o $@ $<

# version.h changes with the commit; only the file that prints the version includes it.
$(OUT)/version.h: FORCE
	$(Q)mkdir -p $(@D) && sh scripts/configure.sh --version-header $@
.PHONY: FORCE
$(shell grep -lsF '"version.h"' $(REPL_SRCS) | sed 's|^\(.*\)\.c$$|$(OUT)/\1.o|'): $(OUT)/version.h

$(LIB): $(LIB_OBJS) $(OUT)/lib.txt
	$(call say,AR      $@)
	$(Q)rm -f $@ && $(AR) rcsD $@ $(filter %.o,$^)

$(REPLLIB): $(BIND_OBJS) $(TERM_OBJS) $(OUT)/repl.txt
	$(Q)rm -f $@ && $(AR) rcsD $@ $(filter %.o,$^)

# -E: C modules that a script requires find the Lua functions of the program.
$(OUT)/moonloop: $(MAIN_OBJ) $(REPLLIB) $(LIB) $(OUT)/link.txt
	$(call say,LINK    $@)
	$(Q)$(LINK) -Wl,-E -o $@ $(filter %.o %.a,$^) $(REPL_LIBS) $(ML_LDLIBS) $(LDLIBS)

$(OUT)/moonloop-draw: $(DRAW_OBJS) $(OUT)/link.txt
	$(call say,LINK    $@)
	$(Q)$(LINK) -o $@ $(DRAW_OBJS) $(GRAPHVIZ_LIBS) $(LDLIBS)

# The Lua module: what luaopen_moonloop reaches, with that one name exported. The host brings Lua
# itself; a name of ours that stays undefined would fail only at require, so it fails here
# (a sanitizer takes over names of the C library, without versions: no check then).
$(OUT)/moonloop.so: $(BIND_OBJS) $(LIB) $(OUT)/link.txt
	$(call say,LINK    $@)
	$(Q)printf '{ global: luaopen_moonloop; local: *; };\n' >$(OUT)/moonloop.map
	$(Q)$(LINK) -shared -Wl,--version-script=$(OUT)/moonloop.map -o $@.new $(filter %.o %.a,$^) $(ML_LDLIBS) $(LDLIBS)
	$(Q)if [ -z '$(SAN)' ] && nm -u $@.new | grep -v @ | grep -E ' U [a-zA-Z]' | grep -vE ' U (lua(L|open)?|sqlite3)_'; then \
	    echo "$@: the names above are undefined in the Lua module (they need main.c, line.c or curses)" >&2; \
	    rm -f $@.new; exit 1; fi
	$(Q)mv $@.new $@

# Typed functions for the primitives, written by a small program that reads the table.
headers: $(BUILD)/include/moonloop/primitives.h
$(OUT)/primitives-h: scripts/primitives_h.c $(LIB) $(OUT)/link.txt
	$(Q)$(COMPILE) $(ML_LDFLAGS) $(LDFLAGS) -o $@ $< $(LIB) $(ML_LDLIBS) $(LDLIBS)
$(BUILD)/include/moonloop/primitives.h: $(OUT)/primitives-h
	$(call say,WRITE   $@)
	$(Q)$< >$@.new && mv $@.new $@

# The manual is written by the program, from its tables; its examples are run and its pictures drawn meanwhile.
$(BUILD)/moonloop.1: FORM := man
$(BUILD)/manual.html: FORM := html
$(BUILD)/manual.html: $(DRAW)
$(BUILD)/moonloop.1 $(BUILD)/manual.html: $(OUT)/moonloop
	$(call say,WRITE   $@)
	$(Q)$< --manual=$(FORM) >$@.new && mv $@.new $@

clean:
	rm -rf $(BUILD)

help:
	@cat scripts/help.txt

include scripts/check.mk scripts/bench.mk scripts/install.mk

.DELETE_ON_ERROR:
-include $(patsubst %.o,%.d,$(LIB_OBJS) $(BIND_OBJS) $(TERM_OBJS) $(MAIN_OBJ) $(DRAW_OBJS))
-include $(wildcard $(OUT)/tests/*/*.d $(OUT)/tests/*/*/*.d)
