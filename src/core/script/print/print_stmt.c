/*
 * print_stmt - statements: loops, branches, stores, bindings, declarations, attributes.
 *
 * Every body is a scope of its own, opened here exactly where the first pass opened it.
 * Source: script 12.3.
 */
#include "moonloop/core/script/print/print.h"

/* ---- scopes */
int32_t ml_pr_open(ml_Printer *p)
{
    int32_t before = p->scope;
    p->scope = p->next_scope++;
    return before;
}

void ml_pr_close(ml_Printer *p, int32_t before, size_t mark)
{
    ml_pr_scope_end(p, mark);
    p->scope = before;
}

void ml_pr_pending(ml_Printer *p, int32_t scope)
{
    const ml_InfoVec *pending = &p->scopes.v[scope].pending;
    ml_InfoVec plain = {0};

    for (size_t k = 0; k < pending->n; k++) {
        ml_NameInfo *info = pending->v[k];
        if (info->name)
            continue; /* a parameter's shape has declared it */
        if (!info->env) {
            ml_push(p->cx, &plain, info);
            continue;
        }
        ml_pr_line(p);
        ml_pr_z(p, ml_pr_define_var(p, info->var));
        ml_pr_z(p, " = ");
        ml_pr_t(p, "env_thread(");
        ml_pr_string(p, info->tag, strlen(info->tag));
        if (!ml_dtype_eq(info->var->type, ML_DT_I32)) {
            ml_pr_z(p, ", ");
            ml_pr_dtype(p, info->var->type);
        }
        ml_pr_z(p, ")");
    }
    ml_pr_declare(p, plain.v, plain.n);
}

/* ---- bodies */
/* The first store into a cell directly behind its allocation, which prints with it. */
static const ml_Store *first_store(ml_Printer *p, const ml_Stmt *s, const ml_Stmt *next)
{
    if (!next || s->kind != ML_STMT_ALLOC || next->kind != ML_STMT_STORE)
        return NULL;
    const ml_Buffer *b = ml_as_alloc(s)->buffer;
    const ml_Store *st = ml_as_store(next);
    if (!ml_pr_is_cell(p, b) || st->buffer->uid != b->uid || st->mask || st->n != 1 ||
        !ml_is_int(st->indices[0], 0) || !ml_dtype_eq(st->indices[0]->type, ML_DT_I32) ||
        ml_expr_uses_buffer(st->value, b))
        return NULL;
    return st;
}

static void stmt_mark(ml_Printer *p, const ml_Stmt *s, uint32_t col)
{
    ml_TextMark *m = ml_pr_mark(p, ML_MARK_STMT, 0, col);
    if (m) {
        m->stmt = s;
        m->len = ml_pr_col(p) - col;
    }
}

static void print_cell(ml_Printer *p, const ml_Alloc *a, const ml_Store *st)
{
    ml_pr_line(p);
    uint32_t col = ml_pr_col(p);
    ml_pr_new_buffer(p, a->buffer);
    ml_pr_z(p, ": ");
    ml_pr_t(p, "");
    ml_dtype_print(p->out, a->buffer->type);
    if (st) {
        ml_pr_z(p, " = ");
        ml_pr_expr(p, st->value, ML_PREC_TEST);
    }
    stmt_mark(p, &a->base, col);
    if (st)
        stmt_mark(p, &st->base, col);
    ml_pr_underline(p, &a->base, col, ml_pr_col(p) - col, true);
    if (st)
        ml_pr_underline(p, &st->base, col, ml_pr_col(p) - col, true);
}

static void write_stmt(ml_Printer *p, const ml_Stmt *s, bool last);

void ml_pr_list(ml_Printer *p, const ml_Stmt *s)
{
    if (s->kind != ML_STMT_SEQ) {
        write_stmt(p, s, true);
        return;
    }
    const ml_Seq *seq = ml_as_seq(s);
    for (size_t k = 0; k < seq->n; k++) {
        const ml_Stmt *next = k + 1 < seq->n ? seq->stmts[k + 1] : NULL;
        const ml_Store *st = first_store(p, seq->stmts[k], next);
        if (st) {
            print_cell(p, ml_as_alloc(seq->stmts[k]), st);
            k++;
        } else {
            write_stmt(p, seq->stmts[k], !next);
        }
    }
}

void ml_pr_body(ml_Printer *p, const ml_Stmt *s)
{
    size_t mark = ml_pr_scope_mark(p);
    int32_t before = ml_pr_open(p);
    p->level++;
    ml_pr_pending(p, p->scope);
    ml_pr_list(p, s);
    p->level--;
    ml_pr_close(p, before, mark);
}

/* ---- loops */
static bool in_grid(const ml_For *f)
{
    return f->kind == ML_FOR_SERIAL && !f->step && ml_pr_is_zero(f->min) &&
           ml_dict_count(f->annotations) == 0;
}

/* Number of loops that print as one T.grid, 1 when there is nothing to join. */
static size_t chain_length(ml_Printer *p, const ml_For *f)
{
    size_t n = 1;

    if (p->no_sugar || !in_grid(f))
        return 1;
    for (const ml_For *in = f; in->body->kind == ML_STMT_FOR; n++) {
        const ml_For *next = ml_as_for(in->body);
        /* what the scope of `in` has to declare needs a line between the two */
        if (!in_grid(next) || p->scopes.v[p->next_scope + (int32_t)n - 1].pending.n > 0)
            break;
        const ml_For *outer = f;
        for (size_t k = 0; k < n; k++, outer = ml_as_for(outer->body))
            if (ml_expr_uses_var(next->extent, outer->var))
                return n;
        in = next;
    }
    return n;
}

static void loop_args(ml_Printer *p, const ml_For *f)
{
    if (f->step || !ml_pr_is_zero(f->min)) {
        ml_pr_expr(p, f->min, ML_PREC_TEST);
        ml_pr_z(p, ", ");
    }
    ml_pr_stop(p, f->min, f->extent);
}

/* The newest spelling's unroll=: true when the annotations are just that. */
static bool print_unroll(ml_Printer *p, const ml_For *f)
{
    const ml_Value *d = f->annotations;
    if (!p->newest || ml_dict_count(d) != 1 || f->kind != ML_FOR_SERIAL)
        return false;
    const ml_Value *v = d->as.list[0];
    if (ml_streq(d->keys[0], "pragma_unroll")) {
        if (v->kind == ML_VAL_INT && v->as.i >= 1) {
            ml_pr_z(p, ", unroll=");
            ml_text_int(p->out, v->as.i);
            return true;
        }
        if (v->kind == ML_VAL_BOOL && v->as.i) {
            ml_pr_z(p, ", unroll=True");
            return true;
        }
    } else if (ml_streq(d->keys[0], "disable_unroll") && v->kind == ML_VAL_BOOL &&
               v->as.i) {
        ml_pr_z(p, ", unroll=False");
        return true;
    }
    return false;
}

static void loop_header(ml_Printer *p, const ml_For *f)
{
    static const char *const KINDS[ML_FOR_KINDS] = {
        [ML_FOR_SERIAL] = "serial(",         [ML_FOR_PARALLEL] = "parallel(",
        [ML_FOR_VECTORIZED] = "vectorized(", [ML_FOR_UNROLLED] = "unroll(",
        [ML_FOR_THREAD] = "thread_binding(",
    };

    if (f->kind == ML_FOR_SERIAL && ml_dict_count(f->annotations) == 0) {
        ml_pr_z(p, "range(");
        loop_args(p, f);
        if (f->step) {
            ml_pr_z(p, ", ");
            ml_pr_expr(p, f->step, ML_PREC_TEST);
        }
        ml_pr_z(p, ")");
        return;
    }
    ml_pr_t(p, KINDS[f->kind]);
    loop_args(p, f);
    if (f->kind == ML_FOR_THREAD) {
        ml_pr_z(p, ", thread=");
        ml_pr_string(p, f->thread.name, strlen(f->thread.name));
    }
    if (ml_dict_count(f->annotations) > 0 && !print_unroll(p, f)) {
        ml_pr_z(p, ", annotations=");
        ml_pr_attrs(p, f->annotations, NULL);
    }
    if (f->step) {
        ml_pr_z(p, ", step=");
        ml_pr_expr(p, f->step, ML_PREC_TEST);
    }
    ml_pr_z(p, ")");
}

static void print_for(ml_Printer *p, const ml_For *f)
{
    size_t n = chain_length(p, f), mark = ml_pr_scope_mark(p),
           first_mark = ml_pr_n_marks(p);
    size_t at = 0;
    const ml_For *in = f;
    int32_t before = p->scope;
    uint32_t *cols = ML_ARRAY(p->cx, uint32_t, n), *lens = ML_ARRAY(p->cx, uint32_t, n);
    const char **names = ML_ARRAY(p->cx, const char *, n);

    for (size_t k = 0; k < n; k++, in = k < n ? ml_as_for(in->body) : in)
        ml_pr_label_above(p, &in->base);
    ml_pr_line(p);
    uint32_t begin = ml_pr_col(p);
    ml_pr_z(p, "for ");
    /* The header is outside the scope of its variables, but none of them occurs in it: the
     * names may be chosen first, as they are written first. */
    in = f;
    for (size_t k = 0; k < n; k++) {
        p->stmt = &in->base;
        names[k] = ml_pr_define_var(p, in->var);
        ml_pr_z(p, k ? ", " : "");
        cols[k] = ml_pr_col(p);
        lens[k] = (uint32_t)strlen(names[k]);
        ml_TextMark *m = ml_pr_mark(p, ML_MARK_LOOP, in->var->uid, cols[k]);
        if (m)
            m->len = lens[k];
        ml_pr_z(p, names[k]);
        if (k + 1 < n)
            in = ml_as_for(in->body);
    }
    at = ml_pr_n_marks(p);
    p->stmt = &f->base;
    ml_pr_z(p, " in ");
    if (n == 1) {
        loop_header(p, f);
    } else {
        ml_pr_t(p, "grid(");
        in = f;
        for (size_t k = 0; k < n; k++) {
            ml_pr_z(p, k ? ", " : "");
            p->stmt = &in->base;
            ml_pr_expr(p, in->extent, ML_PREC_TEST);
            if (k + 1 < n)
                in = ml_as_for(in->body);
        }
        ml_pr_z(p, ")");
    }
    ml_pr_z(p, ":");
    uint32_t end = ml_pr_col(p);
    in = f;
    for (size_t k = 0; k < n; k++) {
        if (n == 1)
            ml_pr_underline(p, &in->base, begin, end - begin, false);
        else
            ml_pr_underline(p, &in->base, cols[k], lens[k], false);
        ml_pr_var(p, in->var)->loop = in;
        if (k + 1 < n)
            in = ml_as_for(in->body);
    }
    for (size_t k = 0; k < n; k++)
        ml_pr_open(p);
    p->level++;
    ml_pr_pending(p, p->scope);
    ml_pr_list(p, in->body);
    p->level--;
    in = f;
    for (size_t k = 0; k < n; k++) {
        ml_pr_var(p, in->var)->loop = NULL;
        if (k + 1 < n)
            in = ml_as_for(in->body);
    }
    ml_pr_close(p, before, mark);
    if (p->o->marks)
        for (size_t k = first_mark; k < at; k++)
            ml_pr_end_mark(p, k);
}

/* ---- compound statements without a name */
static void end_header(ml_Printer *p, const ml_Stmt *s, uint32_t col)
{
    stmt_mark(p, s, col);
    ml_pr_underline(p, s, col, ml_pr_col(p) - col, false);
}

/* if or while; the number of its mark. */
static size_t print_header(ml_Printer *p, const char *word, const ml_Expr *cond,
                           const ml_Stmt *self)
{
    ml_pr_label_above(p, self);
    ml_pr_line(p);
    uint32_t col = ml_pr_col(p);
    ml_pr_z(p, word);
    ml_pr_expr(p, cond, ML_PREC_TEST);
    ml_pr_z(p, ":");
    size_t at = ml_pr_n_marks(p);
    end_header(p, self, col);
    return at;
}

static void print_if(ml_Printer *p, const ml_If *s, const ml_Stmt *self)
{
    size_t at = print_header(p, "if ", s->cond, self);

    ml_pr_body(p, s->then);
    if (s->other) {
        ml_pr_line(p);
        ml_pr_z(p, "else:");
        ml_pr_body(p, s->other);
    }
    ml_pr_end_mark(p, at);
}

static void print_while(ml_Printer *p, const ml_While *s, const ml_Stmt *self)
{
    size_t at = print_header(p, "while ", s->cond, self);

    ml_pr_body(p, s->body);
    ml_pr_end_mark(p, at);
}

/* The variable of a launch; the first pass has seen that there is one. */
static const ml_Var *launch_var(const ml_Attr *a)
{
    return a->node->kind == ML_VAL_VAR ? a->node->as.var : a->node->as.expr->as.var;
}

static void print_attr_node(ml_Printer *p, const ml_Attr *a)
{
    if (!a->thread.axis) {
        ml_pr_value(p, a->node);
        return;
    }
    ml_pr_t(p, "iter_var(");
    ml_pr_value(p, a->node);
    ml_pr_z(p, ", None, \"ThreadIndex\", ");
    ml_pr_string(p, a->thread.name, strlen(a->thread.name));
    ml_pr_z(p, ")");
}

/* A number of threads has the dtype of its variable v; other integers have none. */
static void print_attr_value(ml_Printer *p, const ml_Attr *a, const ml_Var *v)
{
    if (v && a->value->kind == ML_VAL_INT)
        ml_pr_expr(p, ml_int(p->cx, v->type, a->value->as.i), ML_PREC_TEST);
    else
        ml_pr_value(p, a->value);
}

static void print_attr(ml_Printer *p, const ml_Attr *a, bool last)
{
    const ml_Stmt *self = &a->base;
    const ml_Var *v = ml_pr_is_launch(a) ? launch_var(a) : NULL;
    bool own = v && !ml_pr_var(p, v)->env;
    size_t mark = ml_pr_scope_mark(p);

    ml_pr_label_above(p, self);
    ml_pr_line(p);
    uint32_t col = ml_pr_col(p);
    const char *name = NULL;
    if (!last)
        ml_pr_z(p, "with ");
    else if (own) {
        name = ml_pr_define_var(p, v);
        ml_pr_z(p, name);
        ml_pr_z(p, " = ");
    }
    if (v) {
        ml_pr_t(p, "launch_thread(");
        if (own)
            ml_pr_string(p, a->thread.name, strlen(a->thread.name));
        else
            ml_pr_var_name(p, v);
    } else {
        ml_pr_t(p, "attr(");
        print_attr_node(p, a);
        ml_pr_z(p, ", ");
        ml_pr_key(p, a->key);
    }
    ml_pr_z(p, ", ");
    print_attr_value(p, a, v);
    ml_pr_z(p, ")");
    if (!last && own) {
        name = ml_pr_define_var(p, v);
        ml_pr_z(p, " as ");
        ml_pr_z(p, name);
    }
    if (!last)
        ml_pr_z(p, ":");
    size_t at = ml_pr_n_marks(p);
    end_header(p, self, col);
    if (last) {
        ml_pr_list(p, a->body);
    } else {
        int32_t before = ml_pr_open(p);
        p->level++;
        ml_pr_pending(p, p->scope);
        ml_pr_list(p, a->body);
        p->level--;
        ml_pr_close(p, before, mark);
    }
    ml_pr_end_mark(p, at);
}

/* ---- simple statements */
static void print_store(ml_Printer *p, const ml_Store *st)
{
    const ml_Buffer *b = st->buffer;

    if (st->mask) {
        ml_pr_buffer_ref(p, b);
        ml_pr_z(p, ".vstore([");
        ml_pr_args(p, st->indices, st->n);
        ml_pr_z(p, "], ");
        ml_pr_expr(p, st->value, ML_PREC_TEST);
        ml_pr_z(p, ", predicate=");
        ml_pr_expr(p, st->mask, ML_PREC_TEST);
        ml_pr_z(p, ")");
        return;
    }
    bool cell = ml_pr_is_cell(p, b);
    if (cell &&
        (!ml_is_int(st->indices[0], 0) || !ml_dtype_eq(st->indices[0]->type, ML_DT_I32))) {
        ml_pr_buffer_ref(p, b);
        ml_pr_indices(p, st->indices, st->n, true);
    } else {
        ml_pr_z(p, ml_pr_buffer_name(p, b));
        if (!cell)
            ml_pr_indices(p, st->indices, st->n, true);
    }
    ml_pr_z(p, " = ");
    p->whole = st->value;
    ml_pr_expr(p, st->value, ML_PREC_TEST);
    p->whole = NULL;
}

static void print_bind(ml_Printer *p, const ml_Bind *b)
{
    bool typed = ml_dtype_has_name(b->var->type);

    ml_pr_z(p, ml_pr_define_var(p, b->var));
    if (!typed) {
        ml_pr_z(p, " = ");
        if (p->newest)
            ml_pr_t(p, "bind(");
    } else {
        ml_pr_z(p, ": ");
        if (p->newest)
            ml_pr_t(p, "let[");
        ml_pr_type(p, b->var, false);
        ml_pr_z(p, p->newest ? "] = " : " = ");
    }
    if (b->value->kind == ML_EXPR_STRING) {
        ml_pr_t(p, "StringImm(");
        ml_pr_expr(p, b->value, ML_PREC_TEST);
        ml_pr_z(p, ")");
    } else {
        ml_pr_expr(p, b->value, ML_PREC_TEST);
    }
    if (!typed && p->newest)
        ml_pr_z(p, ")");
}

static void print_alloc(ml_Printer *p, const ml_Alloc *a)
{
    const ml_Buffer *b = a->buffer;
    bool decl = a->base.kind == ML_STMT_DECL;

    ml_pr_new_buffer(p, b);
    ml_pr_z(p, " = ");
    unsigned flags = 0;
    if (decl || !p->newest) {
        ml_pr_t(p, "decl_buffer(");
    } else if (ml_is_scope(b->scope, ML_SCOPE_SHARED) ||
               ml_is_scope(b->scope, ML_SCOPE_LOCAL)) {
        ml_pr_t(p,
                ml_is_scope(b->scope, ML_SCOPE_LOCAL) ? "alloc_local(" : "alloc_shared(");
        flags = ML_BUF_NO_SCOPE;
    } else {
        ml_pr_t(p, "alloc_buffer(");
    }
    ml_pr_buffer_args(p, b, flags, decl ? a->data : NULL);
    if (ml_dict_count(a->annotations) > 0) {
        ml_pr_z(p, ", annotations=");
        ml_pr_attrs(p, a->annotations, NULL);
    }
    ml_pr_z(p, ")");
}

static void print_assert(ml_Printer *p, const ml_Assert *a)
{
    ml_pr_z(p, "assert ");
    ml_pr_expr(p, a->cond, ML_PREC_TEST);
    ml_pr_z(p, ", ");
    if (a->n_parts == 1 && ml_streq(a->error, "RuntimeError")) {
        ml_pr_string(p, a->parts[0], strlen(a->parts[0]));
        return;
    }
    ml_pr_z(p, "(");
    ml_pr_string(p, a->error, strlen(a->error));
    ml_pr_z(p, ", [");
    for (size_t k = 0; k < a->n_parts; k++) {
        ml_pr_z(p, k ? ", " : "");
        ml_pr_string(p, a->parts[k], strlen(a->parts[k]));
    }
    ml_pr_z(p, "])");
}

static void print_evaluate(ml_Printer *p, const ml_Expr *e)
{
    if (e->kind == ML_EXPR_CALL) {
        ml_pr_expr(p, e, ML_PREC_TEST);
        return;
    }
    ml_pr_t(p, "evaluate(");
    if (e->kind == ML_EXPR_STRING)
        ml_pr_t(p, "StringImm(");
    ml_pr_expr(p, e, ML_PREC_TEST);
    ml_pr_z(p, e->kind == ML_EXPR_STRING ? "))" : ")");
}

static void print_simple(ml_Printer *p, const ml_Stmt *s)
{
    switch ((ml_StmtKind)s->kind) {
    case ML_STMT_STORE: print_store(p, ml_as_store(s)); return;
    case ML_STMT_BIND: print_bind(p, ml_as_bind(s)); return;
    case ML_STMT_EVALUATE: print_evaluate(p, ml_as_evaluate(s)->value); return;
    case ML_STMT_ALLOC:
    case ML_STMT_DECL: print_alloc(p, ml_as_alloc(s)); return;
    case ML_STMT_ASSERT: print_assert(p, ml_as_assert(s)); return;
    case ML_STMT_RETURN:
        ml_pr_z(p, "return");
        if (ml_as_return(s)->value) {
            ml_pr_z(p, " ");
            ml_pr_expr(p, ml_as_return(s)->value, ML_PREC_TEST);
        }
        return;
    case ML_STMT_BREAK: ml_pr_z(p, "break"); return;
    case ML_STMT_CONTINUE: ml_pr_z(p, "continue"); return;
    case ML_STMT_SEQ:
    case ML_STMT_FOR:
    case ML_STMT_WHILE:
    case ML_STMT_IF:
    case ML_STMT_ATTR:
    case ML_STMT_BLOCK:
    case ML_STMT_KINDS: return;
    }
}

static void write_stmt(ml_Printer *p, const ml_Stmt *s, bool last)
{
    const ml_Stmt *outer = p->stmt;
    p->stmt = s;
    switch (s->kind) {
    case ML_STMT_SEQ: ml_pr_list(p, s); break;
    case ML_STMT_FOR: print_for(p, ml_as_for(s)); break;
    case ML_STMT_WHILE: print_while(p, ml_as_while(s), s); break;
    case ML_STMT_IF: print_if(p, ml_as_if(s), s); break;
    case ML_STMT_ATTR: print_attr(p, ml_as_attr(s), last); break;
    case ML_STMT_BLOCK: ml_pr_block(p, ml_as_block(s)); break;
    default: /* a line */
        if (s->kind == ML_STMT_ALLOC && ml_pr_is_cell(p, ml_as_alloc(s)->buffer)) {
            print_cell(p, ml_as_alloc(s), NULL);
            break;
        }
        ml_pr_line(p);
        uint32_t col = ml_pr_col(p);
        print_simple(p, s);
        stmt_mark(p, s, col);
        ml_pr_underline(p, s, col, ml_pr_col(p) - col, true);
        break;
    }
    p->stmt = outer;
}
