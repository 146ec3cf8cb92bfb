/*
 * kernel_packed - NAME_packed in the header of a saved kernel: the checks of arguments, row by
 * row, and the call of NAME_body, as C that needs nothing of moonloop.
 *
 * A size is known from the first place where it stands alone; an expression is compared as
 * soon as its sizes are known. Source: lowering-and-codegen 5.2, 5.3, 7.7.
 */
#include "moonloop/codegen/kernel/kernel_impl.h"

#include "moonloop/core/script/script.h"

typedef struct Later {
    const ml_Expr *e;
    const char *test; /* printed but for the value wanted */
    const char *got;
} Later;

typedef struct Packed {
    ml_Built *b;
    ml_Ctx *cx;
    ml_Text *out;
    ml_Map *index; /* uid of a size or number -> its place in v[] + 1 */
    ml_Map *from;  /* uid -> text of the place that says it, when it is known */
    ML_VEC(Later) later;
} Packed;

/* A text between quotes in C. */
static const char *quoted(ml_Ctx *cx, const char *z)
{
    ml_Text t = {0};
    const char *r;

    ml_text_char(&t, '"');
    for (; *z; z++)
        if (*z == '"' || *z == '\\' || *z == '?' || *z == '%' || (unsigned char)*z < 32)
            ml_text_fmt(&t, *z == '%' ? "%%" : "\\%03o", (unsigned char)*z);
        else
            ml_text_char(&t, *z);
    ml_text_char(&t, '"');
    r = ml_strdup(cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return r;
}

/* ---------------------------------------------------------------- sizes */

static unsigned slot(Packed *p, const ml_Var *v)
{
    uintptr_t at = (uintptr_t)ml_map_get(p->index, v->uid);

    if (at == 0) {
        at = ml_map_count(p->index) + 1;
        ml_map_set(p->cx, p->index, v->uid, (const void *)at);
    }
    return (unsigned)at - 1;
}

static bool known(Packed *p, const ml_Expr *e)
{
    if (e->kind == ML_EXPR_VAR && !ml_map_has(p->from, e->as.var->uid))
        return false;
    for (size_t k = 0; k < e->n_args; k++)
        if (!known(p, e->args[k]))
            return false;
    return true;
}

static const char *value(Packed *p, const ml_Expr *e)
{
    const char *a, *b;

    if (e->kind == ML_EXPR_INT)
        return ml_format(p->cx, "INT64_C(%lld)", (long long)e->as.i);
    if (e->kind == ML_EXPR_VAR)
        return ml_format(p->cx, "v[%u]", slot(p, e->as.var));
    if (e->kind == ML_EXPR_CAST && ml_dtype_is_int(e->type))
        return value(p, e->args[0]);
    if (e->n_args != 2)
        return "-1";
    a = value(p, e->args[0]);
    b = value(p, e->args[1]);
    switch ((int)e->kind) {
    case ML_EXPR_ADD:
        return ml_format(p->cx, "(int64_t)((uint64_t)(%s) + (uint64_t)(%s))", a, b);
    case ML_EXPR_SUB:
        return ml_format(p->cx, "(int64_t)((uint64_t)(%s) - (uint64_t)(%s))", a, b);
    case ML_EXPR_MUL:
        return ml_format(p->cx, "(int64_t)((uint64_t)(%s) * (uint64_t)(%s))", a, b);
    case ML_EXPR_FLOORDIV:
    case ML_EXPR_DIV: return ml_format(p->cx, "moonloop_floordiv(%s, %s)", a, b);
    case ML_EXPR_FLOORMOD:
    case ML_EXPR_MOD:
        return ml_format(p->cx, "(%s) - moonloop_floordiv(%s, %s) * (%s)", a, a, b, b);
    case ML_EXPR_MIN: return ml_format(p->cx, "((%s) < (%s) ? (%s) : (%s))", a, b, a, b);
    case ML_EXPR_MAX: return ml_format(p->cx, "((%s) > (%s) ? (%s) : (%s))", a, b, a, b);
    default: return "-1";
    }
}

static const char *why(Packed *p, const ml_Expr *e)
{
    ml_Text t = {0};
    const char *z;

    if (e->kind == ML_EXPR_INT)
        return "\"\"";
    if (e->kind == ML_EXPR_VAR)
        return quoted(p->cx, ml_format(p->cx, " (= %s)",
                                       (const char *)ml_map_get(p->from, e->as.var->uid)));
    ml_print_expr(p->cx, &t, e, NULL);
    z = quoted(p->cx, ml_format(p->cx, " (= %s)", ml_text_z(&t)));
    ml_text_free(&t);
    return z;
}

static void add_equal(Packed *p, const char *test, const ml_Expr *e, const char *got)
{
    ml_text_fmt(p->out,
                "    if (moonloop_equal(%s, %s, %s, %s, err))\n        return -1;\n", test,
                value(p, e), why(p, e), got);
}

/* part[r] of argument k must be e. */
static void add_match(Packed *p, uint32_t k, const char *part, unsigned r, const ml_Expr *e)
{
    const ml_Buffer *b = p->b->work.func->params[k].buffer;
    const char *name = quoted(p->cx, b->name);
    bool stride = *part == 's' && part[1] == 't';
    const char *got =
        stride ? ml_format(p->cx, "moonloop_stride(args[%u].as.tensor, %u)", k, r)
               : ml_format(p->cx, "args[%u].as.tensor->shape[%u]", k, r);
    const char *test = ml_format(p->cx, "f, %u, %s, \"%s\", %u", k, name, part, r);

    if (e->kind == ML_EXPR_VAR && !ml_map_has(p->from, e->as.var->uid)) {
        const ml_Var *v = e->as.var;

        ml_text_fmt(p->out, "    v[%u] = %s;\n", slot(p, v), got);
        ml_text_fmt(p->out,
                    "    if (moonloop_fits(f, %u, %s, \".%s[%u]\", %u, %d, v[%u], err))\n"
                    "        return -1;\n",
                    k, name, part, r, v->type.bits, v->type.code == ML_INT, slot(p, v));
        ml_map_set(p->cx, p->from, v->uid, ml_format(p->cx, "%s.%s[%u]", b->name, part, r));
    } else if (known(p, e)) {
        if (stride) /* of an extent of 1 any will do */
            ml_text_fmt(p->out,
                        "    if (args[%u].as.tensor->shape[%u] != 1 && "
                        "!moonloop_empty(args[%u].as.tensor))\n    ",
                        k, r, k);
        add_equal(p, test, e, got);
    } else {
        Later l = {e, test, got};
        ml_push(p->cx, &p->later, l);
    }
}

static void add_later(Packed *p)
{
    size_t left = 0;

    for (size_t k = 0; k < p->later.n; k++)
        if (known(p, p->later.v[k].e))
            add_equal(p, p->later.v[k].test, p->later.v[k].e, p->later.v[k].got);
        else
            p->later.v[left++] = p->later.v[k];
    p->later.n = left;
}

static void add_offset(Packed *p, uint32_t k, const ml_Buffer *b)
{
    const ml_Expr *e = b->elem_offset;
    size_t bytes = ml_dtype_bytes(b->type);
    uint64_t step = (b->offset_factor > 0 ? b->offset_factor : 1u) * (uint64_t)bytes;

    if (e->kind == ML_EXPR_VAR && !ml_map_has(p->from, e->as.var->uid)) {
        ml_text_fmt(p->out,
                    "    if (args[%u].as.tensor->byte_offset %% %llu)\n"
                    "        return moonloop_fail(err, MOONLOOP_VALUE_ERROR,\n"
                    "                             \"%%s: argument #%u '%%s'.byte_offset: "
                    "expected a "
                    "multiple of %llu\", f, p[%u].name);\n"
                    "    v[%u] = (int64_t)(args[%u].as.tensor->byte_offset / %zu);\n",
                    k, (unsigned long long)step, k, (unsigned long long)step, k,
                    slot(p, e->as.var), k, bytes);
        ml_map_set(p->cx, p->from, e->as.var->uid,
                   ml_format(p->cx, "%s.byte_offset in elements", b->name));
        return;
    }
    ml_text_fmt(p->out,
                "    if (args[%u].as.tensor->byte_offset != (uint64_t)(%s) * %zu)\n"
                "        return moonloop_fail(err, MOONLOOP_VALUE_ERROR,\n"
                "                             \"%%s: argument #%u '%%s'.byte_offset: "
                "expected %%lld "
                "elements of %zu bytes, got %%llu bytes\",\n"
                "                             f, p[%u].name, (long long)(%s),\n"
                "                             (unsigned long "
                "long)args[%u].as.tensor->byte_offset);\n",
                k, value(p, e), bytes, k, bytes, k, value(p, e), k);
}

/* ---------------------------------------------------------------- the function */

static void add_params(Packed *p)
{
    const ml_Func *f = p->b->work.func;

    ml_text_add(p->out, "    static const moonloop_param p[] = {\n");
    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *b = f->params[k].buffer;
        ml_Dtype t = b ? b->type : f->params[k].var->type;
        ml_DLType dl = ml_dl_type(t);
        const char *kind = b                      ? "TENSOR"
                           : ml_dtype_is_bool(t)  ? "BOOL"
                           : t.code == ML_HANDLE  ? "POINTER"
                           : ml_dtype_is_float(t) ? "FLOAT"
                                                  : "INT";
        unsigned lane = (unsigned)ml_lane_bytes(t), align = 1;

        if (b)
            align = p->b->o.code.unaligned ? lane : b->align;
        ml_text_fmt(p->out, "        {%s, MOONLOOP_%s, %u, %u, %u, %u, %u, %u, %d, %d},\n",
                    quoted(p->cx, b                        ? b->name
                                  : f->params[k].var->hint ? f->params[k].var->hint
                                                           : "v"),
                    kind, b ? b->rank : 0u, dl.code, dl.bits, dl.lanes ? dl.lanes : 1u,
                    align ? align : 1u, lane ? lane : 1u, p->b->written[k],
                    b ? b->n_strides > 0 : 0);
    }
    ml_text_add(p->out,
                f->n_params ? "    };\n" : "        {NULL, 0, 0, 0, 0, 1, 1, 1, 0, 0}};\n");
}

static void add_sizes(Packed *p)
{
    const ml_Func *f = p->b->work.func;

    for (uint32_t k = 0; k < f->n_params; k++) { /* numbers say what symbols are */
        const ml_Var *v = f->params[k].var;
        if (f->params[k].buffer || !ml_dtype_is_int(v->type))
            continue;
        ml_text_fmt(p->out, "    v[%u] = moonloop_int(&args[%u]);\n", slot(p, v), k);
        ml_map_set(p->cx, p->from, v->uid, v->hint ? v->hint : "v");
    }
    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *b = f->params[k].buffer;
        if (b == NULL)
            continue;
        ml_text_fmt(
            p->out,
            "    if (moonloop_check_shape(f, %u, &p[%u], args[%u].as.tensor, err))\n"
            "        return -1;\n",
            k, k, k);
        for (uint16_t r = 0; r < b->rank; r++)
            add_match(p, k, "shape", r, b->shape[r]);
    }
    add_later(p);
    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *b = f->params[k].buffer;
        if (b && b->n_strides == 0)
            ml_text_fmt(
                p->out,
                "    if (moonloop_check_compact(f, %u, &p[%u], args[%u].as.tensor, err))\n"
                "        return -1;\n",
                k, k, k);
        for (uint16_t r = 0; b && r < b->n_strides; r++)
            add_match(p, k, "strides", r, b->strides[r]);
    }
    add_later(p);
    for (uint32_t k = 0; k < f->n_params; k++)
        if (f->params[k].buffer)
            add_offset(p, k, f->params[k].buffer);
    add_later(p);
}

static void add_call(Packed *p, const char *const *types)
{
    const ml_Func *f = p->b->work.func;
    uint32_t n = f->n_params + p->b->sig.n_sizes;

    ml_text_fmt(p->out, "    status = %s_body(", f->name);
    for (uint32_t k = 0; k < n; k++) {
        const ml_Var *v =
            k < f->n_params ? f->params[k].var : p->b->sig.sizes[k - f->n_params];

        ml_text_fmt(p->out, "%s(%s)", k ? ",\n        " : "", types[k]);
        if (k >= f->n_params)
            ml_text_fmt(p->out, "v[%u]", slot(p, v));
        else if (f->params[k].buffer || v->type.code == ML_HANDLE)
            ml_text_fmt(p->out, "moonloop_data(&args[%u])", k);
        else
            ml_text_fmt(p->out,
                        ml_dtype_is_float(v->type)  ? "moonloop_float(&args[%u])"
                        : ml_dtype_is_bool(v->type) ? "(moonloop_int(&args[%u]) != 0)"
                                                    : "moonloop_int(&args[%u])",
                        k);
    }
    ml_text_add(p->out, ");\n");
}

static bool add_texts(Packed *p)
{
    const ml_Func *f = p->b->lowered ? p->b->lowered : ml_built_lower(p->b, p->cx);
    const ml_Assert *a;

    if (f == NULL)
        return false;
    ml_text_add(p->out, "    static const char *const asserts[] = {\"\"");
    for (int32_t k = 1; (a = ml_packed_assert(p->cx, f, k)) != NULL; k++)
        ml_text_fmt(p->out, ",\n        %s",
                    quoted(p->cx, ml_packed_assert_text(p->cx, a)));
    ml_text_add(p->out, "};\n");
    return true;
}

bool ml_built_packed(ml_Built *b, const char *const *types, ml_Text *out)
{
    const char *name = b->work.func->name;
    ml_Text sig = {0}, sizes = {0};
    Packed p = {.b = b,
                .cx = b->cx,
                .out = &sizes,
                .index = ml_map_new(b->cx),
                .from = ml_map_new(b->cx)};
    bool ok;

    add_sizes(&p);
    ml_built_signature(b, b->cx, &sig);
    ml_text_fmt(out,
                "MOONLOOP_API int32_t %s_packed(const moonloop_arg *args, int32_t n_args,\n"
                "                               moonloop_error *err)\n{\n"
                "    static const char f[] = \"%s\", signature[] = %s;\n",
                name, name, quoted(b->cx, ml_text_z(&sig)));
    p.out = out;
    add_params(&p);
    ok = add_texts(&p);
    ml_text_fmt(out,
                "    moonloop_error unused;\n    int32_t status;\n%s\n"
                "    err = err ? err : &unused;\n"
                "    if (moonloop_check_kinds(f, signature, p, %u, args, n_args, err))\n"
                "        return -1;\n",
                ml_map_count(p.index) == 0
                    ? ""
                    : ml_format(b->cx, "    int64_t v[%zu]; /* numbers, then sizes */\n",
                                ml_map_count(p.index)),
                b->work.func->n_params);
    ml_text_fmt(
        out,
        "%s    if (moonloop_check_memory(f, p, %u, args, %d, err))\n        return -1;\n",
        ml_text_z(&sizes), b->work.func->n_params, b->overlap);
    p.out = out;
    add_call(&p, types);
    ml_text_add(
        out,
        "    if (status == -1)\n"
        "        return moonloop_fail(err, MOONLOOP_MEMORY_ERROR, \"%s: out of workspace "
        "memory\", f);\n"
        "    if (status > 0)\n"
        "        return moonloop_fail(err, MOONLOOP_ASSERTION_ERROR, \"%s: %s\", f, "
        "asserts[status]);\n"
        "    return 0;\n}\n");
    ml_text_free(&sig);
    ml_text_free(&sizes);
    return ok;
}
