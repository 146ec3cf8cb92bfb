/*
 * map_arg - index maps as arguments: an object or a text becomes a map of the schedule's
 * own context, and a map becomes Lua again.
 *
 * Whatever context a map comes from, its variables get fresh numbers here: they could mean
 * something else in the schedule. An index map speaks of its own variables only. Source:
 * primitives 1.2, 12.2.
 */
#include "moonloop/core/script/script.h"
#include "moonloop/primitives/call/args.h"
#include "moonloop/primitives/tokens.h"

typedef struct Own {
    const ml_IndexMap *map;
    bool index, marks;
    const ml_Expr *bad; /* what an expression must not hold */
} Own;

/* A mark that is no result of its own, or what only a padding value reads. */
static bool misplaced(const ml_Expr *e, const Own *o)
{
    bool result = false;

    if (e->kind != ML_EXPR_CALL)
        return false;
    if (e->as.op->id == ML_OP_NAMED_LOAD)
        return o->index;
    for (uint32_t k = 0; k < o->map->n_exprs; k++)
        result |= o->map->exprs[k] == e;
    return e->as.op->id == ML_OP_AXIS_SEPARATOR && !(o->marks && result);
}

static bool is_own(const ml_Expr *e, void *user)
{
    Own *o = user;
    bool own = e->kind != ML_EXPR_VAR;

    for (uint32_t k = 0; k < o->map->n_vars && !own; k++)
        own = o->map->vars[k]->uid == e->as.var->uid;
    if (!o->bad &&
        (!own || e->kind == ML_EXPR_LOAD || e->kind == ML_EXPR_LET || misplaced(e, o)))
        o->bad = e;
    return !o->bad;
}

static bool check(ml_Ctx *cx, const char *what, const ml_IndexMap *m, bool index,
                  bool marks)
{
    uint32_t n_marks = 0;

    for (uint32_t k = 0; k < m->n_exprs; k++) {
        Own o = {m, index, marks, NULL};

        if (index && !ml_dtype_is_index(m->exprs[k]->type))
            return ml_bad_argument(cx, "%s: result %u of the index map is no integer", what,
                                   k);
        ml_expr_visit(m->exprs[k], is_own, &o);
        if (o.bad && o.bad->kind == ML_EXPR_VAR)
            return ml_bad_argument(
                cx, "%s: the index map uses %s, which is not one of its variables", what,
                o.bad->as.var->hint);
        if (o.bad && ml_is_op(o.bad, ML_OP_AXIS_SEPARATOR))
            return ml_bad_argument(cx,
                                   "%s: an axis separator stands between results of the "
                                   "index_map of transform_layout, not here",
                                   what);
        if (o.bad && !index && o.bad->kind == ML_EXPR_LOAD)
            return ml_fail(cx, ML_E_PAD_FOREIGN_LOAD,
                           ML_TEXT(ml_strdup(cx, ml_str(o.bad->as.buffer->name))));
        if (o.bad)
            return ml_bad_argument(cx, "%s: the index map reads a buffer or binds a name",
                                   what);
    }
    for (uint32_t k = 0; k < m->n_exprs; k++)
        n_marks += ml_is_op(m->exprs[k], ML_OP_AXIS_SEPARATOR);
    if (m->inverse &&
        (m->inverse->n_vars != m->n_exprs - n_marks || m->inverse->n_exprs != m->n_vars))
        return ml_bad_argument(cx, "%s: the inverse takes %u indices to %u, not %u to %u",
                               what, m->inverse->n_vars, m->inverse->n_exprs,
                               m->n_exprs - n_marks, m->n_vars);
    return !m->inverse || check(cx, what, m->inverse, true, false);
}

/* What the parameters are called: later steps name loops and blocks after them, so that
 * every form of a trace has to be able to say it. */
static const char *const *names_of(ml_Ctx *cx, const ml_IndexMap *m)
{
    const char **names = ML_ARRAY(cx, const char *, m->n_vars + 1u);

    for (uint32_t k = 0; k < m->n_vars; k++)
        names[k] = m->vars[k]->hint;
    ml_lambda_names(cx, names, m->n_vars, names);
    return names;
}

/* Different letters are: no word of any language is that short. */
static bool is_lettered(const ml_IndexMap *m)
{
    uint32_t seen = 0;

    for (uint32_t k = 0; k < m->n_vars; k++) {
        const char *z = m->vars[k]->hint;

        if (z[0] < 'a' || z[0] > 'z' || z[1] || (seen >> (z[0] - 'a') & 1))
            return false;
        seen |= UINT32_C(1) << (z[0] - 'a');
    }
    return true;
}

static bool is_named_well(ml_Ctx *cx, const ml_IndexMap *m)
{
    if (is_lettered(m))
        return !m->inverse || is_named_well(cx, m->inverse);
    const char *const *names = names_of(cx, m);

    for (uint32_t k = 0; k < m->n_vars; k++)
        if (!ml_streq(names[k], m->vars[k]->hint))
            return false;
    return !m->inverse || is_named_well(cx, m->inverse);
}

/* In the context of the map. */
static const ml_IndexMap *with_fresh_vars(ml_Ctx *cx, const ml_IndexMap *m)
{
    ml_IndexMap *out = ML_NEW(cx, ml_IndexMap);
    const ml_Var **vars = ML_ARRAY(cx, const ml_Var *, m->n_vars + 1u);
    const ml_Expr **exprs = ML_ARRAY(cx, const ml_Expr *, m->n_exprs + 1u);
    const char *const *names = names_of(cx, m);
    ml_Subst s = {NULL, NULL};

    for (uint32_t k = 0; k < m->n_vars; k++) {
        vars[k] = ml_var_new(cx, names[k], m->vars[k]->type);
        ml_subst_var(cx, &s, m->vars[k], ml_var(cx, vars[k]));
    }
    for (uint32_t k = 0; k < m->n_exprs; k++)
        exprs[k] = s.vars ? ml_expr_subst(cx, m->exprs[k], &s) : m->exprs[k];
    *out = *m;
    out->vars = vars;
    out->exprs = exprs;
    out->inverse = m->inverse ? with_fresh_vars(cx, m->inverse) : NULL;
    return out;
}

/* A copy in cx of a map of any context. */
static const ml_IndexMap *adopt(ml_Ctx *cx, const ml_IndexMap *m)
{
    ml_Ctx *tmp = ml_ctx_new(0);

    m = ml_import_value(ml_import_begin(tmp), ml_val_map(tmp, m))->as.map;
    ml_ctx_reserve_uid(tmp, ml_ctx_next_uid(cx)); /* numbers that cx does not have */
    m = with_fresh_vars(tmp, m);
    m = ml_import_value(ml_import_begin(cx), ml_val_map(tmp, m))->as.map;
    ml_ctx_unref(tmp);
    return m;
}

static bool in_path(char c)
{
    return c == '_' || c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
}

/* tvm.tir.IndexMap.AXIS_SEPARATOR, however it is reached, is T.axis_separator(). */
static const char *with_marks(ml_Ctx *cx, const char *text)
{
    static const char MARK[] = "AXIS_SEPARATOR";
    ml_Text out = {0};

    if (!strstr(text, MARK))
        return text;
    while (*text) {
        size_t n = 0;

        while (in_path(text[n]))
            n++;
        bool mark = n >= sizeof MARK - 1 &&
                    memcmp(text + n - (sizeof MARK - 1), MARK, sizeof MARK - 1) == 0;

        if (mark)
            ml_text_add(&out, "T.axis_separator()");
        else
            ml_text_addn(&out, text, n ? n : 1);
        text += n ? n : 1;
    }
    text = ml_strdup(cx, ml_str(ml_text_z(&out)));
    ml_text_free(&out);
    return text;
}

static const ml_IndexMap *parse(ml_Ctx *cx, const char *what, const char *text)
{
    ml_Parsed diags = {0};
    const ml_IndexMap *m =
        ml_parse_index_map(cx, ml_str(with_marks(cx, text)), ML_DT_I32, &diags);

    const ml_Error *e = ml_error(cx);

    if (m)
        return is_named_well(cx, m) ? m : with_fresh_vars(cx, m);
    if (e && (e->code == ML_E_OUT_OF_MEMORY || e->code == ML_E_INTERRUPTED ||
              e->code == ML_E_WORK_LIMIT))
        return NULL;
    ml_ctx_clear_marks(cx);
    if (!ml_ok(cx)) { /* memory or patience ended, which says nothing about the text */
        ml_ok_or_fail(cx);
        return NULL;
    }
    ml_error_clear(cx);
    ml_bad_argument(cx, "%s: \"%s\" is no index map: %s", what, text,
                    diags.n_diags ? diags.diags[0].message : "it cannot be read");
    return NULL;
}

static const ml_IndexMap *map_of(ml_Schedule *s, const char *what, const ml_Arg *a,
                                 bool index, bool marks)
{
    ml_Ctx *cx = s->space->cx;
    const ml_IndexMap *m = NULL;

    if (a->kind == ML_A_STRING)
        m = parse(cx, what, a->as.s);
    else if (a->kind == ML_A_MAP && a->as.map) /* checked while its names are its own */
        m = check(cx, what, a->as.map, index, marks) ? adopt(cx, a->as.map) : NULL;
    else
        ml_bad_argument(cx,
                        "%s: an index map is needed (a function or \"lambda i, j: "
                        "(j, i)\"), got %s",
                        what, ml_arg_kind_name(a));
    return m && check(cx, what, m, index, marks) ? m : NULL;
}

const ml_IndexMap *ml_arg_map(ml_Schedule *s, const char *what, const ml_Arg *a, bool marks)
{
    return map_of(s, what, a, true, marks);
}

const ml_IndexMap *ml_arg_pad(ml_Schedule *s, const char *what, const ml_Arg *a)
{
    return map_of(s, what, a, false, false);
}

/* ---- as Lua */

/* What Lua's operators say over expressions of int32. */
static bool lua_can_say(const ml_Expr *e)
{
    if (!ml_dtype_eq(e->type, ML_DT_I32))
        return false;
    if (e->kind == ML_EXPR_VAR || e->kind == ML_EXPR_INT ||
        ml_is_op(e, ML_OP_AXIS_SEPARATOR))
        return true;
    if (e->kind != ML_EXPR_ADD && e->kind != ML_EXPR_SUB && e->kind != ML_EXPR_MUL &&
        e->kind != ML_EXPR_FLOORDIV && e->kind != ML_EXPR_FLOORMOD)
        return false;
    /* numbers alone Lua would compute; here they would have been folded */
    return (e->args[0]->kind != ML_EXPR_INT || e->args[1]->kind != ML_EXPR_INT) &&
           lua_can_say(e->args[0]) && lua_can_say(e->args[1]);
}

static bool is_function(ml_Ctx *cx, const ml_IndexMap *m)
{
    const char *const *names = names_of(cx, m);

    for (uint32_t k = 0; k < m->n_vars; k++)
        if (!ml_dtype_eq(m->vars[k]->type, ML_DT_I32) ||
            ml_is_lua_keyword(ml_str(names[k])))
            return false;
    for (uint32_t k = 0; k < m->n_exprs; k++)
        if (!lua_can_say(m->exprs[k]))
            return false;
    return !m->inverse || is_function(cx, m->inverse);
}

static void add_function(ml_Ctx *cx, ml_Text *out, const ml_IndexMap *m)
{
    ml_Map *map = ml_map_new(cx);
    ml_Names names = {map};
    const char *const *params = names_of(cx, m);

    ml_text_add(out, "function(");
    for (uint32_t k = 0; k < m->n_vars; k++) {
        ml_map_set(cx, map, m->vars[k]->uid, params[k]);
        ml_text_fmt(out, "%s%s", k ? ", " : "", params[k]);
    }
    ml_text_add(out, ") return ");
    for (uint32_t k = 0; k < m->n_exprs; k++) {
        ml_text_add(out, k ? ", " : "");
        if (ml_is_op(m->exprs[k], ML_OP_AXIS_SEPARATOR))
            ml_text_add(out, "moon.axis_separator");
        else
            ml_print_expr(cx, out, m->exprs[k],
                          &(ml_PrintOpts){.spelling = -1, .names = &names});
    }
    ml_text_add(out, " end");
}

void ml_map_lua(ml_Ctx *cx, ml_Text *out, const ml_IndexMap *m)
{
    ml_Text t = {0};

    if (is_function(cx, m) && !m->inverse) {
        add_function(cx, out, m);
        return;
    }
    ml_text_add(out, "moon.index_map(");
    if (is_function(cx, m)) {
        add_function(cx, out, m);
        ml_text_add(out, ", ");
        add_function(cx, out, m->inverse);
    } else {
        ml_print_value(cx, &t, ml_val_map(cx, m), NULL);
        ml_text_quote(out, ml_text_z(&t));
        ml_text_free(&t);
    }
    ml_text_char(out, ')');
}
