# Kernels beside rivals: `make bench-kernels SET=suite THREADS=2 RIVALS=openblas,onednn,torch`; SET: paper8, suite,
# ops, int8, ln; TRIALS=0: the draft alone; SEEDS=10: as many searches of each row of ROWS, compared with each other;
# ROWS=GRP-2,...: these alone; PREPACK=1: rivals pack their constant operand beforehand; LOOPS=1: beside the best that a
# search without tensor intrinsics finds; LINES=FILE: JSON lines.
# `make rivals` installs the rivals into RIVALS_FOLDER (Python's packages are large); without it they are absent.
RIVALS_FOLDER ?= $(BUILD)/rivals
RIVALS        ?= openblas,onednn,torch
SET           ?= suite
# `make bench-forms`: candidates a second that features and scores are worked out for, from closed forms.
# `make bench-model TRAINED=FILE`: how a model orders an operator's candidates that it has not seen, from the records of a
# database. `make train-model N=1000` measures random candidates of ROWS into it (again: goes on) and trains the model
# that is shipped, share/model.ubj. N=0: trains alone.
TRAINED     ?= $(BUILD)/train.db
MODEL_TOOL  := $(OUT)/tests/bench/bench_model
.PHONY: bench-model run-bench-model train-model run-train-model
bench-model train-model: %:
	@sh scripts/install-deps.sh build
	@$(SUBMAKE) run-$@
run-bench-model: $(MODEL_TOOL)
	@$< '$(TRAINED)' $(if $(filter 1,$(JSON)),--json)
run-train-model: all $(MODEL_TOOL)
	@$(if $(filter 0,$(N)),:,$(OUT)/moonloop --private -b scripts/train_model.lua db='$(TRAINED)' n='$(N)' rows='$(ROWS)')
	@$(MODEL_TOOL) '$(TRAINED)' --train share/model.ubj
.PHONY: bench-kernels run-bench-kernels bench-forms run-bench-forms rivals
bench-forms:
	@sh scripts/install-deps.sh build
	@$(SUBMAKE) run-bench-forms
run-bench-forms: $(OUT)/tests/bench/bench_forms
	@$<
bench-kernels:
	@sh scripts/install-deps.sh build
	@$(SUBMAKE) run-bench-kernels
run-bench-kernels: all
	@MOONLOOP='$(abspath $(OUT))/moonloop' RIVALS_FOLDER='$(RIVALS_FOLDER)' sh tests/bench/bench_kernels.sh \
	    set='$(SET)' threads='$(THREADS)' rivals='$(RIVALS)' trials='$(TRIALS)' seeds='$(SEEDS)' rows='$(ROWS)' \
	    prepack='$(PREPACK)' loops='$(LOOPS)' out='$(LINES)'
rivals:
	@sh scripts/install-rivals.sh '$(RIVALS_FOLDER)' $(subst $(comma), ,$(RIVALS))

# Strategies of the search by turns: `make bench-tune SET=suite WITH=mutate,evolve TRIALS=64 RUNS=3 THREADS=2`; the
# first is what the others are compared with. ROWS=GMM-2,...: these alone; LONG=1000: so many trials are what 95 %
# means; SPACE=NAME: a design space, or a .lua file that returns one; LINES=FILE: JSON lines.
WITH ?= mutate,evolve,beam,greedy,random
.PHONY: bench-tune run-bench-tune
bench-tune:
	@sh scripts/install-deps.sh build
	@$(SUBMAKE) run-bench-tune
run-bench-tune: all
	@XDG_DATA_HOME='$(abspath $(OUT))/bench' '$(abspath $(OUT))/moonloop' --no-init --private -b tests/bench/bench_tune.lua \
	    set='$(SET)' with='$(WITH)' trials='$(TRIALS)' runs='$(RUNS)' threads='$(THREADS)' rows='$(ROWS)' long='$(LONG)' \
	    space='$(SPACE)' out='$(LINES)'

# Candidates compiled a second, and the longest: `make bench-compile ROWS=GMM-2,SFM-0 THREADS=1 N=16`.
.PHONY: bench-compile run-bench-compile
bench-compile:
	@sh scripts/install-deps.sh build
	@$(SUBMAKE) run-bench-compile
run-bench-compile: all $(OUT)/tests/bench/bench_compile
	@MOONLOOP='$(abspath $(OUT))/moonloop' $(OUT)/tests/bench/bench_compile --rows rows='$(ROWS)' \
	    threads='$(THREADS)' n='$(if $(filter command line,$(origin N)),$(N))' $(if $(filter 1,$(JSON)),--json)
