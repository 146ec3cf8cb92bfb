/*
 * complete_names - the candidates of each kind: commands, settings, versions, files, names
 * of the program, factors. Offered in the order in which a reader would look for them: of
 * the program in textual order, everything else sorted or as its table has it. Source:
 * interaction 4.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "moonloop/codegen/lower/lower.h"
#include "moonloop/core/targets.h"
#include "moonloop/primitives/names.h"
#include "moonloop/primitives/tokens.h"
#include "repl/bind/schedule/calls.h"
#include "repl/cmd/help_impl.h"
#include "repl/command/command.h"
#include "repl/host/host.h"
#include "repl/job/jobs.h"
#include "repl/line/complete_impl.h"
#include "repl/session/themes.h"

void ml_offer(ml_Offer *o, const char *text, const char *note)
{
    if (strncmp(text, o->prefix, strlen(o->prefix)) != 0)
        return;
    for (size_t k = 0; k < o->seen.n; k++)
        if (ml_streq(o->seen.v[k], text))
            return;
    ml_push(o->cx, &o->seen, ml_strdup(o->cx, ml_str(text)));
    o->fn(text, note ? note : "", o->user);
}

/* ---- commands and their words */

void ml_offer_commands(ml_Offer *o)
{
    for (size_t k = 0; k < o->ss->aliases.n; k++)
        ml_offer(o, o->ss->aliases.v[k].name, o->ss->aliases.v[k].text);
    for (size_t k = 0; k < ml_n_commands; k++)
        ml_offer(o, ml_commands[k].name, ml_commands[k].help);
}

/* moon.check as soon as a . or : is typed; before that check alone, which help finds too.
 */
static void offer_topic(const char *name, const char *summary, const char *text, void *user)
{
    enum { ENOUGH = 3 }; /* letters; with fewer they would hide the rest */
    ml_Offer *o = user;
    const char *last = name + strlen(name);

    (void)text;
    while (last > name && last[-1] != '.' && last[-1] != ':')
        last--;
    if (*summary && strpbrk(o->prefix, ".:"))
        ml_offer(o, name, summary);
    else if (*summary && strlen(o->prefix) >= ENOUGH)
        ml_offer(o, last, summary);
}

void ml_offer_topics(ml_Offer *o)
{
    static const char *const TOPICS[] = {"primitives", "commands", "settings",
                                         "names",      "line",     "errors",
                                         "functions",  "tvm",      "halide"};

    for (size_t k = 0; k < ml_n_primitives; k++)
        ml_offer(o, ml_primitives[k]->name, ml_primitives[k]->summary);
    for (size_t k = 0; k < ml_n_schedule_calls; k++)
        ml_offer(o, ml_schedule_calls[k].name, ml_schedule_calls[k].summary);
    if (*o->prefix != ':')
        ml_offer_commands(o);
    for (size_t k = 0; *o->prefix == ':' && k < ml_n_commands; k++)
        ml_offer(o, ml_format(o->cx, ":%s", ml_commands[k].name), ml_commands[k].help);
    for (size_t k = 0; k < ML_COUNT(TOPICS); k++)
        ml_offer(o, TOPICS[k], "topic");
    ml_host_topics(o->ss->host, offer_topic, o);
    if (*o->prefix) {
        ml_offer_settings(o);
        ml_offer_codes(o);
    }
}

void ml_offer_codes(ml_Offer *o)
{
    for (int k = 1; k < ML_E_COUNT; k++)
        ml_offer(o, ml_error_code((ml_ErrorCode)k), ml_help_code_note((ml_ErrorCode)k));
}

static const char *dashed(ml_Ctx *cx, const char *name)
{
    char *z = ml_strdup(cx, ml_str(name));

    for (char *p = z; *p; p++)
        if (*p == '_')
            *p = '-';
    return z;
}

void ml_offer_settings(ml_Offer *o)
{
    for (int k = 0; k < ML_SETTINGS; k++)
        ml_offer(o, dashed(o->cx, ml_settings[k].name),
                 ml_format(o->cx, "%s: %s", ml_setting_word(&o->ss->set, (ml_SettingId)k),
                           ml_settings[k].help));
}

void ml_offer_setting_values(ml_Offer *o)
{
    int id = ml_setting_find(o->last);

    if (id < 0)
        return;
    if (ml_settings[id].kind == ML_SET_BOOL) {
        ml_offer(o, "on", NULL);
        ml_offer(o, "off", NULL);
    }
    for (const char *p = ml_settings[id].words; p && *p;) {
        size_t n = strcspn(p, " ");
        const char *word = ml_strdup(o->cx, (ml_Str){p, n});

        ml_offer(o, word,
                 ml_setting_is(&o->ss->set, (ml_SettingId)id, word) ? "now" : NULL);
        p += n + (p[n] == ' ');
    }
    for (size_t k = 0; id == ML_SET_theme && ml_themes_name(o->ss, k); k++)
        ml_offer(o, ml_themes_name(o->ss, k), "your own");
    if (!ml_settings[id].words)
        ml_offer(o, ml_setting_word(&o->ss->set, (ml_SettingId)id), "now");
}

void ml_offer_versions(ml_Offer *o)
{
    ml_Schedule *s = o->ss->focus;
    ml_Step step;

    for (int v = 0; s && v < ml_schedule_n_versions(s); v++) {
        const char *marks = ml_schedule_marks_of(s, v);

        if (!ml_version_known(s, v) || !ml_version_step(s, v, &step))
            continue;
        const char *what = step.prim ? step.headline : "the start";

        ml_offer(o, ml_format(o->cx, "v%d", v), what);
        for (const char *p = marks; p && *p;) { /* joined by commas */
            size_t n = strcspn(p, ", ");

            if (n > 0)
                ml_offer(o, ml_strdup(o->cx, (ml_Str){p, n}), ml_format(o->cx, "v%d", v));
            p += n + strspn(p + n, ", ");
        }
    }
}

void ml_offer_steps(ml_Offer *o)
{
    ml_Schedule *s = o->ss->focus;
    ml_Step step;

    for (int v = s ? ml_schedule_version(s) : 0;
         v > 0 && ml_version_known(s, v) && ml_version_step(s, v, &step); v = step.parent)
        if (step.prim)
            ml_offer(o, ml_format(o->cx, "v%d", v), step.headline);
}

void ml_offer_passes(ml_Offer *o)
{
    for (size_t k = 0; k < ml_n_passes; k++)
        if (ml_passes[k].pipelines & ML_PIPE_CPU) /* what :ir shows */
            ml_offer(o, ml_passes[k].name, ml_passes[k].help);
}

void ml_offer_schedules(ml_Offer *o)
{
    for (size_t k = 0; k < o->ss->n_schedules; k++) {
        ml_Schedule *s = o->ss->schedules[k];

        ml_offer(o, ml_schedule_name(s),
                 ml_format(o->cx, "%zu, v%d%s", k + 1, ml_schedule_version(s),
                           s == o->ss->focus ? ", the focus" : ""));
    }
}

void ml_offer_jobs(ml_Offer *o, bool running)
{
    ml_JobInfo j;

    for (size_t k = 0; ml_job_info(o->ss, k, &j); k++) {
        bool runs = j.state == ML_JOB_RUNNING || j.state == ML_JOB_STOPPING;

        if (runs || !running)
            ml_offer(o, ml_format(o->cx, "%d", j.number),
                     ml_format(o->cx, "%s, %s", j.what, ml_job_state_name(j.state)));
    }
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

typedef ML_VEC(const char *) Names;

static void sort_names(Names *v)
{
    if (v->n > 1)
        qsort(v->v, v->n, sizeof *v->v, by_text);
}

void ml_offer_files(ml_Offer *o)
{
    const char *slash = strrchr(o->prefix, '/');
    size_t n = slash ? (size_t)(slash + 1 - o->prefix) : 0;
    const char *folder = ml_strdup(o->cx, (ml_Str){o->prefix, n}), *home = getenv("HOME");
    const char *where = n ? folder : ".";
    Names found = {0};
    struct dirent *e;

    if (strncmp(folder, "~/", 2) == 0 && home)
        where = ml_format(o->cx, "%s/%s", home, folder + 2);
    DIR *d = opendir(where);

    while (d && (e = readdir(d)) != NULL)
        if (e->d_name[0] != '.' || (slash ? slash[1] : o->prefix[0]) == '.')
            if (!ml_streq(e->d_name, ".") && !ml_streq(e->d_name, ".."))
                ml_push(o->cx, &found, ml_strdup(o->cx, ml_str(e->d_name)));
    if (d)
        closedir(d);
    sort_names(&found);
    for (size_t k = 0; k < found.n; k++) {
        struct stat st;
        bool is_folder = stat(ml_format(o->cx, "%s/%s", where, found.v[k]), &st) == 0 &&
                         S_ISDIR(st.st_mode);

        ml_offer(o, ml_format(o->cx, "%s%s%s", folder, found.v[k], is_folder ? "/" : ""),
                 is_folder ? "folder" : "");
    }
}

/* ---- names of Lua */

typedef struct Collected {
    ml_Ctx *cx;
    Names names;
} Collected;

/* What help says in a line of a name in `path`, which is of that kind; NULL: nothing. */
static const char *summary_of(ml_Offer *o, const char *path, const char *name,
                              const char *kind)
{
    static const char METHOD[] = "method of ", FIELD[] = "field of ";
    ml_HostTopic t;
    const char *z = NULL, *full;
    const ml_ScheduleCall *c = ml_schedule_call_find(name);

    if (ml_streq(kind, "method of schedule") && ml_primitive_find(name))
        return ml_primitive_find(name)->summary;
    if (ml_streq(kind, "method of schedule") && c)
        return c->summary;
    if (ml_streq(kind, "method of schedule") && strncmp(name, "can_", 4) == 0)
        return ml_format(o->cx, "whether %s(…) would be accepted", name + 4);
    if (ml_streq(kind, "method of schedule"))
        full = ml_format(o->cx, "s:%s", name);
    else if (strncmp(kind, METHOD, sizeof METHOD - 1) == 0)
        full = ml_format(o->cx, "%s:%s", kind + sizeof METHOD - 1, name);
    else if (strncmp(kind, FIELD, sizeof FIELD - 1) == 0)
        full = ml_format(o->cx, "%s.%s", kind + sizeof FIELD - 1, name);
    else
        full = ml_format(o->cx, "%s%s%s%s", strncmp(path, "moon", 4) == 0 ? "" : "moon.",
                         path, *path ? "." : "", name);
    if (ml_host_topic(o->ss->host, full, &t) && t.summary.n &&
        ml_streq(ml_text_z(&t.name), full))
        z = ml_strdup(o->cx, ml_str(ml_text_z(&t.summary)));
    ml_host_topic_free(&t);
    return z;
}

static void collect(const char *name, const char *what, void *user)
{
    Collected *c = user;

    /* Name and kind in one text, so that sorting keeps them together. */
    ml_push(c->cx, &c->names, ml_format(c->cx, "%s\n%s", name, what));
}

static void offer_word(const char *name, const char *what, void *user)
{
    ml_offer(user, name, what);
}

void ml_offer_targets(ml_Offer *o)
{
    for (size_t k = 0; k < ml_n_target_kinds; k++)
        ml_offer(o, ml_target_kinds[k].name, "target");
}

void ml_offer_words(ml_Offer *o, const char *path)
{
    ml_host_words(o->ss->host, path, o->prefix, offer_word, o);
}

void ml_offer_names(ml_Offer *o, const char *path)
{
    Collected c = {.cx = o->cx};

    ml_host_names(o->ss->host, path, o->prefix, collect, &c);
    if (!*path && *o->prefix) /* methods of the focus: too many to show all */
        ml_host_names(o->ss->host, ":", o->prefix, collect, &c);
    for (size_t k = 0; !*path && k < ml_n_primitives; k++)
        collect(ml_primitives[k]->name, ml_primitives[k]->summary, &c);
    for (const char *const *k = ml_lua_keywords; !*path && *k; k++)
        collect(*k, "keyword", &c);
    sort_names(&c.names);
    for (size_t k = 0; k < c.names.n; k++) {
        const char *end = strchr(c.names.v[k], '\n');
        const char *name =
            ml_strdup(o->cx, (ml_Str){c.names.v[k], (size_t)(end - c.names.v[k])});
        const char *note = NULL;

        if (!ml_is_name(name) || (name[0] == '_' && o->prefix[0] != '_'))
            continue;
        if (strncmp(name, o->prefix, strlen(o->prefix)) == 0)
            note = summary_of(o, path, name, end + 1);
        ml_offer(o, name, note ? note : end + 1);
    }
}

/* ---- names of the program */

static const char *loop_note(ml_Offer *o, const ml_For *f)
{
    const char *kind = f->thread.axis             ? f->thread.name
                       : f->kind == ML_FOR_SERIAL ? ""
                                                  : ml_for_kind_name((ml_ForKind)f->kind);

    if (!ml_is_const_int(f->extent))
        return ml_format(o->cx, "loop%s%s", *kind ? ", " : "", kind);
    return ml_format(o->cx, "loop of %lld%s%s", (long long)f->extent->as.i,
                     *kind ? ", " : "", kind);
}

static const char *block_note(ml_Offer *o, ml_Schedule *s, const ml_Block *b)
{
    ml_Text t = {0};
    const char *z;

    ml_text_add(&t, "block");
    for (uint32_t k = 0; k < b->n_reads; k++)
        ml_text_fmt(&t, "%s%s", k ? ", " : ", reads ",
                    ml_name_of(s, b->reads[k].buffer->uid));
    for (uint32_t k = 0; k < b->n_writes; k++)
        ml_text_fmt(&t, "%s%s", k ? ", " : ", writes ",
                    ml_name_of(s, b->writes[k].buffer->uid));
    z = ml_strdup(o->cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return z;
}

/* What bears a name in the function worked on. */
static ml_NamedItems items_of(ml_Offer *o)
{
    const ml_Func *f = o->ss->focus ? ml_schedule_func(o->ss->focus) : NULL;
    ml_NamedItems all = {.cx = o->cx};

    if (f)
        ml_named_items(&all, f);
    return all;
}

/* Loops or blocks but the root, those above block `below` when it is not 0; before: put
 * before each name. */
static void offer_nodes(ml_Offer *o, ml_Bearer kind, ml_Uid below, const char *before)
{
    ml_NamedItems all = items_of(o);
    ml_Schedule *s = o->ss->focus;

    for (size_t k = 0; k < all.list.n; k++) {
        ml_Uid uid = all.list.v[k].uid;
        const ml_Index *ix = ml_schedule_program(s).index;

        if (all.list.v[k].kind != kind || !ml_index_parent(ix, uid) ||
            (below && !ml_index_is_above(ix, uid, below)))
            continue;
        const ml_Stmt *st = ml_index_node(ix, uid);

        ml_offer(o, ml_format(o->cx, "%s%s", before, ml_name_of(s, uid)),
                 kind == ML_BEARS_LOOP ? loop_note(o, ml_as_for(st))
                                       : block_note(o, s, ml_as_block(st)));
    }
}

/* The node of a name on the focus; 0: none, or several. Leaves no error behind. */
static ml_Uid node_of(ml_Offer *o, const char *name, ml_HandleKind want)
{
    ml_Schedule *s = o->ss->focus;
    ml_Handle h = {0};

    if (!s || !name || !*name)
        return 0;
    bool ok = ml_resolve(s, name, want, &h);

    ml_error_clear(ml_schedule_ctx(s));
    return ok ? h.uid : 0;
}

void ml_offer_loops(ml_Offer *o)
{
    const char *slash = strrchr(o->prefix, '/');

    if (slash) { /* "C/": the loops above block C */
        const char *block =
            ml_strdup(o->cx, (ml_Str){o->prefix, (size_t)(slash - o->prefix)});
        ml_Uid below = node_of(o, block, ML_H_BLOCK);

        if (below)
            offer_nodes(o, ML_BEARS_LOOP, below, ml_format(o->cx, "%s/", block));
        return;
    }
    offer_nodes(o, ML_BEARS_LOOP, 0, "");
}

void ml_offer_blocks(ml_Offer *o)
{
    offer_nodes(o, ML_BEARS_BLOCK, 0, "");
}

static const char *buffer_note(ml_Offer *o, const ml_Buffer *b)
{
    ml_Text t = {0};
    const char *z;

    ml_text_fmt(&t, "%s %s [", b->scope.name, ml_dtype_name(o->cx, b->type));
    for (uint16_t k = 0; k < b->rank; k++) {
        ml_text_add(&t, k ? ", " : "");
        if (ml_is_const_int(b->shape[k]))
            ml_text_int(&t, b->shape[k]->as.i);
        else
            ml_text_char(&t, '?');
    }
    ml_text_char(&t, ']');
    z = ml_strdup(o->cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return z;
}

static void offer_buffer(ml_Offer *o, const ml_Buffer *b)
{
    ml_offer(o, ml_name_of(o->ss->focus, b->uid), buffer_note(o, b));
}

void ml_offer_buffers(ml_Offer *o, const char *block, bool written)
{
    ml_Schedule *s = o->ss->focus;
    ml_Uid uid = node_of(o, block, ML_H_BLOCK);
    ml_NamedItems all = items_of(o);

    if (uid) {
        const ml_Block *b = ml_as_block(ml_index_node(ml_schedule_program(s).index, uid));
        const ml_Region *v = written ? b->writes : b->reads;

        for (uint32_t k = 0; k < (written ? b->n_writes : b->n_reads); k++)
            offer_buffer(o, v[k].buffer);
        return;
    }
    for (size_t k = 0; k < all.list.n; k++)
        if (all.list.v[k].buffer)
            offer_buffer(o, all.list.v[k].buffer);
}

void ml_offer_scopes(ml_Offer *o)
{
    static const char *const SCOPES[] = {
        "global", "shared",        "shared.dyn",    "local",
        "warp",   "wmma.matrix_a", "wmma.matrix_b", "wmma.accumulator"};

    for (size_t k = 0; k < ML_COUNT(SCOPES); k++)
        ml_offer(o, SCOPES[k], "storage scope");
}

void ml_offer_threads(ml_Offer *o)
{
    static const char *const AXES[] = {"blockIdx", "threadIdx", "vthread"};
    static const char *const NOTES[] = {"blocks of the grid", "threads of a block",
                                        "virtual threads"};

    for (size_t k = 0; k < ML_COUNT(AXES); k++)
        for (const char *d = "xyz"; *d; d++)
            ml_offer(o, ml_format(o->cx, "%s.%c", AXES[k], *d), NOTES[k]);
}

void ml_offer_keys(ml_Offer *o, const char *target, bool only_present)
{
    static const char *const KEYS[][2] = {
        {"pragma_auto_unroll_max_step",
         "loop: unroll below while the body stays under this"},
        {"pragma_unroll_explicit", "loop: unroll in the code, not as a hint"},
        {"software_pipeline_stage", "loop: stage of each statement"},
        {"software_pipeline_order", "loop: order of the statements"},
        {"double_buffer_scope", "block: two copies of the written buffer"},
        {"auto_copy", "block: a copy between scopes to be scheduled"},
        {"warp_execution", "block: 32 threads work together"},
        {"vector_bytes", "block: bytes of one copy"},
        {"prefetch", "loop: buffers fetched ahead"},
        {"prefetch_here", "loop: asks for what prefetch spreads"},
        {"non_temporal", "loop: vectors are stored past the caches"},
        {"buffer_dim_align", "block: strides (storage_align sets it)"},
    };
    ml_Uid uid = node_of(o, target, ML_H_NONE);
    const ml_Stmt *node =
        uid ? ml_index_node(ml_schedule_program(o->ss->focus).index, uid) : NULL;
    const ml_Value *dict = !node                       ? NULL
                           : node->kind == ML_STMT_FOR ? ml_as_for(node)->annotations
                                                       : ml_as_block(node)->annotations;

    for (size_t k = 0; k < ml_dict_count(dict); k++)
        ml_offer(o, dict->keys[k], "is set");
    for (size_t k = 0; !only_present && k < ML_COUNT(KEYS); k++)
        ml_offer(o, KEYS[k][0], KEYS[k][1]);
}

/* 0: not a constant, or no such loop. */
static int64_t extent_of(ml_Offer *o, const char *loop)
{
    ml_Uid uid = node_of(o, loop, ML_H_LOOP);
    const ml_Stmt *node =
        uid ? ml_index_node(ml_schedule_program(o->ss->focus).index, uid) : NULL;
    const ml_Expr *e = node ? ml_as_for(node)->extent : NULL;

    return e && ml_is_const_int(e) ? e->as.i : 0;
}

void ml_offer_factors(ml_Offer *o, const char *loop)
{
    enum { MOST = 64 }; /* a highly composite extent has hundreds */
    int64_t extent = extent_of(o, loop);
    size_t n = 0;

    ml_offer(o, "auto", "whatever is left");
    for (int64_t d = 1; d <= extent && d <= 1 << 20 && n < MOST; d++)
        if (extent % d == 0) {
            ml_offer(o, ml_format(o->cx, "%lld", (long long)d),
                     ml_format(o->cx, "× %lld", (long long)(extent / d)));
            n++;
        }
    for (int64_t d = 2; extent && d < extent && d <= 1024; d *= 2)
        ml_offer(o, ml_format(o->cx, "%lld", (long long)d), "with a guard");
}

void ml_offer_tilings(ml_Offer *o, const char *loop)
{
    static const int64_t INNER[] = {16, 8, 32, 4, 64, 2, 128};
    static const int64_t OUTER[] = {4, 8, 2, 16};
    int64_t extent = extent_of(o, loop);
    bool any = false;

    for (size_t k = 0; k < ML_COUNT(INNER); k++)
        if (INNER[k] < extent && extent % INNER[k] == 0) {
            ml_offer(o, ml_format(o->cx, "auto, %lld}", (long long)INNER[k]),
                     ml_format(o->cx, "%lld × %lld", (long long)(extent / INNER[k]),
                               (long long)INNER[k]));
            any = true;
        }
    for (int64_t d = 3; d * d <= extent && d < 128; d += 2) /* what is no power of two */
        if (extent % d == 0)
            ml_offer(
                o, ml_format(o->cx, "auto, %lld}", (long long)d),
                ml_format(o->cx, "%lld × %lld", (long long)(extent / d), (long long)d));
    for (size_t a = 0; a < ML_COUNT(OUTER); a++)
        for (size_t b = 0; b < 3; b++) {
            int64_t inner = OUTER[a] * INNER[b];

            if (inner < extent && extent % inner == 0)
                ml_offer(o,
                         ml_format(o->cx, "auto, %lld, %lld}", (long long)OUTER[a],
                                   (long long)INNER[b]),
                         ml_format(o->cx, "%lld × %lld × %lld", (long long)(extent / inner),
                                   (long long)OUTER[a], (long long)INNER[b]));
        }
    for (size_t k = 0; !any && k < ML_COUNT(INNER); k++)
        if (INNER[k] < extent)
            ml_offer(o, ml_format(o->cx, "auto, %lld}", (long long)INNER[k]),
                     "with a guard");
}
