/*
 * handles - what a handle names now: alive, ended by which step, the value of a number.
 *
 * A handle is an identity number; it is alive when the current version's index has it. The
 * step that ended it is found on the way from the current version to the start.
 * Source: primitives 1.3, interaction 3.
 */
#include "moonloop/primitives/schedule/schedule_impl.h"

#include <stdarg.h>

bool ml_bad_argument(ml_Ctx *cx, const char *fmt, ...)
{
    ml_Text t = {0};
    va_list ap;

    va_start(ap, fmt);
    ml_text_vfmt(&t, fmt, ap);
    va_end(ap);
    ml_fail(cx, ML_E_BAD_ARGUMENT, ML_TEXT(ml_text_z(&t)));
    ml_text_free(&t);
    return false;
}

static const ml_Symbol *find_symbol(const ml_Space *sp, ml_Uid uid)
{
    return ml_map_get(sp->symbols, uid);
}

/* The symbol's variable lives in the context of programs, since traces mention it; the
 * table entry may outlive a failed call, after which no handle has that number. */
ml_Handle ml_symbol_new(ml_Schedule *s, int64_t value)
{
    ml_Space *sp = s->space;
    const ml_Var *v = ml_var_new(sp->cx, "v", ML_DT_I32);
    ml_Symbol *y = ML_NEW(sp->home, ml_Symbol);

    y->var = ml_var(sp->cx, v);
    y->value = value;
    ml_map_set(sp->home, sp->symbols, v->uid, y);
    sp->n_symbols++;
    return (ml_Handle){ML_H_EXPR, v->uid};
}

bool ml_handle_value(ml_Schedule *s, ml_Handle h, int64_t *out)
{
    const ml_Symbol *y = h.kind == ML_H_EXPR ? find_symbol(s->space, h.uid) : NULL;

    if (y && out)
        *out = y->value;
    return y != NULL;
}

const ml_Expr *ml_handle_symbol(ml_Schedule *s, ml_Handle h)
{
    const ml_Symbol *y = h.kind == ML_H_EXPR ? find_symbol(s->space, h.uid) : NULL;

    return y ? y->var : NULL;
}

typedef struct Eval {
    ml_Space *sp;
    bool unknown;
} Eval;

static const ml_Expr *eval_node(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    Eval *ev = user;

    if (e->kind == ML_EXPR_VAR) {
        const ml_Symbol *y = find_symbol(ev->sp, e->as.var->uid);

        if (!y) {
            ev->unknown = true;
            return e;
        }
        return ml_int(cx, e->type, y->value);
    }
    return ml_expr_map_args(cx, e, eval_node, user);
}

bool ml_eval_symbols(ml_Schedule *s, const ml_Expr *e, const char *what, int64_t *out)
{
    Eval ev = {.sp = s->space};
    ml_Ctx *cx = s->space->cx;

    if (!ml_dtype_is_int(e->type) || e->type.lanes != 1)
        return ml_bad_argument(cx, "%s: an integer expression is needed", what);
    const ml_Expr *v = eval_node(cx, e, &ev);

    if (ev.unknown)
        return ml_bad_argument(
            cx,
            "%s: the expression uses a variable that is no handle of this "
            "schedule",
            what);
    if (!ml_is_const_int(v)) {
        ml_Arith *ar = ml_arith_new(cx);

        v = ml_simplify(ar, v);
    }
    if (!ml_is_const_int(v))
        return ml_bad_argument(cx, "%s: the expression has no constant value", what);
    *out = v->as.i;
    return true;
}

/* ---- loops and blocks */

bool ml_handle_alive(ml_Schedule *s, ml_Handle h)
{
    switch ((ml_HandleKind)h.kind) {
    case ML_H_NONE: return true;
    case ML_H_BLOCK:
    case ML_H_LOOP: return ml_index_node(s->v[s->cur].p.index, h.uid) != NULL;
    case ML_H_EXPR: return find_symbol(s->space, h.uid) != NULL;
    case ML_H_INLINE_MARK:
    case ML_H_ROOT_MARK: return true;
    }
    return false;
}

static bool ended_here(const ml_Version *v, ml_Uid uid)
{
    for (uint32_t k = 0; k < v->n_ended; k++)
        if (v->ended[k] == uid)
            return true;
    return false;
}

int ml_handle_ended_by(ml_Schedule *s, ml_Handle h)
{
    if ((h.kind != ML_H_BLOCK && h.kind != ML_H_LOOP) || ml_handle_alive(s, h))
        return -1;
    for (int v = s->cur; v >= 0; v = s->v[v].parent)
        if (ended_here(&s->v[v], h.uid))
            return v;
    return -1;
}

/* The first version, off the current line, whose program has it; -1: none. */
static int made_by(const ml_Schedule *s, ml_Uid uid)
{
    for (int v = 0; v < s->n_versions; v++)
        if (s->v[v].known && ml_index_node(s->v[v].p.index, uid))
            return v;
    return -1;
}

static const char *known_name(ml_Schedule *s, ml_Uid uid)
{
    const char *z = ml_name_known(s->space, uid);

    return z ? z : "?";
}

static const ml_Stmt *gone(ml_Schedule *s, ml_Handle h)
{
    ml_Ctx *cx = s->space->cx;
    const char *what = h.kind == ML_H_LOOP ? "loop" : "block";
    int by = ml_handle_ended_by(s, h);
    ml_Text t = {0};

    if (by > 0) {
        ml_names_ensure(s, s->v[by].parent);
        ml_text_fmt(&t, "%s %s ended at step %d, %s", what, known_name(s, h.uid), by,
                    ml_step_line(s, by));
    } else {
        int made = made_by(s, h.uid);

        if (made > 0) {
            ml_names_ensure(s, made);
            ml_text_fmt(&t, "%s %s belongs to step %d, %s, which was undone", what,
                        known_name(s, h.uid), made, ml_step_line(s, made));
        }
    }
    if (t.n == 0)
        ml_fail(cx, ML_E_BAD_HANDLE,
                ML_TEXT(h.kind == ML_H_LOOP ? "the loop" : "the block"));
    else
        ml_fail(cx, ML_E_EXPIRED_HANDLE, ML_TEXT(ml_text_z(&t)),
                h.kind == ML_H_LOOP ? ML_LOOP_UID(h.uid) : ML_BLOCK_UID(h.uid));
    ml_text_free(&t);
    return NULL;
}

static const char *kind_name(ml_HandleKind k)
{
    switch (k) {
    case ML_H_NONE: return "tile left free";
    case ML_H_BLOCK: return "block";
    case ML_H_LOOP: return "loop";
    case ML_H_EXPR: return "number";
    case ML_H_INLINE_MARK: return "mark to inline";
    case ML_H_ROOT_MARK: return "mark of the root";
    }
    return "handle";
}

const ml_Stmt *ml_handle_node(ml_Schedule *s, ml_Handle h, ml_HandleKind want)
{
    ml_Ctx *cx = s->space->cx;
    bool right = want == ML_H_NONE ? h.kind == ML_H_BLOCK || h.kind == ML_H_LOOP
                                   : h.kind == (uint8_t)want;

    if (!right) {
        bool node = h.kind == ML_H_BLOCK || h.kind == ML_H_LOOP;
        const char *have = kind_name((ml_HandleKind)h.kind);
        const char *need = want == ML_H_NONE ? "block or loop" : kind_name(want);

        if (node && ml_handle_alive(s, h)) {
            ml_names_ensure(s, s->cur);
            ml_fail(cx, ML_E_WRONG_HANDLE_KIND, ML_TEXT(known_name(s, h.uid)),
                    ML_TEXT(have), ML_TEXT(need));
        } else
            ml_fail(cx, ML_E_WRONG_HANDLE_KIND, ML_TEXT("the handle"), ML_TEXT(have),
                    ML_TEXT(need));
        return NULL;
    }
    const ml_Stmt *st = ml_index_node(s->v[s->cur].p.index, h.uid);

    if (st && (st->kind == ML_STMT_BLOCK) != (h.kind == ML_H_BLOCK)) {
        /* a number made up outside: no schedule gives a loop's number to a block */
        ml_fail(cx, ML_E_BAD_HANDLE,
                ML_TEXT(h.kind == ML_H_LOOP ? "the loop" : "the block"));
        return NULL;
    }
    return st ? st : gone(s, h);
}
