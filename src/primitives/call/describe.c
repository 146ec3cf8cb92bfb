/*
 * describe - steps as text: the call with display names, the headline after it.
 *
 * Made when somebody looks, never by a call. Source: interaction 5, 6.
 */
#include "moonloop/primitives/call/args.h"

#include "moonloop/core/json/value_text.h"
#include "moonloop/primitives/tokens.h"

void ml_text_quote(ml_Text *out, const char *z)
{
    ml_text_string(out, z, ML_ESCAPE_LUA);
}

void ml_text_lua_key(ml_Text *out, const char *z)
{
    ml_text_char(out, '[');
    ml_text_quote(out, z);
    ml_text_add(out, "] = ");
}

static void add_name(ml_Text *out, const char *z, bool quote)
{
    if (quote)
        ml_text_quote(out, z);
    else
        ml_text_add(out, z);
}

static void add_node(ml_Schedule *s, ml_Text *out, ml_Uid uid, bool quote)
{
    const char *z = ml_name_known(s->space, uid);

    add_name(out, z ? z : "?", quote);
}

static bool lua_key(const char *z)
{
    return ml_is_name(z) && !ml_is_lua_keyword(ml_str(z));
}

/* ["key"] = only where key = would not do. */
static void add_key(ml_Text *out, const char *z)
{
    if (lua_key(z))
        ml_text_fmt(out, "%s = ", z);
    else
        ml_text_lua_key(out, z);
}

/* Constants in Lua's notation, as people read them. */
static void add_value(ml_Text *out, const ml_Value *v)
{
    static const ml_Notation lua = {
        .no = "false",
        .yes = "true",
        .none = "auto",
        .object = "…",
        .list = "{}",
        .dict = "{}",
        .integer = ml_text_int,
        .real = ml_text_double,
        .string = ml_text_quote,
        .key = add_key,
    };

    ml_value_text(out, v, &lua);
}

static void add_arg(ml_Schedule *s, ml_Text *out, const ml_Param *pa, const ml_Given *g,
                    bool quote)
{
    switch ((ml_ParamKind)pa->kind) {
    case ML_P_LOOP_OR_MARK:
        if (g->h.kind == ML_H_INLINE_MARK || g->h.kind == ML_H_ROOT_MARK) {
            ml_text_add(out, g->h.kind == ML_H_ROOT_MARK ? "root_mark" : "inline_mark");
            return;
        }
        add_node(s, out, g->uid, quote);
        return;
    case ML_P_BLOCK:
    case ML_P_LOOP:
    case ML_P_BLOCK_OR_LOOP: add_node(s, out, g->uid, quote); return;
    case ML_P_LOOPS:
    case ML_P_LOOP_BLOCKS:
    case ML_P_BLOCKS:
        if (pa->kind == ML_P_LOOP_BLOCKS && g->n == 0) {
            add_node(s, out, g->uid, quote);
            return;
        }
        if (pa->kind != ML_P_LOOPS)
            ml_text_char(out, '{');
        for (size_t k = 0; k < g->n; k++) {
            if (k)
                ml_text_add(out, ", ");
            add_node(s, out, g->uids[k], quote);
        }
        if (pa->kind != ML_P_LOOPS)
            ml_text_char(out, '}');
        return;
    case ML_P_FACTORS:
        ml_text_char(out, '{');
        for (size_t k = 0; k < g->n; k++) {
            if (k)
                ml_text_add(out, ", ");
            if (g->exprs[k] && ml_is_const_int(g->exprs[k]))
                ml_text_int(out, g->exprs[k]->as.i);
            else
                ml_text_add(out, g->exprs[k] ? "?" : "auto");
        }
        ml_text_char(out, '}');
        return;
    case ML_P_INT:
    case ML_P_READ_BUFFER:
    case ML_P_WRITE_BUFFER: ml_text_int(out, g->i); return;
    case ML_P_BUFFER:
        ml_text_char(out, '{');
        add_name(out, g->b ? "write" : "read", quote);
        ml_text_fmt(out, ", %lld}", (long long)g->i);
        return;
    case ML_P_BOOL: ml_text_add(out, g->b ? "true" : "false"); return;
    case ML_P_STRING:
    case ML_P_SCOPE:
    case ML_P_THREAD:
    case ML_P_KEY:
    case ML_P_NAME: add_name(out, g->s ? g->s : "", quote || !g->s || !*g->s); return;
    case ML_P_VALUE:
    case ML_P_INTS:
    case ML_P_FLOATS:
    case ML_P_DECISION:
        if (g->value)
            add_value(out, g->value);
        return;
    case ML_P_PAD:
    case ML_P_MAP:
        if (pa->kind == ML_P_PAD && g->value)
            add_value(out, g->value);
        if (g->map) { /* aside: a run that has a child of the program's context may ask */
            ml_Ctx *cx = ml_ctx_fork(s->space->cx);

            ml_map_lua(cx, out, g->map);
            ml_ctx_unref(cx);
        }
        return;
    }
}

/* A call with display names; quote: names in quotes. */
static void write_call(ml_Schedule *s, ml_Text *out, const ml_Primitive *prim,
                       const ml_Given *args, const ml_Value *decision, bool quote)
{
    size_t last = 0;
    bool named = false, list_before = false, table;

    for (size_t k = 0; k < prim->n_params; k++) {
        bool shown = args[k].given && prim->params[k].kind != ML_P_DECISION;

        if (shown && k > last)
            named = true; /* a parameter before it was left out */
        if (shown && list_before)
            named = true;
        if (shown)
            last = k + 1;
        list_before |= prim->params[k].kind == ML_P_LOOPS;
    }
    table = named || (decision && prim->has_decision);
    ml_text_add(out, prim->name);
    ml_text_char(out, table ? '{' : '(');
    for (size_t k = 0, n = 0; k < last; k++) {
        if (!args[k].given)
            continue;
        if (prim->params[k].kind == ML_P_LOOPS && args[k].n == 0)
            continue;
        if (n++)
            ml_text_add(out, ", ");
        if (table && prim->params[k].kind != ML_P_LOOPS)
            ml_text_fmt(out, "%s = ", prim->params[k].name);
        add_arg(s, out, &prim->params[k], &args[k], quote);
    }
    if (decision && prim->has_decision) {
        ml_text_add(out, last ? ", decision = " : "decision = ");
        add_value(out, decision);
    }
    ml_text_char(out, table ? '}' : ')');
}

/* ---- of a version */

static const char *keep(ml_Schedule *s, ml_Text *t)
{
    const char *z = ml_strdup(s->space->home, (ml_Str){ml_text_z(t), t->n});

    ml_text_free(t);
    return z;
}

static const char *line(ml_Schedule *s, int version, bool quote)
{
    ml_Version *v = &s->v[version];
    ml_Text t = {0};

    /* A call names things as they were called before it. */
    ml_names_ensure(s, version);
    ml_names_ensure(s, v->parent >= 0 && s->v[v->parent].known ? v->parent : version);
    write_call(s, &t, v->prim, v->args, NULL, quote);
    return keep(s, &t);
}

const char *ml_step_line(ml_Schedule *s, int version)
{
    if (!s->v[version].line && s->v[version].prim)
        s->v[version].line = line(s, version, true);
    return s->v[version].line;
}

const char *ml_step_plain_line(ml_Schedule *s, int version)
{
    if (!s->v[version].plain_line && s->v[version].prim)
        s->v[version].plain_line = line(s, version, false);
    return s->v[version].plain_line;
}

/* The buffer that an argument counts, in the program before the step; NULL: none. */
static const ml_Buffer *buffer_arg(const ml_Call *c, ml_Program before, size_t k)
{
    ml_ParamKind kind = (ml_ParamKind)c->prim->params[k].kind;

    if (kind != ML_P_READ_BUFFER && kind != ML_P_WRITE_BUFFER && kind != ML_P_BUFFER)
        return NULL;
    bool write = kind == ML_P_WRITE_BUFFER || (kind == ML_P_BUFFER && c->args[k].b);

    for (size_t m = 0; m < c->prim->n_params; m++) {
        const ml_Stmt *st = c->prim->params[m].kind == ML_P_BLOCK
                                ? ml_index_node(before.index, c->args[m].uid)
                                : NULL;

        if (!st)
            continue;
        const ml_Block *b = ml_as_block(st);
        const ml_Region *v = write ? b->writes : b->reads;
        size_t n = write ? b->n_writes : b->n_reads;

        return c->args[k].i >= 0 && (size_t)c->args[k].i < n ? v[c->args[k].i].buffer
                                                             : NULL;
    }
    return NULL;
}

/* Nodes and texts among the arguments; factors and sizes show in the results. A copied
 * buffer stands for itself: the block that reads it and the scope show in the results. */
static void describe_args(const ml_Call *c, ml_Program before, ml_Text *out)
{
    bool caching = ml_streq(c->prim->group, "caching");
    size_t n = 0;

    for (size_t k = 0; k < c->prim->n_params; k++) {
        const ml_Param *pa = &c->prim->params[k];
        const ml_Buffer *buf = buffer_arg(c, before, k);

        if (!c->args[k].given || pa->kind == ML_P_FACTORS || pa->kind == ML_P_DECISION)
            continue;
        if (pa->kind == ML_P_LOOPS && c->args[k].n == 0)
            continue;
        if (pa->kind == ML_P_BOOL && pa->optional && c->args[k].b == (pa->def != 0))
            continue;
        if (caching && (pa->kind == ML_P_BLOCK || pa->kind == ML_P_SCOPE))
            continue;
        bool at =
            k > 0 && pa->kind == ML_P_LOOP && c->prim->params[k - 1].kind == ML_P_BLOCK;

        if (n++)
            ml_text_add(out, at || pa->kind == ML_P_LOOP_OR_MARK ? " at " : ", ");
        if (pa->kind == ML_P_BOOL)
            ml_text_fmt(out, "%s = ", pa->name);
        if (buf)
            add_node(c->sched, out, buf->uid, false);
        else
            add_arg(c->sched, out, pa, &c->args[k], false);
    }
}

/* (4 MiB) behind the block that fills or empties a copy. */
static void describe_size(const ml_Call *c, const ml_Stmt *st, ml_Text *out)
{
    const ml_Block *b = ml_as_block(st);
    bool read = ml_streq(c->prim->name, "cache_read");
    size_t n = read ? b->n_writes : b->n_reads;
    const ml_Buffer *buf = n ? (read ? b->writes : b->reads)[0].buffer : NULL;
    int64_t size = buf ? ml_buffer_const_size(buf) : -1;

    if (size < 0)
        return;
    size *= (int64_t)ml_dtype_bytes(buf->type);
    if (size >= 1 << 20)
        ml_text_fmt(out, " (%.3g MiB)", (double)size / (1 << 20));
    else if (size >= 1 << 10)
        ml_text_fmt(out, " (%.3g KiB)", (double)size / (1 << 10));
    else
        ml_text_fmt(out, " (%d B)", (int)size);
}

static void describe_results(const ml_Call *c, ml_Text *out)
{
    const ml_Results *r = &c->results;
    const ml_Handle *h = r->more ? r->more : r->v;

    for (size_t k = 0; k < r->n; k++) {
        const ml_Stmt *st = ml_index_node(c->p.index, h[k].uid);

        ml_text_add(out, k == 0 ? " → " : h[k].kind == ML_H_LOOP ? " " : ", ");
        add_node(c->sched, out, h[k].uid, false);
        if (st && st->kind == ML_STMT_FOR) {
            const ml_Expr *extent = ml_as_for(st)->extent;

            ml_text_char(out, '[');
            if (ml_is_const_int(extent)) /* without its dtype */
                ml_text_int(out, extent->as.i);
            else
                ml_print_expr(c->cx, out, extent,
                              &(ml_PrintOpts){.spelling = -1,
                                              .plain = true,
                                              .names = ml_schedule_names(c->sched)});
            ml_text_char(out, ']');
        } else if (st && st->kind == ML_STMT_BLOCK && ml_streq(c->prim->group, "caching"))
            describe_size(c, st, out);
    }
}

/* Blocks among the arguments that the step gave another name. */
static bool was_renamed(const ml_Rename *before, const ml_Rename *r)
{
    for (; before; before = before->next)
        if (before->uid == r->uid && ml_streq(before->display, r->display))
            return true;
    return false;
}

static void describe_renamed(const ml_Call *c, const ml_Rename *before,
                             const ml_Rename *now, ml_Text *out)
{
    for (size_t k = 0; k < c->prim->n_params; k++)
        for (const ml_Rename *r = now; r; r = r->next)
            if (c->prim->params[k].kind == ML_P_BLOCK && r->uid == c->args[k].uid &&
                !was_renamed(before, r))
                ml_text_fmt(out, ", %s", r->display);
}

const char *ml_step_headline(ml_Schedule *s, int version)
{
    ml_Version *v = &s->v[version];
    ml_Text t = {0};

    if (v->headline || !v->prim)
        return v->headline;
    ml_names_ensure(s, version);

    ml_Ctx *tmp = ml_ctx_new(0);
    ml_Call c = {.cx = tmp, .sched = s, .prim = v->prim, .p = v->p, .args = v->args};

    c.func = s->func;
    c.decision = v->decision;
    ml_call_return_handles(&c, v->results, v->n_results, v->result_list);
    ml_text_fmt(&t, "%s  ", v->prim->name);
    int parent = v->parent >= 0 && s->v[v->parent].known ? v->parent : version;

    if (v->prim->describe)
        v->prim->describe(&c, s->v[parent].p, &t);
    else {
        const ml_Rename *before = s->v[parent].renames;

        ml_names_ensure(s, parent);
        describe_args(&c, s->v[parent].p, &t);
        ml_names_ensure(s, version);
        describe_results(&c, &t);
        if (c.results.n > 0)
            describe_renamed(&c, before, v->renames, &t);
    }
    ml_ctx_unref(tmp);
    v->headline = keep(s, &t);
    return v->headline;
}
