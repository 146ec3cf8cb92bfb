/*
 * node - the program around the selected node: what requests ask of it.
 *
 * Everything is looked up in the focus's current version by number; nothing is kept.
 */
#include "repl/view/act/act_impl.h"

ml_Program ml_act_program(const ml_View *v)
{
    return v->ss->focus ? ml_schedule_program(v->ss->focus) : (ml_Program){0};
}

const ml_For *ml_act_for(const ml_View *v, ml_Uid uid)
{
    const ml_Stmt *st = ml_view_stmt(v, uid);

    return st && st->kind == ML_STMT_FOR ? ml_as_for(st) : NULL;
}

const ml_Block *ml_act_block(const ml_View *v, ml_Uid uid)
{
    const ml_Stmt *st = ml_view_stmt(v, uid);

    return st && st->kind == ML_STMT_BLOCK ? ml_as_block(st) : NULL;
}

static void tell_no_blocks(const char *name, ml_Text *why)
{
    ml_text_fmt(why,
                "%s holds no blocks: there is nothing to schedule; all panes, time and "
                "code show it",
                name);
}

bool ml_act_no_blocks(const ml_View *v, ml_Text *why)
{
    const ml_Module *m = ml_act_program(v).mod;

    for (uint32_t k = 0; m && k < m->n; k++)
        if (ml_func_root(m->funcs[k]))
            return false;
    if (!m || m->n == 0)
        return false;
    tell_no_blocks(m->n == 1 ? m->funcs[0]->name : ml_schedule_name(v->ss->focus), why);
    return true;
}

bool ml_act_in_reach(const ml_View *v, ml_Uid uid, ml_Text *why)
{
    ml_Schedule *s = v->ss->focus;
    ml_Program p = ml_schedule_program(s);
    uint32_t pos = ml_index_func(p.index, uid);
    const char *name = pos < p.mod->n ? p.mod->funcs[pos]->name : "?";

    if (pos < p.mod->n && !ml_func_root(p.mod->funcs[pos])) {
        tell_no_blocks(name, why);
        return false;
    }
    if (ml_schedule_func(s) && ml_schedule_func_pos(s) == pos)
        return true;
    ml_text_fmt(why, "%s is in function %s, which names do not mean now: s:work_on(\"%s\")",
                ml_view_name(v, uid), name, name);
    return false;
}

const ml_Block *ml_act_block_here(const ml_View *v, ml_Uid uid, ml_Text *why)
{
    const ml_Stmt *st = ml_view_stmt(v, uid);
    const ml_Block *b = ml_act_block(v, uid);
    ml_Ctx *tmp;
    ml_StmtVec below = {0};

    if (b || !st) {
        if (!st && why)
            ml_text_add(why, "no loop or block is selected");
        return b;
    }
    tmp = ml_ctx_new(0);
    ml_child_blocks(tmp, st, &below);
    if (below.n == 1)
        b = ml_as_block(below.v[0]);
    else if (why)
        ml_text_fmt(why, "%zu blocks are below loop %s: select one", below.n,
                    ml_name_of(v->ss->focus, uid));
    ml_ctx_unref(tmp);
    return b;
}

/* What stands in a loop's body instead of a loop. */
static void tell_body(const ml_View *v, const ml_For *f, ml_Text *why)
{
    ml_Schedule *s = v->ss->focus;
    const char *name = ml_name_of(s, f->var->uid);

    switch (f->body->kind) {
    case ML_STMT_SEQ:
        ml_text_fmt(why, "the body of loop %s holds %u things, not one loop", name,
                    ml_as_seq(f->body)->n);
        return;
    case ML_STMT_BLOCK:
        ml_text_fmt(why, "the body of loop %s is block %s, not a loop", name,
                    ml_name_of(s, ml_as_block(f->body)->tag));
        return;
    }
    ml_text_fmt(why, "something other than a loop stands directly in loop %s", name);
}

const ml_For *ml_act_inner(const ml_View *v, const ml_For *f, ml_Text *why)
{
    if (f->body->kind == ML_STMT_FOR && f->body->has_block)
        return ml_as_for(f->body);
    if (why)
        tell_body(v, f, why);
    return NULL;
}

const ml_For *ml_act_outer(const ml_View *v, const ml_For *f, ml_Text *why)
{
    ml_Program p = ml_act_program(v);
    ml_Uid uid = ml_index_parent(p.index, f->var->uid);
    const ml_For *out = ml_act_for(v, uid);

    if (out && out->body == &f->base)
        return out;
    if (why && out)
        tell_body(v, out, why);
    else if (why)
        ml_text_fmt(why, "loop %s is the outermost loop of its nest",
                    ml_name_of(v->ss->focus, f->var->uid));
    return NULL;
}

void ml_act_chain(const ml_View *v, ml_Ctx *cx, const ml_For *f, ml_UidVec *out)
{
    const ml_For *up;

    while ((up = ml_act_outer(v, f, NULL)) != NULL)
        f = up;
    for (; f; f = ml_act_inner(v, f, NULL))
        ml_push(cx, out, f->var->uid);
}

static bool means(const ml_View *v, const char *text, ml_HandleKind want, ml_Uid uid)
{
    ml_Schedule *s = v->ss->focus;
    ml_Handle h = {0};
    bool ok = ml_resolve(s, text, want, &h);

    ml_error_clear(ml_schedule_ctx(s));
    return ok && h.uid == uid;
}

const char *ml_act_name(const ml_View *v, ml_Ctx *cx, ml_Uid uid, ml_HandleKind want)
{
    ml_Schedule *s = v->ss->focus;
    const ml_Stmt *st = ml_view_stmt(v, uid);
    const char *name = st ? ml_name_of(s, uid) : NULL, *z = NULL;
    ml_StmtVec below = {0};

    if (!name)
        return NULL;
    if (means(v, name, want, uid))
        return ml_quoted(cx, name);
    if (st->kind != ML_STMT_FOR)
        return NULL;
    ml_child_blocks(cx, st, &below); /* a block of that name: C/k is the loop */
    for (size_t k = 0; k < below.n && !z; k++) {
        const char *path =
            ml_format(cx, "%s/%s", ml_name_of(s, ml_as_block(below.v[k])->tag), name);

        if (means(v, path, want, uid))
            z = ml_quoted(cx, path);
    }
    return z;
}

int64_t ml_act_extent(const ml_For *f)
{
    return ml_is_const_int(f->extent) ? f->extent->as.i : -1;
}

const char *ml_act_shown(const ml_View *v, ml_Ctx *cx, ml_Uid uid)
{
    const ml_For *f = ml_act_for(v, uid);
    const char *name = ml_name_of(v->ss->focus, uid);

    if (!f)
        return ml_strdup(cx, ml_str(name));
    if (ml_act_extent(f) < 0)
        return ml_format(cx, "%s[?]", name);
    return ml_format(cx, "%s[%lld]", name, (long long)ml_act_extent(f));
}

typedef struct Gather {
    ml_Ctx *cx;
    ml_UidVec *out;
    bool loops, blocks;
} Gather;

static void gather(const ml_Stmt *st, bool in_init, void *user)
{
    Gather *g = user;

    if (in_init || !st->has_block)
        return;
    if (st->kind == ML_STMT_FOR && g->loops)
        ml_push(g->cx, g->out, ml_as_for(st)->var->uid);
    if (st->kind == ML_STMT_BLOCK && g->blocks)
        ml_push(g->cx, g->out, ml_as_block(st)->tag);
    ml_stmt_children(st, gather, g);
}

void ml_act_all_nodes(const ml_View *v, ml_Ctx *cx, bool loops, bool blocks, ml_UidVec *out)
{
    const ml_Func *f = v->ss->focus ? ml_schedule_func(v->ss->focus) : NULL;
    const ml_Block *root = f ? ml_func_root(f) : NULL;
    Gather g = {cx, out, loops, blocks};

    if (root)
        gather(root->body, false, &g);
}
