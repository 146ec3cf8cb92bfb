/*
 * args - raw arguments of a call made into what a primitive's function sees.
 *
 * Each parameter kind has one function: it finds nodes by handle or name, evaluates
 * expressions over handles, fills in defaults, and says which parameter is wrong. The rules
 * are those of primitives 1.2.
 */
#include "moonloop/primitives/call/args.h"

#include <math.h>

typedef struct Resolve {
    ml_Schedule *s;
    ml_Ctx *cx;
    const ml_Primitive *prim;
    const ml_Param *pa;
    ml_Given *given; /* all of them */
    size_t k;        /* position of pa */
} Resolve;

const char *ml_arg_kind_name(const ml_Arg *a)
{
    switch ((ml_ArgKind)a->kind) {
    case ML_A_ABSENT: return "nothing";
    case ML_A_NONE: return "auto";
    case ML_A_BOOL: return "a boolean";
    case ML_A_INT: return "an integer";
    case ML_A_FLOAT: return "a number";
    case ML_A_STRING: return "a string";
    case ML_A_HANDLE: return "a handle";
    case ML_A_EXPR: return "an expression";
    case ML_A_BUFFER: return "a buffer";
    case ML_A_MAP: return "an index map";
    case ML_A_LIST: return "a list";
    case ML_A_DICT: return "a table with names";
    }
    return "?";
}

bool ml_too_many(ml_Ctx *cx, const ml_Primitive *prim, size_t at, size_t got,
                 const ml_Arg *odd)
{
    if (prim->n_params == 1 && prim->params[0].kind == ML_P_LOOPS)
        return ml_bad_argument(cx, "%s takes loops alone; argument %zu is %s", prim->name,
                               at + 1, ml_arg_kind_name(odd));
    return ml_bad_argument(cx, "%s takes at most %zu argument%s, got %zu", prim->name,
                           prim->n_params, prim->n_params == 1 ? "" : "s", got);
}

static bool wrong(const Resolve *r, const char *need, const ml_Arg *a)
{
    return ml_bad_argument(r->cx, "%s: %s is needed, got %s", r->pa->name, need,
                           ml_arg_kind_name(a));
}

/* An integer in any of its forms; a float with an integral value counts. */
static bool int_of(const Resolve *r, const ml_Arg *a, int64_t *out)
{
    switch ((ml_ArgKind)a->kind) {
    case ML_A_INT: *out = a->as.i; return true;
    case ML_A_FLOAT:
        if (a->as.f != floor(a->as.f) || fabs(a->as.f) > 9007199254740992.0)
            return ml_bad_argument(r->cx, "%s: %g is no integer", r->pa->name,
                                   ml_plain_nan(a->as.f));
        *out = (int64_t)a->as.f;
        return true;
    case ML_A_HANDLE:
        if (a->as.h.kind != ML_H_EXPR)
            break;
        if (!ml_handle_value(r->s, a->as.h, out))
            return ml_fail(r->cx, ML_E_BAD_HANDLE, ML_TEXT(r->pa->name));
        return true;
    case ML_A_EXPR: return ml_eval_symbols(r->s, a->as.e, r->pa->name, out);
    case ML_A_ABSENT:
    case ML_A_NONE:
    case ML_A_BOOL:
    case ML_A_STRING:
    case ML_A_BUFFER:
    case ML_A_MAP:
    case ML_A_LIST:
    case ML_A_DICT: break;
    }
    return wrong(r, "an integer", a);
}

/* ---- loops and blocks */

static bool node_of(const Resolve *r, const ml_Arg *a, ml_HandleKind want, ml_Handle *h,
                    const ml_Stmt **node)
{
    const char *need = want == ML_H_LOOP    ? "a loop (handle or name)"
                       : want == ML_H_BLOCK ? "a block (handle or name)"
                                            : "a block or loop (handle or name)";

    if (a->kind == ML_A_STRING) {
        if (!ml_resolve(r->s, a->as.s, want, h))
            return false;
    } else if (a->kind == ML_A_HANDLE)
        *h = a->as.h;
    else
        return wrong(r, need, a);
    *node = ml_handle_node(r->s, *h, want);
    return *node != NULL;
}

static bool one_node(const Resolve *r, const ml_Arg *a, ml_HandleKind want, ml_Given *g)
{
    if (!node_of(r, a, want, &g->h, &g->node))
        return false;
    g->uid = g->h.uid;
    return true;
}

static bool loop_or_mark(const Resolve *r, const ml_Arg *a, ml_Given *g)
{
    if (a->kind == ML_A_HANDLE &&
        (a->as.h.kind == ML_H_INLINE_MARK || a->as.h.kind == ML_H_ROOT_MARK)) {
        g->h = a->as.h;
        return true;
    }
    return one_node(r, a, ML_H_LOOP, g);
}

static bool many_nodes(const Resolve *r, const ml_Arg *a, ml_HandleKind want, ml_Given *g)
{
    const ml_Arg *list = a->kind == ML_A_LIST ? a->as.list : a;
    size_t n = a->kind == ML_A_LIST ? a->n : 1;
    ml_UidVec uids = {0};

    for (size_t k = 0; k < n; k++) {
        ml_Handle h = {0};
        const ml_Stmt *node;

        if (want == ML_H_LOOP && list[k].kind == ML_A_STRING) {
            if (!ml_resolve_loops(r->s, list[k].as.s, &uids))
                return false;
            continue;
        }
        if (!node_of(r, &list[k], want, &h, &node))
            return false;
        ml_push(r->cx, &uids, h.uid);
    }
    g->n = uids.n;
    g->uids = uids.v;
    return true;
}

/* ---- factors */

static const ml_Expr *small_int(ml_Ctx *cx, int64_t v)
{
    return ml_int(cx, v >= INT32_MIN && v <= INT32_MAX ? ML_DT_I32 : ML_DT_I64, v);
}

static bool is_auto(const ml_Arg *a)
{
    return a->kind == ML_A_NONE || (a->kind == ML_A_BOOL && !a->as.b) ||
           (a->kind == ML_A_HANDLE && a->as.h.kind == ML_H_NONE);
}

static bool factors(const Resolve *r, const ml_Arg *a, ml_Given *g)
{
    bool lone = a->kind != ML_A_LIST; /* f means {auto, f} */
    size_t n = lone ? 2 : a->n;
    const ml_Expr **e = ML_ARRAY(r->cx, const ml_Expr *, n + 1);

    for (size_t k = lone; k < n; k++) {
        const ml_Arg *one = lone ? a : &a->as.list[k];
        int64_t v = 0;

        if (is_auto(one))
            continue;
        if (one->kind == ML_A_STRING || one->kind == ML_A_LIST || one->kind == ML_A_DICT ||
            one->kind == ML_A_BOOL || one->kind == ML_A_ABSENT)
            return ml_bad_argument(
                r->cx,
                "factor %zu is %s; a positive integer, a sampled number or auto is needed",
                lone ? 1 : k + 1, ml_arg_kind_name(one));
        if (!int_of(r, one, &v))
            return false;
        e[k] = small_int(r->cx, v);
    }
    g->n = n;
    g->exprs = e;
    return true;
}

/* ---- buffers of a block */

/* The block that a buffer position counts in: the nearest block parameter before it. */
static const ml_Block *block_before(const Resolve *r)
{
    for (size_t k = r->k; k-- > 0;)
        if (r->prim->params[k].kind == ML_P_BLOCK && r->given[k].node)
            return ml_as_block(r->given[k].node);
    return NULL;
}

/* The position of a buffer named so: false with an error: ambiguous; without one: none. */
static bool find_named(const Resolve *r, const ml_Block *b, const ml_Region *list,
                       uint32_t n, const char *name, ml_Given *g)
{
    ml_Uid hit = 0;

    ml_names_ensure(r->s, r->s->cur);
    for (int by_hint = 0; by_hint < 2 && !hit; by_hint++)
        for (uint32_t k = 0; k < n; k++) {
            const ml_Buffer *buf = list[k].buffer;
            const char *z = by_hint ? buf->name : ml_name_known(r->s->space, buf->uid);

            if (!z || !ml_streq(z, name))
                continue;
            if (hit && hit != buf->uid)
                return ml_fail(r->cx, ML_E_BUFFER_AMBIGUOUS, ML_BLOCK(b), ML_TEXT(name));
            if (!hit)
                g->i = k;
            hit = buf->uid;
        }
    return hit != 0;
}

static bool buffer_named(const Resolve *r, const ml_Block *b, const ml_Region *list,
                         uint32_t n, const char *name, ml_Given *g)
{
    return find_named(r, b, list, n, name, g) ||
           (!ml_error(r->cx) &&
            ml_fail(r->cx, ML_E_BUFFER_NOT_FOUND, ML_BLOCK(b), ML_TYPED(name)));
}

static bool buffer_index(const Resolve *r, const ml_Arg *a, bool write, ml_Given *g)
{
    const ml_Block *b = block_before(r);

    ML_ASSERT(b);
    const ml_Region *list = write ? b->writes : b->reads;
    uint32_t n = write ? b->n_writes : b->n_reads;

    if (a->kind == ML_A_STRING)
        return buffer_named(r, b, list, n, a->as.s, g);
    if (a->kind == ML_A_BUFFER) {
        for (uint32_t k = 0; k < n; k++)
            if (list[k].buffer->uid == a->as.buffer) {
                g->i = k;
                return true;
            }
        const char *name = ml_name_known(r->s->space, a->as.buffer);

        return ml_fail(r->cx, ML_E_BUFFER_NOT_FOUND, ML_BLOCK(b),
                       ML_TEXT(name ? name : "?"));
    }
    if (!int_of(r, a, &g->i))
        return false;
    if (g->i < 0 || g->i >= n)
        return ml_fail(r->cx, ML_E_BUFFER_INDEX, ML_BLOCK(b), ML_NUMBER("count", n),
                       ML_TEXT(write ? "write" : "read"), ML_NUMBER("index", g->i));
    return true;
}

/* "read", "write", or 0, 1. */
static bool side_of(const Resolve *r, const ml_Arg *a, bool *write)
{
    int64_t v = 0;

    if (a->kind == ML_A_STRING &&
        (ml_streq(a->as.s, "read") || ml_streq(a->as.s, "write"))) {
        *write = a->as.s[0] == 'w';
        return true;
    }
    if (a->kind != ML_A_INT || !int_of(r, a, &v) || (v != 0 && v != 1))
        return ml_bad_argument(r->cx, "%s: the side is \"read\" or \"write\", got %s",
                               r->pa->name, ml_arg_kind_name(a));
    *write = v == 1;
    return true;
}

/* Of what is both read and written the write side is meant. */
static bool buffer_of_side(const Resolve *r, const ml_Arg *a, ml_Given *g)
{
    const ml_Block *b = block_before(r);

    ML_ASSERT(b);
    if (a->kind == ML_A_LIST && a->n == 2)
        return side_of(r, &a->as.list[0], &g->b) &&
               buffer_index(r, &a->as.list[1], g->b, g);
    if (a->kind == ML_A_STRING) {
        g->b = find_named(r, b, b->writes, b->n_writes, a->as.s, g);
        return g->b ||
               (!ml_error(r->cx) && buffer_named(r, b, b->reads, b->n_reads, a->as.s, g));
    }
    if (a->kind != ML_A_BUFFER)
        return wrong(r, "{\"read\" or \"write\", position}, a name or a buffer", a);
    for (uint32_t k = 0; k < b->n_writes; k++)
        g->b |= b->writes[k].buffer->uid == a->as.buffer;
    return buffer_index(r, a, g->b, g);
}

/* ---- constants */

static const ml_Value *value_of(ml_Schedule *s, const char *what, const ml_Arg *a,
                                int depth)
{
    ml_Ctx *cx = s->space->cx;
    int64_t v = 0;

    if (depth > ML_MAX_ARG_DEPTH) {
        ml_bad_argument(cx, "%s: nested too deep", what);
        return NULL;
    }
    switch ((ml_ArgKind)a->kind) {
    case ML_A_BOOL: return ml_val_bool(cx, a->as.b);
    case ML_A_INT: return ml_val_int(cx, a->as.i);
    case ML_A_FLOAT: return ml_val_float(cx, a->as.f);
    case ML_A_STRING: return ml_val_string(cx, ml_str(a->as.s));
    case ML_A_HANDLE:
        if (ml_handle_value(s, a->as.h, &v))
            return ml_val_int(cx, v);
        break;
    case ML_A_EXPR: return ml_eval_symbols(s, a->as.e, what, &v) ? ml_val_int(cx, v) : NULL;
    case ML_A_LIST:
    case ML_A_DICT: {
        const ml_Value **list = ML_ARRAY(cx, const ml_Value *, a->n + 1);

        for (uint32_t k = 0; k < a->n; k++)
            if (!(list[k] = value_of(s, what, &a->as.list[k], depth + 1)))
                return NULL;
        return a->kind == ML_A_LIST ? ml_val_list(cx, list, a->n)
                                    : ml_val_dict(cx, a->keys, list, a->n);
    }
    case ML_A_ABSENT:
    case ML_A_NONE:
    case ML_A_BUFFER:
    case ML_A_MAP: break;
    }
    ml_bad_argument(
        cx, "%s: a string, number, boolean, or a list or map of such is needed, got %s",
        what, ml_arg_kind_name(a));
    return NULL;
}

const ml_Value *ml_arg_value(ml_Schedule *s, const char *what, const ml_Arg *a)
{
    return value_of(s, what, a, 0);
}

/* The position that a string in a list of positions stands for. */
static bool position_named(const Resolve *r, const char *name, int64_t *at)
{
    const ml_Block *b = block_before(r);
    ml_Given g = {0};
    bool write = false;

    ML_ASSERT(b);
    if (r->pa->names == ML_NAMES_ITERS) {
        for (uint32_t k = 0; k < b->n_iters; k++)
            if (ml_streq(b->iters[k].var->hint, name)) {
                *at = k;
                return true;
            }
        return ml_bad_argument(r->cx, "%s: block %s has no iter %s", r->pa->name, b->name,
                               name);
    }
    for (size_t k = r->k; k-- > 0;)
        if (r->given[k].s)
            write = ml_streq(r->given[k].s, "write");
    bool ok = buffer_named(r, b, write ? b->writes : b->reads,
                           write ? b->n_writes : b->n_reads, name, &g);

    *at = g.i;
    return ok;
}

static bool number_list(const Resolve *r, const ml_Arg *a, bool floats, ml_Given *g)
{
    if (a->kind != ML_A_LIST)
        return wrong(r, floats ? "a list of numbers" : "a list of integers", a);
    const ml_Value **list = ML_ARRAY(r->cx, const ml_Value *, a->n + 1);

    for (uint32_t k = 0; k < a->n; k++) {
        const ml_Arg *one = &a->as.list[k];
        int64_t v = 0;

        if (floats && one->kind == ML_A_FLOAT)
            list[k] = ml_val_float(r->cx, one->as.f);
        else if (r->pa->names && one->kind == ML_A_STRING
                     ? !position_named(r, one->as.s, &v)
                     : !int_of(r, one, &v))
            return false;
        else
            list[k] = floats ? ml_val_float(r->cx, (double)v) : ml_val_int(r->cx, v);
    }
    g->value = ml_val_list(r->cx, list, a->n);
    return true;
}

/* An index map. Where it gives ranges, a point is begin and begin + 1: recorded are pairs.
 */
static bool index_map(const Resolve *r, const ml_Arg *a, ml_Given *g)
{
    const ml_IndexMap *m = ml_arg_map(r->s, r->pa->name, a, r->pa->marks);
    uint32_t rank = 0;

    g->map = m;
    if (!m || !r->pa->ranges)
        return m != NULL;
    for (size_t k = r->k; k-- > 0;)
        if (r->prim->params[k].kind == ML_P_BUFFER) {
            const ml_Block *b = block_before(r);

            rank = (r->given[k].b ? b->writes : b->reads)[r->given[k].i].buffer->rank;
        }
    if (m->n_exprs != rank)
        return true;
    const ml_Expr **ends = ML_ARRAY(r->cx, const ml_Expr *, 2 * rank + 1u);
    ml_IndexMap *out = ML_NEW(r->cx, ml_IndexMap);

    for (uint32_t k = 0; k < rank; k++) {
        ends[(size_t)2 * k] = m->exprs[k];
        ends[(size_t)2 * k + 1] =
            ml_add(r->cx, m->exprs[k], ml_int(r->cx, m->exprs[k]->type, 1));
    }
    *out = *m;
    out->exprs = ends;
    out->n_exprs = 2 * rank;
    g->map = out;
    return true;
}

/* A number, an index map, or nothing. */
static bool pad_value(const Resolve *r, const ml_Arg *a, ml_Given *g)
{
    int64_t v = 0;

    switch ((ml_ArgKind)a->kind) {
    case ML_A_NONE: return true;
    case ML_A_BOOL: g->value = ml_val_bool(r->cx, a->as.b); return true;
    case ML_A_FLOAT: g->value = ml_val_float(r->cx, a->as.f); return true;
    case ML_A_INT:
    case ML_A_HANDLE:
    case ML_A_EXPR:
        if (!int_of(r, a, &v))
            return false;
        g->value = ml_val_int(r->cx, v);
        return true;
    case ML_A_STRING:
    case ML_A_MAP:
        if (a->kind == ML_A_STRING && ml_streq(a->as.s, "None"))
            return true;
        g->map = ml_arg_pad(r->s, r->pa->name, a);
        return g->map != NULL;
    case ML_A_ABSENT:
    case ML_A_BUFFER:
    case ML_A_LIST:
    case ML_A_DICT: break;
    }
    return wrong(r, "a number or an index map", a);
}

static bool decision(const Resolve *r, const ml_Arg *a, ml_Given *g)
{
    int64_t v = 0;

    if (a->kind == ML_A_NONE)
        return true;
    if (a->kind == ML_A_LIST)
        return number_list(r, a, false, g);
    if (!int_of(r, a, &v))
        return false;
    g->value = ml_val_int(r->cx, v);
    return true;
}

static bool text(const Resolve *r, const ml_Arg *a, ml_Given *g)
{
    if (a->kind != ML_A_STRING)
        return wrong(r, "a string", a);
    g->s = ml_strdup(r->cx, ml_str(a->as.s));
    return true;
}

/* split("i", 8, 8) */
static bool wrong_boolean(const Resolve *r, const ml_Arg *a)
{
    wrong(r, "true or false", a);
    if (r->k > 0 && a->kind == ML_A_INT && r->prim->params[r->k - 1].kind == ML_P_FACTORS)
        ml_error_note(r->cx, "factors are one list: {auto, %lld}", (long long)a->as.i);
    return false;
}

static bool boolean(const Resolve *r, const ml_Arg *a, ml_Given *g)
{
    if (a->kind == ML_A_INT && (a->as.i == 0 || a->as.i == 1))
        g->b = a->as.i == 1;
    else if (a->kind == ML_A_BOOL)
        g->b = a->as.b;
    else
        return wrong_boolean(r, a);
    return true;
}

/* ---- one parameter */

static bool given_arg(const Resolve *r, const ml_Arg *a, ml_Given *g)
{
    g->given = true;
    switch ((ml_ParamKind)r->pa->kind) {
    case ML_P_BLOCK: return one_node(r, a, ML_H_BLOCK, g);
    case ML_P_LOOP: return one_node(r, a, ML_H_LOOP, g);
    case ML_P_BLOCK_OR_LOOP: return one_node(r, a, ML_H_NONE, g);
    case ML_P_LOOP_OR_MARK: return loop_or_mark(r, a, g);
    case ML_P_LOOPS: return many_nodes(r, a, ML_H_LOOP, g);
    case ML_P_BLOCKS: return many_nodes(r, a, ML_H_BLOCK, g);
    case ML_P_LOOP_BLOCKS:
        if (a->kind == ML_A_LIST)
            return many_nodes(r, a, ML_H_BLOCK, g);
        if (!one_node(r, a, ML_H_NONE, g))
            return false;
        return g->node->kind == ML_STMT_FOR || many_nodes(r, a, ML_H_BLOCK, g);
    case ML_P_FACTORS: return factors(r, a, g);
    case ML_P_INT: return int_of(r, a, &g->i);
    case ML_P_BOOL: return boolean(r, a, g);
    case ML_P_STRING:
    case ML_P_THREAD:
    case ML_P_KEY:
    case ML_P_NAME: return text(r, a, g);
    case ML_P_SCOPE:
        if (!text(r, a, g))
            return false;
        if (!*g->s)
            g->s = "global";
        return true;
    case ML_P_READ_BUFFER: return buffer_index(r, a, false, g);
    case ML_P_WRITE_BUFFER: return buffer_index(r, a, true, g);
    case ML_P_BUFFER: return buffer_of_side(r, a, g);
    case ML_P_VALUE:
        g->h = a->kind == ML_A_HANDLE ? a->as.h : (ml_Handle){0};
        g->value = ml_arg_value(r->s, r->pa->name, a);
        return g->value != NULL;
    case ML_P_INTS: return number_list(r, a, false, g);
    case ML_P_FLOATS: return number_list(r, a, true, g);
    case ML_P_DECISION: return decision(r, a, g);
    case ML_P_PAD: return pad_value(r, a, g);
    case ML_P_MAP: return index_map(r, a, g);
    }
    return ml_bad_argument(r->cx, "%s: this kind of parameter comes later", r->pa->name);
}

/* split(i, {4, 4}): in Lua i is a variable, and most likely nil. */
static void note_quotes(const Resolve *r)
{
    const char *what = r->pa->kind == ML_P_LOOP                                  ? "loop"
                       : r->pa->kind == ML_P_BLOCK || r->pa->kind == ML_P_BLOCKS ? "block"
                                                                                 : NULL;

    if (what) {
        size_t at = (size_t)(r->pa - r->prim->params);

        ml_error_note(r->cx,
                      "a %s is named by a string: %s(%s\"%s\"%s); without quotes %s is a "
                      "variable of Lua",
                      what, r->prim->name, at > 0 ? "..., " : "", *what == 'l' ? "i" : "C",
                      at + 1 < r->prim->n_params ? ", ..." : "", *what == 'l' ? "i" : "C");
    }
}

static bool absent_arg(const Resolve *r, ml_Given *g)
{
    const ml_Param *pa = r->pa;

    g->i = pa->def;
    g->b = pa->def != 0;
    g->s = pa->def_s;
    if (pa->optional || pa->input_if_given || pa->kind == ML_P_DECISION ||
        pa->kind == ML_P_LOOPS)
        return true;
    ml_bad_argument(r->cx, "%s is missing: %s", pa->name, pa->doc);
    note_quotes(r);
    return false;
}

/* Loops given one by one become one list: fuse(a, b, c). */
static bool spread(const ml_Arg *a)
{
    return a->kind == ML_A_HANDLE || a->kind == ML_A_STRING;
}

static bool line_up(ml_Ctx *cx, const ml_Primitive *prim, const ml_Arg *args, size_t n,
                    const ml_Arg **raw)
{
    static const ml_Arg absent = {.kind = ML_A_ABSENT};
    size_t at = 0;

    for (size_t k = 0; k < prim->n_params; k++) {
        raw[k] = at < n ? &args[at++] : &absent;
        if (prim->params[k].kind != ML_P_LOOPS || !spread(raw[k]))
            continue;
        ml_Arg *list = ML_NEW(cx, ml_Arg);

        while (at < n && spread(&args[at]))
            at++;
        *list = ML_ARG_LIST(raw[k], &args[at] - raw[k]);
        raw[k] = list;
    }
    if (at < n)
        return ml_too_many(cx, prim, at, n, &args[at]);
    return true;
}

static bool too_deep(const ml_Arg *a, int depth)
{
    if (a->kind != ML_A_LIST && a->kind != ML_A_DICT)
        return false;
    for (uint32_t k = 0; k < a->n; k++)
        if (depth == ML_MAX_ARG_DEPTH || too_deep(&a->as.list[k], depth + 1))
            return true;
    return false;
}

/* None where a name or a list of blocks may be left out, as Python's defaults say it. */
static bool left_out(const ml_Param *pa, const ml_Arg *a)
{
    return a->kind == ML_A_NONE && (pa->optional || pa->input_if_given) &&
           (pa->kind == ML_P_STRING || pa->kind == ML_P_BLOCKS);
}

bool ml_args_resolve(ml_Schedule *s, const ml_Primitive *prim, const ml_Arg *args, size_t n,
                     const ml_Arg **raw, ml_Given *given)
{
    static const ml_Arg absent = {.kind = ML_A_ABSENT};
    Resolve r = {.s = s, .cx = s->space->cx, .prim = prim, .given = given};

    if (!line_up(r.cx, prim, args, n, raw))
        return false;
    for (r.k = 0; r.k < prim->n_params; r.k++) {
        r.pa = &prim->params[r.k];
        if (left_out(r.pa, raw[r.k]))
            raw[r.k] = &absent;
        const ml_Arg *a = raw[r.k];

        if (too_deep(a, 0))
            return ml_bad_argument(r.cx, "%s: nested too deep", r.pa->name);
        if (a->kind == ML_A_ABSENT ? !absent_arg(&r, &given[r.k])
                                   : !given_arg(&r, a, &given[r.k]))
            return false;
    }
    return true;
}
