/*
 * tree - the loop tree as text: extents, kinds, what each loop computes and touches.
 * Source: interaction 5.
 */
#include "repl/session/session.h"
#include "repl/show/show.h"
#include "repl/show/table.h"

enum { LEAST_FLOPS = 60 }; /* of the screen: below, the room is for what is touched */

typedef struct LoopLine { /* where the line of a loop ends in the text */
    ml_Uid loop;
    size_t end;
} LoopLine;

typedef struct Tree {
    ml_Schedule *s;
    const ml_Names *names;
    ml_Ctx *cx;
    ml_Text *out;
    int depth;
    size_t pad; /* columns for the name of a block */
    ML_VEC(LoopLine) loops;
} Tree;

static const char *tree_name(Tree *t, ml_Uid uid)
{
    const char *z = t->names->map ? ml_map_get(t->names->map, uid) : NULL;

    return z ? z : "?";
}

static void tree_expr(Tree *t, const ml_Expr *e)
{
    ml_PrintOpts o = {.spelling = -1, .plain = true, .names = t->names};

    ml_print_expr(t->cx, t->out, e, &o);
}

static void tree_buffers(Tree *t, const char *what, const ml_Region *v, size_t n)
{
    for (size_t k = 0; k < n; k++)
        ml_text_fmt(t->out, "%s%s", k ? ", " : what, tree_name(t, v[k].buffer->uid));
}

static void tree_visit(const ml_Stmt *st, bool in_init, void *user)
{
    Tree *t = user;
    int depth = t->depth;

    if (in_init || !st->has_block)
        return;
    if (st->kind == ML_STMT_FOR) {
        const ml_For *f = ml_as_for(st);
        ml_text_repeat(t->out, ' ', (size_t)(2 * t->depth + 2));
        ml_text_fmt(t->out, "%s ", tree_name(t, f->var->uid));
        if (ml_is_const_int(f->extent)) /* without its dtype */
            ml_text_int(t->out, f->extent->as.i);
        else
            tree_expr(t, f->extent);
        if (f->kind == ML_FOR_THREAD)
            ml_text_fmt(t->out, " %s", f->thread.name);
        else if (f->kind != ML_FOR_SERIAL)
            ml_text_fmt(t->out, " %s", ml_for_kind_name((ml_ForKind)f->kind));
        for (size_t k = 0; k < ml_dict_count(f->annotations); k++)
            ml_text_fmt(t->out, "%s%s", k ? ", " : "   @ ", f->annotations->keys[k]);
        ml_push(t->cx, &t->loops, ((LoopLine){f->var->uid, t->out->n}));
        ml_text_char(t->out, '\n');
        t->depth++;
    } else if (st->kind == ML_STMT_BLOCK) {
        const ml_Block *b = ml_as_block(st);
        const char *name = tree_name(t, b->tag);
        size_t columns = ml_columns(name);

        ml_text_repeat(t->out, ' ', (size_t)(2 * t->depth + 2));
        ml_text_add(t->out, name);
        ml_text_repeat(t->out, ' ', columns < t->pad ? t->pad - columns : 1);
        ml_text_add(t->out, "  ");
        tree_buffers(t, "reads ", b->reads, b->n_reads);
        if (b->n_reads && b->n_writes)
            ml_text_add(t->out, ", ");
        tree_buffers(t, "writes ", b->writes, b->n_writes);
        if (!ml_is_true(b->predicate)) {
            ml_text_add(t->out, "   where ");
            tree_expr(t, b->predicate);
        }
        ml_text_char(t->out, '\n');
        t->depth++;
    }
    ml_stmt_children(st, tree_visit, t);
    t->depth = depth;
}

static void draw(ml_Session *ss, Tree *t, int version)
{
    ml_Schedule *s = t->s;
    const ml_Module *m = ml_version_program(s, version).mod;
    bool all = !ml_schedule_func(s); /* none is chosen: each under its name */
    uint32_t from = all ? 0 : ml_schedule_func_pos(s), end = all ? m->n : from + 1;

    t->pad = ss->out.width < 60 ? 0 : 16;
    t->names = ml_version_names(s, version);
    for (uint32_t k = from; k < end; k++) {
        const ml_Block *root = ml_func_root(m->funcs[k]);

        ml_text_fmt(t->out, "%s\n", m->n > 1 ? m->funcs[k]->name : ml_schedule_name(s));
        if (root)
            tree_visit(root->body, false, t);
        else
            ml_text_add(t->out, "  no blocks: nothing to schedule; :show prints it\n");
    }
}

void ml_show_tree(ml_Session *ss, ml_Schedule *s, int version, ml_Text *out)
{
    Tree t = {.s = s, .out = out, .cx = ml_ctx_new(0)};

    draw(ss, &t, version);
    ml_ctx_unref(t.cx);
}

/* ---- what the loops do */

/* The numbers of the loops that are drawn, a table for each function. */
typedef struct Facts {
    ml_Session *ss;
    Tree *t;
    ml_Ctx *cx;
    ml_Program p;
    const char *text; /* the drawing */
    ml_Text *out;
} Facts;

/* Whether it computes anything. */
static bool put_loop(const Facts *f, ml_Table *t, const ml_Counts *c, const size_t group[2],
                     ml_Uid loop)
{
    const ml_LoopFacts *l = ml_counts_of(c, loop);

    if (!l)
        return false;
    bool flops = l->flops.how != ML_EXACT || l->flops.expr || l->flops.n > 0;

    if (flops && f->ss->out.width >= LEAST_FLOPS)
        ml_table_put(t, group[0], NULL, l->flops);
    for (uint32_t k = 0; k < l->n_touched; k++)
        ml_table_put(t, group[1], tree_name(f->t, l->touched[k].buffer->uid),
                     l->touched[k].bytes);
    return flops;
}

/* The lines from there, of one function: the first one is its name. */
static const char *add_function(const Facts *f, const char *p, size_t *loop)
{
    size_t n = strcspn(p, "\n"), group[2], first = *loop;
    const char *title = ml_strdup(f->cx, (ml_Str){p, n});
    ml_Table *t = ml_table_new(f->cx, title, "loop", f->t->names, f->ss->out.ascii);
    ml_Counts c = {0};
    bool flops = false;

    group[0] = ml_table_group(t, "FLOP", ML_UNIT_SHORT, f->ss->out.width >= LEAST_FLOPS);
    group[1] = ml_table_group(t, "", ML_UNIT_BYTES, false);
    for (p += n + (p[n] == '\n'); *p == ' '; p += n + (p[n] == '\n')) {
        const LoopLine *l = *loop < f->t->loops.n ? &f->t->loops.v[*loop] : NULL;
        bool is_loop;

        n = strcspn(p, "\n");
        is_loop = l && l->end == (size_t)(p + n - f->text);
        ml_table_row(t, ml_strdup(f->cx, (ml_Str){p, n}), is_loop);
        if (!is_loop)
            continue;
        if (*loop == first &&
            !ml_counts(f->cx, f->p, ml_index_func(f->p.index, l->loop), &c))
            c = (ml_Counts){0};
        flops |= put_loop(f, t, &c, group, l->loop);
        ++*loop;
    }
    if (flops && f->ss->out.width < LEAST_FLOPS)
        ml_table_leave_out(t, 1);
    ml_table_print(t, (size_t)f->ss->out.width, false, ":counts has all", f->out);
    return p;
}

void ml_show_tree_sizes(ml_Session *ss, ml_Schedule *s, int version, ml_Text *out)
{
    ml_Text text = {0};
    Tree t = {.s = s, .out = &text, .cx = ml_ctx_new(0)};
    Facts f = {.ss = ss, .t = &t, .cx = ml_ctx_fork(ml_schedule_ctx(s)), .out = out};
    size_t loop = 0;

    f.p = ml_version_program(s, version);
    ml_ctx_set_limit(f.cx, 0);
    draw(ss, &t, version);
    f.text = ml_text_z(&text);
    for (const char *p = f.text; *p;)
        p = add_function(&f, p, &loop);
    ml_text_free(&text);
    ml_ctx_unref(f.cx);
    ml_ctx_unref(t.cx);
}
