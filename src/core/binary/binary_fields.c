/*
 * binary_fields - the fields of every kind of node, in the order of the bytes.
 *
 * A walk that reads goes on after an error with zeros, which every caller bears.
 */
#include "moonloop/core/binary/binary_impl.h"

/* ---------------------------------------------------------------- other nodes and lists */

static void visit(ml_BinaryIo *io, ml_BinaryClass is, const void *p)
{
    union {
        const void *from;
        void *node; /* is only read */
    } u = {p};
    bool shared = is <= ML_BINARY_EXPR;
    uint32_t key = is == ML_BINARY_VAR      ? ((const ml_Var *)p)->uid
                   : is == ML_BINARY_BUFFER ? ((const ml_Buffer *)p)->uid
                   : is == ML_BINARY_EXPR   ? ((const ml_Expr *)p)->id
                                            : 0;
    uint32_t number = (uint32_t)(uintptr_t)(shared ? ml_map_get(io->known[is], key) : NULL);
    size_t base = io->kids.n, kid = io->kid;
    uint64_t tag = is;

    if (number == 0) {
        ml_binary_fields(io, is, u.node);
        io->mode = ML_BINARY_PUT;
        io->kid = base;
        ml_bin_number(io, &tag);
        ml_binary_fields(io, is, u.node);
        io->mode = ML_BINARY_VISIT;
        io->kid = kid;
        io->kids.n = base;
        number = ++io->n;
        if (shared) /* a number as a pointer */
            ml_map_set(
                io->cx, io->known[is], key,
                (const void *)(uintptr_t)number); /* NOLINT(performance-no-int-to-ptr) */
    }
    ml_push(io->cx, &io->kids, number);
}

/* slot: the address of a pointer to a node of that class. */
static void ref(ml_BinaryIo *io, ml_BinaryClass is, void *slot, bool optional)
{
    const void *p = NULL;
    uint64_t back = 0;

    if (io->mode == ML_BINARY_VISIT) {
        memcpy(&p, slot, sizeof p);
        if (p)
            visit(io, is, p);
        else
            ml_push(io->cx, &io->kids, 0);
        return;
    }
    if (io->mode == ML_BINARY_PUT) {
        uint32_t number = io->kids.v[io->kid++];

        back = number ? io->n + 1 - number : 0;
        ml_bin_number(io, &back);
        return;
    }
    ml_bin_number(io, &back);
    if (back > io->n || (back && io->nodes[io->n - back].is != is) || (!back && !optional))
        ml_bin_bad(io, "a node refers to no other");
    else if (back)
        p = io->nodes[io->n - back].p;
    memcpy(slot, &p, sizeof p);
}

/* How many; each of them takes a byte at least. */
static void count(ml_BinaryIo *io, uint32_t *n)
{
    ML_BIN_NUMBER(io, *n, io->mode == ML_BINARY_GET ? io->end - io->at : UINT32_MAX);
}

typedef void FieldsFn(ml_BinaryIo *io, void *item);

/* slot: the address of a pointer to n items of that size, made while reading. */
static void items(ml_BinaryIo *io, void *slot, size_t n, size_t size, FieldsFn *fn)
{
    char *list;

    if (io->mode == ML_BINARY_GET) {
        if (n > io->end - io->at) {
            ml_bin_bad(io, "a list is longer than the program");
            n = 0;
        }
        list = ml_zalloc(io->cx, (n ? n : 1) * size);
        memcpy(slot, &list, sizeof list);
    }
    memcpy(&list, slot, sizeof list);
    for (size_t k = 0; k < n; k++)
        fn(io, list + k * size);
}

static void expr_ref(ml_BinaryIo *io, void *slot)
{
    ref(io, ML_BINARY_EXPR, slot, false);
}
static void var_ref(ml_BinaryIo *io, void *slot)
{
    ref(io, ML_BINARY_VAR, slot, false);
}
static void buffer_ref(ml_BinaryIo *io, void *slot)
{
    ref(io, ML_BINARY_BUFFER, slot, false);
}
static void value_ref(ml_BinaryIo *io, void *slot)
{
    ref(io, ML_BINARY_VALUE, slot, false);
}
static void stmt_ref(ml_BinaryIo *io, void *slot)
{
    ref(io, ML_BINARY_STMT, slot, false);
}
static void func_ref(ml_BinaryIo *io, void *slot)
{
    ref(io, ML_BINARY_FUNC, slot, false);
}
static void text_item(ml_BinaryIo *io, void *slot)
{
    ml_bin_text(io, slot, false);
}
static void number_item(ml_BinaryIo *io, void *slot)
{
    int32_t *i = slot;
    int64_t v = *i;

    ml_bin_integer(io, &v);
    if (io->mode == ML_BINARY_GET)
        *i = (int32_t)v;
}

#define LIST(io, list, n, fn) items((io), &(list), (n), sizeof *(list), (fn))

static void span(ml_BinaryIo *io, const ml_Span **s)
{
    ml_Span copy = *s ? **s : (ml_Span){0};
    bool there = *s != NULL;

    if (!io->lines)
        return;
    ml_bin_flag(io, &there);
    if (!there)
        return;
    ML_BIN_NUMBER(io, copy.line, UINT32_MAX);
    ML_BIN_NUMBER(io, copy.col, UINT32_MAX);
    ML_BIN_NUMBER(io, copy.end_line, UINT32_MAX);
    ML_BIN_NUMBER(io, copy.end_col, UINT32_MAX);
    if (io->mode == ML_BINARY_GET) {
        ml_Span *made = ml_alloc(io->cx, sizeof *made);

        *made = copy;
        made->file = io->file;
        *s = made;
    }
}

/* Of a statement: it has an ordinal where lines do not go along. */
static void place(ml_BinaryIo *io, const ml_Span **s)
{
    uint32_t k = io->n_ordinals;

    span(io, s);
    if (io->lines || io->mode == ML_BINARY_VISIT)
        return;
    io->n_ordinals++;
    if (io->mode == ML_BINARY_PUT)
        return;
    if (k >= io->n_ordinals_said) {
        ml_bin_bad(io, "there are more statements than said");
        return;
    }
    io->ordinals[k] = (ml_Span){.file = io->file, .line = k + 1, .col = 1};
    *s = &io->ordinals[k];
}

/* ---------------------------------------------------------------- fields */

static void var_fields(ml_BinaryIo *io, ml_Var *v)
{
    ml_bin_dtype(io, &v->type);
    ml_bin_dtype(io, &v->elem);
    ml_bin_flag(io, &v->is_size);
    ml_bin_text(io, &v->scope, true);
    ml_bin_text(io, &v->hint, true);
}

static void buffer_fields(ml_BinaryIo *io, ml_Buffer *b)
{
    ml_bin_dtype(io, &b->type);
    ML_BIN_NUMBER(io, b->rank, UINT16_MAX);
    ML_BIN_NUMBER(io, b->n_strides, UINT16_MAX);
    ML_BIN_NUMBER(io, b->n_separators, UINT16_MAX);
    ml_bin_flag(io, &b->auto_broadcast);
    ml_bin_flag(io, &b->is_scalar);
    ml_bin_flag(io, &b->says_offset);
    ML_BIN_NUMBER(io, b->align, UINT32_MAX);
    ML_BIN_NUMBER(io, b->offset_factor, UINT32_MAX);
    ml_bin_text(io, &b->name, false);
    ml_bin_text(io, &b->scope.name, false);
    var_ref(io, &b->data);
    LIST(io, b->shape, b->rank, expr_ref);
    LIST(io, b->strides, b->n_strides, expr_ref);
    expr_ref(io, &b->elem_offset);
    LIST(io, b->separators, b->n_separators, number_item);
    span(io, &b->span);
    if (io->mode == ML_BINARY_GET)
        b->scope = ml_scope(b->scope.name);
    if (io->mode == ML_BINARY_GET &&
        ((b->n_strides && b->n_strides != b->rank) || !b->align || !b->offset_factor))
        ml_bin_bad(io, "a buffer is none");
}

static void op_fields(ml_BinaryIo *io, const ml_Op **op)
{
    const char *name = *op ? (*op)->name : NULL;
    uint32_t id = *op ? (*op)->id : 0;

    ML_BIN_NUMBER(io, id, ML_OP_IDS - 1);
    if (id == ML_OP_OTHER)
        ml_bin_text(io, &name, false);
    if (io->mode == ML_BINARY_GET)
        *op = id == ML_OP_OTHER ? ml_op_intern(io->cx, ml_str(name)) : ml_op((ml_OpId)id);
}

static void expr_fields(ml_BinaryIo *io, ml_BinaryExpr *get, ml_Expr *e)
{
    bool masked = e->flags & ML_X_MASKED;

    ML_BIN_NUMBER(io, e->kind, ML_EXPR_KINDS - 1);
    ml_bin_dtype(io, &e->type);
    ML_BIN_NUMBER(io, e->n_args, UINT16_MAX);
    switch ((ml_ExprKind)e->kind) {
    case ML_EXPR_INT:
    case ML_EXPR_SHUFFLE: ml_bin_integer(io, &e->as.i); break;
    case ML_EXPR_FLOAT: ml_bin_real(io, &e->as.f); break;
    case ML_EXPR_STRING: ml_bin_text(io, &e->as.s, false); break;
    case ML_EXPR_VAR:
    case ML_EXPR_LET: var_ref(io, &e->as.var); break;
    case ML_EXPR_LOAD:
        ml_bin_flag(io, &masked);
        buffer_ref(io, &e->as.buffer);
        break;
    case ML_EXPR_CALL: op_fields(io, &e->as.op); break;
    default: break;
    }
    if (get) {
        e->flags = masked ? ML_X_MASKED : 0;
        LIST(io, get->args, e->n_args, expr_ref);
    }
    for (size_t k = 0; !get && k < e->n_args; k++)
        expr_ref(io, &e->args[k]);
}

static void map_fields(ml_BinaryIo *io, ml_IndexMap *m)
{
    count(io, &m->n_vars);
    count(io, &m->n_exprs);
    LIST(io, m->vars, m->n_vars, var_ref);
    LIST(io, m->exprs, m->n_exprs, expr_ref);
    ref(io, ML_BINARY_MAP, &m->inverse, true);
}

static void reducer_fields(ml_BinaryIo *io, const ml_Reducer **r)
{
    ml_Reducer copy = *r ? **r : (ml_Reducer){0};

    count(io, &copy.n);
    LIST(io, copy.lhs, copy.n, var_ref);
    LIST(io, copy.rhs, copy.n, var_ref);
    LIST(io, copy.results, copy.n, expr_ref);
    LIST(io, copy.identities, copy.n, expr_ref);
    if (io->mode == ML_BINARY_GET) {
        ml_Reducer *made = ml_alloc(io->cx, sizeof *made);

        *made = copy;
        *r = made;
    }
}

static void list_fields(ml_BinaryIo *io, ml_Value *v)
{
    count(io, &v->n);
    LIST(io, v->as.list, v->n, value_ref);
    if (v->kind == ML_VAL_TARGET && (v->n == 0 || v->n > 2))
        ml_bin_bad(io, "a target is none");
    if (v->kind != ML_VAL_DICT)
        return;
    LIST(io, v->keys, v->n, text_item);
    for (size_t k = 1; io->mode == ML_BINARY_GET && !io->bad && k < v->n; k++)
        if (strcmp(v->keys[k - 1], v->keys[k]) >= 0)
            ml_bin_bad(io, "keys are out of order");
}

static void value_fields(ml_BinaryIo *io, ml_Value *v)
{
    ML_BIN_NUMBER(io, v->kind, ML_VAL_TARGET);
    switch ((ml_ValueKind)v->kind) {
    case ML_VAL_NONE: break;
    case ML_VAL_BOOL:
    case ML_VAL_INT: ml_bin_integer(io, &v->as.i); break;
    case ML_VAL_FLOAT: ml_bin_real(io, &v->as.f); break;
    case ML_VAL_STRING:
        ml_bin_text(io, &v->as.s, false);
        if (io->mode == ML_BINARY_GET)
            v->n = (uint32_t)strlen(v->as.s);
        break;
    case ML_VAL_LIST:
    case ML_VAL_DICT:
    case ML_VAL_TARGET: list_fields(io, v); break;
    case ML_VAL_EXPR: expr_ref(io, &v->as.expr); break;
    case ML_VAL_BUFFER: buffer_ref(io, &v->as.buffer); break;
    case ML_VAL_VAR: var_ref(io, &v->as.var); break;
    case ML_VAL_MAP: ref(io, ML_BINARY_MAP, &v->as.map, false); break;
    case ML_VAL_REDUCER: reducer_fields(io, &v->as.reducer); break;
    }
}

/* ---- statements */

static void range_fields(ml_BinaryIo *io, void *item)
{
    ml_Range *r = item;

    expr_ref(io, &r->min);
    expr_ref(io, &r->extent);
}

static void region_fields(ml_BinaryIo *io, void *item)
{
    ml_Region *r = item;

    buffer_ref(io, &r->buffer);
    LIST(io, r->ranges, r->buffer ? r->buffer->rank : 0, range_fields);
}

static void match_fields(ml_BinaryIo *io, void *item)
{
    ml_Match *m = item;

    buffer_ref(io, &m->target);
    region_fields(io, &m->source);
}

static void iter_fields(ml_BinaryIo *io, void *item)
{
    ml_Iter *i = item;

    var_ref(io, &i->var);
    expr_ref(io, &i->min);
    expr_ref(io, &i->extent);
    expr_ref(io, &i->value);
    ML_BIN_NUMBER(io, i->kind, ML_ITER_KINDS - 1);
    ML_BIN_NUMBER(io, i->said_bits, UINT8_MAX);
    span(io, &i->span);
}

static void block_fields(ml_BinaryIo *io, ml_Block *b)
{
    ml_bin_text(io, &b->name, false);
    count(io, &b->n_iters);
    count(io, &b->n_reads);
    count(io, &b->n_writes);
    count(io, &b->n_allocs);
    count(io, &b->n_matches);
    LIST(io, b->iters, b->n_iters, iter_fields);
    expr_ref(io, &b->predicate);
    LIST(io, b->reads, b->n_reads, region_fields);
    LIST(io, b->writes, b->n_writes, region_fields);
    LIST(io, b->allocs, b->n_allocs, buffer_ref);
    LIST(io, b->matches, b->n_matches, match_fields);
    ref(io, ML_BINARY_VALUE, &b->annotations, true);
    ref(io, ML_BINARY_STMT, &b->init, true);
    stmt_ref(io, &b->body);
    if (io->mode == ML_BINARY_GET)
        b->tag = ml_fresh_uid(io->cx);
}

static void thread(ml_BinaryIo *io, ml_Thread *t)
{
    ml_bin_text(io, &t->name, true);
    if (io->mode == ML_BINARY_GET)
        *t = ml_thread(t->name);
}

static void for_fields(ml_BinaryIo *io, ml_For *f)
{
    ML_BIN_NUMBER(io, f->kind, ML_FOR_KINDS - 1);
    var_ref(io, &f->var);
    expr_ref(io, &f->min);
    expr_ref(io, &f->extent);
    ref(io, ML_BINARY_EXPR, &f->step, true);
    thread(io, &f->thread);
    ref(io, ML_BINARY_VAR, &f->thread_var, true);
    ref(io, ML_BINARY_VALUE, &f->annotations, true);
    stmt_ref(io, &f->body);
    if ((f->kind == ML_FOR_THREAD) != (f->thread.name != NULL))
        ml_bin_bad(io, "a loop has a thread that it is not bound to");
}

static void attr_fields(ml_BinaryIo *io, ml_Attr *a)
{
    value_ref(io, &a->node);
    ml_bin_text(io, &a->key, false);
    value_ref(io, &a->value);
    thread(io, &a->thread);
    stmt_ref(io, &a->body);
}

static void store_fields(ml_BinaryIo *io, ml_Store *s)
{
    buffer_ref(io, &s->buffer);
    expr_ref(io, &s->value);
    ref(io, ML_BINARY_EXPR, &s->mask, true);
    count(io, &s->n);
    LIST(io, s->indices, s->n, expr_ref);
    if (io->mode == ML_BINARY_GET && s->buffer && s->n != s->buffer->rank)
        ml_bin_bad(io, "a store has indices of another rank");
}

static void seq_fields(ml_BinaryIo *io, ml_Seq *s)
{
    count(io, &s->n);
    LIST(io, s->stmts, s->n, stmt_ref);
    for (size_t k = 0; io->mode == ML_BINARY_GET && !io->bad && k < s->n; k++)
        if (s->n < 2 || s->stmts[k]->kind == ML_STMT_SEQ)
            ml_bin_bad(io, "a list is none");
}

static void stmt_fields(ml_BinaryIo *io, ml_Stmt *s)
{
    void *node = s;
    ml_If *cond = node;
    ml_While *again = node;
    ml_Alloc *alloc = node;
    ml_Assert *check = node;

    ML_BIN_NUMBER(io, s->kind, ML_STMT_KINDS - 1);
    switch ((ml_StmtKind)s->kind) {
    case ML_STMT_STORE: store_fields(io, node); break;
    case ML_STMT_SEQ: seq_fields(io, node); break;
    case ML_STMT_FOR: for_fields(io, node); break;
    case ML_STMT_WHILE:
        expr_ref(io, &again->cond);
        stmt_ref(io, &again->body);
        break;
    case ML_STMT_IF:
        expr_ref(io, &cond->cond);
        stmt_ref(io, &cond->then);
        ref(io, ML_BINARY_STMT, &cond->other, true);
        break;
    case ML_STMT_BIND:
        var_ref(io, &((ml_Bind *)node)->var);
        expr_ref(io, &((ml_Bind *)node)->value);
        break;
    case ML_STMT_EVALUATE: expr_ref(io, &((ml_Evaluate *)node)->value); break;
    case ML_STMT_ALLOC:
    case ML_STMT_DECL:
        buffer_ref(io, &alloc->buffer);
        ref(io, ML_BINARY_EXPR, &alloc->data, s->kind == ML_STMT_ALLOC);
        ref(io, ML_BINARY_VALUE, &alloc->annotations, true);
        break;
    case ML_STMT_ATTR: attr_fields(io, node); break;
    case ML_STMT_ASSERT:
        expr_ref(io, &check->cond);
        ml_bin_text(io, &check->error, false);
        count(io, &check->n_parts);
        LIST(io, check->parts, check->n_parts, text_item);
        break;
    case ML_STMT_RETURN: ref(io, ML_BINARY_EXPR, &((ml_Return *)node)->value, true); break;
    case ML_STMT_BREAK:
    case ML_STMT_CONTINUE: break;
    case ML_STMT_BLOCK: block_fields(io, node); break;
    case ML_STMT_KINDS: break;
    }
    place(io, &s->span);
}

/* ---- functions and modules */

static void param_fields(ml_BinaryIo *io, void *item)
{
    ml_FuncParam *p = item;

    var_ref(io, &p->var);
    ref(io, ML_BINARY_BUFFER, &p->buffer, true);
}

static void func_fields(ml_BinaryIo *io, ml_Func *f)
{
    ml_bin_text(io, &f->name, false);
    count(io, &f->n_params);
    LIST(io, f->params, f->n_params, param_fields);
    stmt_ref(io, &f->body);
    ref(io, ML_BINARY_VALUE, &f->attrs, true);
    ml_bin_dtype(io, &f->ret);
    ML_BIN_NUMBER(io, f->spelling, ML_NEWEST);
    ml_bin_flag(io, &f->no_s_tir);
    span(io, &f->span);
    if (io->mode == ML_BINARY_GET && !io->lines) {
        ml_Span *whole = ML_NEW(io->cx, ml_Span);

        *whole = (ml_Span){.file = io->file, .line = 1, .col = 1};
        f->span = whole;
    }
}

void ml_binary_fields(ml_BinaryIo *io, ml_BinaryClass is, void *node)
{
    ml_Module *m = node;

    switch (is) {
    case ML_BINARY_VAR: var_fields(io, node); break;
    case ML_BINARY_BUFFER: buffer_fields(io, node); break;
    case ML_BINARY_EXPR:
        if (io->mode == ML_BINARY_GET)
            expr_fields(io, node, &((ml_BinaryExpr *)node)->head);
        else
            expr_fields(io, NULL, node);
        break;
    case ML_BINARY_VALUE: value_fields(io, node); break;
    case ML_BINARY_MAP: map_fields(io, node); break;
    case ML_BINARY_STMT: stmt_fields(io, node); break;
    case ML_BINARY_FUNC: func_fields(io, node); break;
    case ML_BINARY_MODULE:
        count(io, &m->n);
        LIST(io, m->funcs, m->n, func_ref);
        ref(io, ML_BINARY_VALUE, &m->attrs, true);
        break;
    case ML_BINARY_CLASSES: break;
    }
}

/* ---------------------------------------------------------------- writing */

void ml_binary_put(ml_BinaryIo *io, const ml_Module *m)
{
    for (size_t k = 0; k < ML_COUNT(io->known); k++)
        io->known[k] = ml_map_new(io->cx);
    visit(io, ML_BINARY_MODULE, m);
}
