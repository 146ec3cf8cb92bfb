# The flags of the compiler and of the linker, and what is rebuilt when they change.

ML_WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wcast-qual \
           -Wwrite-strings -Wundef -Wvla -Wformat=2 -Wimplicit-fallthrough -Wpointer-arith \
           -Wdouble-promotion
ML_CPPFLAGS := -D_POSIX_C_SOURCE=200809L -I$(BUILD)/include -Isrc -I$(OUT) $(if $(filter 1,$(FAULTS)),-DML_FAULTS)
ML_CFLAGS   := -std=c11 $(ML_WARN) $(WERROR) -g $(if $(SAN),-O1 -fno-omit-frame-pointer,-O2) \
               -fPIC -fno-semantic-interposition -ffile-prefix-map='$(CURDIR)'=. -pthread \
               $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all) $(if $(filter 1,$(COV)),--coverage -O0)
ML_LDFLAGS  := -pthread -Wl,--as-needed $(if $(SAN),-fsanitize=$(SAN)) $(if $(filter 1,$(COV)),--coverage)
ML_LDLIBS   := -ldl -lm $(SQLITE_LIBS)
REPL_LIBS   := $(LUA_LIBS) $(READLINE_LIBS) $(CURSES_LIBS)
COMPILE      = $(CC) $(ML_CPPFLAGS) $(CPPFLAGS) $(ML_CFLAGS) $(CFLAGS)
LINK         = $(CC) $(ML_CFLAGS) $(CFLAGS) $(ML_LDFLAGS) $(LDFLAGS)

# The third-party headers, each visible only where style allows it (scripts/lint.sh checks the rest).
$(OUT)/src/repl/%.o: ML_CPPFLAGS += $(LUA_CFLAGS) $(READLINE_CFLAGS) $(CURSES_CFLAGS)
$(OUT)/src/draw/%.o: ML_CPPFLAGS += $(GRAPHVIZ_CFLAGS)
$(OUT)/src/codegen/llvm/%.o: ML_CPPFLAGS += $(LLVM_CFLAGS)
$(OUT)/tests/%.o:    ML_CPPFLAGS += -Itests $(LUA_CFLAGS) $(CMOCKA_CFLAGS)
$(OUT)/tests/%.o:    ML_CFLAGS   += -Wno-unused-parameter

# remember FILE,TEXT: keeps TEXT in $(OUT)/FILE, whose time changes only when TEXT does. What depends
# on a list of files or on flags depends on such a file, so that a removed file is noticed too.
empty   :=
space   := $(empty) $(empty)
nospace  = $(subst $(space),^,$(strip $(subst %,.,$(1))))
same     = $(and $(filter x$(call nospace,$(1)),x$(call nospace,$(2))),$(filter x$(call nospace,$(2)),x$(call nospace,$(1))))
remember = $(if $(call same,$(2),$(if $(wildcard $(OUT)/$(1)),$(file <$(OUT)/$(1)),^none)),,$(file >$(OUT)/$(1),$(2)))
ifneq ($(HEAVY),)
$(call remember,flags.txt,$(filter-out %ccache,$(CC)) $(ML_CPPFLAGS) $(CPPFLAGS) $(filter-out -Werror,$(ML_CFLAGS)) $(CFLAGS) $(LUA_CFLAGS))
$(call remember,link.txt,$(ML_LDFLAGS) $(LDFLAGS) $(ML_LDLIBS) $(LDLIBS) $(REPL_LIBS))
$(call remember,lib.txt,$(LIB_OBJS))
$(call remember,repl.txt,$(BIND_OBJS) $(TERM_OBJS))
$(call remember,lua.txt,$(LUA_FILES))
$(call remember,cases.txt,$(CASE_FILES))
endif
