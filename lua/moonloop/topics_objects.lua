-- topics_objects - help on the methods and fields of objects: handles, traces, programs, tensors,
-- kernels, databases, errors. See topics.
local topic = ...

-- Fields of a class, each with what it is; the example prints one of `object`.
local function fields(class, object, list)
    for _, f in ipairs(list) do
        topic(class .. "." .. f[1], f[2], f[3] or "", object .. "\nprint(x." .. f[1] .. ")")
    end
end

-- ---- handles
fields("handle", 'local x = s:handle("i")', {
    { "kind", "what it stands for: loop, block, or a number" },
    { "name", "its display name now" },
    { "alive", "whether the current version still has it" },
    { "ended_by", "the step that ended it, as text; nil while it is alive" },
    { "schedule", "the schedule it belongs to" },
})
topic("handle.value", "of a sampled or computed number: its value", "Such a handle takes part in arithmetic.", [[
local t = s:sample_perfect_tile("i", 2)
print(t[1].value * t[2].value)]])
topic("number.value", "the value of an expression of numbers that were sampled", "Such an expression is made by arithmetic on handles.", [[
local t = s:sample_perfect_tile("i", 2)
print((t[1] * 2).value == t[1].value * 2)]])

-- ---- traces
local traced = 's:split("i", {2, 4})\nlocal t = s:trace()\n'
topic("trace:lua([opts])", "the steps as Lua", "opts: remove_postproc, stop before what enter_postproc begins.", traced .. "print(t:lua())")
topic("trace:python([opts])", "the steps as Python", "opts: remove_postproc, spelling (classic, newest).", traced .. "print(t:python())")
topic("trace:json([opts])", "the steps as JSON, in the form of TVM's tuner", "opts: remove_postproc; program = true puts the program beside them.",
    traced .. "print(t:json())")
topic("trace:show()", "print the steps as Lua", "", traced .. "t:show()")
topic("trace:simplified([opts])", "the trace without steps whose results nothing uses", "Queries and samples go; what changes the program stays.",
    's:get_loops("C")\ns:get_block("C")\n' .. traced .. "print(#t, #t:simplified())")
topic("trace:with_decision(i, decision [, opts])", "the trace with another decision at instruction i", "The trace itself stays. opts: remove_postproc.", [[
s:sample_perfect_tile("i", 2, 8, {2, 4})
local t = s:trace()
local n = #t
print(t:with_decision(n, {4, 2})[n].decision[1])]])
topic("trace:append(instruction [, decision])", "put an instruction behind the last", "As t[i] gives them: kind, inputs, attrs, outputs.", traced .. [[
local u = s:trace()
local last = u:pop()
u:append(last)
print(#u == #t)]])
topic("trace:pop()", "take the last instruction off; gives it", "", traced .. "print(t:pop().kind, #t)")
topic("trace:become(other)", "hold what another trace holds", "trace:append works so.", traced .. "local u = moon.trace(t:json())\nu:become(t)\nprint(#u == #t)")
topic("trace:apply(s [, opts])", "replay the steps on a schedule", [[
The first step that does not apply raises its error; what was done before stays. opts: remove_postproc, decide (a function of the instruction and its decision that gives the one to use; nil keeps it, false draws afresh).]],
    traced .. "local other = moon.schedule(moon.workload.matmul(16, 16, 16))\nprint(pcall(t.apply, t, other))")

-- ---- programs
topic("module:script([opts])", "the module as text that parses back", "opts: spelling (classic, newest), regions (always, auto), prefix, sugar.", "print(s:mod():script())")
topic("module:hash()", "the structural hash: 16 hexadecimal digits, the same on every machine", "", "print(#s:mod():hash())")
topic("module:func(name)", "one of its functions", "module[\"main\"] and module.main do the same.", 'print(s:mod():func("main").name)')
topic("module:with(name, f)", "a module in which f stands under that name", "Modules do not change: it is a new one.", [[print(#s:mod():with("second", s:func()).names)]])
fields("module", "local x = moon.workload.matmul(8, 8, 8)", {
    { "names", "names of its functions, as a list" },
    { "inputs", "of a workload: inputs(seed) gives tensors for its parameters" },
    { "reference", "of a workload: reference(inputs) gives the right results, computed apart" },
    { "flop", "of a workload: floating-point operations of one run" },
    { "bytes", "of a workload: bytes of all parameters" },
    { "id", "of a workload: its name" },
    { "warnings", "what the parser wants to tell, as a list of texts" },
})
topic("function:script([opts])", "the function as text that parses back", "opts as of module:script.", "print(s:func():script())")
topic("function:hash()", "the structural hash of the function", "", "print(#s:func():hash())")
topic("function:with_attr(key, value)", "the function with an attribute set", "Functions do not change: it is a new one.", [[print(s:func():with_attr("mine", 3).attrs.mine)]])
fields("function", "local x = s:func()", {
    { "name", "its name" }, { "params", "its parameters as expressions, in order" },
    { "buffers", "its buffers, in order of the parameters" }, { "attrs", "its attributes, by name" },
})
fields("buffer", "local x = s:func().buffers[1]", {
    { "name", "its stored name" }, { "shape", "its extents: numbers, or expressions" }, { "dtype", "the type of its elements" },
    { "scope", "where it lies: global, shared, local and others" }, { "strides", "distances of its dimensions, where they are not those of a compact layout" },
})
fields("expression", 'local x = moon.te.var("i") + 1', {
    { "dtype", "its type" }, { "kind", "what it is: a variable, a sum, a load and so on" }, { "name", "of a variable: its name" },
    { "value", "of a constant: its value" }, { "op", "of a call: the operator" }, { "args", "its operands, as a list" },
})

-- ---- tensors
topic("tensor:fill(x)", "every element becomes x; gives the tensor", "", 'print(moon.tensor({2}, "int32"):fill(7)[{1}])')
topic("tensor:random(seed [, low, high])", "fill with random numbers of that seed; gives the tensor", "", [[
local a, b = moon.tensor({4}):random(1), moon.tensor({4}):random(1)
print(a[{0}] == b[{0}])]])
topic("tensor:generate(how, id, position, seed [, low, high])", "fill as the inputs of workloads are filled", "how: random, zeros, ones, iota, adversarial; equal arguments give equal elements.",
    'print(moon.tensor({4}):generate("iota", "mine", 0, 1)[{2}])')
topic("tensor:copy()", "a tensor of its own with the same elements", "", [[
local a = moon.tensor({2}):fill(1)
local b = a:copy():fill(2)
print(a[{0}], b[{0}])]])
topic("tensor:totable()", "its elements as nested lists", "", 'print(moon.tensor({2, 2}, "int32"):fill(3):totable()[2][1])')
topic("tensor:save(path)", "write it as .npy", "moon.tensor.load reads it. Not with --safe.", [[
moon.tensor({2}):fill(5):save("x.npy")
print(moon.tensor.load("x.npy")[{0}])]])
topic("tensor:compare(other [, opts])", "how far two tensors differ: a table as of moon.check", "opts: rtol, atol, exact; exact unless a tolerance is given.", [[
local a, b = moon.tensor({4}):fill(1), moon.tensor({4}):fill(1)
print(a:compare(b).ok)]])
fields("tensor", "local x = moon.tensor({2, 3})", {
    { "shape", "its extents, as a list" }, { "dtype", "the type of its elements" },
    { "bytes", "the bytes of its elements" }, { "size", "the number of its elements" },
})

-- ---- kernels
local kernel = "local k <close> = moon.build(s)\n"
topic("kernel:time([opts])", "time the kernel on inputs of its own: a table as of moon.time", "opts: shape, seed, cold, report, limit, runs.", kernel .. "print(k:time({runs = 3}).runs)")
topic("kernel:asm()", "its machine code as text", "", kernel .. 'print(#k:asm() > 0)')
topic("kernel:llvm([opts])", "its LLVM code as text; {opt = true}: after the optimizer", "", kernel .. 'print(k:llvm():match("define[^\\n]*@f_call") ~= nil or #k:llvm() > 0)')
topic("kernel:source()", "its source in C as text", "One C11 file that gcc and clang compile, alone.", kernel .. 'print(k:source():match("%w+_body"))')
topic("kernel:save(path [, opts])", "write it: .o .so .s .ll .c .h, by the suffix", "None of them needs moonloop. opts: name, what its functions are called by, so that several live in one program.", kernel .. 'k:save("mm.s")\nprint(io.open("mm.s"):read("l"))')
topic("kernel:close()", "free its code; the object is of no use afterwards", "", kernel .. "k:close()")
fields("kernel", "local x <close> = moon.build(s)", {
    { "name", "the name of its function" }, { "params", "its parameters, in order of the call" }, { "threads", "how many threads its parallel loops use" },
    { "inprocess", "whether it runs in this process" }, { "flop", "floating-point operations of one run" },
})

-- ---- tuning
local memory = 'local db <close> = moon.db(":memory:")\n'
topic("db:records([query])", "records, a list of tables", "query: program, target, space, seed, threads, limit, valid, best, after, id.", memory .. "print(#db:records{limit = 3})")
topic("db:best(program [, target])", "the fastest valid record of a program on this machine, or nil", "", memory .. "print(db:best(s))")
topic("db:put{program = p, trace = t, run_secs = list, ...}", "keep a record; gives its number", "Also name, target, space, seed, threads, error, phase, args.",
    memory .. "print(db:put{program = s, trace = s:trace():json(), run_secs = {1e-3}})")
topic("db:export(folder)", "write all records as lines of JSON into two files of a folder", "database_workload.json and database_tuning_record.json, as TVM's tuner writes them.",
    memory .. 'db:export(".")\nprint(io.open("database_workload.json") ~= nil)')
topic("db:import(folder [, programs])", "take in the records of a folder that export, or TVM's tuner, wrote", "Gives how many came, and how many lines were malformed and passed over. What stands for a program in TVM's files is not read: programs is the one they are of, or a list, by lines of database_workload.json; without it such a file is refused.", memory .. 'db:export(".")\ndb:import(".")\nprint(#db:records())')
topic("db:merge(other)", "take over what another database has: how many records came", "Records that are here already are not doubled. All of it is taken, or nothing.", memory .. 'local other <close> = moon.db(":memory:")\nprint(other:merge(db))')
topic("db:close()", "close the file; the object is of no use afterwards", "", 'local db = moon.db(":memory:")\ndb:close()')
topic("db.path", "the file it lies in", "", memory .. "print(db.path)")
topic("db.read_only", "whether nothing can be kept in it", "", memory .. "print(db.read_only)")
local search = 'local t <close> = moon.tuning.search(s, {trials = 1, db = ":memory:"})\n'
topic("tuner:step([seconds])", "go on for some time: more, done or cancelled", "", search .. "print(t:step(0.01))")
topic("tuner:status()", "how far it is: done, total, best and more", "", search .. "print(t:status().done, t:status().total)")
topic("tuner:fresh()", "the records since the last call", "", search .. "print(#t:fresh())")
topic("tuner:record(id)", "one record of its database, or nil", "", search .. "print(t:record(1))")
topic("tuner:propose()", "a candidate without measuring it: sketch, program, trace; nil: none is left", "", search .. "print(t:propose() ~= nil)")
topic("tuner:take_db()", "the database in memory that records went to, or nil", "It is there where the database could not be used.", search .. "print(t:take_db())")
topic("tuner:trials()", "what was expected and measured of each candidate, in the order of records",
    "A list: sketch (its number), expected_seconds where something was expected, seconds or failed (the phase), best_seconds of those until then.",
    search .. "print(#t:trials())")
topic("tuner:sketches()", "what the search knows of each sketch",
    "A list: name, measured, failed, points (candidates that are thought of), share (of the next ones), best_seconds, expected_seconds.",
    search .. "print(t:sketches()[1].measured)")
topic("tuner:gains()", "features in words, and their shares of what the model has learned; empty where it learned nothing", "",
    search .. "print(#t:gains())")
topic("tuner:close()", "end the search and its processes", "", 'local t = moon.tuning.search(s, {trials = 1, db = ":memory:"})\nt:close()')

local tasks = 'local t <close> = moon.tuning.tasks({s}, {trials = 1, db = ":memory:"})\n'
topic("tasks:add(program [, opts])", "one more task, before the first step: its number", "opts: name, weight. An equal program adds its weight to the one there is; nil: it is marked as scheduled.", tasks .. "print(t:add(moon.workload.matmul(8, 8, 8), {weight = 2}))")
topic("tasks:step([seconds])", "go on for some time: more, done or cancelled; open, and the number of a task that needs a search", "", tasks .. "print(t:step(0.01))")
topic("tasks:open(tuner)", "the search of the task that waits for one", "It is made with {tasks = t}: moon.tuning.open_task does both.", tasks .. "local _, k = t:step()\nprint(pcall(t.open, t, nil))")
topic("tasks:refuse(why)", "the task that waits for a search has none, for that reason", "", tasks .. 't:step()\nt:refuse("too large")\nprint(t:list()[1].refused)')
topic("tasks:status()", "how far all of them are", "", tasks .. "print(t:status().done)")
topic("tasks:list()", "each task: name, weight, trials, best and more", "", tasks .. "print(t:list()[1].name)")
topic("tasks:record(k)", "the best record of task k that no file took; nil: it is in the file, or there is none", "", tasks .. "print(t:record(1))")
topic("tasks:close()", "end the searches and their processes", "", 'local t = moon.tuning.tasks({s}, {trials = 1, db = ":memory:"})\nt:close()')

-- ---- errors
fields("error", 'local _, x = pcall(s.split, s, "i", {2, 2})', {
    { "code", "the code, to be compared with: :help errors lists them" },
    { "family", "what several codes are asked for by: unsound, where a step would change the results; else nil" }, { "message", "the sentence with its numbers" },
    { "primitive", "the primitive that refused" }, { "loops", "names of the loops concerned" }, { "blocks", "names of the blocks concerned" },
    { "buffers", "names of the buffers concerned" }, { "numbers", "the numbers found and required, by name" },
    { "element", "of order-reversed: the element that both instances touch, a list of indices; else nil" },
    { "instances", "of order-reversed: the two instances, each a table from loops to their values", "It is empty where a proof failed and none is known." },
    { "place", "of a text: file, line, column; else of the program: line, column, length, label; or nil" }, { "places", "further ones in the program" }, { "notes", "further facts, as texts" }, { "rule", "the rule that was broken" },
    { "frames", "the calls it passed in Lua files" },
    { "suggestions", "what does work here, each tried on a copy: call and remark", "They are worked out when they are first read." },
})
