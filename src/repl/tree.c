/*
 * tree - the loop tree as text: extents, kinds, and what each loop touches.
 * Source: interaction 5.
 */
#include "repl/footprint.h"
#include "repl/session.h"

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
            ml_text_fmt(t->out, " %s", f->thread);
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
    }
}

void ml_show_tree(ml_Session *ss, ml_Schedule *s, int version, ml_Text *out)
{
    Tree t = {.s = s, .out = out, .cx = ml_ctx_new(0)};

    draw(ss, &t, version);
    ml_ctx_unref(t.cx);
}

/* ---- what the loops touch */

/* `A 4 KiB, C ≤ 2 MiB`, as many as fit between the columns. */
static void add_sizes(Tree *t, ml_Session *ss, ml_Program p, const LoopLine *l,
                      size_t column, ml_Text *out)
{
    ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(t->s));
    size_t at = column, width = (size_t)ss->out.width;
    ml_Footprints v = {0};

    ml_ctx_set_limit(cx, 0);
    ml_footprints(cx, p, l->loop, &v);
    for (size_t k = 0; k < v.n; k++) {
        ml_Text one = {0};
        size_t more = k + 1 < v.n ? 3 : 0; /* room for `, …` */

        ml_text_fmt(&one, "%s%s ", k ? ", " : "", tree_name(t, v.v[k].buffer->uid));
        if (v.v[k].bytes < 0)
            ml_text_char(&one, '?');
        else {
            ml_text_add(&one, v.v[k].exact ? "" : ss->out.ascii ? "<= " : "≤ ");
            ml_text_bytes(&one, v.v[k].bytes);
        }
        if (at + ml_columns(ml_text_z(&one)) + more > width) {
            if (k > 0)
                ml_text_add(out, ss->out.ascii ? ".." : ", …");
            ml_text_free(&one);
            break;
        }
        if (k == 0)
            ml_text_repeat(out, ' ', column - l->columns);
        ml_text_add(out, ml_text_z(&one));
        at += ml_columns(ml_text_z(&one));
        ml_text_free(&one);
    }
    ml_ctx_unref(cx);
}

void ml_show_tree_sizes(ml_Session *ss, ml_Schedule *s, int version, ml_Text *out)
{
    enum { GAP = 3, FAR = 40 }; /* one long line does not push all the others away */
    ml_Program p = ml_version_program(s, version);
    ml_Text text = {0};
    Tree t = {.s = s, .out = &text, .cx = ml_ctx_new(0)};
    size_t column = 0, at = 0;

    draw(ss, &t, version);
    for (size_t k = 0; k < t.loops.n; k++)
        if (t.loops.v[k].columns + GAP > column && t.loops.v[k].columns < FAR)
            column = t.loops.v[k].columns + GAP;
    for (size_t k = 0; k < t.loops.n; k++) {
        const LoopLine *l = &t.loops.v[k];

        ml_text_addn(out, text.p + at, l->end - at);
        add_sizes(&t, ss, p, l, l->columns + GAP > column ? l->columns + GAP : column, out);
        at = l->end;
    }
    if (text.n > at)
        ml_text_addn(out, text.p + at, text.n - at);
    ml_text_free(&text);
    ml_ctx_unref(t.cx);
}
