# Which files there are, by what is made of them.

LIB_DIRS   := core verify primitives codegen tune model work
SKIP_FILES := $(wildcard $(SKIP))
# Without LLVM's headers its row of codegen/code/backends.def says so.
SKIP_FILES += $(if $(filter 0,$(HAVE_LLVM)),$(wildcard src/codegen/llvm/*.c))
every       = $(filter-out $(SKIP_FILES),$(sort $(wildcard $(1))))

DRAW_SRCS := $(call every,src/draw/*.c)
LIB_SRCS  := $(call every,$(foreach d,$(LIB_DIRS),src/$(d)/*.c src/$(d)/*/*.c src/$(d)/*/*/*.c))
REPL_SRCS := $(call every,src/repl/*.c src/repl/*/*.c src/repl/*/*/*.c)
MAIN_SRC  := $(filter src/repl/main.c,$(REPL_SRCS))
# The Lua module holds the bindings alone; the session and what needs a terminal stay out.
BIND_SRCS := $(filter src/repl/bind/%,$(REPL_SRCS))
TERM_SRCS := $(filter-out $(MAIN_SRC) $(BIND_SRCS),$(REPL_SRCS))

LUA_FILES  := $(sort $(wildcard lua/*.lua lua/*/*.lua lua/*/*/*.lua lua/*/*/*/*.lua))
CASE_FILES := $(sort $(wildcard src/primitives/cases/*.case))

objs       = $(patsubst %.c,$(OUT)/%.o,$(1))
LIB_OBJS  := $(call objs,$(LIB_SRCS)) $(OUT)/case_files.o
BIND_OBJS := $(call objs,$(BIND_SRCS)) $(if $(REPL_SRCS),$(OUT)/lua_files.o)
TERM_OBJS := $(call objs,$(TERM_SRCS))
MAIN_OBJ  := $(call objs,$(MAIN_SRC))
DRAW_OBJS := $(call objs,$(DRAW_SRCS))

C_FILES   := $(sort $(wildcard $(addsuffix .[ch],src/* src/*/* src/*/*/* src/*/*/*/* tests/* tests/*/* tests/*/*/*)))
