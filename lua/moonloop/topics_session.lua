-- topics_session - help on settings beyond their line in the table: details, and lines that are run in a
-- session of their own. See topics; what commands have of these stands in their table.
local topic = ...

local matmul = "s = schedule(workload.matmul(16, 16, 16))\n"
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
