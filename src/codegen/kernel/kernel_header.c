/*
 * kernel_header - the C prototypes of a saved kernel, and what the words of a call are.
 * Source: lowering-and-codegen 5.2, 7.7.
 */
#include "moonloop/codegen/kernel/kernel_impl.h"

#include "moonloop/core/script/script.h"

/* ---------------------------------------------------------------- names and types */

static const ml_Var *word_var(const ml_Built *b, uint32_t k)
{
    const ml_Func *f = b->work.func;

    return k < f->n_params ? f->params[k].var : b->sig.sizes[k - f->n_params];
}

static const ml_Buffer *word_buffer(const ml_Built *b, uint32_t k)
{
    return k < b->work.func->n_params ? b->work.func->params[k].buffer : NULL;
}

static const char *word_name(const ml_Built *b, uint32_t k)
{
    const ml_Buffer *buffer = word_buffer(b, k);
    const char *z = buffer ? buffer->name : word_var(b, k)->hint;

    return z ? z : "v";
}

/* Of a prototype; each is different from the others. */
static const char *c_name(const ml_Built *b, uint32_t k)
{
    const char *z = word_name(b, k);

    if (!ml_code_is_c_name(z))
        return ml_format(b->cx, "arg%u", k);
    for (uint32_t j = 0; j < k; j++)
        if (ml_streq(word_name(b, j), z))
            return ml_format(b->cx, "arg%u", k);
    return z;
}

/* Of elements in memory: float16 and narrower floats as the integers that hold their bits.
 */
static const char *element_type(ml_Ctx *cx, ml_Dtype t)
{
    size_t bytes = ml_lane_bytes(t);

    if (t.code == ML_FLOAT && t.bits >= 32)
        return t.bits == 32 ? "float" : "double";
    if (bytes == 0)
        return "void";
    return ml_format(cx, "%sint%zu_t", t.code == ML_INT ? "" : "u", bytes * 8);
}

/* Of a number that is passed; NULL: C has none like it. */
static const char *number_type(ml_Ctx *cx, ml_Dtype t)
{
    if (ml_dtype_is_bool(t))
        return "int8_t";
    if (t.code == ML_FLOAT || t.code == ML_BFLOAT)
        return t.bits == 64 ? "double" : "float";
    if ((t.code == ML_INT || t.code == ML_UINT) &&
        (t.bits == 8 || t.bits == 16 || t.bits == 32 || t.bits == 64))
        return ml_format(cx, "%sint%u_t", t.code == ML_UINT ? "u" : "", t.bits);
    return NULL;
}

/* ---------------------------------------------------------------- the comment */

/* Text of the program inside a comment: it neither ends it nor begins a line. */
static void add_safe(ml_Text *out, const char *z)
{
    for (char before = 0; *z; before = *z++)
        if ((before == '*' && *z == '/') || (before == '/' && *z == '*'))
            ml_text_fmt(out, " %c", *z);
        else
            ml_text_char(out, (unsigned char)*z < 32 ? ' ' : *z);
}

static void add_expr(const ml_Built *b, ml_Text *out, const ml_Expr *e)
{
    ml_Text t = {0};

    ml_print_expr(b->cx, &t, e, NULL);
    add_safe(out, ml_text_z(&t));
    ml_text_free(&t);
}

static void add_exprs(const ml_Built *b, ml_Text *out, const ml_Expr *const *e, size_t n)
{
    ml_text_char(out, '[');
    for (size_t k = 0; k < n; k++) {
        ml_text_add(out, k ? ", " : "");
        add_expr(b, out, e[k]);
    }
    ml_text_char(out, ']');
}

static void add_buffer(const ml_Built *b, ml_Text *out, uint32_t k)
{
    const ml_Buffer *buffer = word_buffer(b, k);

    ml_dtype_print(out, buffer->type);
    add_exprs(b, out, buffer->shape, buffer->rank);
    if (buffer->n_strides) {
        ml_text_add(out, ", strides ");
        add_exprs(b, out, buffer->strides, buffer->n_strides);
    }
    ml_text_fmt(out, ", %s, aligned to %u bytes", b->written[k] ? "written" : "read",
                b->o.code.unaligned ? (uint32_t)ml_lane_bytes(buffer->type)
                                    : buffer->align);
}

static void add_word(const ml_Built *b, ml_Text *out, uint32_t k)
{
    const ml_Var *v = word_var(b, k);
    bool number = !word_buffer(b, k) && v->type.code != ML_HANDLE;

    ml_text_fmt(out, " *   w[%u].%s  ", k,
                !number                      ? "p"
                : ml_dtype_is_float(v->type) ? "f"
                                             : "i");
    add_safe(out, word_name(b, k));
    ml_text_add(out, "  ");
    if (word_buffer(b, k))
        add_buffer(b, out, k);
    else
        ml_dtype_print(out, v->type);
    if (k >= b->work.func->n_params)
        ml_text_add(out, ", a size in the shapes");
    ml_text_char(out, '\n');
}

static bool add_failures(ml_Built *b, ml_Text *out)
{
    const ml_Func *f = b->lowered ? b->lowered : ml_built_lower(b, b->cx);
    const ml_Assert *a;

    if (f == NULL)
        return false;
    ml_text_add(out, " * The result is 0; -1 when there is no memory for its buffers");
    if (ml_packed_assert(b->cx, f, 1) == NULL) {
        ml_text_add(out, ".\n");
        return true;
    }
    ml_text_add(out, "; or the\n * number of the assertion that failed:\n");
    for (int32_t k = 1; (a = ml_packed_assert(b->cx, f, k)) != NULL; k++) {
        ml_text_fmt(out, " *   %d  ", k);
        add_safe(out, ml_packed_assert_text(b->cx, a));
        ml_text_char(out, '\n');
    }
    return true;
}

static bool add_comment(ml_Built *b, ml_Text *out)
{
    const ml_Target *t = &b->o.target;
    uint32_t n = b->work.func->n_params + b->sig.n_sizes;
    ml_Text sig = {0};

    ml_built_signature(b, b->cx, &sig);
    ml_text_add(out, "/*\n * ");
    add_safe(out, ml_text_z(&sig));
    ml_text_free(&sig);
    ml_text_fmt(out, ",\n * compiled by moonloop for %s%s%s.\n *\n",
                t->triple[0] ? t->triple
                : t->cpu[0]  ? ""
                             : ml_target_level(t),
                t->triple[0] && t->cpu[0] ? ", " : "", t->cpu);
    ml_text_fmt(out, " * %s_call takes one word for each parameter%s:\n",
                b->work.func->name, n ? "" : " (there is none)");
    for (uint32_t k = 0; k < n; k++)
        add_word(b, out, k);
    ml_text_fmt(
        out,
        " * Integers are sign-extended, bool is 0 or 1, floats are given as double.\n"
        " * %s_body is the same with plain parameters. Nothing is checked: pointers\n"
        " * are to element 0 of arrays in row-major order%s.\n"
        " * %s_packed takes arguments with a kind, tensors as DLPack's, and checks\n"
        " * all of them before it calls %s_body: 0, or -1 with the reason in err.\n",
        b->work.func->name, b->overlap ? "" : " that do not overlap", b->work.func->name,
        b->work.func->name);
    if (!add_failures(b, out))
        return false;
    ml_text_add(out,
                " * Link with -lm, and with -lgomp when it has parallel loops.\n */\n");
    return true;
}

/* ---------------------------------------------------------------- prototypes */

/* In front of a parameter's name. */
static const char *parameter_type(const ml_Built *b, uint32_t k)
{
    const ml_Buffer *buffer = word_buffer(b, k);
    const ml_Var *v = word_var(b, k);

    if (buffer)
        return ml_format(b->cx, "%s%s *", b->written[k] ? "" : "const ",
                         element_type(b->cx, buffer->type));
    return v->type.code == ML_HANDLE ? "void *"
                                     : ml_format(b->cx, "%s ", number_type(b->cx, v->type));
}

/* Of all words; NULL: C has none for one, and the header says so. */
static const char **all_types(const ml_Built *b, ml_Text *out)
{
    uint32_t n = b->work.func->n_params + b->sig.n_sizes;
    const char **types = ML_ARRAY(b->cx, const char *, n + 1u);

    for (uint32_t k = 0; k < n; k++) {
        const ml_Var *v = word_var(b, k);

        if (!word_buffer(b, k) && v->type.code != ML_HANDLE &&
            !number_type(b->cx, v->type)) {
            ml_text_fmt(out, "/* %s_body: C has no type for parameter %u. */\n",
                        b->work.func->name, k);
            return NULL;
        }
        types[k] = parameter_type(b, k);
    }
    return types;
}

static void add_body(const ml_Built *b, const char *const *types, ml_Text *out)
{
    uint32_t n = b->work.func->n_params + b->sig.n_sizes;

    ml_text_fmt(out, "int32_t %s_body(", b->work.func->name);
    for (uint32_t k = 0; k < n; k++)
        ml_text_fmt(out, "%s%s%s", k ? ", " : "", types[k], c_name(b, k));
    ml_text_add(out, n ? ");\n" : "void);\n");
}

bool ml_built_header(ml_Built *b, ml_Text *out, bool defines)
{
    const char *name = b->work.func->name, **types;
    bool ok = true;

    if (defines)
        ml_text_add(out, "#define MOONLOOP_API\n");
    if (!add_comment(b, out))
        return false;
    ml_text_fmt(out, "#ifndef MOONLOOP_%s_H\n#define MOONLOOP_%s_H\n\n", name, name);
    ml_text_add(out, "#include <stdarg.h>\n#include <stdint.h>\n#include <stdio.h>\n\n"
                     "#ifndef MOONLOOP_API /* how NAME_packed is defined */\n"
                     "#define MOONLOOP_API static inline\n#endif\n\n"
                     "#ifndef MOONLOOP_WORD\n#define MOONLOOP_WORD\n"
                     "typedef union moonloop_word {\n"
                     "    void *p;\n    int64_t i;\n    double f;\n} moonloop_word;\n"
                     "#endif\n\n");
    ml_text_fmt(out, "#ifndef MOONLOOP_PACKED\n#define MOONLOOP_PACKED\n%s#endif\n\n",
                ml_built_packed_text);
    ml_text_add(out, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    ml_text_fmt(out, "int32_t %s_call(const moonloop_word *w);\n", name);
    types = all_types(b, out);
    if (types) {
        add_body(b, types, out);
        ml_text_char(out, '\n');
        ok = ml_built_packed(b, types, out);
    }
    ml_text_add(out, "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    return ok;
}
