-- topics_moon - help on the functions and fields of moon. See topics.
local topic = ...

-- ---- programs
topic("moon.open(path [, opts])", "a program or a saved schedule from a file", [[
Gives a module for .py, .tir and .tvm, a schedule for .json; at the prompt a schedule becomes the focus. A file that is a bare trace needs the program: {program = m}. What is wrong with the text is told with line and column. With --safe only files named on the command line, and those below their folders, are read.]],
    [[
local f <close> = io.open("mm.py", "w")
f:write(s:script())
f:flush()
print(moon.open("mm.py").names[1])]])
topic("moon.parse(text [, opts])", "a module from TVMScript", [[
opts: name (for messages), values (what the text captures from its Python file), spelling classic or newest, archaic (texts of 2020), file_mode (other Python around the functions is skipped with a warning; a name that it would define is an error where it is used). Warnings stand in m.warnings.]],
    [[
local m = moon.parse("@T.prim_func\ndef f(A: T.Buffer((n,), \"float32\")):\n    A[0] = T.float32(1)\n", {values = {n = 4}})
print(m.f.buffers[1].shape[1])]])
topic("moon.module(function, ...)", "a module of these functions, under their names", "Two of one name are refused.",
    [[print(#moon.module(s:func()).names)]])
topic("moon.equal(a, b [, opts])", "whether two programs are the same up to names", [[
Of two functions, modules or expressions: true, or false and where they first differ. opts: map_free (a variable of one may stand for one of the other), ignore_symbol (names of functions do not count).]],
    [[
local t = s:copy()
t:split("i", {2, 4})
print(moon.equal(s:func(), t:func()))]])
topic("moon.schedule(program [, opts])", "a schedule to work on", [[
program: a module, a function, or a schedule whose program is taken over. opts: target, seed, name, func (the function to work on), error_render_level, debug_mask, enable_check, unchecked. At the prompt the schedule becomes the focus, and names of primitives alone work on it.]],
    [[
local t = moon.schedule(moon.workload.matmul(4, 4, 4), {name = "small", seed = 7})
print(t)]])
topic("moon.create_schedule(program [, opts])", "another spelling of moon.schedule", "", [[print(moon.create_schedule(s:mod()))]])
topic("moon.Schedule(program [, opts])", "moon.schedule as a copied Python script writes it", "Also tir.Schedule and tvm.s_tir.Schedule.",
    [[print(moon.Schedule(s:mod()))]])
topic("moon.tir", "names that Python scripts find in tvm.tir: Schedule, IndexMap.AXIS_SEPARATOR", "moon.s_tir is the same table.")
topic("moon.s_tir", "names that Python scripts find in tvm.s_tir; the same table as moon.tir", "")
topic("moon.tir.Schedule(program [, opts])", "moon.schedule, as scripts copied from Python write it", "",
    [[print(moon.tir.Schedule(s:mod()))]])
topic("moon.s_tir.Schedule(program [, opts])", "moon.schedule, as newer Python scripts write it", "", [[print(moon.s_tir.Schedule(s:mod()))]])
topic("moon.tir.IndexMap", "holds AXIS_SEPARATOR, as Python scripts write moon.axis_separator", "")
topic("moon.s_tir.IndexMap", "holds AXIS_SEPARATOR, as Python scripts write moon.axis_separator", "")
topic("moon.tir.IndexMap.AXIS_SEPARATOR", "moon.axis_separator, as Python scripts write it", "")
topic("moon.s_tir.IndexMap.AXIS_SEPARATOR", "moon.axis_separator, as newer Python scripts write it", "")
topic("moon.auto", "in a list of factors: whatever is left", "False does as well; nil does not: in Lua {8, nil} is {8}.",
    [[print(table.unpack(s:split("i", {moon.auto, 4})))]])
topic("moon.index_map(function [, inverse])", "an index map: where an element of the old layout goes", [[
From a function of the old indices that gives the new ones, or one list of them, or from a text as in Python: "lambda i, j: (j, i)". Where a primitive wants an index map a plain function will do. The inverse is found where it can be.]],
    [[print(moon.index_map(function(i, j) return j, i // 4, i % 4 end))]])
topic("moon.axis_separator", "between results of an index map: here a physical axis ends", "For transform_layout; set_axis_separator puts it afterwards.",
    [[print(moon.index_map(function(i, j) return i, moon.axis_separator, j end))]])

-- ---- tensor intrinsics, reducers
topic("moon.intrin(name [, desc, impl [, opts]])", "fetch or register a tensor intrinsic", [[
With the name alone: a table of name, desc and impl (modules of one function), or an error; {allow_missing = true} gives nil. With desc and impl (functions, modules of one function or texts) the name is registered for tensorize: desc says what the instruction computes, impl what takes its place. Both are run on the same inputs and must agree; their blocks declare the same regions and touch nothing else. A known name needs {override = true}.
An implementation calls an instruction with T.call_llvm_pure_intrin("int32x4", "llvm.x86.sse2.pmadd.wd", a, b): the type of the result, LLVM's name, operands as vectors of as many bits as it takes. What LLVM or the processor lacks is refused by its name when the kernel is compiled. What the interpreter has no routine for is not run when it is registered, and moon.check refuses it: examples/own_intrinsic.lua teaches one and compares the compiled kernel with the program as it was.]],
    [[
local dot = moon.intrin("dot_16x4_vnni")
print(dot.desc:script())
moon.intrin("my_dot", dot.desc, dot.impl, {override = true})]])
topic("moon.intrins([pattern])", "names of the tensor intrinsics that are known, sorted", "The pattern is one of Lua's string.find.",
    [[print(table.concat(moon.intrins("^dot"), " "))]])
topic("moon.register_reducer(n, combine, identity [, opts])", "a reduction of n values that rfactor may take apart", [[
combine(x..., y...) gives the n combined values of two partial results; identity is a list of n numbers, or a function of the n dtypes that gives them. combine must be associative, and the identity must change nothing: both are tried on many numbers. opts: dtypes, a list of lists of n dtypes; without it every dtype of numbers for which combine can be built.]],
    [[
moon.register_reducer(1, function(x, y) return moon.te.bitwise_xor(x, y) end, {0}, {dtypes = {{"int32"}}})
local t = moon.schedule(moon.parse([=[
@T.prim_func
def parity(A: T.Buffer((64,), "int32"), B: T.Buffer((1,), "int32")):
    for k in range(64):
        with T.block("B"):
            v = T.axis.reduce(64, k)
            with T.init():
                B[0] = 0
            B[0] = B[0] ^ A[v]
]=]))
print(t:rfactor(t:split("k", {8, 8})[1], 0))]])

-- ---- looking and checking
topic("moon.verify(program [, opts])", "what is wrong with a program, without running it", [[
A list of findings with code, severity (error, unproved, warning), message and place; empty when nothing is found. opts: what, one or a list of well-formed, regions, threading, memory, out-of-bounds, order (blocks whose instances depend on each other: a warning, not an error), gpu; target: whose limits count ("cuda-sm_80", a table with kind, arch and limits), CUDA's in general without it.]],
    [[print(#moon.verify(s))]])
topic("moon.check(s [, opts]), moon.check(a, b [, opts])", "compare a version with its start, or two programs, on random inputs", [[
Gives a table: ok, outside (elements beyond the bound), largest (difference), first_at (where), seed, atol (the bound, :help :check; rtol is 0 unless asked for), bounds (of each output, when there are several); where the bound is above 1 % of the largest value, also vacuous (that bound) and magnitude (that value); blind, a text, where integer inputs have one value only. A difference raises nothing. opts: inputs (random, zeros, ones, iota, adversarial), seed, shape ({n = 127} of symbolic sizes), rtol, atol, exact, limit, func.]],
    [[
s:split("k", {2, 4})
local r = moon.check(s)
print(r.ok, r.outside)]])
topic("moon.analyze(s)", "the properties of every block, as s:info gives them of one", "",
    [[for _, b in ipairs(moon.analyze(s)) do print(b.block, b.complete, b.reduction) end]])
topic("numbers", "what arithmetic means at its limits, interpreted and compiled",
    "Stored integers wrap as their dtype does, everywhere: 127 + 1 is -128 in int8, and X + 1 > X is false for "
    .. "the largest X. In indices, bounds, bindings and conditions an overflow is an error of the program: the "
    .. "interpreter stops there with `overflow`, and compiled code and the simplifier take it that none happens. A "
    .. "condition inside a value wraps where it reads memory. A division or remainder by 0 and a shift by less than 0 or "
    .. "by the width or more are errors of the program: the interpreter stops (`divide-by-zero`, `bad-shift`), compiled "
    .. "code goes on with a defined value and never traps: a divisor of 0 counts as 1, and a shift is by the count "
    .. "modulo the width. The least integer divided by -1 is itself. A float that is cast to an integer is cut towards "
    .. "zero, then to the nearest end of the dtype; NaN gives 0. Floats are those of IEEE 754: nothing is folded that "
    .. "does not hold for infinities, NaN and -0 (x * 1 is x; x * 0 and x + 0 stay). max(a, b) is a if a > b else b: "
    .. "the second where one is NaN. Compiled code may contract a * b + c to one rounding (fma), and reorders a sum "
    .. "only where a step of the schedule says so. :check draws the ends of the integer types, where they cannot lead "
    .. "the program astray.",
    [[local p = moon.parse([=[
@T.prim_func
def f(X: T.Buffer((2,), "int8"), Y: T.Buffer((2,), "int8")):
    for i in range(2):
        Y[i] = X[i] + T.int8(1)
]=])
local x, y = moon.tensor({2}, "int8", {127, 1}), moon.tensor({2}, "int8")
moon.interpret(p, {x, y})
print(y[0], y[1])]])
topic("moon.interpret(program, tensors [, opts])", "run a program in the interpreter, which checks every access", [[
tensors: one for each buffer parameter, numbers for the others, in order; results are written into them. What is not allowed (out of bounds, a race, memory never written) raises an error with the values of the loops; :help numbers tells what arithmetic means. opts: func, env (symbolic sizes by name).]],
    [[
local A, B, C = moon.tensor({8, 8}):fill(2), moon.tensor({8, 8}):fill(3), moon.tensor({8, 8})
moon.interpret(s, {A, B, C})
print(C[{0, 0}])]])
topic("moon.tensor(shape, dtype [, init])", "a tensor for running programs", [[
Elements are t[{i, j}], from 0. init: a number, or a list of all elements. Memory is aligned to 64 bytes and shared with the processes that run kernels.]],
    [[
local t = moon.tensor({2, 3}, "float32")
t[{1, 2}] = 5
print(t, t[{1, 2}])]])
topic("moon.tensor.load(path [, dtype])", "a tensor from a .npy file", "tensor:save writes one.",
    [[
moon.tensor({4}, "int32"):fill(7):save("x.npy")
print(moon.tensor.load("x.npy")[{3}])]])

-- ---- machine code
topic("moon.build(program [, opts])", "compile for a processor: gives a kernel, to be called like a function", [[
program: a schedule, module or function. The kernel runs in a process of its own, so that a crash ends a call and not the session. opts: target, opt (light, O0 to O3), inprocess (no own process; not with --safe), threads, func, lines (keep lines of the program), contract (fused multiply-add), unaligned, limit (seconds of a call). With a GPU's loops no-device is raised: such code comes with a later version.]],
    [[
local k <close> = moon.build(s)
local A, B, C = moon.tensor({8, 8}):fill(2), moon.tensor({8, 8}):fill(3), moon.tensor({8, 8})
k(A, B, C)
print(k.name, C[{0, 0}])]])
topic("moon.time(s [, opts])", "time the compiled program, beside its start and the machine's limits", [[
Gives what :time tells with --json: :help facts lists the names. Among them median min p90, runs, noisy, flop_rate, share_of_peak, start_ratio, roof. opts: shape, seed, cold (caches emptied before each run), report, limit, threads, func, alone (not the start), runs (how many samples, else as many as are needed), against (openblas: the library's routine beside it, in the field against).]],
    [[print(moon.time(s, {runs = 3, alone = true}).runs)]])
topic("moon.machine([opts])", "what this machine can do, measured: peaks, bandwidths, caches, cores", [[
Kept between sessions. {calibrate = true} measures again, which takes some seconds; {quick = true} measures nothing that is not known.]],
    [[print(moon.machine({quick = true}).cores > 0)]])
topic("moon.target(text or table)", "a target from its text", "llvm, llvm -mcpu=znver4 -num-cores=2, or a table with a kind.",
    [[print(moon.target("llvm -num-cores=2").num_cores)]])

-- ---- tuning
topic("moon.tune(program [, opts])", "search for a fast schedule by measuring", [[
Gives what :tune tells with --json (:help facts lists the names; among them best_seconds, flop_rate, state, spent and failed by phase), and best (a record), schedule() (its steps applied), records. opts: trials (64), seconds, seed, space (a name, what moon.tune.space gives, or a function that gives sketches), db, threads, fresh (take nothing from the database), with (a strategy: :help tune), model (what scores candidates: xgb, analytic, random), progress and on_record (called with news).
Of a program with symbolic sizes shape says for which it is tuned: {n = {1, 16, 127}, m = 64} (all combinations), a list of such tables, or a text as :tune --shape takes it. Each of the sizes is a task under one budget (opts also: each, rule; without on_record), and the best steps of each become an arm of one program, behind which an arm computes all other sizes. The result has sizes (a row each: text, values, seconds of the kernel, best_seconds of the search, refused), other (how the last arm was made), record, tasks.]],
    [[
local r = moon.tune(s, {trials = 1, db = ":memory:"})
print(#r.records, r.state)]])
topic("moon.specialize(program, sizes)", "a module of the program's function for sizes that are known", [[
sizes: "n=16" or {n = 16}; symbolic sizes and integer parameters become constants, others stay. What is scheduled on it is steps for s:specialize.]],
    [[
local symbolic = moon.parse("@T.prim_func\ndef f(a: T.handle, b: T.handle):\n    n = T.int32()\n    A = T.match_buffer(a, (n,))\n    B = T.match_buffer(b, (n,))\n    for i in range(n):\n        with T.block(\"B\"):\n            v = T.axis.spatial(n, i)\n            B[v] = A[v] + T.float32(1)\n")
print(moon.specialize(symbolic, {n = 16}):script())]])
topic("moon.tune_all(programs [, opts])", "several programs tuned under one budget", [[
programs: a module (each function is a task), a program, or a list of them and of rows {workload = program, weight = n, id = name}, as moon.net gives them; equal programs are one task. opts: trials (64 for each) and seconds, of all tasks together; each (trials of one at most), rule ("gradient": the next batch goes where it is expected to save most, by weight; "round-robin"), seed, space, with, model, db, threads, fresh, progress. Gives what :tune --all tells with --json, and in each row of tasks schedule(). A program that cannot be tuned says why in refused; the others go on.]],
    [[
local r = moon.tune_all({s, {workload = moon.workload.matmul(8, 8, 8), weight = 3}}, {trials = 2, db = ":memory:"})
print(r.done, #r.tasks)]])
topic("moon.tune.rule{name =, apply =, ...}", "a schedule rule of one's own, between those that make design spaces", [[
apply: a function of a schedule and a block that gives the schedule, a list of schedules, or nothing (as it is now). before, after: a stock rule by name, else it is the first; kinds: of targets; seconds: at most for one block (2), ten times that for all; a space holds at most 1000 schedules; key: it is asked only by blocks whose annotation schedule_rule names it, on targets with this key. Without apply the rule of that name is taken away. A rule that fails is named, and the search goes on without it. What it adds is searched beside the usual sketches.]],
    [[
moon.tune.rule{name = "twos", apply = function(s, block)
    if s:get(block).name == "C" then s:split(s:get_loops(block)[1], {moon.auto, 2}) end
end}
moon.tune.rule{name = "twos"}]])
topic("moon.tune.space{name =, ...}", "a design space of one's own", [[
By rules: rules, postprocs, mutators (lists of names, of {name, options}, of tables with name and apply), filter (a function of a schedule and a block), target, kind; what is left out is the target's ("cuda-sm_80", ...: sketches for a GPU, which nothing runs yet). By a function: schedule, which gives nothing, a schedule or a list. Of others: union, a list of spaces and names. moon.tune takes what is given back, or its name, as the option space; so does :tune --space.]],
    [[
local space = moon.tune.space{schedule = function(s) s:parallel("i") end}
print(#space.sketches(moon.workload.matmul(8, 8, 8)))]])
topic("moon.draft(program [, opts])", "a schedule from rules alone, nothing is measured", "The first one that moon.tune would try.",
    [[print(#moon.draft(moon.workload.matmul(64, 64, 64)):trace() > 0)]])
topic("moon.apply_best(program, db [, opts])", "the program with the best record of a database applied", "db: a database or its path; opts: target. Without a record unknown-name is raised.",
    [[
local db <close> = moon.db(":memory:")
print(pcall(moon.apply_best, s, db))]])
topic("moon.db([path])", "a database of tuning records, made if there is none", [[
Without a path the usual one; ":memory:" is kept nowhere, and the only one with --safe. Its methods: records, best, put, export, import, close.]],
    [[
local db <close> = moon.db(":memory:")
print(db, #db:records())]])
topic("moon.space.sketches(program [, opts])", "the schedules that a search starts from, decisions left open", "A list of tables with name and schedule; opts: threads.",
    [[for _, k in ipairs(moon.space.sketches(moon.workload.matmul(64, 64, 64))) do print(k.name) end]])
topic("moon.space.name", "the name under which records of this design space are kept", "", [[print(moon.space.name)]])
topic("moon.space", "the rules that make design spaces: sketches", "")
topic("moon.space.names()", "the design spaces that have a name", "", [[print(table.concat(moon.space.names(), ", "))]])
topic("moon.space.find([name])", "the design space of that name, else the usual one", "A table with name and sketches.",
    [[print(#moon.space.find("post-order-apply").sketches(moon.workload.matmul(64, 64, 64)))]])
topic("moon.space.add_rule(rule)", "the function behind moon.tune.rule", "", [[moon.space.add_rule{name = "none"}]])
topic("moon.space.define(given)", "the function behind moon.tune.space", "", [[print(moon.space.define{kind = "llvm"}.name)]])
topic("moon.tuning", "the parts of a search, for programs that turn it themselves", "moon.tune, moon.draft, moon.db and moon.apply_best are its usual form.")
topic("moon.tuning.run(program [, opts])", "the function behind moon.tune", "", [[print(#moon.tuning.run(s, {trials = 1, db = ":memory:"}).records)]])
topic("moon.tuning.begin_apart(s, opts)", "a tuner that knows nothing of other searches; :tune --compare turns several", "Its records are kept in memory.",
    "moon.tuning.begin_apart(s, {trials = 1})\nmoon.tuning.end_apart()")
topic("moon.tuning.end_apart()", "end all searches of moon.tuning.begin_apart", "", "moon.tuning.end_apart()")
topic("moon.tuning.search(program [, opts])", "a search that was not started: a tuner", "Gives also the list of sketches. tuner:step turns it.",
    [[
local t <close> = moon.tuning.search(s, {trials = 1, db = ":memory:"})
print(t:status().total)]])
topic("moon.tuning.run_all(programs [, opts])", "the function behind moon.tune_all", "", [[print(moon.tuning.run_all({s}, {trials = 1, db = ":memory:"}).done)]])
topic("moon.tuning.tasks(programs [, opts])", "tasks that were not begun", "tasks:step turns them; where it says open, moon.tuning.open_task gives the task its search.",
    [[
local t <close> = moon.tuning.tasks({s}, {trials = 1, db = ":memory:"})
print(#t:list())]])
topic("moon.tuning.open_task(tasks, k)", "the search that task k waits for", "A task that can have none is refused, with the reason.",
    [[
local t <close> = moon.tuning.tasks({s}, {trials = 1, db = ":memory:"})
local state, k = t:step()
moon.tuning.open_task(t, k)]])
topic("moon.tuning.best_of(tasks, k, row)", "the best record of task k, whose row of tasks:list() is given; nil: it has none", "",
    [[
local t <close> = moon.tuning.tasks({s}, {trials = 1, db = ":memory:"})
print(moon.tuning.best_of(t, 1, t:list()[1]))]])
topic("moon.tuning.db_in_memory(tasks)", "the database in memory of a kernel that no file took; nil: it is in the file", "",
    [[
local t <close> = moon.tuning.tasks({s}, {trials = 1, db = ":memory:"})
print(moon.tuning.db_in_memory(t))]])
topic("moon.tuning.unmake([path])", "remove the database that this session made at the path and wrote nothing into", "One that has records, or that another process has open, stays.",
    "moon.tuning.unmake()")
topic("moon.tuning.specialize(program, sizes)", "the function behind moon.specialize", "",
    [[
local symbolic = moon.parse("@T.prim_func\ndef f(a: T.handle, b: T.handle):\n    n = T.int32()\n    A = T.match_buffer(a, (n,))\n    B = T.match_buffer(b, (n,))\n    for i in range(n):\n        with T.block(\"B\"):\n            v = T.axis.spatial(n, i)\n            B[v] = A[v] + T.float32(1)\n")
print(moon.tuning.specialize(symbolic, "n=3").f.buffers[1].shape[1])]])
topic("moon.tuning.run_shapes(program, opts)", "the function behind moon.tune with the option shape", "",
    [[
local symbolic = moon.parse("@T.prim_func\ndef f(a: T.handle, b: T.handle):\n    n = T.int32()\n    A = T.match_buffer(a, (n,))\n    B = T.match_buffer(b, (n,))\n    for i in range(n):\n        with T.block(\"B\"):\n            v = T.axis.spatial(n, i)\n            B[v] = A[v] + T.float32(1)\n")
print(#moon.tuning.run_shapes(symbolic, {shape = "n=64,128", trials = 2, db = ":memory:"}).sizes)]])
topic("moon.tuning.shape_tasks(program, opts)", "a task for each of the sizes that opts.shape lists", "",
    [[
local symbolic = moon.parse("@T.prim_func\ndef f(a: T.handle, b: T.handle):\n    n = T.int32()\n    A = T.match_buffer(a, (n,))\n    B = T.match_buffer(b, (n,))\n    for i in range(n):\n        with T.block(\"B\"):\n            v = T.axis.spatial(n, i)\n            B[v] = A[v] + T.float32(1)\n")
local t <close> = moon.tuning.shape_tasks(symbolic, {shape = "n=64,128", db = ":memory:"})
print(#t:list())]])
topic("moon.tuning.begin_shapes(program, opts)", "the same with the session's database, as :tune --shape begins it", "Gives the tasks, and why records go to memory where the database cannot be used.",
    [[
local symbolic = moon.parse("@T.prim_func\ndef f(a: T.handle, b: T.handle):\n    n = T.int32()\n    A = T.match_buffer(a, (n,))\n    B = T.match_buffer(b, (n,))\n    for i in range(n):\n        with T.block(\"B\"):\n            v = T.axis.spatial(n, i)\n            B[v] = A[v] + T.float32(1)\n")
local t <close> = moon.tuning.begin_shapes(symbolic, {shape = "n=64,128", db = ":memory:"})
print(#t:list())]])
topic("moon.tuning.join_shapes(tasks [, quick])", "what was found for sizes as one program, kept as a record", "quick: nothing is measured. Gives a table: sizes, other, record, trace, schedule; only sizes where nothing was measured.",
    [[
local symbolic = moon.parse("@T.prim_func\ndef f(a: T.handle, b: T.handle):\n    n = T.int32()\n    A = T.match_buffer(a, (n,))\n    B = T.match_buffer(b, (n,))\n    for i in range(n):\n        with T.block(\"B\"):\n            v = T.axis.spatial(n, i)\n            B[v] = A[v] + T.float32(1)\n")
local t <close> = moon.tuning.shape_tasks(symbolic, {shape = "n=64,128", db = ":memory:"})
print(moon.tuning.join_shapes(t, true).record)]])
topic("moon.tuning.db_of(tasks)", "the database that records of the tasks go to", "",
    [[
local symbolic = moon.parse("@T.prim_func\ndef f(a: T.handle, b: T.handle):\n    n = T.int32()\n    A = T.match_buffer(a, (n,))\n    B = T.match_buffer(b, (n,))\n    for i in range(n):\n        with T.block(\"B\"):\n            v = T.axis.spatial(n, i)\n            B[v] = A[v] + T.float32(1)\n")
local t <close> = moon.tuning.shape_tasks(symbolic, {shape = "n=64,128", db = ":memory:"})
print(moon.tuning.db_of(t))]])
topic("moon.tuning.left_out()", "what postprocessors and rules of the searches at work left out, as :tune says it at its end", "nil: nothing was.",
    'moon.tuning.opened_none()\nprint(moon.tuning.left_out())')
topic("moon.tuning.note_of(space)", "which rules of a space were left out, and why, as text", "nil: none was.",
    'print(moon.tuning.note_of({refused = {}}))')
topic("moon.tuning.opened(space)", "another search over this space is at work", "What it leaves out is told by left_out.",
    'moon.tuning.opened({warnings = {"few"}})\nprint(moon.tuning.left_out())\nmoon.tuning.opened_none()')
topic("moon.tuning.opened_none()", "no search is at work any more", "", 'moon.tuning.opened_none()')
topic("moon.tuning.begin_all(programs, opts)", "tasks with the session's database, as :tune --all begins them", "Gives the tasks, and why records go to memory where the database cannot be used.",
    [[
local t = moon.tuning.begin_all({s}, {trials = 1, db = ":memory:"})
print(t:status().done)
moon.tuning.finish_all(t)]])
topic("moon.tuning.db_to_write([path])", "the session's database, as :db merge writes it", "", [[print(moon.tuning.db_to_write("r.db").path)]])
topic("moon.tuning.finish_all(tasks)", "end the tasks that begin_all has begun", "",
    [[
local t = moon.tuning.begin_all({s}, {trials = 1, db = ":memory:"})
moon.tuning.finish_all(t)]])
topic("moon.tuning.begin(s, opts)", "a search with the session's database, as :tune begins it", "Gives the tuner, and why records go to memory where the database cannot be used.",
    [[
local t <close> = moon.tuning.begin(s, {trials = 1, db = ":memory:"})
print(t:status().done)]])
topic("moon.tuning.finish(tuner [, path])", "end a search that begin has begun; the session keeps its database", "",
    [[
local t = moon.tuning.begin(s, {trials = 1, db = ":memory:"})
moon.tuning.finish(t, ":memory:")]])
topic("moon.tuning.session_db([path [, make]])", "the database that :best, :adopt and :db look at", "make: it is made when it is not there; without it nil may be given.",
    [[print(moon.tuning.session_db(":memory:", true))]])
topic("moon.tuning.apply(program, record)", "a schedule on the start of the program with a record's steps", "",
    [[
local r = moon.tune(s, {trials = 1, db = ":memory:"})
print(moon.tuning.apply(s, r.records[1]):version() > 0)]])
topic("moon.tuning.draft(program [, opts])", "the function behind moon.draft", "", [[print(moon.tuning.draft(s):version() > 0)]])
topic("moon.tuning.best(db, program [, target])", "the fastest valid record of a program, or nil", "",
    [[
local db <close> = moon.db(":memory:")
print(moon.tuning.best(db, s))]])
topic("moon.tuning.apply_best(program, db [, opts])", "the function behind moon.apply_best", "",
    [[
local db <close> = moon.db(":memory:")
print((pcall(moon.tuning.apply_best, s, db)))]])
topic("moon.tuning.db([path])", "the function behind moon.db", "", [[
local db <close> = moon.tuning.db(":memory:")
print(db.path)]])

-- ---- traces, errors, the program around
topic("moon.trace(json or table)", "a trace from its JSON form", "Also from a list of instructions {kind=, inputs=, attrs=, outputs=, decision=}. trace:apply replays it.",
    [[
s:split("i", {2, 4})
local t = moon.trace(s:trace():json())
print(t:lua())]])
topic("moon.primitives()", "the table of primitives, in order and by name", [[
Each with name, group, args, kinds, defaults, optional, docs, errors, summary, help, returns, recorded. Help, completion and bindings come from it.]],
    [[print(#moon.primitives(), moon.primitives().split.summary)]])
topic("moon.codes()", "every error code, in the order of the catalogue", "", [[print(#moon.codes(), moon.codes()[1])]])
topic("moon.explain(code)", "what an error code means, as a table", "rule, why (also as reason), says (the sentence, … for what differs), primitives, example and counter_example; run(which) runs an example and gives nil, or what is wrong. :explain CODE shows it.",
    [[
local e = moon.explain("factors-too-small")
print(e.rule)
print(e.why)]])
topic("moon.help([name])", "what help knows of a name, as a table", "name, signature, summary, text, example. Without a name: all names but those of primitives and error codes.",
    [[print(moon.help("moon.check").summary, #moon.help() > 100)]])
topic("moon.cmd(name, ...)", "run a command of the prompt", "Gives a table: ok, text (what it printed) and what it told as data: t[1], t[2], ... are its rows, the objects that --json prints, without schema (:help facts); a command that tells of one thing has the fields in the table itself too. Words are quoted as needed.", [[print(moon.cmd("set", "echo")[1].value)
focus(s)
print(moon.cmd("block", "C").iters[1].binding)]])
topic("moon.bind_key(pane, key, request)", "another key for the visualiser", [[
pane: loops, program, block, dataflow, steps, performance, jobs, memory, code (beside the program), or all; key: a character, or a name like C-r, M-1, S-up, f5, enter; request: a name as :view lists them with ?, like split or move-down, or none. Its place is the init file; bind_key alone is the same.]], [[moon.bind_key("loops", "Z", "split")]])
topic("moon.theme{name = NAME, [base = NAME,] [ROLE] = LOOK, ...}", "a theme of your own", [[
Looks of roles on top of those of base (default, light, mono, or one defined before; default when there is none). A look is [COLOUR] [on COLOUR] and any of bold, underline, reverse, dim; none is plain. A colour is #rrggbb or a name: black, red, green, yellow, blue, magenta, cyan, white, grey, light-red … light-white; it is rounded to what the terminal has, and without colours the attributes alone show.

Roles: text, dim, strong, title, border, border.in (of the pane with the cursor), bar.cursor, bar.linked, bar.changed, key, ok, error, note, diff.add, diff.del, hint, suggestion, match, loop.serial, loop.parallel, loop.vectorized, loop.unrolled, loop.thread, block, buffer, code.keyword, code.number, code.string, code.comment, code.name, code.primitive, mark.1 … mark.7.

Its place is the init file, with moon.set{theme = NAME} below it; :set theme NAME switches. A name that is defined again is changed.]], [[
moon.theme{name = "mine", base = "light", ["loop.parallel"] = "bold #c04000", ["bar.cursor"] = "white on blue"}
moon.set{theme = "mine"}]])
topic("moon.set{name = value, ...}", "change settings", ":set lists them; moon.get reads one.", [[
local was = moon.get("context")
moon.set{context = 3}
print(moon.get("context"))
moon.set{context = was}]])
topic("moon.alias{name = text, ...}", "another word for a command", "In init.lua, say: moon.alias{tt = \"time --runs 20\"} makes :tt, which takes further words. An alias is named whole and never hides a command; false takes it away.", [[
moon.alias { e = "set echo" }
print(moon.cmd("e").text)]])
topic("moon.get(name)", "the value of a setting", "A number or boolean where the setting is one.", [[print(moon.get("seed"), moon.get("atomic"))]])
topic("moon.focus([s])", "the schedule that bare names of primitives work on", "With an argument it becomes the focus; without, it is given; nil: there is none.",
    [[
local was = moon.focus()
print(moon.focus(s) == s)
if was then moon.focus(was) end]])
topic("moon.hooks", "what the program around Lua wants to hear of, by name: schedule, typed, topics", "For programs that embed the library.")
topic("moon.version", "the version of moonloop, as text", "", [[print(moon.version)]])
topic("moon.features", "what this build can do, by name: llvm, cuda, tuning, interpreter", "", [[print(moon.features.llvm, moon.features.cuda)]])
for _, f in ipairs { { "llvm", "whether programs can be compiled" }, { "cuda", "whether code for CUDA can be made: not in this version" },
    { "tuning", "whether moon.tune is there" }, { "interpreter", "whether moon.interpret is there" } } do
    topic("moon.features." .. f[1], f[2], "", "print(moon.features." .. f[1] .. ")")
end
topic("moon.te", "builder of programs: what a tensor holds, as a function of its indices", "See te.compute, te.func.")
topic("moon.ir", "constructors of expressions and statements, one to one with the IR", "See ir.func, ir.block.")
topic("moon.einsum(spec, sizes [, opts])", "a program of one contraction, from its letters", [[
sizes: of each letter (a name makes it symbolic), or a list of the operands' shapes. A letter is a loop; one that is not in the result is summed over, in the order of the text; twice in an operand it is the diagonal. "..." are dimensions without letters, in sizes a list. Without -> the result has the letters that occur once, sorted. In shapes a dimension of 1 is read at 0 where another operand has more. opts: dtype, acc, names (of the operands and the result). The module is as that of a workload.]],
    [[
print(moon.einsum("bmk,bkn->bmn", {b = 2, m = 8, k = 4, n = 8}).main:script())
print(moon.einsum("ii->", {i = 8}).flop)
print(#moon.draft(moon.einsum("...ij,jk->...ik", {{3, 8, 4}, {4, 8}})):trace())]])
topic("moon.net([name [, opts]])", "the distinct layers of a network, each with how often it occurs", [[
name: resnet50, mobilenet_v2, bert_large, vit_b16; without one these names. A list of tables with workload (a module), weight (its count), id and role (what it is): the products by their names (R1, M1, B1, V1), then what is between them. Residual additions of several sizes are one row, the largest of them, weighted so that it has the elements of all. opts: dtype, acc, batch (of the first two), seq (of BERT: 128 or 384).]],
    [[
local flop = 0
for _, layer in ipairs(moon.net("resnet50")) do flop = flop + layer.weight * layer.workload.flop end
print(flop)]])
topic("moon.workload(name [, opts])", "one of the programs that are measured", [[
By name, as moon.workload.list gives them, or by shape: moon.workload.matmul(128, 128, 128). Words may follow a name: a dtype (.f16 .bf16 .f64 .i8), an accumulator (.acc16 .acc32), what the family knows (QMM-2.p.rq, WIN-0.pre, B2.s384). A family of one row needs no number. The module has inputs(seed), reference(inputs), flop and bytes beside its function main. opts: dtype, acc, batch.]],
    [[print(moon.workload("GMM-0").flop)]])
