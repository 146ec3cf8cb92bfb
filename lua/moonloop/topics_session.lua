-- topics_session - help on commands and settings beyond their line in the tables: details, and
-- lines that are run in a session of their own. See topics.
local topic = ...

local matmul = "s = schedule(workload.matmul(16, 16, 16))\n"
local function command(name, text, lines) topic(":" .. name, nil, text, lines) end

command("help", "A name of anything: a primitive, a command, a setting (:help set NAME), a function (moon.check), a method (s:tree), a field (error.rule), an error code; or one of the topics primitives, commands, settings, names, facts, errors. ?NAME and NAME? are the same.",
    ":help names")
command("apropos", "Names, summaries, texts of help and of errors; case does not matter.", ":apropos guard")
command("focus", "Bare names of primitives work on the focus. A schedule becomes it when it is made; without an argument all of them are listed.",
    matmul .. "t = schedule(workload.matmul(8, 8, 8), {name = \"small\"})\n:focus\n:focus matmul\n:focus")
command("open", "What is opened becomes the focus, under the name of the file. A .lua is run, and what it returns is the focus: :save FILE.lua writes such scripts.", matmul .. ":save p.py\n:open p.py")
command("save", "By the suffix: .lua is a script that rebuilds this version, asserts the hash it must reach and returns the schedule; .json is program and trace; .py the program. With --all the script keeps every version, marks and branches. What is written is replayed first, and nothing is written when it comes out otherwise.",
    matmul .. "split(\"i\", {auto, 4});\n:save f.lua\n!tail -n 3 f.lua")
command("source", "By the suffix: .lua is a script, and a schedule that it returns becomes the focus; .txt and .mls are lines as typed, .py and .json are opened.", "!echo 'print(6 * 7)' > six.lua\n:source six.lua")
command("set", "Without an argument all settings are listed, with a name that one. :help set NAME tells more. moon.set and moon.get do the same.",
    ":set echo brief\n:set echo")
command("history", "N lines, 20 unless told.", "1 + 1\n:history 2")
command("record", "FILE becomes a transcript of the whole session, from its first line on, and goes on until :record stop or the end; moonloop --transcript FILE replays and compares it. What was done in the panes stands there as the lines that the panes ran, what they printed and what ran outside (!COMMAND) as `…`. A line that Ctrl-C ended is not run again: it stands as a comment, `-- interrupted: …`, behind it the steps that it had made; variables it had set are not. With the suffix .cast it is a recording for asciinema, from here on; there an interruption is a marker, and of the panes only the lines are shown. With `stop` behind FILE only what there is so far is written. Not with --safe.",
    matmul .. ":record")
command("recover", "After each line of a session that prompts, what came of it is appended to a file under $XDG_STATE_HOME/moonloop/sessions; a session that is killed, crashes or loses its terminal leaves it, and the next start says so; one that is ended by :quit or Ctrl-D removes it when all steps were saved. The last 20 that were left with steps in no file are kept. Without an argument the only one is brought back, or the only one that was not left by its user: start programs, all versions with branches, marks and results, settings, what :undo takes back. Variables of Lua are not: s = focus(). Several are listed, and brought back by number. A damaged file gives what stands before the damage. With a / it is the path of such a file. --private and --batch keep none. Not with --safe.",
    ":recover list")
command("shell", "Not with --safe. !COMMAND is short for it.", ":shell echo 'print(1)' > a.lua\n:source a.lua")
command("bug", "At the prompt it is shown, then you are asked whether to save it; with FILE there. In a pipe it is printed, and saved only as FILE. A file that is there already is not written over. Read it before you send it: it holds your program.",
    matmul .. "parallel(\"i\");\n:bug")
command("dashboard", "Open a second terminal, ask it for its name (`tty`), and give that here: from then on it shows the program, the loop tree and the last timing after each step. Without an argument it says whether it is on. A terminal that goes away turns it off.",
    ":dashboard\n:dashboard off")
command("quit", "Ctrl-D does the same. Steps that were not saved can be brought back by :recover, and a line says so; where nothing is kept (--private), you are asked once. Running jobs are told of, too.", ":quit")
command("show", "The text parses back to the same program. A block is shown with its ancestors; regions as :set regions says. On a terminal a line wider than it goes on below, behind a \\ at its end: it still parses; a pipe and a file get it whole.", matmul .. ":show\n:show C")
command("tree", "At each loop: extent, kind, and what all of its iterations together do, the loops around it standing still: the operations in values, and the bytes of each buffer that they touch, as far as the line has room. :counts tells all of it.", matmul .. ":tree")
command("block", "", matmul .. ":block C")
command("where", "", matmul .. "split(\"i\", {auto, 4});\n:where i_1\n:where j")
command("undo", "A line is one group, however many steps it made; :undo step takes back one primitive. A call of s:undo() is a line, too: :undo takes that back. :redo returns, :versions shows that nothing is lost.",
    matmul .. "split(\"i\", {auto, 4});\n:undo\n:versions")
command("redo", "Along the line of work that was left last.", matmul .. "split(\"i\", {auto, 4});\n:undo\n:redo")
command("goto", "v3, a mark, -2 (two steps back), or failed (where the last line stopped that was taken back).", matmul .. "split(\"i\", {auto, 4});\n:goto v0\n:goto v1")
command("mark", "A mark stands wherever a version is wanted.", matmul .. "split(\"i\", {auto, 4});\n:mark tiled\n:goto v0\n:goto tiled")
command("branch", "The prompt shows the name. Steps take it along; :goto, s:undo and :undo step leave it where it is, and who comes to it goes on with it. A line that fails moves no name, and :undo takes back how far the line had moved it.", matmul .. ":branch wide\nsplit(\"i\", {auto, 8});\n:versions")
command("versions", "With marks, results of checks, and times; `±34 %` behind one is its noise (:help :time).", matmul .. "split(\"i\", {auto, 4});\n:undo\nsplit(\"j\", {auto, 4});\n:versions")
command("diff", "Without an argument: with the version before. One argument: that one and this; two: these two. --tree compares loop trees, --trace the steps, --counts what :counts tells.",
    matmul .. "split(\"i\", {auto, 4});\n:diff\n:diff v0 --tree")
command("trace", "As Lua; --python as TVM writes it, --json as its tuner does.", matmul .. "split(\"i\", {auto, 4});\n:trace\n:trace --python")
command("before", "The later steps are replayed on a new branch; results of the new step stand for nothing else. The first step that does not apply stops there and is explained.",
    matmul .. "split(\"i\", {auto, 4});\n:before 1 split(\"j\", {auto, 4})\n:trace")
command("drop", "What used the results of the step is the first that fails.", matmul .. "split(\"i\", {auto, 4});\nsplit(\"j\", {auto, 4});\n:drop 1\n:trace")
command("edit", "Results of the new step stand for those of the old by position.", matmul .. "split(\"i\", {auto, 4});\nparallel(\"i_0\");\n:edit 1 split(\"i\", {auto, 8})\n:trace")
command("replay", "The file may be of moonloop or of TVM's tuner. The first step that does not apply is told; what was done before stays.",
    matmul .. "split(\"i\", {auto, 4});\n:save f.json\n:undo\n:replay f.json\n:trace")
command("bisect", "By halving: few runs for many steps. CMD is one such as :check, FUNCTION gets the schedule and says whether it is well.",
    matmul .. "cache_read(\"C\", \"A\", \"global\");\nunsafe_set_dtype(\"A_global\", 0, \"float16\");\nreorder(\"k\", \"j\");\n:bisect")
command("check", "MODE: random, zeros, ones, iota, adversarial. --shape gives symbolic sizes. The start is computed in the next wider float type too. An output may be as far from that as the largest of these: eight times the start's own distance; what rounding may do to a sum of K terms and to what is computed from it, sqrt(K) u sum|terms| (u: half a unit in the last place of 1; float64, which has no wider type: 2 K u sum|terms|); four units in the last place of the largest value. Of a long start some iterations are widened. Where a rounding decides (a comparison of what was rounded, floor, argmax) the start itself is what is expected; copies, integers and bool must be equal. --rtol and --atol say otherwise: |difference| <= atol + rtol |start|. vacuous: the bound is above 1 % of the largest value, or integer inputs have one value only, as no other keeps every index inside: then the check says little.",
    matmul .. "split(\"k\", {auto, 4});\n:check\n:check --inputs ones --seed 3")
command("counts", "Counted from the program, nothing is run. iterations: of all executions of a loop. Everything else is of one execution, the loops around it standing still: flops, the operations in values (inits and index arithmetic left out); distinct bytes of each buffer, and behind × how often each element is loaded or stored. Strides tell how far an access moves in memory from one iteration of a loop to the next, in elements: ~ means usually so far, with jumps; ? that the place is not affine in the loop. ≤ marks a bound: where the loops around stand decides, or a condition that cannot be counted. Sizes that are not known stay as they are. LOOP tells of that loop alone; --all adds elements, loads and stores. With --json a row has loop, extent, flop and bytes, and at_most names those that are bounds; --all adds depth, iterations, elements, loads, stores, reuse and strides. s:counts() gives the same to Lua.",
    matmul .. ":counts\nsplit(\"i\", {auto, 5});\n:counts i_1")
command("graph", "loops: the loop tree; deps: which block reads what another writes. Without FILE it is drawn in characters (a wide one scrolls sideways in the pager); else the suffix says the format. All but .dot are laid out by moonloop-draw. In the visualiser: g.", matmul .. ":graph loops f.dot\n!head -n 3 f.dot")
command("explain", "Without a code: of the last error. The rule, why it exists, an example that breaks it and one that does not, run now.", matmul .. "parallel(\"k\")\n:explain")
command("ir", "--list names the passes; PASS shows the program after it; --diff what it changed, or what differs from another version.", matmul .. ":ir --list")
command("llvm", "As it is given to LLVM; --opt: as its optimizer leaves it; --diff: against another version.", matmul .. ":llvm > f.ll\n!grep -c define f.ll")
command("asm", "Figures of the hottest inner loop, the lines of the program that it came from, its instructions, then all of them, each with the number of its line. With LOOP or BLOCK: the nest that contains it, its own hottest loop first. --diff: against another version.", matmul .. ":asm > f.s\n!head -n 4 f.s")
command("time", "Compiles, runs until the median is steady and prints it beside the start, the peak and the bandwidth. A noisy measurement carries its spread wherever it is shown: `±34 %` says that half of the runs lie within 34 % of the median, the others further away; of a ratio, the spreads of both taken together. 5 % and less is not marked. Where the timings of one session differ by more than the runs of one, half their range is the spread. The start, the step before and the best version are timed again by turns with this one where a run takes 50 ms or less. A share above 1.02 of the peak has it probed again. --runs N (or :set runs N) takes N samples; --cold empties the caches before each; --report gives all figures; --against openblas times the library's routine by turns; --shape n=N gives symbolic sizes. --background: the prompt is back at once (:help :jobs).",
    matmul .. ":time --runs 5")
command("memory", "Counted while the program is interpreted as it is scheduled; values are worked out only where an index or a guard needs them. A store is redundant when its element is stored again before any load of it, never loaded (in a buffer of the function's own), or stored by the same statement again though it had been stored there. Reuse distance: how many different lines of 64 bytes, of all buffers, were touched since the last touch of the same line; a cache of more lines holds it still. Of a parallel loop: what each thread touches, and the lines that several touch and one stores to; --threads N thinks of another machine. Programs of more than 2^28 accesses run only the first iterations of some loops, and it says which; --budget N sets that limit. --shape n=N gives symbolic sizes.",
    matmul .. "parallel(\"j\");\n:memory C --threads 4\n:memory B")
command("profile", "Each nest is compiled as a function of its own, what it shares with others as arguments, and timed like :time; the sum is told beside the time of the whole, from which it may differ, as each nest finds its own data in the caches. GFLOP/s of a nest counts what it computes itself. Where the system permits hardware counters, also cycles, instructions and misses of a call; else why not. --runs N takes N samples, --cold empties the caches before each, --shape n=N gives symbolic sizes.",
    matmul .. "decompose_reduction(\"C\", \"k\");\n:profile --runs 5")
command("roofline", "Both axes are logarithmic: operations for each byte that must move, from left to right, and operations per second. Slopes are the measured bandwidths (1, 2, 3: the caches, m: memory), the line is the measured peak; a version that was timed stands at its speed, ● is the current one. Intensity is that of the start version, as in :time, so that versions of a program stand above each other. --cold and --shape show the versions that were timed so.",
    matmul .. ":time --runs 5\n:roofline")
command("machine", "Measured once and kept; --calibrate measures again. set peak=N uses N GFLOP/s as the peak, set peak=auto the measured one again.", ":machine")
command("tune", "Candidates are measured one after the other; Ctrl-C stops, the same line goes on. --trials N candidates (64), --seconds T at most, --seed S, --fresh takes nothing from earlier runs, --db FILE keeps records there. --background: the prompt is back at once (:help :jobs).",
    matmul .. ":tune --trials 2 --db r.db\n:best 2")
command("buffers", "Arguments first, then what blocks allocate, and views of parts. Innermost blocks are named; bytes of a buffer whose sizes are symbols are not known.", matmul .. "cache_read(\"C\", \"A\", \"shared\");\n:buffers")
command("deps", "RAW: TO reads what FROM has written; WAW: it writes it again; WAR: it writes what FROM has read. Judged by the regions that the blocks sign, as in :graph deps.", matmul .. "decompose_reduction(\"C\", \"k\");\n:deps")
command("jobs", "What was started with --background (:tune, :time, :check and other measuring commands) runs in a process of its own on the version the focus was at: a time or verdict goes to that version, and the end is told between two lines. NUMBER: one job with what it said; --wait: until all have ended. Jobs know the settings of the session, not the rules and intrinsics that its Lua defined. Two that measure at the same time disturb each other.",
    matmul .. ":tune --trials 2 --db r.db --background\n:check --background\n:jobs --wait")
command("stop", "A job that is stopped a second time is killed. Without an argument: the one that runs.", matmul .. ":tune --trials 500 --db r.db --background\n:stop 1\n:jobs --wait")
command("best", "Records of this program on this machine, the fastest first. Ranks and shares hold within one run of :tune, and there among records measured by turns (medians) or alone: ≤ marks a rate of the latter, a least time, which flatters. The design is what was chosen: a loop with its parts, from the outermost, copies, and what runs in parallel. :adopt RECORD makes a branch of one.", matmul .. ":tune --trials 2 --db r.db\n:best 1")
command("adopt", "The steps stand on a branch of their own, as if they had been typed: undo, edit, save work.", matmul .. ":tune --trials 2 --db r.db\n:adopt\n:tree")
command("db", "", matmul .. ":tune --trials 1 --db r.db\n:db")
command("view", "Panes over this session: loops, program, block, dataflow, steps, performance, jobs, memory. Keys apply primitives to the selected loop or block, each as the line of Lua that is shown; while arguments are typed, the program shows what it would become. A shows the assembly and L the LLVM text of the program, beside it from 100 columns on: the instructions of the line under the cursor are marked, and the other way round. Pane 8 tells what the selected loop touches, and when the keys rest what :memory counts. | puts columns beside the loops: what they touch, flops, and the share of the time that :profile measured for this version. ? in it lists the keys, q returns. moonloop --view starts there. With --keys a file plays on it: key NAME…, type TEXT, click X Y, resize WxH, wait idle, expect \"TEXT\", snapshot NAME, print. See moon.bind_key and moon.theme.",
    matmul .. "!printf 'key j s\\ntype 4, auto\\nprint\\n' > t.keys\n:view --keys t.keys --size 80x24")

-- ---- settings
local function setting(signature, text, lines) topic("set:" .. signature, nil, text, lines) end
local split = 'split("i", {auto, 4})'
setting("echo diff|full|tree|brief|off", "diff: the lines that changed; full: the whole program; tree: the loop tree; brief: a headline; off: nothing. A line that ends in ; is silent once.",
    matmul .. ":set echo brief\n" .. split .. "\n:set echo tree\nsplit(\"j\", {auto, 4})")
setting("context N", "Lines of a diff that stay around each change.", matmul .. ":set context 0\n" .. split)
setting("regions auto|always|off", "auto: reads and writes of a block only where they are not what its body says; files always have them.", matmul .. ":set regions always\n:show")
setting("pager auto|on|off", "auto: text longer than the screen goes through $PAGER, or less, at a terminal.", ":set pager off")
setting("color auto|always|never", "NO_COLOR and CLICOLOR_FORCE of the environment count for auto. Colour never says what the text does not.", ":set color never")
setting("atomic on|off", "on: a line that fails takes back the steps it made before; they stay reachable as failed.", matmul .. ":set atomic off\n" .. split .. ' split("i", {auto, 4})\n:trace')
setting("errors brief|detail|fast|none", "detail prints the whole program with the places; fast leaves out suggestions; none leaves the sentence.", matmul .. ':set errors fast\nparallel("k")\n:set errors none\nparallel("k")')
setting("undo-limit N", "0: all. Older versions are forgotten, so that a long search does not fill the memory.", matmul .. ":set undo-limit 2\nfor n = 1, 4 do annotate(\"C\", \"step\" .. n, n) end;\n:versions")
setting("check-after-step on|off", "Each line that made steps is followed by :check.", matmul .. ":set check-after-step on\n" .. split .. ";")
setting("memory-limit MiB", "What would exceed it fails with out-of-memory and has changed nothing.", ":set memory-limit 32\nt = {} for n = 1, 1e9 do t[n] = (\"x\"):rep(1000) .. n end")
setting("seed N", "New schedules take their random numbers from it, :check its inputs.", ":set seed 7\n" .. matmul .. "sample_perfect_tile(\"i\", 2)")
setting("width N", "Where the terminal does not tell, or tells wrongly.", ":set width 60")
setting("runs N|auto", "auto: until the median is steady. The same as :time --runs N, for all.", matmul .. ":set runs 5\n:time")
setting("threads N|auto", "How many threads parallel loops of compiled programs use; auto: the cores of the machine.", ":set threads 1")
setting("target TEXT", "As moon.target reads it: llvm, llvm -mcpu=znver4 -num-cores=2.", ":set target llvm -num-cores=1\n:set target")
setting("preview on|off", "Nothing is tried while one types in this version.", ":set preview")
setting("theme default|light|mono|NAME", "default is for a dark ground and does not ask anyone to tell red from green; light is for a light one; mono uses bold, underline and reverse alone, as NO_COLOR does. NAME is one of your own: see moon.theme. The panes show another theme at once.", ":set theme mono")
setting("mouse on|off", "off: the terminal keeps the mouse while the visualiser shows. With on, Shift gives it a click.", ":set mouse off")
setting("keys inputrc|emacs|vi", "How the prompt's line is edited: as ~/.inputrc says (editing-mode, and bindings of its own), or with emacs' or vi's keys whatever it says. The keys of the visualiser are a table that ? shows there; moon.bind_key changes it, and moonloop --help-all prints it.", ":set keys vi")
setting("images auto|kitty|sixel|iterm|off", "Pictures are drawn in characters or go to files in this version: see :graph.", ":set images")
setting("time-after-step on|off", "At the prompt and in the visualiser the measurement is a job (:help :jobs) and its result is told between two lines; a new step takes the place of one that is not measured yet. In scripts and pipes :time runs after the line.", matmul .. ":set time-after-step on\n" .. split .. ";")
setting("verify-each on|off", "Everything that is kept beside a program is computed anew after each step and compared, and small programs are run. A difference is an error of moonloop: self-check.",
    matmul .. ":set verify-each on\n" .. split .. ";")
setting("stats on|off", "After each line: which analyses its steps asked for, and how many had to be computed.", matmul .. ":set stats on\n" .. split .. ";\nparallel(\"i_0\");")
