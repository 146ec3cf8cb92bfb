# Tests, random tests, benchmarks, the demonstration, the rules of the house.

# These goals install the packages that they need, and then make RUN in a make that finds them.
SUBMAKE = $(MAKE) --no-print-directory $(if $(findstring -j,$(MAKEFLAGS)),,-j$(JOBS))
.PHONY: test check golden races cov bench demo doc tidy fuzz fuzz-space lint deps format format-check
test check: RUN := run-tests
# The tests of contexts and schedules between threads, under the thread sanitizer.
races:      RUN := run-tests SAN=thread T=parallel
golden:     RUN := run-tests T=golden
golden:     export ML_GOLDEN := 1
bench demo doc tidy: RUN = run-$@
test check golden races cov: PACKAGES := test
bench demo doc: PACKAGES := build
tidy format format-check: PACKAGES := lint
test check golden races bench demo doc tidy:
	@sh scripts/install-deps.sh $(PACKAGES)
	@$(SUBMAKE) $(RUN)
cov:
	@sh scripts/install-deps.sh $(PACKAGES)
	@$(SUBMAKE) run-tests COV=1; status=$$?; bash scripts/cov.sh '$(OUT)-cov'; exit $$status
fuzz fuzz-space:
	@$(SUBMAKE) run-$@
deps:
	@sh scripts/install-deps.sh all

# ---------------------------------------------------------------- tests

# A test is a program (test_*.c) or a script (test_*.sh); other .c files beside it are its helpers.
# The folders of the library are tested without the REPL; all others are linked with everything.
LEAN_TESTS := $(LIB_DIRS) selfcheck arith script lower llvm runtime worker trace
TEST_ALL   := $(call every,tests/*/test_*.c tests/*/*/test_*.c tests/*/test_*.sh)
TEST_PICK  := $(if $(T),$(foreach t,$(TEST_ALL),$(if $(strip $(foreach w,$(T),$(findstring $(w),$(t)))),$(t))),$(TEST_ALL))
TEST_C     := $(filter %.c,$(TEST_PICK))
TEST_SH    := $(filter %.sh,$(TEST_PICK))
progs       = $(patsubst %.c,$(OUT)/%,$(call every,$(1)))
TEST_PROGS := $(call progs,$(TEST_C))
FUZZ_PROGS := $(call progs,tests/fuzz/fuzz_*.c)
BENCH_PROGS := $(call progs,tests/bench/bench_*.c)
BENCH_SH   := $(sort $(wildcard tests/bench/bench_*.sh))
# What the scripts that were picked run: the programs that fail on purpose, fuzz_* for a moment.
FAKE_PROGS := $(if $(filter tests/selfcheck/%,$(TEST_SH)),$(call progs,tests/selfcheck/fake_*.c))
FUZZ_TESTED := $(if $(filter tests/fuzz/%,$(TEST_SH)),$(FUZZ_PROGS))
helpers_in  = $(filter-out $(addprefix $(1)/,test_% fuzz_% fake_% bench_%),$(call every,$(1)/*.c))

# test_program PROGRAM,FOLDER: links it with the helpers of its folder and the libraries.
define test_program
$(1): $(1).o $(call objs,$(call helpers_in,$(2))) $(if $(filter $(LEAN_TESTS),$(notdir $(2))),,$(REPLLIB)) $(LIB) $(OUT)/link.txt
	$$(call say,LINK    $$@)
	$$(Q)$$(LINK) -o $$@ $$(filter %.o %.a,$$^) $(if $(filter $(LEAN_TESTS),$(notdir $(2))),,$$(REPL_LIBS)) \
	    $$(CMOCKA_LIBS) $$(ML_LDLIBS) $$(LDLIBS)
endef
$(foreach p,$(sort $(TEST_PROGS) $(FUZZ_PROGS) $(BENCH_PROGS) $(FAKE_PROGS)),$(eval \
    $(call test_program,$(p),$(patsubst $(OUT)/%/,%,$(dir $(p))))))

# Everything that compiles is built and run; a build that breaks is one more failure.
NEEDS_ALL := $(if $(TEST_SH)$(filter tests/codegen/worker/% tests/tune/%,$(TEST_C))$(filter-out $(addprefix tests/,$(addsuffix /%,$(LIB_DIRS))),$(TEST_C)),all)
.PHONY: run-tests test-programs run-fuzz run-fuzz-space run-bench run-demo run-doc run-tidy
test-programs: $(NEEDS_ALL) $(TEST_PROGS) $(FAKE_PROGS) $(FUZZ_TESTED)
run-tests:
	$(if $(and $(TEST_C),$(filter 0,$(HAVE_CMOCKA))),$(error the tests need cmocka (Debian package libcmocka-dev)))
	@built=yes; $(MAKE) --no-print-directory -k test-programs || built=no; \
	ML_BUILT=$$built ML_SAN='$(SAN)' ML_JOBS='$(JOBS)' CC='$(CC)' \
	    bash scripts/run-tests.sh '$(OUT)' $(TEST_PROGS) $(TEST_SH)

# Vector mathematics of float32 over all 2^32 inputs, a function a process: its largest error is printed, a bound that it
# exceeds fails. Minutes each; FN= names others of tests/codegen/llvm/test_math.c.
FN ?= exp exp2 log log2 tanh erf sigmoid rsqrt sqrt sin cos
.PHONY: exhaustive
exhaustive: $(OUT)/tests/codegen/llvm/test_math
	@printf '%s\n' $(FN) | ML_LONG=1 ML_SHOW=1 xargs -P $(JOBS) -I{} env ML_FN={} $(abspath $<)

# ---------------------------------------------------------------- what else is run

N    ?= 1000
SEED ?= 1
run-fuzz run-bench run-demo: export MOONLOOP := $(abspath $(OUT))/moonloop
run-fuzz: $(FUZZ_PROGS) all
	@ML_JOBS='$(JOBS)' bash scripts/fuzz.sh '$(N)' '$(SEED)' '$(FAULTS)' $(FUZZ_PROGS)
# More words for the program in ARGS: operator=conv2d, or program= and candidate= of a finding.
run-fuzz-space: $(OUT)/tests/fuzz/fuzz_space
	@FZ_PROGRESS="$${FZ_PROGRESS:-30}" $< '$(N)' '$(SEED)' jobs='$(JOBS)' $(ARGS)
run-bench: $(BENCH_PROGS) all
	@set -e; for p in $(BENCH_PROGS) $(BENCH_SH); do $$(realpath $$p) $(if $(filter 1,$(JSON)),--json); done
run-demo: all
	@bash scripts/demo.sh
run-doc: $(BUILD)/moonloop.1 $(BUILD)/manual.html
	@ls -l $^

# ---------------------------------------------------------------- what the sources look like

lint: format-check
	@bash scripts/lint.sh
	@$(MAKE) --no-print-directory tidy

# clang-tidy sees what the compiler sees: the flags come from the configured make.
run-tidy: $(patsubst %.c,$(OUT)/%.tidy,$(LIB_SRCS) $(REPL_SRCS) $(if $(DRAW),$(DRAW_SRCS)))
$(OUT)/%.tidy: %.c .clang-tidy $(OUT)/config.h $(OUT)/version.h
	@mkdir -p $(@D)
	$(call say,TIDY    $<)
	$(Q)clang-tidy --quiet --warnings-as-errors='*' $< -- -std=c11 $(ML_CPPFLAGS) $(LUA_CFLAGS) $(GRAPHVIZ_CFLAGS) $(LLVM_CFLAGS) $(CPPFLAGS) \
	    >$@.new 2>$@.err || { cat $@.new $@.err; exit 1; }
	$(Q)mv $@.new $@

format:
	@sh scripts/install-deps.sh $(PACKAGES)
	clang-format -i $(C_FILES)
format-check:
	@sh scripts/install-deps.sh $(PACKAGES)
	@clang-format --dry-run --Werror $(C_FILES) && echo 'format: $(words $(C_FILES)) files as clang-format wants them'
