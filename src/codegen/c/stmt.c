/*
 * stmt - statements: lines, allocations, branches, assertions, exits.
 *
 * Memory that is local or, all in all, at most 64 KiB of constant size is an array on the
 * stack; the rest comes from aligned_alloc and is given back on every way out, last taken
 * first. A failed assertion returns its number; in a parallel loop it ends the iterations
 * of its thread. Source: lowering-and-codegen 5.4, 7.5, 7.6.
 */
#include "moonloop/codegen/c/emit.h"

#include "moonloop/codegen/runtime/runtime.h"

enum { MAX_STACK = 64 << 10, STACK_ALIGN = 64 };

/* ---------------------------------------------------------------- lines */

void ml_cp_line(ml_Cp *g, const char *fmt, ...)
{
    va_list ap;

    ml_text_repeat(g->out, ' ', (size_t)4 * g->depth);
    va_start(ap, fmt);
    ml_text_vfmt(g->out, fmt, ap);
    va_end(ap);
    ml_text_char(g->out, '\n');
}

static void print_stmt(ml_Cp *g, const ml_Stmt *s);

static void free_down_to(ml_Cp *g, size_t n)
{
    for (size_t k = g->frees.n; k > n; k--)
        ml_cp_line(g, "free(%s);", g->frees.v[k - 1]);
}

void ml_cp_body(ml_Cp *g, const ml_Stmt *s)
{
    size_t scope = ml_cp_scope_open(g), mark = ml_cp_memo_mark(g), frees = g->frees.n;
    ml_ArithMark facts = ml_arith_save(g->ar);

    g->depth++;
    print_stmt(g, s);
    free_down_to(g, frees);
    g->frees.n = frees;
    g->depth--;
    ml_arith_restore(g->ar, facts);
    ml_cp_memo_release(g, mark);
    ml_cp_scope_close(g, scope);
}

/* ---------------------------------------------------------------- ways out */

void ml_cp_exit(ml_Cp *g, const char *status)
{
    if (g->next == NULL) {
        free_down_to(g, 0);
        ml_cp_line(g, "return %s;", status);
        return;
    }
    free_down_to(g, g->parallel_frees);
    ml_cp_line(g, "status = %s < status ? %s : status;", status, status);
    ml_cp_line(g, "goto %s;", g->next);
}

static void print_return(ml_Cp *g, const ml_Return *r)
{
    if (g->next)
        ml_cp_fail(g, ML_E_CODEGEN_FAILED, "return inside a parallel loop");
    else if (r->value && r->value->type.code != ML_VOID && g->func->ret.code != ML_VOID)
        ml_cp_unsupported(g, "a function that returns a value, in C");
    else
        ml_cp_exit(g, "0");
}

static void print_jump(ml_Cp *g, bool out)
{
    if (g->loops == 0 || (out && g->next && g->loops == 1)) {
        ml_cp_fail(g, ML_E_CODEGEN_FAILED, "%s",
                   g->loops ? "break of a parallel loop"
                            : "break or continue outside a loop");
        return;
    }
    free_down_to(g, g->loop_frees);
    ml_cp_line(g, out ? "break;" : "continue;");
}

/* The number of an assertion, from 1: copies of one share it. */
static uint32_t number_of(ml_Cp *g, const ml_Assert *a)
{
    for (size_t k = 0; k < g->asserts.n; k++)
        if (g->asserts.v[k]->parts == a->parts && g->asserts.v[k]->error == a->error &&
            g->asserts.v[k]->base.span == a->base.span)
            return (uint32_t)k + 1;
    ml_push(g->cx, &g->asserts, a);
    return (uint32_t)g->asserts.n;
}

static void print_assert(ml_Cp *g, const ml_Assert *a)
{
    const char *number = ml_format(g->cx, "%u", number_of(g, a));

    ml_cp_line(g, "if (!(%s)) {", ml_cp_condition(g, a->cond).z);
    g->depth++;
    ml_cp_exit(g, number);
    g->depth--;
    ml_cp_line(g, "}");
}

/* ---------------------------------------------------------------- memory */

static void know_data(ml_Cp *g, const ml_Var *v, ml_Dtype lane, const char *name)
{
    ml_Dtype *t = ML_NEW(g->cx, ml_Dtype);

    *t = ml_dtype_lanes(lane, 1);
    ml_map_set(g->cx, g->data, v->uid, name);
    ml_map_set(g->cx, g->elems, v->uid, t);
}

/* An extent in double, which does not wrap. */
static const char *extent(ml_Cp *g, const ml_Expr *e)
{
    if (e->kind != ML_EXPR_MUL && e->kind != ML_EXPR_ADD)
        return ml_format(g->cx, "(double)%s", ml_cp_in(g, ml_cp_index(g, e), ML_CP_UNARY));
    return ml_format(g->cx, "(%s %c %s)", extent(g, e->args[0]),
                     e->kind == ML_EXPR_MUL ? '*' : '+', extent(g, e->args[1]));
}

/* A negative extent holds nothing; what wraps would be a small block, and is more than there
 * is. C wants a multiple of the alignment. */
static void take_block(ml_Cp *g, const ml_Buffer *b, const char *type, const char *name,
                       unsigned align)
{
    ml_CpText n = {ml_format(g->cx, "(int64_t)%zu", ml_lane_bytes(b->type) * b->type.lanes),
                   ML_CP_MUL};
    const char *far = ml_format(g->cx, "%zu.0", ml_lane_bytes(b->type) * b->type.lanes);

    for (size_t d = 0; d < b->rank; d++) {
        n = ml_cp_text(g, ML_CP_MUL, "%s * %s", n.z,
                       ml_cp_in(g, ml_cp_index(g, b->shape[d]), ML_CP_UNARY));
        far = ml_format(g->cx, "%s * %s", far, extent(g, b->shape[d]));
    }
    if (ml_buffer_const_size(b) < 0)
        n.z = ml_format(g->cx, "%s > 0x1p62 ? INT64_C(1) << 62 : %s", far, n.z);
    ml_cp_declare(g, "ml_take",
                  "ML_FUNCTION void *ml_take(int64_t bytes, size_t align)\n{\n"
                  "    size_t n = bytes > 0 ? (size_t)bytes : 0;\n\n"
                  "    return aligned_alloc(align, (n + align) / align * align);\n}\n\n");
    ml_cp_line(g, "%s *%s%s = ml_take(%s, %u);", type, g->mode->not_alias, name, n.z,
               align);
    ml_cp_line(g, "if (%s == NULL) {", name);
    g->depth++;
    ml_cp_exit(g, ml_format(g->cx, "%d", ML_CALL_NO_WORKSPACE));
    g->depth--;
    ml_cp_line(g, "}");
    ml_push(g->cx, &g->frees, name);
}

static void print_alloc(ml_Cp *g, const ml_Alloc *a)
{
    const ml_Buffer *b = a->buffer;
    int64_t size = ml_buffer_const_size(b), bytes = -1, lanes = b->type.lanes;
    unsigned align = b->align > STACK_ALIGN ? b->align : STACK_ALIGN;
    bool local = b->scope.rank == ML_SCOPE_LOCAL;
    const char *type, *name;

    if (!ml_cp_dtype_ok(g, b->type))
        return;
    type = ml_cp_memory_type(g->cx, b->type);
    name = ml_cp_name(g, b->name);
    if (size >= 0 &&
        __builtin_mul_overflow(size, (int64_t)ml_lane_bytes(b->type) * lanes, &bytes))
        bytes = -1;
    if (bytes >= 0 && bytes <= MAX_STACK && (local || g->stack + bytes <= MAX_STACK)) {
        ml_cp_line(g, "%s(%u) %s %s[%lld];", g->mode->array, align, type, name,
                   (long long)(size > 0 ? size * lanes : 1));
        g->stack += local ? 0 : bytes;
    } else {
        take_block(g, b, type, name, align);
    }
    know_data(g, b->data, b->type, name);
}

static void print_decl(ml_Cp *g, const ml_Alloc *d)
{
    const ml_Var *from = d->data && d->data->kind == ML_EXPR_VAR ? d->data->as.var : NULL;
    const char *name, *at;

    if (d->data == NULL) {
        print_alloc(g, d);
        return;
    }
    if (!ml_cp_dtype_ok(g, d->buffer->type) || (from && from->uid == d->buffer->data->uid))
        return;
    if (from && ml_map_get(g->elems, from->uid)) { /* the same memory by the same pointer */
        ml_map_set(g->cx, g->data, d->buffer->data->uid, ml_map_get(g->data, from->uid));
        ml_map_set(g->cx, g->elems, d->buffer->data->uid, ml_map_get(g->elems, from->uid));
        return;
    }
    at = ml_cp_pointer(g, d->data).z;
    name = ml_cp_name(g, d->buffer->name);
    ml_cp_line(g, "void *%s = (void *)(%s);", name, at);
    ml_map_set(g->cx, g->data, d->buffer->data->uid, name);
}

/* ---------------------------------------------------------------- all of them */

static void print_if(ml_Cp *g, const ml_If *s)
{
    ml_cp_line(g, "if (%s) {", ml_cp_condition(g, s->cond).z);
    ml_cp_body(g, s->then);
    if (s->other) {
        ml_cp_line(g, "} else {");
        ml_cp_body(g, s->other);
    }
    ml_cp_line(g, "}");
}

static void print_seq(ml_Cp *g, const ml_Seq *q)
{
    for (uint32_t k = 0; k < q->n && !g->failed; k++)
        print_stmt(g, q->stmts[k]);
}

static void print_bind(ml_Cp *g, const ml_Bind *b)
{
    ml_cp_bind(g, b->var, b->value);
    if (ml_dtype_is_index(b->value->type) &&
        !(b->value->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL)))
        ml_arith_bind_value(g->ar, b->var, b->value);
}

static void print_evaluate(ml_Cp *g, const ml_Expr *e)
{
    if (e->kind != ML_EXPR_CALL || !(e->flags & ML_X_EFFECT) || ml_is_op(e, ML_OP_ASSUME) ||
        ml_is_op(e, ML_OP_STORAGE_SYNC))
        return;
    if (e->type.lanes > 1) {
        ml_cp_unsupported(g, "%s as a statement in C", e->as.op->name);
        return;
    }
    ml_cp_line(g, "%s%s;", e->type.code == ML_VOID ? "" : "(void)",
               ml_cp_call(g, e, 0, 0).z);
}

/* What is computed in it, each expression a root. */
typedef struct Roots {
    const ml_Expr *v[16];
    size_t n;
} Roots;

static void see_root(const ml_Expr *e, ml_Role role, void *user)
{
    Roots *r = user;

    if (role != ML_ROLE_ATTR && role != ML_ROLE_REGION && r->n < ML_COUNT(r->v))
        r->v[r->n++] = e;
}

static void print_stmt(ml_Cp *g, const ml_Stmt *s)
{
    size_t mark = ml_cp_memo_mark(g), base = g->memo_base;
    const ml_Stmt *before = g->stmt;
    Roots roots = {.n = 0};

    if (g->failed || !ml_tick(g->cx)) {
        g->failed = true;
        return;
    }
    if (s->kind == ML_STMT_SEQ) {
        print_seq(g, ml_as_seq(s));
        return;
    }
    if (g->o->lines && s->span && s->span->line != g->line) {
        g->line = s->span->line;
        ml_text_fmt(g->out, "#line %u\n", g->line);
    }
    g->stmt = s;
    g->memo_base = mark;
    g->checked = false;
    ml_stmt_exprs(s, see_root, &roots);
    ml_cp_memo_begin(g, roots.v, roots.n);
    switch ((ml_StmtKind)s->kind) {
    case ML_STMT_STORE: ml_cp_store(g, ml_as_store(s)); break;
    case ML_STMT_FOR: ml_cp_for(g, ml_as_for(s)); break;
    case ML_STMT_WHILE: ml_cp_while(g, ml_as_while(s)); break;
    case ML_STMT_IF: print_if(g, ml_as_if(s)); break;
    case ML_STMT_BIND: print_bind(g, ml_as_bind(s)); break;
    case ML_STMT_EVALUATE: print_evaluate(g, ml_as_evaluate(s)->value); break;
    case ML_STMT_ALLOC: print_alloc(g, ml_as_alloc(s)); break;
    case ML_STMT_DECL: print_decl(g, ml_as_alloc(s)); break;
    case ML_STMT_ATTR:
        if (ml_as_attr(s)->thread.axis)
            ml_cp_unsupported(g, "thread-bound loops in C for a CPU");
        else
            print_stmt(g, ml_as_attr(s)->body);
        break;
    case ML_STMT_ASSERT: print_assert(g, ml_as_assert(s)); break;
    case ML_STMT_RETURN: print_return(g, ml_as_return(s)); break;
    case ML_STMT_BREAK: print_jump(g, true); break;
    case ML_STMT_CONTINUE: print_jump(g, false); break;
    case ML_STMT_BLOCK: /* of a stage that is not printed */
    case ML_STMT_SEQ:
    case ML_STMT_KINDS:
        ml_cp_fail(g, ML_E_CODEGEN_FAILED, "a block is left in a function to be printed");
        break;
    }
    ml_cp_memo_release(g, mark);
    g->memo_base = base;
    g->stmt = before;
}
