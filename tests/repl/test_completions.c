/*
 * What Tab offers, without a terminal: a session, a line with the cursor marked by |, and
 * the candidates joined by blanks. Source: interaction 4.
 */
#include "repl/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "repl/command/command.h"
#include "repl/line/complete.h"

typedef struct Got {
    ml_Text names, notes;
} Got;

static void gather(const char *text, const char *note, void *user)
{
    Got *g = user;

    ml_text_fmt(&g->names, "%s%s", g->names.n ? " " : "", text);
    ml_text_fmt(&g->notes, "%s%s", g->notes.n ? "; " : "", note);
}

static ml_CompletionPlace ask(ml_Session *ss, const char *marked, Got *g)
{
    char line[400];
    const char *bar = strchr(marked, '|');
    size_t at = (size_t)(bar - marked);

    assert_non_null(bar);
    snprintf(line, sizeof line, "%.*s%s", (int)at, marked, bar + 1);
    *g = (Got){0};
    return ml_completions(ss, line, at, gather, g);
}

static void drop(Got *g)
{
    ml_text_free(&g->names);
    ml_text_free(&g->notes);
}

/* All candidates of the marked line, and where the word begins (-1: not looked at). */
static void offers(ml_Session *ss, const char *marked, int start, const char *want)
{
    Got g;
    ml_CompletionPlace at = ask(ss, marked, &g);

    assert_string_equal(ml_text_z(&g.names), want);
    if (start >= 0)
        assert_int_equal(at.start, start);
    drop(&g);
}

static bool has_word(const char *list, const char *word)
{
    size_t n = strlen(word);

    for (const char *p = list; (p = strstr(p, word)) != NULL; p += n)
        if ((p == list || p[-1] == ' ') && (p[n] == '\0' || p[n] == ' '))
            return true;
    return false;
}

/* yes: among the candidates; no (may be NULL): not among them. */
static void offers_among(ml_Session *ss, const char *marked, const char *yes,
                         const char *no)
{
    Got g;

    ask(ss, marked, &g);
    if (!has_word(ml_text_z(&g.names), yes))
        fail_msg("%s: no %s in: %s", marked, yes, ml_text_z(&g.names));
    if (no && has_word(ml_text_z(&g.names), no))
        fail_msg("%s: %s in: %s", marked, no, ml_text_z(&g.names));
    drop(&g);
}

static void commands_stand_behind_a_colon(void **state)
{
    offers(*state, ":und|", 1, "undo");
    offers(*state, "  :che|", 3, "check");
    offers_among(*state, ":|", "show", NULL);
    offers_among(*state, ":t|", "tree", "show");
    offers(*state, ":nothing|", 1, "");
}

static void names_of_workloads_and_networks_are_offered(void **state)
{
    Got g;

    offers(*state, "s = schedule(workload(\"GMM-|", 23, "GMM-0 GMM-1 GMM-2 GMM-3");
    offers(*state, "moon.workload('CUM|", 15, "CUM-0 CUM.x0");
    offers_among(*state, "workload(\"|", "QMM-3", "matmul");
    offers(*state, "workload.set(\"s|", 14, "smoke suite");
    offers(*state, "moon.net(\"|", 10, "bert_large mobilenet_v2 resnet50 vit_b16");
    offers(*state, "net(\"|", 5, "");
    offers(*state, "workload(\"GMM-0\", \"|", 19, "");
    ask(*state, "workload.args(\"SFM-1|", &g);
    assert_string_equal(ml_text_z(&g.notes), "softmax of rows: m 512, n 512");
    drop(&g);
}

static void commands_complete_their_words(void **state)
{
    offers(*state, ":set ec|", 5, "echo");
    offers(*state, ":set echo |", 10, "diff full tree brief off");
    offers(*state, ":set echo br|", 10, "brief");
    offers(*state, ":set atomic |", -1, "on off");
    offers(*state, ":set check-a|", -1, "check-after-step");
    offers(*state, ":explain iter-not|", 9, "iter-not-parallel");
    offers_among(*state, ":help sp|", "split", "fuse");
    offers_among(*state, ":help |", "primitives", NULL);
    offers(*state, "?reor|", 1, "reorder reorder_block_iter_var");
    offers(*state, ":graph |", 7, "loops deps search --diff --dark --db");
    offers(*state, ":check --inp|", 7, "--inputs");
    offers(*state, ":block |", 7, "C");
    offers(*state, ":undo |", -1, "step");
    offers(*state, ":tune --b|", 6, "--background");
    offers(*state, ":time --|", -1,
           "--runs --cold --report --against --shape --background");
    offers(*state, ":check --inputs o|", -1, "ones");
    /* values that are from a list */
    offers(*state, ":best --by |", -1, "machine target shape");
    offers(*state, ":tune --rule |", -1, "gradient round-robin");
    offers(*state, ":tune --target |", -1, "llvm native");
    offers(*state, ":tune --space s|", -1, "stock");
    offers(*state, ":tune --all --e|", -1, "--each");
    offers(*state, ":tune --shape n=1,2 --r|", -1, "--rule");
    offers(*state, ":save x.o --target l|", -1, "llvm");
    offers(*state, ":intrinsics --target cuda-sm_8|", -1,
           "cuda-sm_80 cuda-sm_86 cuda-sm_89");
    offers(*state, ":intrinsics |", -1, "C --target");
    offers(*state, ":c --diff v|", -1, "v0");
    offers_among(*state, ":db m|", "merge", "export");
    offers_among(*state, ":db |", "import", NULL);
    offers(*state, ":db merge a.db b.db |", -1, "");
    offers(*state, ":recover drop a|", -1, "all");
    offers(*state, ":jobs |", -1, "--wait");
    offers(*state, ":stop |", -1, "all");
    /* no more than a command takes, each option once, none beside another of its group */
    offers(*state, ":block C |", -1, "");
    offers(*state, ":block C C|", -1, "");
    offers(*state, ":jobs --wait |", -1, "");
    offers(*state, ":jobs 1 |", -1, "");
    offers(*state, ":ir --list |", -1, "");
    offers(*state, ":ir --list --|", -1, "");
    offers(*state, ":ir --diff v0 --|", -1, "");
    offers(*state, ":ir --diff |", -1, "v0");
    offers(*state, ":ir lo|", -1,
           "lower_init lower_match_buffer lower_opaque loop_partition lower_intrinsics");
    offers(*state, ":ir lower_init v|", -1, "");
    offers(*state, ":trace --python |", -1, "");
    offers(*state, ":time --cold --runs |", -1, "");
    offers(*state, ":time --cold --runs 3 --|", -1,
           "--report --against --shape --background");
    offers(*state, ":time --runs=3 --cold --shape n=4 --|", -1,
           "--report --against --shape --background");
    offers(*state, ":check --inputs ones --i|", -1, "");
    offers(*state, ":goto v0 |", -1, "");
    offers(*state, ":focus 1 |", -1, "");
    offers(*state, ":diff v0 v0 |", -1, "--tree --trace --counts");
    offers(*state, ":diff --tree v0 |", -1, "v0");
    offers(*state, ":undo step |", -1, "");
    offers(*state, ":undo 2 |", -1, "");
    offers(*state, ":recover |", -1, "list drop");
    offers(*state, ":recover list |", -1, "");
    offers(*state, ":graph deps --dark --|", -1, "--diff --db");
    offers(*state, ":machine --|", -1, "--calibrate");
    offers(*state, ":quit |", -1, "");
    offers(*state, ":save x.lua --|", -1, "--all --name --target");
    offers(*state, ":view --|", -1, "--keys");
    offers(*state, ":view --keys x.keys --|", -1, "--size");
    offers(*state, ":view --keys x.keys --size 8x8 |", -1, "");
}

static void versions_and_marks_are_offered(void **state)
{
    run_line(*state, "split(\"i\", {auto, 8})");
    run_line(*state, ":mark tiled");
    run_line(*state, ":undo");
    offers(*state, ":goto |", 6, "v0 v1 tiled");
    offers(*state, ":goto t|", -1, "tiled");
    offers(*state, ":diff v0 v|", 9, "v0 v1");
}

static void globals_primitives_and_keywords_are_offered(void **state)
{
    offers(*state, "spl|", 0, "split");
    offers(*state, "can_spl|", 0, "can_split");
    offers(*state, "tile_w|", 0, "tile_with_intrinsic");
    offers(*state, "x = sch|", 4, "schedule");
    offers(*state, "whi|", 0, "while");
    offers_among(*state, "s|", "s", NULL);
    offers_among(*state, "|", "reorder", "__index");
    run_line(*state, "mine = {alpha = 1, beta = function() end}");
    offers(*state, "mine.|", 5, "alpha beta");
    offers(*state, "f(mine.al|", 7, "alpha");
    offers(*state, "workload.matm|", 9, "matmul");
    offers(*state, "string.form|", 7, "format");
}

static void methods_of_objects_are_offered(void **state)
{
    offers(*state, "s:compute_i|", 2, "compute_inline");
    offers_among(*state, "s:|", "split", NULL);
    offers(*state, "moon.workload.matm|", 14, "matmul");
}

/* The only candidate of the marked line, with its word of explanation. */
static void explains(ml_Session *ss, const char *marked, const char *name, const char *note)
{
    Got g;

    ask(ss, marked, &g);
    assert_string_equal(ml_text_z(&g.names), name);
    assert_string_equal(ml_text_z(&g.notes), note);
    drop(&g);
}

static void names_come_with_what_help_says_of_them(void **state)
{
    run_line(*state, "h = s:handle(\"i\")");
    explains(*state, "s:tree|", "tree", "the loop tree as text");
    explains(*state, "h.end|", "ended_by",
             "the step that ended it, as text; nil while it is alive");
    explains(*state, "moon.bui|", "build",
             "compile for a processor: gives a kernel, to be called like a function");
    explains(*state, "can_spl|", "can_split", "whether split(…) would be accepted");
    explains(*state, "s:get_sr|", "get_sref", "where a loop or block stands in the tree");
    explains(*state, ":help moon.bui|", "moon.build",
             "compile for a processor: gives a kernel, to be called like a function");
    explains(*state, ":help :und|", ":undo", "take back the last line (or one step)");
    explains(*state, "?verify-|", "verify-each",
             "off: recompute every fact after each step, and run small programs");
    explains(*state, ":help functions|", "functions", "topic");
    explains(*state, ":help regis|", "register_reducer",
             "a reduction of n values that rfactor may take apart");
    explains(*state, ":explain two-|", "two-autos",
             "at most one factor is left to be worked out");
}

static void no_metamethod_runs(void **state)
{
    run_line(*state, "hit = 0");
    run_line(*state,
             "trap = setmetatable({a = 1}, {__index = function() hit = hit + 1 end, "
             "__pairs = function() hit = hit + 1 end})");
    offers(*state, "trap.|", 5, "a");
    offers(*state, "trap.b.c|", 7, "");
    run_line(*state, "assert(hit == 0)");
}

static void strings_are_completed_by_the_parameter(void **state)
{
    offers(*state, "split(\"|", 7, "i j k");
    offers(*state, "s:split(\"|", 9, "i j k");
    offers(*state, "can_split(\"|", 11, "i j k");
    offers(*state, "reorder(\"i\", \"|", 14, "i j k");
    offers(*state, "reorder(\"i\", \"j\", \"k|", -1, "k");
    offers(*state, "get_loops(\"|", -1, "C");
    offers(*state, "loops(\"|", -1, "C");
    offers(*state, "split{loop = \"|", 14, "i j k");
    offers(*state, "split{factors = {4}, loop = \"j|", -1, "j");
    offers(*state, "cache_read(\"C\", \"|", 17, "A B");
    offers(*state, "cache_write(\"C\", \"|", -1, "C");
    offers(*state, "cache_read(\"C\", \"A\", \"sh|", -1, "shared shared.dyn");
    offers(*state, "bind(\"i\", \"threadI|", -1, "threadIdx.x threadIdx.y threadIdx.z");
    offers(*state, "split('C/|", 7, "C/i C/j C/k");
    offers(*state, "print(\"|", -1, "");
}

static void annotation_keys_are_offered(void **state)
{
    offers_among(*state, "annotate(\"C\", \"|", "pragma_auto_unroll_max_step", NULL);
    run_line(*state, "annotate(\"C\", \"mine\", 1)");
    offers(*state, "unannotate(\"C\", \"|", -1, "mine");
}

static void factors_are_divisors_then_powers_of_two(void **state)
{
    offers(*state, "split(\"k\", {|", 12, "auto 1 2 4 8 16 32");
    offers(*state, "split(\"i\", {auto, |", 18, "auto 1 2 3 4 6 8 12 16 24 32 48 96 64");
    offers(*state, "split(\"i\", {auto, 1|", 18, "1 12 16");
    offers(*state, "split{loop = \"k\", factors = {8, |", -1, "auto 1 2 4 8 16 32");
    offers(*state, "split(x, {|", -1, "auto");
}

static void names_follow_the_steps(void **state)
{
    run_line(*state, "split(\"j\", {auto, 16}) parallel(\"i\")");
    offers(*state, "vectorize(\"j|", -1, "j_0 j_1");
    Got g;

    ask(*state, "unroll(\"|", &g);
    assert_string_equal(ml_text_z(&g.notes),
                        "loop of 96, parallel; loop of 4; loop of 16; loop of 32");
    drop(&g);
}

static void a_taken_candidate_is_followed_by_the_quote(void **state)
{
    Got g;

    assert_int_equal(ask(*state, "split('i|", &g).after, '\'');
    drop(&g);
    assert_int_equal(ask(*state, ":und|", &g).after, ' ');
    drop(&g);
    assert_int_equal(ask(*state, "spl|", &g).after, 0);
    drop(&g);
}

static void nothing_is_offered_in_comments_and_long_strings(void **state)
{
    offers(*state, "x = 1 -- spl|", -1, "");
    offers(*state, "--[[ spl|", -1, "");
    offers(*state, "x = [==[ spl|", -1, "");
    offers(*state, "--[[ a ]] spl|", -1, "split");
    offers(*state, "x = [[a\"]] .. spl|", -1, "split");
}

static void files_are_offered_where_a_file_belongs(void **state)
{
    char dir[] = "/tmp/ml-complete-XXXXXX", line[200], want[200];

    assert_non_null(mkdtemp(dir));
    snprintf(line, sizeof line, "%s/one.py", dir);
    FILE *f = fopen(line, "w");

    assert_non_null(f);
    fclose(f);
    snprintf(want, sizeof want, "%s/one.py", dir);
    snprintf(line, sizeof line, ":open %s/o|", dir);
    offers(*state, line, 6, want);
    snprintf(line, sizeof line, "open(\"%s/|", dir);
    offers(*state, line, -1, want);
    snprintf(line, sizeof line, ":show > %s/|", dir);
    offers(*state, line, -1, want);
    unlink(want);
    rmdir(dir);
}

/* why: NULL when the candidate is not rejected, or cannot be judged yet. */
static void judged(ml_Session *ss, const char *marked, const char *candidate,
                   const char *why)
{
    char line[200];
    const char *bar = strchr(marked, '|');
    ml_Text got = {0};
    Got g;

    snprintf(line, sizeof line, "%.*s%s", (int)(bar - marked), marked, bar + 1);
    ml_CompletionPlace at = ask(ss, marked, &g);
    bool rejected = ml_completion_rejected(ss, line, at, candidate, 600000, &got);

    assert_int_equal(rejected, why != NULL);
    assert_string_equal(ml_text_z(&got), why ? why : "");
    ml_text_free(&got);
    drop(&g);
}

static void what_the_primitive_would_reject_is_told(void **state)
{
    judged(*state, "vectorize(\"|", "k", "loop k drives the reduction iter vk of block C");
    judged(*state, "vectorize(\"|", "j", NULL);
    judged(*state, "x = s:vectorize('|", "k",
           "loop k drives the reduction iter vk of block C");
    judged(*state, "parallel{loop = \"|", "k",
           "loop k drives the reduction iter vk of block C");
    judged(*state, "compute_at(\"C\", \"|", "i", "loop i is above block C already");
    judged(*state, "fuse(\"i\", \"|", "j", NULL);
    judged(*state, "split(\"|", "i", NULL);          /* factors are missing */
    judged(*state, "fuse(\"|", "k", NULL);           /* more loops may follow */
    judged(*state, "split(\"i\", {5, |", "3", NULL); /* and more factors */
    judged(*state, "print(\"|", "k", NULL);
    run_line(*state, "assert(s:version() == 0)");
}

static void tilings(ml_Session *ss, const char *marked, const char *want)
{
    char line[200];
    const char *bar = strchr(marked, '|');
    Got g = {0};

    snprintf(line, sizeof line, "%.*s%s", (int)(bar - marked), marked, bar + 1);
    ml_completion_tilings(ss, line, (size_t)(bar - marked), gather, &g);
    assert_string_equal(ml_text_z(&g.names), want);
    drop(&g);
}

static void whole_lists_of_factors_are_offered(void **state)
{
    run_line(*state, "r = schedule(workload.matmul(32, 13, 8))");
    tilings(*state, "split(\"i\", {|", "auto, 16} auto, 8} auto, 4} auto, 2} auto, 2, 8}");
    tilings(*state, "split(\"j\", { |", "auto, 8} auto, 4} auto, 2}"); /* with a guard */
    tilings(*state, "split{loop = \"k\", factors = {|", "auto, 4} auto, 2}");
    tilings(*state, "split(\"i\", {2|", "");
    tilings(*state, "split(\"i\", |", "");
    tilings(*state, "reorder({|", "");
    tilings(*state, "x = {|", "");
}

static void what_is_open_is_closed(void **state)
{
    static const struct {
        const char *line, *want;
    } LINES[] = {{"split(\"i\", {2, 4", "split(\"i\", {2, 4})"},
                 {"a[b({", "a[b({})]"},
                 {"f()", "f()"},
                 {"f(\"", NULL},
                 {"f( -- ", NULL}};

    (void)state;
    for (size_t k = 0; k < ML_COUNT(LINES); k++) {
        ml_Text got = {0};
        bool ok = ml_completion_close(LINES[k].line, strlen(LINES[k].line), &got);

        assert_int_equal(ok, LINES[k].want != NULL);
        assert_string_equal(ml_text_z(&got), LINES[k].want ? LINES[k].want : "");
        ml_text_free(&got);
    }
}

/* Whatever stands in front of the cursor, completion answers. */
static void any_prefix_of_any_line_is_survived(void **state)
{
    static const char *const LINES[] = {
        "split(\"i\", {auto, 8}) f{a = {b = [[x]], [1] = 'q\\'r'}, c} -- \"",
        "((((((((((((((((((((((((((((((((((((((((((((((((((split(\"i\",",
        ("reorder(\"i\",\"i\",\"i\",\"i\",\"i\",\"i\",\"i\",\"i\",\"i\",\"i\",\"i\",\"i\","
         "\"i\",\"i\",\"i\",\"i\",\"i\",\""),
        ")))}}]] = = , , ; : :: . .. a.:b \"unfinished \\",
        ":set echo :diff > x | y",
        ": :: ? ?? ! !! @T \xc3\x97 \xff\xfe",
        "f\"x\":g'y'.h.i:split(\"",
    };

    for (size_t k = 0; k < ML_COUNT(LINES); k++)
        for (size_t n = 0; n <= strlen(LINES[k]); n++) {
            Got g = {0};
            ml_CompletionPlace at = ml_completions(*state, LINES[k], n, gather, &g);

            assert_true(at.start <= n);
            drop(&g);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE(commands_stand_behind_a_colon),
        FIXTURE(commands_complete_their_words),
        FIXTURE(names_of_workloads_and_networks_are_offered),
        FIXTURE(versions_and_marks_are_offered),
        FIXTURE(globals_primitives_and_keywords_are_offered),
        FIXTURE(methods_of_objects_are_offered),
        FIXTURE(names_come_with_what_help_says_of_them),
        FIXTURE(no_metamethod_runs),
        FIXTURE(strings_are_completed_by_the_parameter),
        FIXTURE(annotation_keys_are_offered),
        FIXTURE(factors_are_divisors_then_powers_of_two),
        FIXTURE(names_follow_the_steps),
        FIXTURE(a_taken_candidate_is_followed_by_the_quote),
        FIXTURE(nothing_is_offered_in_comments_and_long_strings),
        FIXTURE(files_are_offered_where_a_file_belongs),
        FIXTURE(what_the_primitive_would_reject_is_told),
        FIXTURE(whole_lists_of_factors_are_offered),
        FIXTURE(what_is_open_is_closed),
        FIXTURE(any_prefix_of_any_line_is_survived),
    };
#undef EACH

    return cmocka_run_group_tests(tests, NULL, NULL);
}
