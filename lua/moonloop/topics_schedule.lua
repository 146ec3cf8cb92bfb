-- topics_schedule - help on the methods of schedules that are no primitives. See topics.
local topic = ...

topic("s:script([opts])", "the current program as text that parses back", "opts: spelling (classic, newest), regions (always, auto), prefix, sugar. Display names are not used; s:text prints with them.",
    [[print(s:script())]])
topic("s:text([opts])", "the current program as the screen shows it, with display names", "", [[
s:split("j", {2, 4})
print(s:text())]])
topic("s:tree()", "the loop tree as text", "", [[print(s:tree())]])
topic("s:mod()", "the current module, as an object of its own", "What happens to the schedule later does not change it.", [[print(s:mod())]])
topic("s:func([name])", "one function of the current module; without a name the one worked on", "", [[print(s:func().name, #s:func().params)]])
topic("s:trace()", "the steps that made this version, as a trace", "", [[
s:split("i", {2, 4})
print(s:trace():lua())]])
topic("s:hash([digits])", "the structural hash of the current program", "16 hexadecimal digits, the same on every machine; or the first of them.",
    [[print(#s:hash(), #s:hash(8))]])
topic("s:version()", "the number of the current version", "", [[
s:split("i", {2, 4})
print(s:version())]])
topic("s:versions()", "all versions as a list of tables, the first is version 0", "version, parent, primitive, line, headline, seconds, notes, check, marks, current; false where the undo limit has dropped one.",
    [[
s:split("i", {2, 4})
print(s:versions()[2].line)]])
topic("s:undo([n])", "go back n steps; gives the version reached", "Nothing is lost: redo, jump and :versions find it again.", [[
s:split("i", {2, 4})
print(s:undo())]])
topic("s:redo([n])", "go forward again n steps, along the line that was left last", "", [[
s:split("i", {2, 4})
s:undo()
print(s:redo())]])
topic("s:jump(version)", "go to a version: a number or a mark", "", [[
s:split("i", {2, 4})
print(s:jump(0))]])
topic("s:mark(name)", "name the current version", "A mark stands wherever a version is wanted.", [[
s:mark("start")
s:split("i", {2, 4})
print(s:jump("start"))]])
topic("s:branch([name])", "name the line of work from here; without a name: what it is called", "", [[
s:branch("tiled")
print(s:branch())]])
topic("s:diff([a [, b]])", "what changed between two versions, line by line", "A list of {mark, text}: the mark is a blank, - or +. Without arguments the last step, with one that version and the current.",
    [[
s:split("i", {2, 4})
for _, d in ipairs(s:diff()) do if d[1] ~= " " then print(d[1] .. d[2]) end end]])
topic("s:two_texts([a [, b]])", "the printed programs that s:diff compares, and their versions", "", [[
s:split("i", {2, 4})
print(select("#", s:two_texts()), select(3, s:two_texts()))]])
topic("s:loops(block)", "handles of the loops above a block, outermost first", "Nothing is recorded until one is used; get_loops records.", [[print(table.unpack(s:loops("C")))]])
topic("s:blocks()", "handles of all blocks of the function, in program order", "Nothing is recorded until one is used; get_block records.", [[print(table.unpack(s:blocks()))]])
topic("s:handle(name)", "the handle of a loop or block, by any form of its name", ":help names lists the forms.", [[print(s:handle("C@-1"), s:handle("C").kind)]])
topic("s:info(block)", "the properties of a block, each with its why where it fails", [[
complete, reduction, affine, spatial, trivial_binding, region_cover, stage_pipeline, output: what primitives ask, each true or false. The table why tells of those that are false. The rest is what :block tells: :help facts.]],
    [[
local b = s:info("C")
print(b.block, b.reduction, b.complete, b.why.complete)]])
topic("s:flops([func])", "floating-point operations of the current program, counted from it", "Of integers those that an element is a part of; what says where an element is, as in the condition of a padding, is none. It is the sum of what :tree and s:counts tell of the outermost loops. Where sizes that are not known decide it, a text of them; nil where nothing can be said.", [[print(s:flops())]])
topic("s:counts([func])", "what each loop does, counted without running it: iterations, operations, bytes, reuse, strides", [[
A list of tables, loops in textual order. loop, depth; extent: iterations of one execution, iterations: of all; flop: operations below it, inits left out; by name of the buffer bytes and elements (distinct), loads and stores (executed), reuse (accesses for each distinct element). All of one execution of the loop, the loops around it standing still. strides: of each access below access, buffer, block, store and stride, in elements from one iteration to the next; kind: even, uneven (usually so far, with jumps), not affine (no stride). at_most names the numbers that are bounds; those that depend on sizes are texts, unknown ones nil.]],
    [[
for _, l in ipairs(s:counts()) do
    print(l.loop, l.iterations, l.flop, l.bytes.A, l.reuse.B)
end
local a = s:counts()[1].strides[3]
print(a.access, a.stride)]])
topic("s:notes()", "what the last step wants to tell: a guard, a lost kind, a copy", "A list of texts.", [[
s:parallel("i")
s:split("i", {2, 4})
print(s:notes()[1])]])
topic("s:saved_json()", "the schedule as :save FILE.json writes it: program and trace", "moon.open reads it.", [[
s:split("i", {2, 4})
print(#s:saved_json() > 100)]])
topic("s:saved_lua()", "the schedule as :save FILE.lua writes it: a script that rebuilds it", "", [[
s:split("i", {2, 4})
print(s:saved_lua())]])
topic("s.name", "what the schedule is called, in the prompt too", "", [[print(s.name)]])
topic("s.target", "the target it was made for, or nil", "", [[print(moon.schedule(s:mod(), {target = "llvm"}).target.kind)]])
