/*
 * trace_journal - a schedule written down while it grows, and built again (journal.h).
 *
 * A piece holds, for each new version and for what the current trace has besides, the
 * instructions that no piece before held. Trace nodes are known by their serial numbers,
 * versions by theirs; the rebuilt schedule has the same versions under the same numbers.
 * Source: interaction 6.
 */
#include "moonloop/primitives/trace/journal.h"

#include "moonloop/core/base/utf8.h"
#include "moonloop/primitives/call/render.h"
#include "moonloop/primitives/trace/trace_impl.h"

#include <stdio.h>

typedef struct Said { /* of a version, as it was written last */
    const char *check, *speed;
} Said;

struct ml_Journal {
    uint32_t *first; /* by serial: number of the node's first output + 1; 0: not written */
    size_t n_first;
    uint32_t next; /* number of the next output */
    int n_versions;
    Said *said;
    size_t n_said;
    ml_State at;
    const char *branch;
    int redo;
    const ml_MarkName *marks;
    const char *func;
    bool begun;
    bool large; /* the hash of its program takes longer than all the rest */
    unsigned pieces;
};

enum { LARGE = 64 << 10 /* bytes of the start program's text */, HASH_EVERY = 32 };

ml_Journal *ml_journal_new(void)
{
    return ml_heap_zalloc(sizeof(ml_Journal));
}

void ml_journal_free(ml_Journal *j)
{
    if (!j)
        return;
    ml_heap_free(j->first);
    ml_heap_free(j->said);
    ml_heap_free(j);
}

/* ---- writing */

void ml_journal_string(ml_Text *out, const char *z)
{
    ml_Text t = {0};

    if (!z) {
        ml_text_add(out, "null");
        return;
    }
    for (const char *end = z + strlen(z); z < end;) {
        const char *from = z;

        for (size_t n; z < end && (n = ml_utf8_length(z, end)) > 0;)
            z += n;
        ml_text_addn(&t, from, (size_t)(z - from));
        if (z < end) {
            ml_text_char(&t, '?');
            z++;
        }
    }
    ml_json_string(out, ml_text_z(&t));
    ml_text_free(&t);
}

void ml_journal_start(ml_Journal *j, ml_Schedule *s, ml_Text *out)
{
    ml_Ctx *tmp = ml_ctx_new(0);
    ml_Text program = {0};
    const ml_Func *f = ml_schedule_func(s);

    ml_print_start(tmp, &program, s->v[0].p.mod);
    j->large = program.n > LARGE;
    ml_text_add(out, "{\"program\":");
    ml_json_string(out, ml_text_z(&program));
    ml_text_add(out, ",\"func\":");
    ml_journal_string(out, f ? f->name : NULL);
    ml_text_add(out, ",\"name\":");
    ml_journal_string(out, s->name);
    ml_text_add(out, ",\"target\":");
    if (s->opts.target)
        ml_json_value(out, s->opts.target);
    else
        ml_text_add(out, "null");
    ml_text_fmt(out, ",\"check\":%s}", s->opts.no_check ? "false" : "true");
    out->bad |= program.bad;
    ml_text_free(&program);
    ml_ctx_unref(tmp);
}

static uint32_t first_of(const ml_Journal *j, const ml_TraceNode *t)
{
    return t && t->serial < j->n_first ? j->first[t->serial] : 0;
}

static void set_first(ml_Journal *j, const ml_TraceNode *t)
{
    if (t->serial >= j->n_first) {
        size_t n = 2 * ((size_t)t->serial + 32);

        j->first = ml_heap_grow(j->first, n * sizeof *j->first);
        memset(j->first + j->n_first, 0, (n - j->n_first) * sizeof *j->first);
        j->n_first = n;
    }
    j->first[t->serial] = j->next + 1;
    j->next += t->inst->n_outputs;
}

/* The serial of a node that was written, or -1. */
static long serial_of(const ml_Journal *j, const ml_TraceNode *t)
{
    return first_of(j, t) ? (long)t->serial : -1;
}

/* One entry: the instructions up to `last` that were not written. made: the version that
 * the last of them made; else -1. */
static bool add_part(ml_Journal *j, ml_Schedule *s, const ml_TraceNode *last, int at,
                     int made, bool comma, ml_Text *out)
{
    uint32_t n = last ? last->n : 0, known = n, n_insts = 0, n_before = 0;
    const ml_TraceNode *from = last;

    while (from && !first_of(j, from)) {
        from = from->prev;
        known--;
    }
    if (known == n && made < 0)
        return false;

    ml_Ctx *tmp = ml_ctx_new(0);
    const ml_Inst **insts = ML_ARRAY(tmp, const ml_Inst *, n + 1u);
    const ml_TraceNode **nodes = ML_ARRAY(tmp, const ml_TraceNode *, n + 1u);
    uint32_t *to = ML_ARRAY(tmp, uint32_t, (last ? last->next_var : 0) + 1u);

    for (const ml_TraceNode *t = last; t; t = t->prev)
        nodes[t->n - 1] = t;
    for (uint32_t k = 0; k < n; k++) {
        const ml_Inst *in = nodes[k]->inst;

        if (k < known && in->n_outputs == 0) /* what is written names nothing of it */
            continue;
        if (k < known)
            n_before++;
        else
            set_first(j, nodes[k]);
        insts[n_insts++] = in;
        for (uint32_t m = 0; m < in->n_outputs; m++)
            if (in->outputs[m].kind != ML_H_NONE)
                to[in->outputs[m].num] = first_of(j, nodes[k]) - 1 + m;
    }
    ml_trace_renumber(tmp, insts, n_insts, to);
    ml_text_fmt(out, "%s{\"at\":%d,\"from\":%ld,\"nodes\":[", comma ? "," : "", at,
                from ? (long)from->serial : -1);
    for (uint32_t k = known; k < n; k++)
        ml_text_fmt(out, "%s%u", k > known ? "," : "", nodes[k]->serial);
    ml_text_add(out, "],\"trace\":");
    ml_trace_json_part(out, &(ml_Trace){n_insts, insts}, n_before, " ");
    if (made >= 0)
        ml_text_fmt(out, ",\"made\":%d,\"random\":[%u,%u]", made, s->v[made].random_before,
                    s->v[made].random);
    ml_text_char(out, '}');
    ml_ctx_unref(tmp);
    return true;
}

static void add_parts(ml_Journal *j, ml_Schedule *s, ml_Text *out)
{
    bool comma = false;

    ml_text_add(out, "\"parts\":[");
    for (int k = j->n_versions; k < s->n_versions; k++) {
        if (s->v[k].parent < 0)
            continue; /* the start */
        add_part(j, s, s->v[k].trace, s->v[k].parent, k, comma, out);
        comma = true;
    }
    add_part(j, s, s->trace, s->cur, -1, comma, out);
    j->n_versions = s->n_versions;
    ml_text_char(out, ']');
}

static void add_marks(ml_Journal *j, const ml_MarkName *m, ml_Text *out, size_t *n)
{
    if (m == j->marks)
        return;
    add_marks(j, m->prev, out, n);
    ml_text_add(out, ++*n > 1 ? ",[" : ",\"marks\":[[");
    ml_journal_string(out, m->name);
    ml_text_fmt(out, ",%d]", m->version);
}

/* Where each label is, the oldest first. */
static void add_labels(const ml_Schedule *s, const ml_MarkName *m, ml_Text *out, size_t *n)
{
    if (!m)
        return;
    add_labels(s, m->prev, out, n);
    for (const ml_MarkName *newer = s->labels; newer != m; newer = newer->prev)
        if (ml_streq(newer->name, m->name))
            return;
    ml_text_add(out, ++*n > 1 ? ",[" : ",\"branches\":[[");
    ml_journal_string(out, m->name);
    ml_text_fmt(out, ",%d]", m->version);
}

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && ml_streq(a, b));
}

/* Results of checks and timings that have changed. */
static void add_said(ml_Journal *j, const ml_Schedule *s, ml_Text *out)
{
    size_t n = 0, all = (size_t)s->n_versions;

    if (all > j->n_said) {
        j->said = ml_heap_grow(j->said, 2 * all * sizeof *j->said);
        memset(j->said + j->n_said, 0, (2 * all - j->n_said) * sizeof *j->said);
        j->n_said = 2 * all;
    }
    for (size_t k = 0; k < all; k++) {
        const ml_Version *v = &s->v[k];
        Said *was = &j->said[k];

        if (same(was->check, v->check) && same(was->speed, v->speed))
            continue;
        *was = (Said){v->check, v->speed};
        ml_text_fmt(out, "%s[%zu,null,", n++ ? "," : ",\"said\":[", k);
        ml_journal_string(out, v->check);
        ml_text_add(out, ",");
        ml_journal_string(out, v->speed);
        ml_text_char(out, ']');
    }
    if (n)
        ml_text_char(out, ']');
}

static bool nothing_new(const ml_Journal *j, const ml_Schedule *s)
{
    if (!j->begun || j->n_versions != s->n_versions || j->at.version != s->cur ||
        j->at.trace != s->trace || j->at.random != s->random || j->marks != s->marks ||
        j->at.labels != s->labels || j->redo != s->v[s->cur].redo ||
        !same(j->branch, s->branch))
        return false;
    for (size_t k = 0; k < (size_t)s->n_versions && k < j->n_said; k++)
        if (j->said[k].check != s->v[k].check || j->said[k].speed != s->v[k].speed)
            return false;
    return true;
}

void ml_journal_state(const ml_Journal *j, ml_State st, ml_Text *out)
{
    const ml_TraceNode *t = st.trace;

    ml_text_fmt(out, "[%d,%ld,%u]", st.version, serial_of(j, t), st.random);
}

bool ml_journal_news(ml_Journal *j, ml_Schedule *s, ml_Text *out)
{
    const ml_Func *f = ml_schedule_func(s);
    size_t n = 0;

    if (nothing_new(j, s) && same(j->func, f ? f->name : NULL))
        return false;
    ml_space_settle(s->space);
    ml_text_char(out, '{');
    add_parts(j, s, out);
    add_marks(j, s->marks, out, &n);
    if (n)
        ml_text_char(out, ']');
    n = 0;
    if (j->at.labels != s->labels)
        add_labels(s, s->labels, out, &n);
    if (n)
        ml_text_char(out, ']');
    add_said(j, s, out);
    if (f && !same(j->func, f->name) && j->begun) {
        ml_text_add(out, ",\"func\":");
        ml_journal_string(out, f->name);
    }
    ml_text_add(out, ",\"state\":");
    ml_journal_state(j, ml_schedule_state(s), out);
    if (s->v[s->cur].redo >= 0)
        ml_text_fmt(out, ",\"redo\":%d", s->v[s->cur].redo);
    if (s->branch) {
        ml_text_add(out, ",\"branch\":");
        ml_journal_string(out, s->branch);
    }
    if (!j->large || ++j->pieces % HASH_EVERY == 0)
        ml_text_fmt(out, ",\"hash\":\"%016llx\"", (unsigned long long)ml_schedule_hash(s));
    ml_text_char(out, '}');
    j->begun = true;
    j->at = ml_schedule_state(s);
    j->branch = s->branch;
    j->redo = s->v[s->cur].redo;
    j->marks = s->marks;
    if (!same(j->func, f ? f->name : NULL)) /* a copy: compaction moves the original */
        j->func = f ? ml_strdup(s->space->home, ml_str(f->name)) : NULL;
    return true;
}

/* ---- building again */

struct ml_Rebuild {
    ml_Schedule *s;
    ml_TraceReader reader;
    ml_Replayer *replayer;
    ml_Map *nodes; /* serial + 1 -> the node */
};

ml_Rebuild *ml_rebuild_new(ml_Schedule *s)
{
    ml_Rebuild *b = ml_heap_zalloc(sizeof *b);

    b->s = s;
    b->reader.cx = ml_ctx_new(0);
    b->nodes = ml_map_new(b->reader.cx);
    b->replayer = ml_replayer_new(s);
    return b;
}

void ml_rebuild_free(ml_Rebuild *b)
{
    if (!b)
        return;
    ml_replayer_free(b->replayer);
    ml_ctx_unref(b->reader.cx);
    ml_heap_free(b);
}

static bool is_list(const ml_Json *j)
{
    return j && j->kind == ML_JSON_LIST;
}

static bool bad(ml_Text *why, const char *what)
{
    ml_text_add(why, what);
    return false;
}

/* A serial that a piece has named, or -1: the empty trace. */
static bool node_of(const ml_Rebuild *b, const ml_Json *j, const ml_TraceNode **out)
{
    int64_t serial;

    *out = NULL;
    if (!ml_json_whole(j, -1, UINT32_MAX - 1, &serial))
        return false;
    if (serial >= 0)
        *out = ml_map_get(b->nodes, (uint32_t)serial + 1);
    return serial < 0 || *out;
}

bool ml_rebuild_state(const ml_Rebuild *b, const ml_Json *j, ml_State *out)
{
    int64_t version, random;
    const ml_TraceNode *t;

    if (!ml_json_whole(ml_json_item(j, 0), 0, b->s->n_versions - 1, &version) ||
        !node_of(b, ml_json_item(j, 1), &t) ||
        !ml_json_whole(ml_json_item(j, 2), 0, UINT32_MAX, &random))
        return false;
    *out = (ml_State){.version = (int)version, .trace = t, .random = (uint32_t)random};
    return true;
}

/* What the failure says, in one sentence. */
static void add_failure(ML_TAKES ml_Failure *f, ml_Text *why)
{
    ml_text_add(why, ml_failure_message(f));
    ml_failure_free(f);
}

static bool apply_part(ml_Rebuild *b, const ml_Json *part, ml_Text *why)
{
    ml_Schedule *s = b->s;
    const ml_Json *nodes = ml_json_get(part, "nodes"), *made = ml_json_get(part, "made"),
                  *random = ml_json_get(part, "random");
    int64_t at, version = -1, r[2] = {s->random, s->random};
    const ml_TraceNode *from;
    ml_Trace t;

    if (part->kind != ML_JSON_OBJECT ||
        !ml_json_whole(ml_json_get(part, "at"), 0, s->n_versions - 1, &at) ||
        !node_of(b, ml_json_get(part, "from"), &from) || !is_list(nodes) ||
        (made && !ml_json_whole(made, s->n_versions, s->n_versions, &version)) ||
        (made && (!ml_json_whole(ml_json_item(random, 0), 0, UINT32_MAX, &r[0]) ||
                  !ml_json_whole(ml_json_item(random, 1), 0, UINT32_MAX, &r[1]))))
        return bad(why, "a step that does not fit what stands before it");
    if (!ml_trace_read(&b->reader, ml_json_get(part, "trace"), &t)) {
        add_failure(ml_failure_from(ml_error(b->reader.cx)), why);
        ml_error_clear(b->reader.cx);
        return false;
    }
    if (t.n != nodes->n)
        return bad(why, "a step whose instructions are not all there");
    ml_schedule_return(
        s, (ml_State){.version = (int)at, .trace = from, .random = (uint32_t)r[0]});
    if (s->cur != at)
        return bad(why, "a step at a version that is not there");
    s->branch = NULL; /* where the labels are is told */
    for (size_t k = 0; k < t.n; k++) {
        int64_t serial;

        if (!ml_json_whole(&nodes->as.list[k], 0, UINT32_MAX - 1, &serial))
            return bad(why, "a step without a number");
        if (!ml_replayer_next(b->replayer, t.insts[k])) {
            ml_text_fmt(why, "%s was refused: ", t.insts[k]->prim->name);
            add_failure(ml_failure_take(s), why);
            return false;
        }
        ml_map_set(b->reader.cx, b->nodes, (uint32_t)serial + 1, s->trace);
    }
    if (s->n_versions - 1 != (made ? version : s->n_versions - 1) ||
        s->cur != (made ? version : at))
        return bad(why, "a step that made another version than it had made");
    if (made) {
        s->v[s->cur].random_before = (uint32_t)r[0];
        s->v[s->cur].random = s->random = (uint32_t)r[1];
    }
    ml_names_ensure(s, s->cur); /* as the screen did: names depend on their order */
    return true;
}

/* Names behind those of the list; false: they are none. */
static bool apply_names(ml_Rebuild *b, const ml_Json *names, const ml_MarkName **list)
{
    const ml_Json *one;

    for (uint32_t k = 0; (one = ml_json_item(names, k)) != NULL; k++) {
        const char *name = ml_json_text(ml_json_item(one, 0));
        int64_t version;

        if (!name || one->n != 2 ||
            !ml_json_whole(ml_json_item(one, 1), 0, b->s->n_versions - 1, &version))
            return false;
        ml_MarkName *m = ML_NEW(b->s->space->home, ml_MarkName);

        m->prev = *list;
        m->name = ml_strdup(b->s->space->home, ml_str(name));
        m->version = (int)version;
        *list = m;
    }
    return true;
}

static bool apply_labels(ml_Rebuild *b, const ml_Json *labels)
{
    if (is_list(labels))
        b->s->labels = NULL;
    return apply_names(b, labels, &b->s->labels);
}

static const char *kept(ml_Schedule *s, const ml_Json *j)
{
    const char *z = ml_json_text(j);

    return z ? ml_strdup(s->space->home, ml_str(z)) : NULL;
}

static void label(ml_Schedule *s, const char *name, int version)
{
    ml_MarkName *m = ML_NEW(s->space->home, ml_MarkName);

    m->prev = s->labels;
    m->name = ml_strdup(s->space->home, ml_str(name));
    m->version = version;
    if (ml_schedule_find_branch(s, name) < version)
        s->labels = m;
}

static bool apply_said(ml_Rebuild *b, const ml_Json *said)
{
    const ml_Json *one;

    for (uint32_t k = 0; (one = ml_json_item(said, k)) != NULL; k++) {
        const char *name = ml_json_text(ml_json_item(one, 1));
        int64_t v;

        if (!ml_json_item(one, 3) || one->n != 4 ||
            !ml_json_whole(ml_json_item(one, 0), 0, b->s->n_versions - 1, &v))
            return false;
        if (name) /* of 0.1.0: the newest version has the label */
            label(b->s, name, (int)v);
        b->s->v[v].check = kept(b->s, ml_json_item(one, 2));
        b->s->v[v].speed = kept(b->s, ml_json_item(one, 3));
    }
    return true;
}

bool ml_rebuild_add(ml_Rebuild *b, const ml_Json *piece, ml_Text *why)
{
    ml_Schedule *s = b->s;
    const ml_Json *parts = ml_json_get(piece, "parts");
    const char *func = ml_json_text(ml_json_get(piece, "func")),
               *hash = ml_json_text(ml_json_get(piece, "hash"));
    ml_State st;
    char now[20];
    int64_t redo;

    for (uint32_t k = 0; ml_json_item(parts, k); k++)
        if (!apply_part(b, ml_json_item(parts, k), why))
            return false;
    if (!apply_names(b, ml_json_get(piece, "marks"), &s->marks) ||
        !apply_labels(b, ml_json_get(piece, "branches")) ||
        !apply_said(b, ml_json_get(piece, "said")))
        return bad(why, "a mark or a result of no version");
    if (func && !ml_schedule_work_on(s, func))
        return bad(why, "a function that the program does not have");
    if (!ml_rebuild_state(b, ml_json_get(piece, "state"), &st))
        return bad(why, "a version to be at that is not there");
    ml_schedule_return(s, st);
    s->branch = kept(s, ml_json_get(piece, "branch"));
    if (ml_json_whole(ml_json_get(piece, "redo"), 0, s->n_versions - 1, &redo) &&
        s->v[redo].parent == s->cur)
        s->v[s->cur].redo = (int)redo;
    if (hash)
        snprintf(now, sizeof now, "%016llx", (unsigned long long)ml_schedule_hash(s));
    if (hash && !ml_streq(hash, now))
        return bad(why, "the program that came of it is another one");
    return true;
}
