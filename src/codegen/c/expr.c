/*
 * expr - expressions to texts: variables, branches, vectors, operators.
 *
 * Both arms of a select are computed; of if_then_else with a scalar condition only the one
 * taken, with a vector condition both under a mask of lanes, which loads respect. A scalar
 * that reads memory inside a masked vector is computed only if some lane is on.
 */
#include "moonloop/codegen/c/emit.h"

enum { MAX_TREE = 1 << 20, CHEAP_ARM = 16, MOST_BITS = 512, SMALL = 4 };

/* ---------------------------------------------------------------- texts */

ml_CpText ml_cp_text(ml_Cp *g, int binds, const char *fmt, ...)
{
    ml_Text t = {0};
    ml_CpText r = {NULL, binds};
    va_list ap;

    va_start(ap, fmt);
    ml_text_vfmt(&t, fmt, ap);
    va_end(ap);
    r.z = ml_strdup(g->cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return r;
}

const char *ml_cp_in(ml_Cp *g, ml_CpText t, int binds)
{
    return t.binds >= binds ? t.z : ml_format(g->cx, "(%s)", t.z);
}

const char *ml_cp_arg(ml_Cp *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    ml_CpText v = ml_cp_value(g, e, lane0, n);

    if (n && e->type.lanes <= 1)
        return ml_format(g->cx, "%s(%s)", ml_cp_splat(g, e->type, n), v.z);
    return v.z;
}

static ml_CpText nothing(ml_Cp *g, const char *why)
{
    if (!g->failed)
        ml_cp_unsupported(g, "%s in C", why);
    return (ml_CpText){"0", ML_CP_ATOM};
}

const char *ml_cp_keep(ml_Cp *g, const char *type, const char *z)
{
    const char *name = ml_cp_temp(g);

    ml_cp_line(g, "%s%s%s = %s;", type[strlen(type) - 1] == '*' ? "" : "const ",
               ml_format(g->cx, "%s%s", type, type[strlen(type) - 1] == '*' ? "" : " "),
               name, z);
    return name;
}

/* ---------------------------------------------------------------- lanes */

unsigned ml_cp_chunk(const ml_Expr *e, unsigned lane0, unsigned lanes)
{
    unsigned room = MOST_BITS / ml_code_widest(e, 32), n = 1;

    while (n * 2 <= room && n * 2 <= lanes - lane0)
        n *= 2;
    return n;
}

/* ---------------------------------------------------------------- what is shared */

typedef struct Count {
    ml_Ctx *cx;
    ml_Map *seen, *shared;
} Count;

static void count(Count *c, const ml_Expr *e)
{
    if (e->n_args == 0)
        return;
    if (ml_map_has(c->seen, e->id)) {
        if (e->size > SMALL)
            ml_map_set(c->cx, c->shared, e->id, e);
        return;
    }
    ml_map_set(c->cx, c->seen, e->id, e);
    for (size_t k = 0; k < e->n_args; k++)
        count(c, e->args[k]);
}

void ml_cp_memo_begin(ml_Cp *g, const ml_Expr *const *roots, size_t n)
{
    Count c = {g->cx, NULL, NULL};
    size_t size = 0;

    g->shared = NULL;
    for (size_t k = 0; k < n; k++)
        size += roots[k] ? roots[k]->size : 0;
    if (size < 40)
        return;
    c.seen = ml_map_new(g->cx);
    c.shared = g->shared = ml_map_new(g->cx);
    for (size_t k = 0; k < n; k++)
        if (roots[k])
            count(&c, roots[k]);
}

size_t ml_cp_memo_mark(const ml_Cp *g)
{
    return g->memo.n;
}

void ml_cp_memo_release(ml_Cp *g, size_t mark)
{
    g->memo.n = mark;
}

static bool can_share(const ml_Cp *g, const ml_Expr *e)
{
    if (!g->shared || !ml_map_has(g->shared, e->id) || e->type.code >= ML_HANDLE ||
        e->kind == ML_EXPR_LET || (e->flags & ML_X_EFFECT))
        return false;
    return g->mask == NULL || !(e->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL));
}

static const char *recall(const ml_Cp *g, const ml_Expr *e, bool index, unsigned lane0,
                          unsigned n)
{
    for (size_t k = g->memo.n; k-- > g->memo_base;) {
        const ml_CpMemo *m = &g->memo.v[k];
        if (m->e == e && m->index == index && m->lane0 == lane0 && m->n == n)
            return m->name;
    }
    return NULL;
}

/* ---------------------------------------------------------------- variables */

void ml_cp_set_var(ml_Cp *g, const ml_Var *v, ml_CpVar to)
{
    ml_CpVar *c = ML_NEW(g->cx, ml_CpVar);

    *c = to;
    ml_map_set(g->cx, g->vars, v->uid, c);
}

/* The lanes one by one, from the parts that hold them. */
static ml_CpText gathered(ml_Cp *g, ml_Dtype t, const ml_CpVar *v, unsigned lane0,
                          unsigned n)
{
    const char *type = ml_cp_type(g, t, n);
    ml_Text list = {0};
    ml_CpText r;

    for (unsigned k = lane0; k < lane0 + n; k++)
        for (size_t p = 0; p < v->n_parts; p++)
            if (k >= v->parts[p].lane0 && k < v->parts[p].lane0 + v->parts[p].n)
                ml_text_fmt(&list, "%sML_AT(%s, %u)", k > lane0 ? ", " : "",
                            v->parts[p].name, k - v->parts[p].lane0);
    r = ml_cp_text(g, ML_CP_ATOM, "((%s)ML_LIST(%s))", type, ml_text_z(&list));
    ml_text_free(&list);
    return r;
}

static ml_CpText variable(ml_Cp *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    const ml_CpVar *v = ml_map_get(g->vars, e->as.var->uid);

    if (v == NULL)
        return nothing(g, ml_format(g->cx, "the value of `%s`, which is not known here,",
                                    e->as.var->hint ? e->as.var->hint : "v"));
    if (v->wide && e->type.bits < 64)
        return ml_cp_text(g, ML_CP_UNARY, "(%s)%s", ml_cp_type(g, e->type, 0), v->name);
    if (n == 0)
        return (ml_CpText){v->name, ML_CP_ATOM};
    for (size_t p = 0; p < v->n_parts; p++)
        if (v->parts[p].lane0 == lane0 && v->parts[p].n == n)
            return (ml_CpText){v->parts[p].name, ML_CP_ATOM};
    return gathered(g, e->type, v, lane0, n);
}

/* All lanes of a vector, in parts. */
static ml_CpVar all_lanes(ml_Cp *g, const ml_Expr *e, const char *hint)
{
    unsigned lanes = e->type.lanes, n;
    ml_CpPart *parts = ML_ARRAY(g->cx, ml_CpPart, lanes);
    size_t n_parts = 0;

    for (unsigned at = 0; at < lanes && !g->failed; at += n) {
        ml_CpText v;
        const char *name;
        n = ml_cp_chunk(e, at, lanes);
        v = ml_cp_value(g, e, at, n);
        name = hint ? ml_cp_name(g, hint) : ml_cp_temp(g);
        ml_cp_line(g, "const %s %s = %s;", ml_cp_type(g, e->type, n), name, v.z);
        parts[n_parts++] = (ml_CpPart){at, n, name};
    }
    return (ml_CpVar){NULL, false, parts, n_parts};
}

void ml_cp_bind(ml_Cp *g, const ml_Var *v, const ml_Expr *value)
{
    const char *hint = v->hint ? v->hint : "v", *name;
    ml_CpText t;

    if (value->type.code == ML_HANDLE) {
        t = ml_cp_pointer(g, value);
        name = ml_cp_name(g, hint);
        ml_cp_line(g, "void *%s = (void *)(%s);", name, t.z);
        ml_map_set(g->cx, g->data, v->uid, name);
        return;
    }
    if (!ml_cp_dtype_ok(g, value->type))
        return;
    if (value->type.lanes > 1) {
        ml_cp_set_var(g, v, all_lanes(g, value, hint));
        return;
    }
    if (ml_dtype_is_index(value->type) && !(value->flags & ML_X_HAS_LOAD)) {
        t = ml_cp_index(g, value);
        name = ml_cp_name(g, hint);
        ml_cp_line(g, "const int64_t %s = %s;", name, t.z);
        ml_cp_set_var(g, v, (ml_CpVar){.name = name, .wide = true});
        return;
    }
    t = ml_cp_value(g, value, 0, 0);
    name = ml_cp_name(g, hint);
    ml_cp_line(g, "const %s %s = %s;", ml_cp_type(g, value->type, 0), name, t.z);
    ml_cp_set_var(g, v, (ml_CpVar){.name = name});
}

/* ---------------------------------------------------------------- branches */

static ml_CpText inner_condition(ml_Cp *g, const ml_Expr *c, unsigned lane0, unsigned n)
{
    bool before = g->checked;
    ml_CpText v;

    if (!(c->flags & ML_X_HAS_LOAD))
        g->checked = true;
    v = ml_cp_value(g, c, lane0, n);
    g->checked = before;
    return v;
}

typedef struct Arm { /* its value, and the statements that it needs first */
    ml_CpText v;
    ml_Text before;
} Arm;

static Arm arm_of(ml_Cp *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    Arm a = {.before = {0}};
    ml_Text *out = g->out;
    size_t scope = ml_cp_scope_open(g), mark = ml_cp_memo_mark(g);

    g->out = &a.before;
    g->depth++;
    a.v = ml_cp_value(g, e, lane0, n);
    g->depth--;
    g->out = out;
    ml_cp_memo_release(g, mark);
    ml_cp_scope_close(g, scope);
    return a;
}

/* One of two, the other is not computed; b NULL: zeros. */
static ml_CpText branch(ml_Cp *g, ml_CpText c, const ml_Expr *e, const ml_Expr *a,
                        const ml_Expr *b, unsigned lane0, unsigned n)
{
    const char *type = ml_cp_type(g, e->type, n), *t;
    const char *zero = n ? ml_format(g->cx, "((%s)ML_LIST(0))", type) : "0";
    Arm x = arm_of(g, a, lane0, n), y = {.v = {zero, ML_CP_ATOM}};
    ml_CpText r;

    if (b)
        y = arm_of(g, b, lane0, n);
    if (x.before.n == 0 && y.before.n == 0) {
        r = ml_cp_text(g, ML_CP_LOOSE, "%s ? %s : %s", ml_cp_in(g, c, ML_CP_UNARY),
                       ml_cp_in(g, x.v, ML_CP_ADD), ml_cp_in(g, y.v, ML_CP_ADD));
    } else {
        t = ml_cp_temp(g);
        ml_cp_line(g, "%s %s;", type, t);
        ml_cp_line(g, "if (%s) {", c.z);
        ml_text_add(g->out, ml_text_z(&x.before));
        ml_cp_line(g, "    %s = %s;", t, x.v.z);
        ml_cp_line(g, "} else {");
        ml_text_add(g->out, ml_text_z(&y.before));
        ml_cp_line(g, "    %s = %s;", t, y.v.z);
        ml_cp_line(g, "}");
        r = (ml_CpText){t, ML_CP_ATOM};
    }
    ml_text_free(&x.before);
    ml_text_free(&y.before);
    return r;
}

static bool cheap(const ml_Expr *e)
{
    return e->size <= CHEAP_ARM &&
           !(e->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL | ML_X_EFFECT));
}

const char *ml_cp_mask(ml_Cp *g, unsigned lane0, unsigned n)
{
    ml_Text list = {0};
    const char *z;

    if (g->mask == NULL || (g->mask_lane0 == lane0 && g->mask_n == n))
        return g->mask;
    for (unsigned k = lane0; k < lane0 + n; k++)
        if (k >= g->mask_lane0 && k < g->mask_lane0 + g->mask_n)
            ml_text_fmt(&list, "%sML_AT(%s, %u)", k > lane0 ? ", " : "", g->mask,
                        k - g->mask_lane0);
        else
            ml_text_add(&list, k > lane0 ? ", 0" : "0");
    z = ml_format(g->cx, "((%s)ML_LIST(%s))", ml_cp_type(g, ML_DT_BOOL, n),
                  ml_text_z(&list));
    ml_text_free(&list);
    return z;
}

static const char *both(ml_Cp *g, const char *mask, const char *with, unsigned n)
{
    if (mask)
        with = ml_format(g->cx, "%s(%s, %s)", ml_cp_op(g, "and", ML_DT(ML_UINT, 8), n),
                         mask, with);
    return ml_cp_keep(g, ml_cp_type(g, ML_DT_BOOL, n), with);
}

/* The value in the lanes of `on`, as far as they are wanted. */
static const char *masked(ml_Cp *g, const ml_Expr *e, const char *on, unsigned lane0,
                          unsigned n)
{
    const char *mask = g->mask, *v, *around = ml_cp_mask(g, lane0, n);
    unsigned from = g->mask_lane0, count = g->mask_n;

    if (!cheap(e)) {
        g->mask = both(g, around, on, n);
        g->mask_lane0 = lane0;
        g->mask_n = n;
    }
    v = ml_cp_arg(g, e, lane0, n);
    g->mask = mask;
    g->mask_lane0 = from;
    g->mask_n = count;
    return v;
}

static ml_CpText if_then_else(ml_Cp *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    ml_CpText c = inner_condition(g, e->args[0], lane0, n);
    const char *on, *off, *a;

    if (e->args[0]->type.lanes <= 1)
        return branch(g, c, e, e->args[1], e->args[2], lane0, n);
    on = ml_cp_keep(g, ml_cp_type(g, ML_DT_BOOL, n), c.z);
    off = ml_format(g->cx, "%s(%s)", ml_cp_op(g, "flip", ML_DT(ML_UINT, 8), n), on);
    a = masked(g, e->args[1], on, lane0, n);
    return ml_cp_text(g, ML_CP_ATOM, "%s(%s, %s, %s)", ml_cp_select(g, e->type, n), on, a,
                      masked(g, e->args[2], off, lane0, n));
}

/* A scalar in the middle of masked lanes: it may only be read if some lane is on. */
static ml_CpText if_any_lane(ml_Cp *g, const ml_Expr *e, unsigned n)
{
    const char *mask = g->mask, *type, *any;
    ml_CpText v;

    g->mask = NULL;
    if (e->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL | ML_X_EFFECT)) {
        type = ml_cp_type(g, ML_DT_BOOL, n);
        any = ml_format(g->cx, "ml_any_%s", type + 3);
        ml_cp_declare(
            g, any,
            ml_format(g->cx,
                      "ML_FUNCTION bool %s(%s a)\n{\n    bool r = false;\n\n"
                      "    for (int k = 0; k < %u; k++)\n        r |= ML_AT(a, k) != 0;\n"
                      "    return r;\n}\n\n",
                      any, type, n));
        v = branch(g, ml_cp_text(g, ML_CP_ATOM, "%s(%s)", any, mask), e, e, NULL, 0, 0);
    } else {
        v = ml_cp_value(g, e, 0, 0);
    }
    g->mask = mask;
    return v;
}

/* ---------------------------------------------------------------- vectors */

static ml_CpText ramp(ml_Cp *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    const ml_Expr *base = e->args[0], *by = e->args[1];
    ml_Dtype t = base->type;
    const char *from;

    if (lane0)
        base = ml_raw_binary(g->cx, ML_EXPR_ADD, base,
                             ml_mul(g->cx, by, ml_int(g->cx, t, lane0)));
    from = ml_cp_value(g, base, 0, 0).z;
    return ml_cp_text(g, ML_CP_ATOM, "%s(%s, %s)", ml_cp_ramp(g, t, n), from,
                      ml_cp_value(g, by, 0, 0).z);
}

static ml_CpText shuffle(ml_Cp *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    const char *mask = g->mask;
    ml_CpVar *vs = ML_ARRAY(g->cx, ml_CpVar, (size_t)e->as.i + 1);
    ml_Text list = {0};
    ml_CpText r;

    if (mask && (e->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL)))
        return nothing(g, "a shuffle of loads under a condition by lanes");
    g->mask = NULL;
    for (unsigned k = 0; k < (n ? n : 1); k++) {
        unsigned lane = 0, from = 0;
        const ml_Expr *v = ml_shuffle_picks(e, lane0 + k, &from, &lane);
        if (v == NULL) {
            ml_text_free(&list);
            return nothing(g, "a shuffle whose index is not a literal lane");
        }
        if (v->type.lanes <= 1) {
            ml_text_fmt(&list, "%s%s", k ? ", " : "", ml_cp_value(g, v, 0, 0).z);
            continue;
        }
        if (vs[from].n_parts == 0)
            vs[from] = all_lanes(g, v, NULL);
        for (size_t p = 0; p < vs[from].n_parts; p++)
            if (lane >= vs[from].parts[p].lane0 &&
                lane < vs[from].parts[p].lane0 + vs[from].parts[p].n)
                ml_text_fmt(&list, "%sML_AT(%s, %u)", k ? ", " : "", vs[from].parts[p].name,
                            lane - vs[from].parts[p].lane0);
    }
    g->mask = mask;
    if (n)
        r = ml_cp_text(g, ML_CP_ATOM, "((%s)ML_LIST(%s))", ml_cp_type(g, e->type, n),
                       ml_text_z(&list));
    else
        r = ml_cp_text(g, ML_CP_LOOSE, "%s", ml_text_z(&list));
    ml_text_free(&list);
    return r;
}

/* ---------------------------------------------------------------- operators */

static const char *const names[ML_EXPR_KINDS] = {
    [ML_EXPR_ADD] = "add",
    [ML_EXPR_SUB] = "sub",
    [ML_EXPR_MUL] = "mul",
    [ML_EXPR_DIV] = "div",
    [ML_EXPR_MOD] = "mod",
    [ML_EXPR_FLOORDIV] = "floordiv",
    [ML_EXPR_FLOORMOD] = "floormod",
    [ML_EXPR_MIN] = "min",
    [ML_EXPR_MAX] = "max",
    [ML_EXPR_EQ] = "eq",
    [ML_EXPR_NE] = "ne",
    [ML_EXPR_LT] = "lt",
    [ML_EXPR_LE] = "le",
    [ML_EXPR_GT] = "lt",
    [ML_EXPR_GE] = "le",
    [ML_EXPR_AND] = "and",
    [ML_EXPR_OR] = "or",
};

static const char *sign_of(ml_ExprKind kind)
{
    switch ((int)kind) {
    case ML_EXPR_ADD: return "+";
    case ML_EXPR_SUB: return "-";
    case ML_EXPR_MUL: return "*";
    case ML_EXPR_DIV: return "/";
    case ML_EXPR_EQ: return "==";
    case ML_EXPR_NE: return "!=";
    case ML_EXPR_LT: return "<";
    case ML_EXPR_LE: return "<=";
    case ML_EXPR_GT: return ">";
    case ML_EXPR_GE: return ">=";
    case ML_EXPR_AND: return "&&";
    case ML_EXPR_OR: return "||";
    default: return NULL;
    }
}

static ml_CpText infix(ml_Cp *g, ml_ExprKind kind, ml_CpText a, ml_CpText b)
{
    int binds = kind == ML_EXPR_ADD || kind == ML_EXPR_SUB   ? ML_CP_ADD
                : kind == ML_EXPR_MUL || kind == ML_EXPR_DIV ? ML_CP_MUL
                                                             : ML_CP_LOOSE;
    int left = binds ? binds : ML_CP_ADD;

    return ml_cp_text(g, binds, "%s %s %s", ml_cp_in(g, a, left), sign_of(kind),
                      ml_cp_in(g, b, left + 1));
}

/* a * b + c of vectors in one function, so that a compiler may contract it. */
static ml_CpText contracted(ml_Cp *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    bool left = e->args[0]->kind == ML_EXPR_MUL;
    const ml_Expr *mul = e->args[left ? 0 : 1], *rest = e->args[left ? 1 : 0];
    const char *op = e->kind == ML_EXPR_ADD ? "muladd" : left ? "mulsub" : "submul";
    const char *x = ml_cp_arg(g, mul->args[0], lane0, n),
               *y = ml_cp_arg(g, mul->args[1], lane0, n);

    return ml_cp_text(g, ML_CP_ATOM, "%s(%s, %s, %s)", ml_cp_op(g, op, e->type, n), x, y,
                      ml_cp_arg(g, rest, lane0, n));
}

static ml_CpText binary(ml_Cp *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    const ml_Expr *p = e->args[0], *q = e->args[1];
    ml_ExprKind kind = (ml_ExprKind)e->kind;
    ml_Dtype t = ml_dtype_lanes(p->type, 1);
    bool compares = ml_kind_compares(kind),
         logic = kind == ML_EXPR_AND || kind == ML_EXPR_OR;
    bool reads = (e->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL)) != 0;
    bool is_float = ml_dtype_is_float(t), swap = kind == ML_EXPR_GT || kind == ML_EXPR_GE;
    const char *op = names[kind];

    if (!ml_cp_dtype_ok(g, t) || t.code == ML_HANDLE)
        return nothing(g, "arithmetic on pointers");
    if (is_float && logic)
        return nothing(g, "logic on floats");
    if (n == 0 && g->checked && !reads && ml_dtype_is_index(t)) {
        if (compares)
            return infix(g, kind, ml_cp_index(g, p), ml_cp_index(g, q));
        return ml_cp_cast(g, ML_DT_I64, t, 0, ml_cp_index(g, e));
    }
    if (n && !g->o->no_contract && is_float && !ml_cp_is_half(t) &&
        (kind == ML_EXPR_ADD || kind == ML_EXPR_SUB) &&
        (p->kind == ML_EXPR_MUL || q->kind == ML_EXPR_MUL))
        return contracted(g, e, lane0, n);
    if (t.code == ML_BOOL && (kind == ML_EXPR_ADD || kind == ML_EXPR_SUB))
        op = "xor";
    else if (t.code == ML_BOOL && kind == ML_EXPR_MUL)
        op = "and";
    else if (n == 0 && sign_of(kind) &&
             (compares || logic || (is_float && !ml_cp_is_half(t)))) {
        ml_CpText a = ml_cp_value(g, p, 0, 0);
        return infix(g, kind, a, ml_cp_value(g, q, 0, 0));
    }
    {
        const char *a = ml_cp_arg(g, p, lane0, n), *b = ml_cp_arg(g, q, lane0, n);
        return ml_cp_text(g, ML_CP_ATOM, "%s(%s, %s)", ml_cp_op(g, op, t, n), swap ? b : a,
                          swap ? a : b);
    }
}

ml_CpText ml_cp_cast(ml_Cp *g, ml_Dtype from, ml_Dtype to, unsigned n, ml_CpText v)
{
    from.lanes = to.lanes = 1;
    if (!ml_cp_dtype_ok(g, from) || !ml_cp_dtype_ok(g, to))
        return v;
    if (from.code == ML_HANDLE || to.code == ML_HANDLE)
        return nothing(g, "a cast of a pointer");
    if (ml_dtype_eq(from, to))
        return v;
    from = ml_cp_value_type(from);
    if (ml_dtype_eq(from, to))
        return v;
    if (n == 0 && to.code == ML_BOOL)
        return ml_cp_text(g, ML_CP_LOOSE, "%s != 0", ml_cp_in(g, v, ML_CP_ADD));
    if (n || ml_cp_is_half(to) || (ml_dtype_is_float(from) && !ml_dtype_is_float(to)))
        return ml_cp_text(g, ML_CP_ATOM, "%s(%s)", ml_cp_convert(g, from, to, n), v.z);
    return ml_cp_text(g, ML_CP_UNARY, "(%s)%s", ml_cp_type(g, to, 0),
                      ml_cp_in(g, v, ML_CP_UNARY));
}

/* ---------------------------------------------------------------- all of them */

static ml_CpText of_three(ml_Cp *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    ml_CpText c = inner_condition(g, e->args[0], lane0, n), a, b;

    if (n && e->args[0]->type.lanes > 1) {
        const char *x = ml_cp_arg(g, e->args[1], lane0, n);
        return ml_cp_text(g, ML_CP_ATOM, "%s(%s, %s, %s)", ml_cp_select(g, e->type, n), c.z,
                          x, ml_cp_arg(g, e->args[2], lane0, n));
    }
    a = ml_cp_value(g, e->args[1], lane0, n);
    b = ml_cp_value(g, e->args[2], lane0, n);
    return ml_cp_text(g, ML_CP_LOOSE, "%s ? %s : %s", ml_cp_in(g, c, ML_CP_UNARY),
                      ml_cp_in(g, a, ML_CP_ADD), ml_cp_in(g, b, ML_CP_ADD));
}

static ml_CpText compute(ml_Cp *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    ml_CpText a;
    size_t mark;

    switch ((int)e->kind) {
    case ML_EXPR_INT:
        return (ml_CpText){ml_cp_int(g, e->type, e->as.i),
                           e->as.i < 0 ? ML_CP_UNARY : ML_CP_ATOM};
    case ML_EXPR_FLOAT:
        return (ml_CpText){ml_cp_float(g, e->type, e->as.f),
                           e->as.f < 0 ? ML_CP_UNARY : ML_CP_ATOM};
    case ML_EXPR_STRING: return nothing(g, "a string as a value");
    case ML_EXPR_VAR: return variable(g, e, lane0, n);
    case ML_EXPR_NOT:
        a = ml_cp_value(g, e->args[0], lane0, n);
        return n ? ml_cp_text(g, ML_CP_ATOM, "%s(%s)",
                              ml_cp_op(g, "flip", ML_DT(ML_UINT, 8), n), a.z)
                 : ml_cp_text(g, ML_CP_UNARY, "!%s", ml_cp_in(g, a, ML_CP_UNARY));
    case ML_EXPR_SELECT: return of_three(g, e, lane0, n);
    case ML_EXPR_CAST:
        a = ml_cp_value(g, e->args[0], lane0, n);
        return ml_cp_cast(g, e->args[0]->type, e->type, n, a);
    case ML_EXPR_LOAD: return ml_cp_load(g, e, lane0, n);
    case ML_EXPR_RAMP: return ramp(g, e, lane0, n);
    case ML_EXPR_BROADCAST:
        a = ml_cp_value(g, e->args[0], 0, 0);
        return ml_cp_text(g, ML_CP_ATOM, "%s(%s)", ml_cp_splat(g, e->type, n), a.z);
    case ML_EXPR_SHUFFLE: return shuffle(g, e, lane0, n);
    case ML_EXPR_LET:
        mark = ml_cp_memo_mark(g);
        ml_cp_bind(g, e->as.var, e->args[0]);
        a = ml_cp_value(g, e->args[1], lane0, n);
        ml_cp_memo_release(g, mark);
        return a;
    case ML_EXPR_CALL:
        if (ml_is_op(e, ML_OP_IF_THEN_ELSE) && e->n_args == 3)
            return if_then_else(g, e, lane0, n);
        return ml_cp_call(g, e, lane0, n);
    default: return binary(g, e, lane0, n);
    }
}

ml_CpText ml_cp_value(ml_Cp *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    bool share;
    const char *name;
    ml_CpText v;

    if (e->type.lanes <= 1)
        lane0 = n = 0;
    if (g->failed || !ml_tick(g->cx)) {
        g->failed = true;
        return (ml_CpText){"0", ML_CP_ATOM};
    }
    if (e->type.code >= ML_VOID || e->size > MAX_TREE)
        return nothing(g, e->size > MAX_TREE ? "an expression of more than a million nodes"
                                             : "an expression without a value");
    if (e->type.code == ML_HANDLE)
        return ml_cp_pointer(g, e);
    if (n == 0 && g->mask)
        return if_any_lane(g, e, g->mask_n);
    share = can_share(g, e);
    if (share && (name = recall(g, e, false, lane0, n)) != NULL)
        return (ml_CpText){name, ML_CP_ATOM};
    v = compute(g, e, lane0, n);
    if (share && !g->failed) {
        ml_CpMemo m = {e, lane0, n, false, ml_cp_keep(g, ml_cp_type(g, e->type, n), v.z)};
        ml_push(g->cx, &g->memo, m);
        return (ml_CpText){m.name, ML_CP_ATOM};
    }
    return v;
}

ml_CpText ml_cp_condition(ml_Cp *g, const ml_Expr *e)
{
    bool before = g->checked;
    ml_CpText v;

    g->checked = true;
    v = ml_cp_value(g, e, 0, 0);
    g->checked = before;
    return v;
}
