/*
 * fact_rows - the fields of rows that have no struct: what the program tells of lines,
 * notes, files and places in words of its own. A test compares them with what is told.
 * Source: interaction 2, 4.
 */
#include "repl/cmd/help_impl.h"

#define ML_FACTS(table) extern const ml_FieldTable table;
#include "repl/cmd/facts.def"
#undef ML_FACTS

#define FACT(name, type, unit, help)                                                       \
    {                                                                                      \
        name, help, NULL, 0, ML_IN_##unit, ML_FIELD_##type, true                           \
    }
#define TABLE(id, name, what)                                                              \
    const ml_FieldTable ml_##id##_fields = {name, what, id##_rows, ML_COUNT(id##_rows),    \
                                            never};

static const ml_FieldWas never[] = {{NULL, NULL}};

static const ml_Field result_rows[] = {
    FACT("result", TEXT, NONE, "of a line with one value: any JSON"),
    FACT("results", LIST, NONE, "of one with several"),
};
TABLE(result, "result", "what a line gave")

static const ml_Field text_rows[] = {
    FACT("command", TEXT, NONE, "its name"),
    FACT("ok", BOOL, NONE, "whether it did what was asked"),
    FACT("status", INT, NONE, "of :shell, the exit status"),
    FACT("text", TEXT, NONE, "what it prints, where it prints anything"),
    FACT("text_lines", LIST, NONE, "the same, a line each"),
};
TABLE(text, "text", "a command that has nothing else to tell")

static const ml_Field pass_rows[] = {
    FACT("pass", TEXT, NONE, "its name, for :ir"),
    FACT("stage", TEXT, NONE, "what the program is behind it"),
    FACT("help", TEXT, NONE, "what it does"),
};
TABLE(pass, "ir", "the lowering passes, in the order in which they run")

static const ml_Field note_rows[] = {
    FACT("note", TEXT, NONE, "on standard error"),
    FACT("warning", TEXT, NONE, "there, too"),
};
TABLE(note, "note", "what is said beside results")

static const ml_Field progress_rows[] = {
    FACT("progress", TEXT, NONE, "of which command; of tune all that it tells besides"),
    FACT("share", REAL, SHARE, "done"),
    FACT("elapsed", REAL, SECONDS, "since it began"),
    FACT("text", TEXT, NONE, "that a terminal shows"),
};
TABLE(progress, "progress", "long work, on standard error")

static const ml_Field announce_rows[] = {
    FACT("focus", TEXT, NONE, "name of the schedule"),
    FACT("version", INT, NONE, "where it stands"),
    FACT("blocks", LIST, NONE, "the outermost ones, by name"),
    FACT("flop", SIZES, FLOP, "operations of that version"),
    FACT("notes", LIST, NONE, "on what has to keep its order, where there are any"),
};
TABLE(announce, "new focus", "a schedule that comes into focus, on standard error")

static const ml_Field focus_rows[] = {
    FACT("number", INT, NONE, "for :focus"),
    FACT("name", TEXT, NONE, "of the schedule"),
    FACT("version", INT, NONE, "where it stands"),
    FACT("focus", BOOL, NONE, "whether it is the focus"),
};
TABLE(focus, "focus", "a schedule of the session")

static const ml_Field goto_rows[] = {
    FACT("from", INT, NONE, "the version before"),
    FACT("version", INT, NONE, "the version now"),
    FACT("line", TEXT, NONE, "the step that made it"),
};
TABLE(goto, "goto", "where :goto, :undo and :redo have led")

static const ml_Field diff_rows[] = {
    FACT("from", INT, NONE, "a version"),
    FACT("to", INT, NONE, "the other one"),
    FACT("view", TEXT, NONE, "text, tree, trace or counts"),
    FACT("same", BOOL, NONE, "whether nothing differs"),
    FACT("diff", TEXT, NONE, "as it is shown"),
};
TABLE(diff, "diff", "two versions")

static const ml_Field trace_rows[] = {
    FACT("version", INT, NONE, "that the step made"),
    FACT("primitive", TEXT, NONE, "of the step"),
    FACT("line", TEXT, NONE, "as it was typed, decisions filled in"),
    FACT("trace", LIST, NONE, "of :trace --json, all of it"),
};
TABLE(trace, "trace", "a step of :trace")

static const ml_Field replay_rows[] = {
    FACT("ok", BOOL, NONE, "whether all of it applied"),
    FACT("done", INT, COUNT, "instructions that did"),
    FACT("total", INT, COUNT, "instructions of the file"),
    FACT("version", INT, NONE, "where the schedule stands now"),
};
TABLE(replay, "replay", "the trace of a file")

static const ml_Field bisect_rows[] = {
    FACT("first_failing", INT, NONE, "the version that the step made"),
    FACT("line", TEXT, NONE, "the step"),
    FACT("why", TEXT, NONE, "by which error, where there was one"),
    FACT("tried", LIST, NONE, "version, verdict"),
};
TABLE(bisect, "bisect", "the first step that fails")

static const ml_Field where_rows[] = {
    FACT("kind", TEXT, NONE, "loop, block or buffer"),
    FACT("name", TEXT, NONE, "of it"),
    FACT("function", TEXT, NONE, "that it is in"),
    FACT("version", INT, NONE, "that has it first"),
    FACT("known", BOOL, NONE, "false: dropped by the undo limit"),
    FACT("line", TEXT, NONE, "the step that made it; left out: it is there from the start"),
};
TABLE(where, "where", "where a name comes from")

static const ml_Field set_rows[] = {
    FACT("name", TEXT, NONE, "of the setting"),
    FACT("value", TEXT, NONE, "as it is written"),
    FACT("help", TEXT, NONE, "a line"),
    FACT("words", TEXT, NONE, "that it takes, where they are few"),
};
TABLE(set, "set", "a setting")

static const ml_Field save_rows[] = {
    FACT("file", TEXT, NONE, "that was written"),
    FACT("schedule", TEXT, NONE, "its name"),
    FACT("version", INT, NONE, "that was saved"),
    FACT("steps", INT, COUNT, "that the file repeats; a program alone has none"),
};
TABLE(save, "save", "a file of :save")

static const ml_Field show_rows[] = {
    FACT("schedule", TEXT, NONE, "its name"),
    FACT("version", INT, NONE, "that is shown"),
    FACT("program", TEXT, NONE, "as it is shown"),
};
TABLE(show, "show", "a program")

static const ml_Field graph_rows[] = {
    FACT("file", TEXT, NONE, "that was written"),
    FACT("nodes", INT, COUNT, "of the picture"),
    FACT("edges", INT, COUNT, "of the picture"),
};
TABLE(graph, "graph", "a picture in a file")

static const ml_Field history_rows[] = {
    FACT("number", INT, NONE, "of the line"),
    FACT("entry", TEXT, NONE, "as it was typed"),
};
TABLE(history, "history", "a line of the history")
