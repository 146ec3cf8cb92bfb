/* loop - loops: counters are int64_t; a parallel loop is OpenMP's, the outermost one alone,
 * with the least number of a failure. Source: lowering-and-codegen 7.5. */
#include "moonloop/codegen/c/emit.h"

static void print_loop(ml_Cp *g, const ml_For *f, const char *extent, const char *skip)
{
    size_t scope = ml_cp_scope_open(g), frees = g->loop_frees;
    const char *v = ml_cp_name(g, f->var->hint ? f->var->hint : "i");
    ml_ArithMark facts = ml_arith_save(g->ar);

    ml_cp_line(g, "for (int64_t %s = 0; %s < %s; %s++) {", v, v, extent, v);
    if (ml_cp_in_order(g, f)) {
        ml_cp_declare(
            g, "ML_IN_ORDER",
            "/* gcc 12 changes the order of stores that overlap; not around this. */\n"
            "#if defined __GNUC__ && !defined __clang__\n"
            "#define ML_IN_ORDER __asm__ volatile(\"\")\n"
            "#else\n#define ML_IN_ORDER ((void)0)\n#endif\n\n");
        ml_cp_line(g, "    ML_IN_ORDER;");
    }
    if (skip)
        ml_cp_line(g, "    if (status != INT32_MAX)\n%*scontinue;", (int)(4 * g->depth + 8),
                   "");
    ml_cp_set_var(g, f->var, (ml_CpVar){.name = v, .wide = true});
    ml_arith_bind_loop(g->ar, f);
    g->loop_frees = g->frees.n;
    g->loops++;
    ml_cp_body(g, f->body);
    g->loops--;
    g->loop_frees = frees;
    ml_arith_restore(g->ar, facts);
    if (skip)
        ml_cp_line(g, "%s:;", skip);
    ml_cp_line(g, "}");
    ml_cp_scope_close(g, scope);
}

typedef struct Fails {
    bool any;
} Fails;

static bool see_failure(const ml_Stmt *s, void *user)
{
    Fails *f = user;

    f->any |= s->kind == ML_STMT_ASSERT || s->kind == ML_STMT_ALLOC ||
              (s->kind == ML_STMT_DECL && ml_as_alloc(s)->data == NULL);
    return !f->any;
}

static void print_parallel(ml_Cp *g, const ml_For *f, const char *extent)
{
    const char *schedule = ml_code_annotated(f, "stride_pattern") ? " schedule(static, 1)"
                           : ml_code_annotated(f, "uneven")       ? " schedule(dynamic, 1)"
                                                                  : " schedule(static)";
    const char *threads =
        g->o->threads ? ml_format(g->cx, " num_threads(%u)", g->o->threads) : "";
    unsigned loops = g->loops;
    Fails fails = {false};

    ml_stmt_visit(f->body, see_failure, &fails);
    if (fails.any) {
        ml_cp_line(g, "{");
        g->depth++;
        ml_cp_line(g, "int32_t status = INT32_MAX;\n");
    }
    ml_text_fmt(g->out, "#ifdef _OPENMP\n#pragma omp parallel for%s%s%s\n#endif\n",
                schedule, threads, fails.any ? " reduction(min : status)" : "");
    g->next = ml_format(g->cx, "next%u", g->n_labels++);
    g->parallel_frees = g->frees.n;
    g->loops = 0;
    print_loop(g, f, extent, fails.any ? g->next : NULL);
    g->loops = loops;
    g->next = NULL;
    if (fails.any) {
        ml_cp_line(g, "if (status != INT32_MAX) {");
        g->depth++;
        ml_cp_exit(g, "status");
        g->depth--;
        ml_cp_line(g, "}");
        g->depth--;
        ml_cp_line(g, "}");
    }
}

void ml_cp_for(ml_Cp *g, const ml_For *f)
{
    const char *extent;

    if (f->kind == ML_FOR_THREAD) {
        ml_cp_unsupported(g, "thread-bound loops in C for a CPU");
        return;
    }
    if (!ml_is_int(f->min, 0) || (f->step && !ml_is_int(f->step, 1))) {
        ml_cp_fail(g, ML_E_CODEGEN_FAILED, "a loop does not run from 0 in steps of 1");
        return;
    }
    extent = ml_cp_in(g, ml_cp_index(g, f->extent), ML_CP_ADD);
    if (f->extent->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL)) /* the body may change it */
        extent = ml_cp_keep(g, "int64_t", extent);
    if (f->kind == ML_FOR_PARALLEL && g->next == NULL && g->mode->openmp &&
        g->o->threads != 1)
        print_parallel(g, f, extent);
    else
        print_loop(g, f, extent, NULL);
}

void ml_cp_while(ml_Cp *g, const ml_While *w)
{
    size_t scope = ml_cp_scope_open(g), frees = g->loop_frees;

    ml_cp_line(g, "for (;;) {");
    g->depth++;
    ml_cp_line(g, "if (!(%s))\n%*sbreak;", ml_cp_condition(g, w->cond).z,
               (int)(4 * g->depth + 4), "");
    g->depth--;
    g->loop_frees = g->frees.n;
    g->loops++;
    ml_cp_body(g, w->body);
    g->loops--;
    g->loop_frees = frees;
    ml_cp_line(g, "}");
    ml_cp_scope_close(g, scope);
}
