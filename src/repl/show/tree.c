/*
 * tree - the loop tree as text: extents, kinds, what each loop computes and touches.
 * Source: interaction 5.
 */
#include "repl/session/session.h"
#include "repl/show/footprint.h"
#include "repl/show/show.h"

typedef struct LoopLine { /* where the line of a loop ends in the text */
    ml_Uid loop;
    size_t end, columns;
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
        size_t from = t->out->n;

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
        ml_push(t->cx, &t->loops,
                ((LoopLine){f->var->uid, t->out->n, ml_columns(ml_text_z(t->out) + from)}));
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

/* The counts of the functions that are drawn. */
typedef struct Facts {
    ml_Session *ss;
    Tree *t;
    ml_Ctx *cx;
    const ml_LoopFacts **of; /* by line */
    size_t flops;            /* columns */
} Facts;

/* Nothing where nothing is computed, or the room is for what is touched. */
static void text_flops(Facts *f, ml_Number n, ml_Text *out)
{
    if ((n.how == ML_EXACT && !n.expr && n.n == 0) || f->ss->out.width < 60)
        return;
    ml_text_number(f->cx, out, n, ML_UNIT_SHORT, f->t->names, f->ss->out.ascii);
    if (n.how == ML_UNKNOWN || n.expr || n.n < 1000)
        ml_text_char(out, ' ');
    ml_text_add(out, "FLOP");
}

static void find_facts(Facts *f, ml_Program p)
{
    enum { WIDE = 16 };
    Tree *t = f->t;
    ml_Map *at = ml_map_new(t->cx);
    uint32_t func = UINT32_MAX;

    f->of = ML_ARRAY(t->cx, const ml_LoopFacts *, t->loops.n + 1);
    for (size_t k = 0; k < t->loops.n; k++)
        ml_map_set(t->cx, at, t->loops.v[k].loop, (const void *)(uintptr_t)(k + 1));
    for (size_t k = 0; k < t->loops.n; k++) {
        uint32_t in = ml_index_func(p.index, t->loops.v[k].loop);
        ml_Counts c;

        if (in == func)
            continue;
        func = in;
        if (!ml_counts(f->cx, p, in, &c))
            return;
        for (size_t j = 0; j < c.n; j++) {
            uintptr_t line = (uintptr_t)ml_map_get(at, c.loops[j].loop->var->uid);
            ml_Text one = {0};

            if (!line)
                continue;
            f->of[line - 1] = &c.loops[j];
            text_flops(f, c.loops[j].flops, &one);
            size_t n = ml_columns(ml_text_z(&one));

            f->flops = n > f->flops && n <= WIDE ? n : f->flops;
            ml_text_free(&one);
        }
    }
}

/* `524 kFLOP  A 4 KiB, C ≤ 2 MiB`, as many as fit between the columns. */
static void add_facts(Facts *fs, const ml_LoopFacts *f, const LoopLine *l, size_t column,
                      ml_Text *out)
{
    ml_Session *ss = fs->ss;
    size_t width = (size_t)ss->out.width, at, n;
    ml_Text all = {0}, one = {0};

    if (!f)
        return;
    text_flops(fs, f->flops, &one);
    n = ml_columns(ml_text_z(&one));
    ml_text_repeat(&all, ' ', n < fs->flops ? fs->flops - n : 0);
    ml_text_add(&all, ml_text_z(&one));
    if (fs->flops)
        ml_text_add(&all, "  ");
    at = column + ml_columns(ml_text_z(&all));
    for (uint32_t k = 0; k < f->n_touched; k++) {
        size_t more = k + 1 < f->n_touched ? 3 : 0; /* room for `, …` */

        ml_text_clear(&one);
        ml_text_fmt(&one, "%s%s ", k ? ", " : "",
                    tree_name(fs->t, f->touched[k].buffer->uid));
        ml_text_number(fs->cx, &one, f->touched[k].bytes, ML_UNIT_BYTES, fs->t->names,
                       ss->out.ascii);
        n = ml_columns(ml_text_z(&one));
        if (at + n + more > width) {
            if (k > 0)
                ml_text_add(&all, ss->out.ascii ? ".." : ", …");
            break;
        }
        ml_text_add(&all, ml_text_z(&one));
        at += n;
    }
    while (all.n > 0 && all.p[all.n - 1] == ' ')
        all.n--;
    if (all.n > 0 && column + ml_columns(ml_text_z(&all)) <= width) {
        ml_text_repeat(out, ' ', column - l->columns);
        ml_text_add(out, ml_text_z(&all));
    }
    ml_text_free(&one);
    ml_text_free(&all);
}

void ml_show_tree_sizes(ml_Session *ss, ml_Schedule *s, int version, ml_Text *out)
{
    enum { GAP = 3, FAR = 40 }; /* one long line does not push all the others away */
    ml_Program p = ml_version_program(s, version);
    ml_Text text = {0};
    Tree t = {.s = s, .out = &text, .cx = ml_ctx_new(0)};
    Facts f = {.ss = ss, .t = &t, .cx = ml_ctx_fork(ml_schedule_ctx(s))};
    size_t column = 0, at = 0;

    ml_ctx_set_limit(f.cx, 0);
    draw(ss, &t, version);
    find_facts(&f, p);
    for (size_t k = 0; k < t.loops.n; k++)
        if (t.loops.v[k].columns + GAP > column && t.loops.v[k].columns < FAR)
            column = t.loops.v[k].columns + GAP;
    for (size_t k = 0; k < t.loops.n; k++) {
        const LoopLine *l = &t.loops.v[k];

        ml_text_addn(out, text.p + at, l->end - at);
        add_facts(&f, f.of[k], l, l->columns + GAP > column ? l->columns + GAP : column,
                  out);
        at = l->end;
    }
    if (text.n > at)
        ml_text_addn(out, text.p + at, text.n - at);
    ml_text_free(&text);
    ml_ctx_unref(f.cx);
    ml_ctx_unref(t.cx);
}
