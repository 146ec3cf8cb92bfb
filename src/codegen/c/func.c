/*
 * func - functions and files: the parameters, the wrapper that takes words, the prelude.
 *
 * NAME_body takes the parameters of the function: a pointer for a buffer or handle, the
 * number for a scalar (bool as int8_t, float16 and bfloat16 as float). Buffers do not
 * overlap unless the function's attribute tir.noalias is false.
 * Source: lowering-and-codegen 5.2, 7.7, 10.1.
 */
#include "moonloop/codegen/c/emit.h"

#include "moonloop/core/walk.h"

const ml_CpMode ml_cp_modes[] = {
    {.name = "c",
     .suffix = ".c",
     .prelude =
         "#include <math.h>\n#include <stdbool.h>\n#include <stddef.h>\n#include "
         "<stdint.h>\n"
         "#include <stdlib.h>\n#include <string.h>\n\n"
         "#if defined __GNUC__ && !defined ML_PLAIN /* ML_PLAIN: no vectors of the "
         "compiler */\n"
         "#define ML_VECTORS 1\n#define ML_AT(v, k) ((v)[k])\n#define ML_LIST(...) "
         "{__VA_ARGS__}\n"
         "#else\n"
         "#define ML_VECTORS 0\n#define ML_AT(v, k) ((v).lane[k])\n#define ML_LIST(...) "
         "{{__VA_ARGS__}}\n"
         "#endif\n"
         "#ifdef __GNUC__\n"
         "#define ML_FUNCTION static inline __attribute__((always_inline, unused))\n"
         "#define ML_ALIGNED(p, n) __builtin_assume_aligned(p, n)\n"
         "#pragma GCC diagnostic ignored \"-Wpsabi\"\n"
         "/* A program may hold what does nothing or is never reached, or compare what is "
         "always so. */\n"
         "#pragma GCC diagnostic ignored \"-Warray-bounds\"\n"
         "#pragma GCC diagnostic ignored \"-Wuninitialized\"\n"
         "#pragma GCC diagnostic ignored \"-Wunused-parameter\"\n"
         "#pragma GCC diagnostic ignored \"-Wunused-variable\"\n"
         "#pragma GCC diagnostic ignored \"-Wunused-but-set-variable\"\n"
         "#pragma GCC diagnostic ignored \"-Wunused-label\"\n"
         "#pragma GCC diagnostic ignored \"-Wunused-value\"\n"
         "#pragma GCC diagnostic ignored \"-Wtype-limits\"\n"
         "#pragma GCC diagnostic ignored \"-Wtautological-compare\"\n"
         "#ifndef __clang__\n"
         "#pragma GCC diagnostic ignored \"-Wmaybe-uninitialized\"\n"
         "#pragma GCC diagnostic ignored \"-Wbool-compare\"\n"
         "#pragma GCC diagnostic ignored \"-Wbool-operation\"\n"
         "#pragma GCC diagnostic ignored \"-Wstringop-overflow\"\n"
         "#pragma GCC diagnostic ignored \"-Waggressive-loop-optimizations\"\n#endif\n"
         "#else\n#define ML_FUNCTION static inline\n#define ML_ALIGNED(p, n) "
         "(p)\n#endif\n\n",
     .entry = "",
     .not_alias = "restrict ",
     .array = "_Alignas",
     .openmp = true},
};

void ml_cp_fail(ml_Cp *g, ml_ErrorCode code, const char *fmt, ...)
{
    ml_Text t = {0};
    va_list ap;

    if (g->failed)
        return;
    g->failed = true;
    va_start(ap, fmt);
    ml_text_vfmt(&t, fmt, ap);
    va_end(ap);
    if (ml_error(g->cx) == NULL) {
        ml_fail(g->cx, code, ML_TEXT(ml_text_z(&t)));
        if (g->stmt && g->stmt->span)
            ml_error_set_place(g->cx, g->stmt->span);
    }
    ml_text_free(&t);
}

/* ---------------------------------------------------------------- what the body uses */

typedef struct Seen { /* of one data pointer */
    ml_Dtype lane;
    uint32_t align; /* the smallest that is declared */
    bool any, written;
} Seen;

typedef struct Scan {
    ml_Cp *g;
    ml_Ctx *cx;
    ml_Map *seen;   /* uid -> Seen */
    ml_Map *called; /* id of an expression that calls another's function */
    bool calls;     /* others get the pointers */
} Scan;

static void see_buffer(Scan *sc, const ml_Buffer *b, bool written)
{
    const Seen *have = ml_map_get(sc->seen, b->data->uid);
    Seen *s = ML_NEW(sc->cx, Seen);
    uint32_t align =
        ml_is_int(b->elem_offset, 0) ? b->align : (uint32_t)ml_lane_bytes(b->type);

    *s = have ? *have
              : (Seen){.lane = ml_dtype_lanes(b->type, 1), .align = align, .any = true};
    s->align = align < s->align ? align : s->align;
    s->written |= written;
    ml_map_set(sc->cx, sc->seen, b->data->uid, s);
}

/* No variable hides a function that is called. */
static void see_extern(Scan *sc, const ml_Expr *e)
{
    if (e->n_args == 0 || e->args[0]->kind != ML_EXPR_STRING ||
        ml_map_has(sc->called, e->args[0]->id))
        return;
    ml_map_set(sc->cx, sc->called, e->args[0]->id, e);
    (void)ml_cp_name(sc->g, e->args[0]->as.s);
}

static bool see_expr(const ml_Expr *e, void *user)
{
    Scan *sc = user;

    if (ml_is_op(e, ML_OP_CALL_EXTERN) || ml_is_op(e, ML_OP_CALL_PURE_EXTERN))
        see_extern(sc, e);
    if (e->kind == ML_EXPR_LOAD)
        see_buffer(sc, e->as.buffer, false);
    if (e->type.code == ML_HANDLE ||
        (e->kind == ML_EXPR_CALL && (e->flags & (ML_X_EFFECT | ML_X_READ_OP))))
        sc->calls = true;
    return e->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL);
}

static bool see_stmt(const ml_Stmt *s, void *user)
{
    Scan *sc = user;

    if (s->kind == ML_STMT_STORE)
        see_buffer(sc, ml_as_store(s)->buffer, true);
    if (s->kind == ML_STMT_DECL && ml_as_alloc(s)->data) {
        const ml_Alloc *d = ml_as_alloc(s);

        see_buffer(sc, d->buffer, false);
        if (d->data->kind == ML_EXPR_VAR && d->data->as.var->uid == d->buffer->data->uid)
            return true;
        sc->calls = true; /* it is written through another name */
    }
    ml_stmt_visit_exprs(s, ML_ROLES_RUN, see_expr, sc);
    return true;
}

/* ---------------------------------------------------------------- parameters */

typedef struct Param {
    const char *type, *name, *word;
} Param;

static Param pointer_param(ml_Cp *g, Scan *sc, const ml_Var *v, bool noalias)
{
    const Seen *s = ml_map_get(sc->seen, v->uid);
    ml_Dtype lane = s ? s->lane : ml_dtype_lanes(v->elem, 1);
    const char *type = "void";
    ml_Dtype *t = ML_NEW(g->cx, ml_Dtype);
    Param p = {NULL, ml_cp_name(g, v->hint), "p"};

    if (lane.code < ML_HANDLE && ml_cp_dtype_ok(g, lane))
        type = ml_cp_memory_type(g->cx, lane);
    *t = lane;
    if (lane.code < ML_HANDLE)
        ml_map_set(g->cx, g->elems, v->uid, t);
    ml_map_set(g->cx, g->data, v->uid, p.name);
    p.type = ml_format(g->cx, "%s%s *%s", sc->calls || (s && s->written) ? "" : "const ",
                       type, noalias ? g->mode->not_alias : "");
    return p;
}

static Param scalar_param(ml_Cp *g, const ml_Var *v)
{
    Param p = {"", ml_cp_name(g, v->hint), ml_dtype_is_float(v->type) ? "f" : "i"};

    if (v->type.lanes != 1)
        ml_cp_unsupported(g, "a parameter that is a vector");
    else if (ml_cp_dtype_ok(g, v->type))
        p.type = v->type.code == ML_BOOL
                     ? "int8_t "
                     : ml_format(g->cx, "%s ", ml_cp_type(g, v->type, 0));
    ml_cp_set_var(g, v, (ml_CpVar){.name = p.name});
    return p;
}

static void add_wrapper(const ml_Cp *g, const Param *params, ml_Text *out)
{
    const ml_Func *f = g->func;

    ml_text_fmt(out, "%sint32_t %s_call(const moonloop_word *w)\n{\n    return %s_body(",
                g->mode->entry, f->name, f->name);
    for (uint32_t k = 0; k < f->n_params; k++)
        if (*params[k].word == 'p')
            ml_text_fmt(out, "%sw[%u].p", k ? ", " : "", k);
        else
            ml_text_fmt(out, "%s(%.*s)w[%u].%s", k ? ", " : "",
                        (int)strlen(params[k].type) - 1, params[k].type, k, params[k].word);
    ml_text_fmt(out, ");\n}\n");
}

static void print_function(ml_Cp *g, ml_Text *out)
{
    const ml_Func *f = g->func;
    bool noalias = ml_func_noalias(f);
    Param *params = ML_ARRAY(g->cx, Param, f->n_params + 1u);
    Scan sc = {.g = g, .cx = g->cx, .seen = ml_map_new(g->cx), .called = ml_map_new(g->cx)};
    size_t scope = ml_cp_scope_open(g);
    ml_Text body = {0};

    ml_stmt_visit(f->body, see_stmt, &sc);
    ml_arith_bind_params(g->ar, f);
    g->out = &body;
    for (uint32_t k = 0; k < f->n_params && !g->failed; k++) {
        const ml_Var *v = f->params[k].var;
        const Seen *s = ml_map_get(sc.seen, v->uid);
        params[k] = v->type.code == ML_HANDLE ? pointer_param(g, &sc, v, noalias)
                                              : scalar_param(g, v);
        if (s && !g->o->unaligned && s->align > ml_lane_bytes(s->lane))
            ml_text_fmt(&body, "    %s = ML_ALIGNED(%s, %u);\n", params[k].name,
                        params[k].name, s->align);
    }
    ml_cp_body(g, f->body);
    g->depth = 1;
    ml_cp_line(g, "return 0;");
    g->depth = 0;
    if (!g->failed) {
        ml_text_fmt(out, "%sint32_t %s_body(", g->mode->entry, f->name);
        for (uint32_t k = 0; k < f->n_params; k++)
            ml_text_fmt(out, "%s%s%s", k ? ", " : "", params[k].type, params[k].name);
        ml_text_fmt(out, "%s)\n{\n%s}\n\n", f->n_params ? "" : "void", ml_text_z(&body));
        add_wrapper(g, params, out);
    }
    ml_text_free(&body);
    ml_cp_scope_close(g, scope);
}

/* ---------------------------------------------------------------- files */

static const char word[] = "#ifndef MOONLOOP_WORD\n#define MOONLOOP_WORD\n"
                           "typedef union moonloop_word {\n    void *p;\n    int64_t i;\n"
                           "    double f;\n} moonloop_word;\n#endif\n\n";

static bool print_file(ml_Ctx *cx, const ml_CpMode *mode, const ml_Func *const *fs,
                       size_t n, const ml_CodeOpts *o, ml_Text *out)
{
    ml_Ctx *own = ml_ctx_fork(cx);
    ml_Cp g = {.cx = own, .mode = mode, .o = o};
    ml_Text bodies = {0};
    bool ok;

    g.seen = ml_map_new(own);
    for (size_t k = 0; k < n && !g.failed; k++) {
        g.func = fs[k];
        g.vars = ml_map_new(own);
        g.data = ml_map_new(own);
        g.elems = ml_map_new(own);
        g.taken = ml_map_new(own);
        g.ar = ml_arith_new(own);
        g.asserts.n = g.frees.n = 0;
        g.stack = 0;
        g.n_temps = g.n_labels = 0;
        if (!ml_code_is_c_name(fs[k]->name))
            ml_cp_unsupported(&g, "the function %s, which is no name in C,", fs[k]->name);
        else
            print_function(&g, &bodies);
    }
    ok = !g.failed && ml_ok_or_fail(own);
    if (ok)
        ml_text_fmt(
            out,
            "/* Printed by moonloop. For gcc and clang: -std=c11 -O2, -march=... for the "
            "machine,\n * -fopenmp for parallel loops, -Wno-psabi where wide vectors are "
            "remarked on%s. */\n",
            o->no_contract ? ",\n * -ffp-contract=off, for products and sums are "
                             "rounded one by one"
                           : "");
    if (ok)
        ml_text_fmt(out, "%s%s%s%s%s%s", mode->prelude, word, ml_text_z(&g.types),
                    g.types.n ? "\n" : "", ml_text_z(&g.below), ml_text_z(&bodies));
    else
        ml_error_move(cx, own);
    ml_text_free(&g.types);
    ml_text_free(&g.below);
    ml_text_free(&bodies);
    ml_ctx_unref(own);
    return ok;
}

/* ---------------------------------------------------------------- the backend */

static const char *find_printer(void)
{
    return "built in";
}

static ml_Codegen *open_printer(ml_Ctx *cx, const ml_Target *t)
{
    static ml_Codegen printer = {.by = &ml_backend_c};

    (void)cx;
    (void)t;
    return &printer;
}

static void close_printer(ml_Codegen *c)
{
    (void)c;
}

static const char *version_of(const ml_Codegen *c)
{
    (void)c;
    return "11";
}

static const ml_CodeText texts[] = {{"c", ".c"}};

static bool print_text(ml_Codegen *c, ml_Ctx *cx, const ml_Func *const *fs, size_t n,
                       const ml_CodeOpts *o, const ml_CodeText *what, ml_Text *out)
{
    (void)c;
    return print_file(cx, &ml_cp_modes[what - texts], fs, n, o, out);
}

const ml_Backend ml_backend_c = {
    .find = find_printer,
    .open = open_printer,
    .close = close_printer,
    .version = version_of,
    .texts = texts,
    .n_texts = ML_COUNT(texts),
    .text = print_text,
};
