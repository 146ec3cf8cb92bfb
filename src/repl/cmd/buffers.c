/*
 * cmd_buffers - :buffers, who holds what and who touches it, and :deps, who uses whose
 * results. Source: interaction 4, 10 (pane 4).
 */
#include "moonloop/core/json/data.h"
#include "moonloop/work/fact/fact.h"
#include "repl/command/command.h"
#include "repl/graph/graph.h"
#include "repl/show/footprint.h"
#include "repl/show/show.h"

/* ---------------------------------------------------------------- :buffers */

typedef struct Users { /* display names of blocks, each once */
    ML_VEC(const char *) v;
} Users;

typedef struct Row {
    const ml_Buffer *b;
    const char *name, *role, *of; /* of: the buffer that a view shows a part of, or NULL */
    const char *shape, *bytes, *type;
    int64_t n_bytes; /* -1: not constant */
    Users writers, readers;
} Row;

typedef struct Table {
    ml_Ctx *cx;
    ml_Schedule *s;
    ML_VEC(Row) v;
} Table;

static int64_t bytes_of(const ml_Buffer *b)
{
    int64_t n = (int64_t)ml_dtype_bytes(b->type);

    for (uint16_t d = 0; d < b->rank; d++)
        if (!ml_is_const_int(b->shape[d]) ||
            __builtin_mul_overflow(n, b->shape[d]->as.i, &n))
            return -1;
    return n;
}

/* The text so far as one of the table's; it is empty again. */
static const char *cut(Table *t, ml_Text *text)
{
    const char *z = ml_strdup(t->cx, ml_str(ml_text_z(text)));

    ml_text_clear(text);
    return z;
}

static void add_buffer(Table *t, const ml_Buffer *b, const char *role, const char *of)
{
    ml_PrintOpts o = {.spelling = -1, .plain = true, .names = ml_schedule_names(t->s)};
    ml_Text text = {0};
    Row r = {.b = b, .role = role, .of = of, .name = ml_name_of(t->s, b->uid)};

    for (size_t k = 0; k < t->v.n; k++)
        if (t->v.v[k].b->uid == b->uid)
            return;
    ml_text_char(&text, '[');
    for (uint16_t d = 0; d < b->rank; d++) {
        ml_text_add(&text, d ? ", " : "");
        ml_print_expr(t->cx, &text, b->shape[d], &o);
    }
    ml_text_char(&text, ']');
    r.shape = cut(t, &text);
    r.n_bytes = bytes_of(b);
    if (r.n_bytes >= 0)
        ml_text_bytes(&text, r.n_bytes);
    else
        ml_text_add(&text, "symbolic");
    r.bytes = cut(t, &text);
    ml_dtype_print(&text, b->type);
    r.type = cut(t, &text);
    ml_text_free(&text);
    ml_push(t->cx, &t->v, r);
}

static void add_user(Table *t, Users *u, const char *name)
{
    for (size_t k = 0; k < u->v.n; k++)
        if (ml_streq(u->v.v[k], name))
            return;
    ml_push(t->cx, &u->v, name);
}

static Row *row_of(Table *t, const ml_Buffer *b)
{
    for (size_t k = 0; k < t->v.n; k++)
        if (t->v.v[k].b->uid == b->uid)
            return &t->v.v[k];
    return NULL;
}

/* Innermost blocks touch; those around them pass on what they sign. */
static void add_users(Table *t, const ml_Block *b)
{
    const char *name = ml_name_of(t->s, b->tag);

    for (uint32_t k = 0; k < b->n_reads; k++) {
        Row *r = row_of(t, b->reads[k].buffer);

        if (r)
            add_user(t, &r->readers, name);
    }
    for (uint32_t k = 0; k < b->n_writes; k++) {
        Row *r = row_of(t, b->writes[k].buffer);

        if (r)
            add_user(t, &r->writers, name);
    }
}

static void visit_stmt(const ml_Stmt *st, bool in_init, void *user)
{
    Table *t = user;

    if (st->kind == ML_STMT_ALLOC || st->kind == ML_STMT_DECL)
        add_buffer(t, ml_as_alloc(st)->buffer, "local", NULL);
    if (in_init)
        return;
    if (st->kind == ML_STMT_BLOCK) {
        const ml_Block *b = ml_as_block(st);
        ml_StmtVec inner = {0};

        for (uint32_t k = 0; k < b->n_allocs; k++)
            add_buffer(t, b->allocs[k], "local", NULL);
        for (uint32_t k = 0; k < b->n_matches; k++)
            add_buffer(t, b->matches[k].target, "view",
                       ml_name_of(t->s, b->matches[k].source.buffer->uid));
        ml_child_blocks(t->cx, &b->base, &inner);
        if (inner.n == 0)
            add_users(t, b);
    }
    ml_stmt_children(st, visit_stmt, t);
}

static void look_in(Table *t, const ml_Func *f)
{
    for (uint32_t k = 0; k < f->n_params; k++)
        if (f->params[k].buffer)
            add_buffer(t, f->params[k].buffer, "argument", NULL);
    if (f->body)
        visit_stmt(f->body, false, t);
}

static const char *names_of(Table *t, const Users *u)
{
    ml_Text out = {0};

    for (size_t k = 0; k < u->v.n; k++)
        ml_text_fmt(&out, "%s%s", k ? ", " : "", u->v.v[k]);
    const char *z = out.n ? cut(t, &out) : "-";

    ml_text_free(&out);
    return z;
}

static void tell_names(ml_Data *d, const char *key, const Users *u)
{
    ml_data_list(d, key);
    for (size_t k = 0; k < u->v.n; k++)
        ml_data_str(d, NULL, u->v.v[k]);
    ml_data_end(d);
}

static void tell_writers(ml_Data *d, const char *key, const void *s)
{
    tell_names(d, key, &((const Row *)s)->writers);
}

static void tell_readers(ml_Data *d, const char *key, const void *s)
{
    tell_names(d, key, &((const Row *)s)->readers);
}

static void tell_shape(ml_Data *d, const char *key, const void *s)
{
    const Row *r = s;

    ml_data_list(d, key);
    for (uint16_t k = 0; k < r->b->rank; k++)
        if (ml_is_const_int(r->b->shape[k]))
            ml_data_int(d, NULL, r->b->shape[k]->as.i);
        else
            ml_data_str(d, NULL, "symbolic");
    ml_data_end(d);
}

#define ML_FIELDS       "repl/cmd/buffers.def"
#define ML_FIELDS_TABLE ml_buffer_fields
#define ML_FIELDS_NAME  "buffers"
#define ML_FIELDS_WHAT  "a buffer"
#include "moonloop/core/json/field_table.def"

static void pad(ml_Text *out, const char *z, size_t width)
{
    size_t n = ml_columns(z);

    ml_text_add(out, z);
    ml_text_repeat(out, ' ', n < width ? width - n : 0);
}

/* What the columns of a table need. */
typedef struct Widths {
    size_t name, shape, type, bytes, role, writers;
} Widths;

static void widen(size_t *w, const char *z)
{
    size_t n = ml_columns(z);

    *w = n > *w ? n : *w;
}

static const char *role_of(Table *t, const Row *r)
{
    bool global = ml_is_scope(r->b->scope, ML_SCOPE_GLOBAL);

    return r->of    ? ml_format(t->cx, "view of %s", r->of)
           : global ? r->role
                    : ml_format(t->cx, "%s, %s", r->role, r->b->scope.name);
}

static void add_row(Table *t, const Row *r, const Widths *w, ml_Text *out)
{
    pad(out, r->name, w->name + 2);
    pad(out, r->shape, w->shape + 2);
    pad(out, r->type, w->type + 2);
    ml_text_fmt(out, "%*s  ", (int)w->bytes, r->bytes);
    pad(out, role_of(t, r), w->role + 2);
    pad(out, names_of(t, &r->writers), w->writers + 2);
    ml_text_fmt(out, "%s\n", names_of(t, &r->readers));
}

static void add_head(const Widths *w, ml_Text *out)
{
    pad(out, "buffer", w->name + 2);
    pad(out, "shape", w->shape + 2);
    pad(out, "dtype", w->type + 2);
    ml_text_fmt(out, "%*s  ", (int)w->bytes, "size");
    pad(out, "role", w->role + 2);
    pad(out, "written by", w->writers + 2);
    ml_text_add(out, "read by\n");
}

bool cmd_buffers(ml_Session *ss, const ml_Words *w)
{
    const ml_Module *m = ml_schedule_program(ss->focus).mod;
    const ml_Func *f = ml_schedule_func(ss->focus);
    Table t = {.s = ss->focus};
    ml_Data *d = ml_session_data(ss);
    Widths wide = {6, 5, 5, 4, 4, 10}; /* of the heads */
    ml_Text out = {0};

    if (w->n > 0)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                ":buffers takes no argument; :memory BUFFER looks at one");
    t.cx = ml_ctx_new(0);
    for (uint32_t k = 0; k < m->n; k++)
        if (!f || m->funcs[k] == f)
            look_in(&t, m->funcs[k]);
    for (size_t k = 0; k < t.v.n; k++) {
        Row *r = &t.v.v[k];

        widen(&wide.name, r->name);
        widen(&wide.shape, r->shape);
        widen(&wide.type, r->type);
        widen(&wide.bytes, r->bytes);
        widen(&wide.role, role_of(&t, r));
        widen(&wide.writers, names_of(&t, &r->writers));
    }
    if (t.v.n > 0)
        add_head(&wide, &out);
    for (size_t k = 0; k < t.v.n; k++) {
        add_row(&t, &t.v.v[k], &wide, &out);
        ml_data_row(d);
        ml_data_fields(d, &ml_buffer_fields, &t.v.v[k]);
    }
    ml_page_prose(ss, out.n ? ml_text_z(&out) : "no buffers\n");
    ml_text_free(&out);
    ml_ctx_unref(t.cx);
    return true;
}

/* ---------------------------------------------------------------- :deps */

typedef struct Edges {
    ml_Session *ss;
    ml_Ctx *cx;
    ml_Data *d;
    ml_Text *out;
    const char *scope;
    size_t n;
    size_t from, to; /* widths of the names in this scope */
} Edges;

typedef struct Edge { /* texts */
    const char *kind, *from, *to, *buffer, *scope;
} Edge;

#define ML_FIELDS       "repl/cmd/deps.def"
#define ML_FIELDS_TABLE ml_dep_fields
#define ML_FIELDS_NAME  "deps"
#define ML_FIELDS_WHAT  "what a block needs of another"
#include "moonloop/core/json/field_table.def"

static void measure_edge(const ml_Block *from, const ml_Block *to, const ml_Buffer *b,
                         ml_DepKind kind, void *user)
{
    Edges *e = user;

    (void)b;
    (void)kind;
    widen(&e->from, ml_name_of(e->ss->focus, from->tag));
    widen(&e->to, ml_name_of(e->ss->focus, to->tag));
}

static void add_edge(const ml_Block *from, const ml_Block *to, const ml_Buffer *b,
                     ml_DepKind kind, void *user)
{
    Edges *e = user;
    ml_Schedule *s = e->ss->focus;

    const Edge one = {ml_dep_name(kind), ml_name_of(s, from->tag), ml_name_of(s, to->tag),
                      ml_name_of(s, b->uid), e->scope};

    if (e->n++ == 0)
        ml_text_fmt(e->out, "in %s\n", e->scope);
    ml_text_fmt(e->out, "  %s  ", one.kind);
    pad(e->out, one.from, e->from);
    ml_text_add(e->out, " → ");
    pad(e->out, one.to, e->to);
    ml_text_fmt(e->out, "  %s\n", one.buffer);
    ml_data_row(e->d);
    ml_data_fields(e->d, &ml_dep_fields, &one);
}

static void edges_of(Edges *e, const ml_Block *scope)
{
    ml_StmtVec v = {0};

    ml_child_blocks(e->cx, &scope->base, &v);
    e->scope = ml_name_of(e->ss->focus, scope->tag);
    e->n = e->from = e->to = 0;
    ml_dep_edges(&v, measure_edge, e);
    ml_dep_edges(&v, add_edge, e);
    for (size_t k = 0; k < v.n; k++)
        edges_of(e, ml_as_block(v.v[k]));
}

bool cmd_deps(ml_Session *ss, const ml_Words *w)
{
    const ml_Module *m = ml_schedule_program(ss->focus).mod;
    const ml_Func *f = ml_schedule_func(ss->focus);
    ml_Text out = {0};
    Edges e = {.ss = ss, .d = ml_session_data(ss), .out = &out};

    if (w->n > 0)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                ":deps takes no argument; :graph deps FILE draws it");
    e.cx = ml_ctx_new(0);
    for (uint32_t k = 0; k < m->n; k++)
        if ((!f || m->funcs[k] == f) && ml_func_root(m->funcs[k]))
            edges_of(&e, ml_func_root(m->funcs[k]));
    ml_page_prose(ss, out.n ? ml_text_z(&out)
                            : "no block uses what another has written or read\n");
    ml_text_free(&out);
    ml_ctx_unref(e.cx);
    return true;
}
