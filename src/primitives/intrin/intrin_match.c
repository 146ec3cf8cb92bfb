/*
 * intrin_match - see intrin_match.h. The description's root block is compared with the
 * block region by region, which gives the base of each buffer, and then statement by
 * statement: variables by correspondence, indices after the base is taken off. Integer
 * width of indices may differ. The first difference is the answer. Source: primitives 10,
 * tensorize.
 */
#include "moonloop/primitives/intrin/intrin_match.h"

#include "moonloop/core/shown.h"

enum { MAX_READS = 4, MAX_SWAPS = 4 }; /* whose orders are tried */

typedef struct Pair { /* a buffer of the description and what it is in the program */
    const ml_Buffer *desc;
    ml_IntrinPlace at;
} Pair;

typedef struct Match {
    ml_Call *c;
    ml_Ctx *cx;
    const char *name;
    ml_Uid shown; /* the block that errors are about */
    ml_Arith *ar;
    ml_Subst vars; /* the description's variables in the program's */
    ML_VEC(Pair) pairs;
    const uint32_t
        *reads; /* which of the block's stands for each read of the description */
    unsigned swapped, n_commuting; /* a bit for each node that commutes, in their order */
} Match;

static bool differ(Match *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool differ(Match *m, const char *fmt, ...)
{
    ml_Text t = {0};
    va_list ap;

    va_start(ap, fmt);
    ml_text_vfmt(&t, fmt, ap);
    va_end(ap);
    ml_fail(m->cx, ML_E_INTRIN_MISMATCH, ML_BLOCK_UID(m->shown), ML_TEXT(m->name),
            ML_TEXT(ml_text_z(&t)));
    ml_text_free(&t);
    return false;
}

static const char *text_of(Match *m, const ml_Expr *e)
{
    ml_Text t = {0};

    ml_print_expr(m->cx, &t, e, &(ml_PrintOpts){.spelling = -1, .plain = true});
    const char *z = ml_strdup(m->cx, (ml_Str){ml_text_z(&t), t.n});

    ml_text_free(&t);
    return z;
}

/* e in the wider index dtype; a variable of the description stands for a wider one of the
 * program's, which fits. */
static const ml_Expr *wide(Match *m, const ml_Expr *e)
{
    ml_Ctx *cx = m->cx;

    if (e->kind == ML_EXPR_CAST && ml_dtype_is_index(e->args[0]->type)) {
        const ml_Expr *in = wide(m, e->args[0]);
        ml_Bound b = ml_arith_bound(m->ar, in);

        if (b.lo >= ml_dtype_min(e->type) && b.hi <= ml_dtype_max(e->type))
            return in;
    } else if (ml_kind_computes(e->kind)) {
        return ml_binary(cx, (ml_ExprKind)e->kind, wide(m, e->args[0]),
                         wide(m, e->args[1]));
    }
    return ml_cast(cx, ML_DT_I64, e);
}

static bool same_value(Match *m, const ml_Expr *a, const ml_Expr *b)
{
    if (a == b)
        return true;
    if (!ml_dtype_is_index(a->type) || !ml_dtype_is_index(b->type))
        return false;
    if (a->type.bits > 32 || b->type.bits > 32) {
        a = wide(m, a);
        b = wide(m, b);
    }
    return a == b || ml_prove_equal(m->ar, a, b);
}

/* The description's expression in the program's variables. */
static const ml_Expr *translated(Match *m, const ml_Expr *e)
{
    return m->vars.vars ? ml_expr_subst(m->cx, e, &m->vars) : e;
}

static void map_var(Match *m, const ml_Var *d, const ml_Var *w)
{
    ml_subst_var(m->cx, &m->vars, d, ml_cast(m->cx, d->type, ml_var(m->cx, w)));
}

static const Pair *pair_of(const Match *m, const ml_Buffer *desc)
{
    for (size_t k = 0; k < m->pairs.n; k++)
        if (m->pairs.v[k].desc->uid == desc->uid)
            return &m->pairs.v[k];
    return NULL;
}

/* ---- regions of the root: bases */

static bool same_buffer(Match *m, const ml_Buffer *d, const ml_Buffer *w)
{
    if (!ml_dtype_eq(d->type, w->type))
        return differ(m, "%s has dtype %s, its %s has %s", w->name,
                      ml_dtype_name(m->cx, w->type), d->name,
                      ml_dtype_name(m->cx, d->type));
    if (!ml_scope_eq(d->scope, w->scope))
        return differ(m, "%s is in storage scope %s, its %s in %s", w->name, w->scope.name,
                      d->name, d->scope.name);
    return true;
}

static bool root_region(Match *m, const ml_Region *d, const ml_Region *w)
{
    ml_Ctx *cx = m->cx;
    const Pair *have = pair_of(m, d->buffer);
    size_t rank = w->buffer->rank, lead;
    const ml_Expr **base = ML_ARRAY(cx, const ml_Expr *, rank + 1);

    if (!same_buffer(m, d->buffer, w->buffer))
        return false;
    if (rank < d->buffer->rank)
        return differ(m, "%s has %zu dimensions, its %s has %u", w->buffer->name, rank,
                      d->buffer->name, (unsigned)d->buffer->rank);
    lead = rank - d->buffer->rank;
    for (size_t k = 0; k < rank; k++) {
        ml_Range r = w->ranges[k];
        const ml_Expr *want =
            k < lead ? ml_int(cx, ML_DT_I32, 1) : d->ranges[k - lead].extent;

        if (!same_value(m, want, r.extent))
            return differ(m, "dimension %zu of %s extends over %s, its %s over %s", k,
                          w->buffer->name, text_of(m, r.extent), d->buffer->name,
                          text_of(m, want));
        base[k] = r.min;
        if (k >= lead && !ml_is_int(d->ranges[k - lead].min, 0))
            base[k] = ml_sub(cx, r.min, ml_cast(cx, r.min->type, d->ranges[k - lead].min));
    }
    if (!have) {
        ml_push(cx, &m->pairs, ((Pair){d->buffer, {w->buffer, base, lead}}));
        return true;
    }
    if (have->at.buffer->uid != w->buffer->uid)
        return differ(m, "%s stands for %s and for %s", d->buffer->name,
                      have->at.buffer->name, w->buffer->name);
    for (size_t k = 0; k < rank; k++)
        if (!same_value(m, have->at.base[k], base[k]))
            return differ(m, "%s is used at two places, %s and %s in dimension %zu",
                          w->buffer->name, text_of(m, have->at.base[k]),
                          text_of(m, base[k]), k);
    return true;
}

static bool root_regions(Match *m, const char *what, const ml_Region *d, size_t n,
                         const ml_Region *w, size_t n_w, const uint32_t *order)
{
    if (n != n_w)
        return differ(m, "it %s %zu region%s, the description %zu", what, n_w,
                      n_w == 1 ? "" : "s", n);
    for (size_t k = 0; k < n; k++)
        if (!root_region(m, &d[k], &w[order ? order[k] : k]))
            return false;
    return true;
}

/* ---- expressions */

static bool match_expr(Match *m, const ml_Expr *d, const ml_Expr *w);

static bool match_indices(Match *m, const ml_Buffer *db, const ml_Expr *const *d, size_t n,
                          const ml_Buffer *wb, const ml_Expr *const *w, size_t n_w)
{
    const Pair *p = pair_of(m, db);

    if (!p || p->at.buffer->uid != wb->uid || n_w != n + p->at.lead)
        return differ(m, "it uses %s where the description has %s", wb->name, db->name);
    for (size_t k = 0; k < n_w; k++) {
        const ml_Expr *want = p->at.base[k];

        if (k >= p->at.lead) {
            const ml_Expr *own = translated(m, d[k - p->at.lead]);

            if (own->type.lanes != 1 || w[k]->type.lanes != 1)
                return differ(m, "a vector index of %s", wb->name);
            (void)ml_promote(m->cx, &want, &own);
            want = ml_add(m->cx, want, own);
        }
        if (!same_value(m, want, w[k]))
            return differ(m, "index %zu of %s is %s, the description has %s", k, wb->name,
                          text_of(m, w[k]), text_of(m, want));
    }
    return true;
}

static bool is_plain_index(const ml_Expr *e)
{
    return ml_dtype_is_index(e->type) && !(e->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL));
}

static bool commutes(const ml_Expr *e)
{
    return e->kind == ML_EXPR_ADD || e->kind == ML_EXPR_MUL || e->kind == ML_EXPR_MIN ||
           e->kind == ML_EXPR_MAX;
}

static bool match_expr(Match *m, const ml_Expr *d, const ml_Expr *w)
{
    if (is_plain_index(d) && is_plain_index(w))
        return same_value(m, translated(m, d), w) ||
               differ(m, "it has %s, the description %s", text_of(m, w),
                      text_of(m, translated(m, d)));
    if (d->kind != w->kind || (d->kind != ML_EXPR_LOAD && d->n_args != w->n_args) ||
        !ml_dtype_eq(d->type, w->type) ||
        (d->flags & ML_X_MASKED) != (w->flags & ML_X_MASKED))
        return differ(m, "it has %s, the description %s", text_of(m, w), text_of(m, d));
    switch ((ml_ExprKind)d->kind) {
    case ML_EXPR_LOAD:
        return match_indices(m, d->as.buffer, d->args, d->n_args, w->as.buffer, w->args,
                             w->n_args);
    case ML_EXPR_INT:
    case ML_EXPR_FLOAT:
    case ML_EXPR_STRING:
        return d == w ||
               differ(m, "it has %s, the description %s", text_of(m, w), text_of(m, d));
    case ML_EXPR_VAR:
        return translated(m, d) == w ||
               differ(m, "it has %s, the description %s", text_of(m, w), text_of(m, d));
    case ML_EXPR_LET:
        if (!match_expr(m, d->args[0], w->args[0]))
            return false;
        map_var(m, d->as.var, w->as.var);
        return match_expr(m, d->args[1], w->args[1]);
    case ML_EXPR_CALL:
        if (!ml_streq(d->as.op->name, w->as.op->name))
            return differ(m, "it calls %s, the description %s", w->as.op->name,
                          d->as.op->name);
        break;
    default:
        if (d->kind == ML_EXPR_SHUFFLE && d->as.i != w->as.i)
            return differ(m, "a shuffle differs");
        break;
    }
    bool swap = false;

    if (commutes(d))
        swap = m->n_commuting < MAX_SWAPS && (m->swapped >> m->n_commuting++ & 1u);
    for (size_t k = 0; k < d->n_args; k++)
        if (!match_expr(m, d->args[k], w->args[swap ? 1 - k : k]))
            return false;
    return true;
}

/* ---- statements */

static bool match_stmt(Match *m, const ml_Stmt *d, const ml_Stmt *w);

/* What `part` of a loop or an iter is; its name is worked out only where they differ. */
static bool match_value(Match *m, const char *part, const ml_Var *of, const ml_Expr *d,
                        const ml_Expr *w)
{
    return same_value(m, translated(m, d), w) ||
           differ(m, "%s %s is %s, the description has %s", part, ml_shown(m->cx, of),
                  text_of(m, w), text_of(m, translated(m, d)));
}

static bool match_loop(Match *m, const ml_For *d, const ml_For *w)
{
    if (!match_value(m, "the minimum of loop", w->var, d->min, w->min) ||
        !match_value(m, "the extent of loop", w->var, d->extent, w->extent))
        return false;
    if (d->kind != w->kind || !ml_thread_eq(d->thread, w->thread))
        return differ(m, "loop %s is %s, the description's %s is %s", ml_shown(m->cx, w),
                      ml_for_kind_name((ml_ForKind)w->kind), d->var->hint,
                      ml_for_kind_name((ml_ForKind)d->kind));
    if ((d->step && !ml_is_int(d->step, 1)) || (w->step && !ml_is_int(w->step, 1)))
        return differ(m, "loop %s has a step", ml_shown(m->cx, w));
    if (ml_dict_count(d->annotations) != ml_dict_count(w->annotations) ||
        (ml_dict_count(d->annotations) && !ml_value_eq(d->annotations, w->annotations)))
        return differ(m, "loop %s has other annotations", ml_shown(m->cx, w));
    map_var(m, d->var, w->var);
    if (d->thread_var && w->thread_var)
        map_var(m, d->thread_var, w->thread_var);
    ml_arith_bind_loop(m->ar, w);
    return match_stmt(m, d->body, w->body);
}

static bool match_regions(Match *m, const ml_Block *wb, const ml_Region *d, size_t n,
                          const ml_Region *w, size_t n_w)
{
    if (n != n_w)
        return differ(m, "block %s declares %zu regions of a kind, the description %zu",
                      wb->name, n_w, n);
    for (size_t at = 0; at < n; at++) {
        const Pair *p = pair_of(m, d[at].buffer);
        size_t k = 0;

        while (k < n && p && p->at.buffer->uid != w[k].buffer->uid)
            k++;
        if (!p || k == n)
            return differ(m, "block %s touches %s where the description has %s", wb->name,
                          w[at].buffer->name, d[at].buffer->name);
        for (size_t i = 0; i < w[k].buffer->rank; i++) {
            const ml_Expr *min = p->at.base[i];

            if (i >= p->at.lead) {
                const ml_Expr *own = translated(m, d[at].ranges[i - p->at.lead].min);

                (void)ml_promote(m->cx, &min, &own);
                min = ml_add(m->cx, min, own);
                if (!same_value(m, translated(m, d[at].ranges[i - p->at.lead].extent),
                                w[k].ranges[i].extent))
                    return differ(m, "block %s touches more or less of %s", wb->name,
                                  w[k].buffer->name);
            }
            if (!same_value(m, min, w[k].ranges[i].min))
                return differ(m, "block %s touches %s from %s on, the description from %s",
                              wb->name, w[k].buffer->name, text_of(m, w[k].ranges[i].min),
                              text_of(m, min));
        }
    }
    return true;
}

static bool match_inner_buffers(Match *m, const ml_Block *d, const ml_Block *w)
{
    if (d->n_allocs != w->n_allocs || d->n_matches || w->n_matches)
        return differ(m, "block %s has other buffers of its own", w->name);
    for (size_t k = 0; k < d->n_allocs; k++) {
        const ml_Buffer *a = d->allocs[k], *b = w->allocs[k];
        const ml_Expr **zero = ML_ARRAY(m->cx, const ml_Expr *, b->rank + 1u);

        if (!same_buffer(m, a, b))
            return false;
        if (a->rank != b->rank)
            return differ(m, "%s has another rank", b->name);
        for (size_t i = 0; i < b->rank; i++) {
            zero[i] = ml_int(m->cx, b->shape[i]->type, 0);
            if (!same_value(m, translated(m, a->shape[i]), b->shape[i]))
                return differ(m, "%s has another shape", b->name);
        }
        ml_push(m->cx, &m->pairs, ((Pair){a, {b, zero, 0}}));
    }
    return true;
}

static bool match_block(Match *m, const ml_Block *d, const ml_Block *w)
{
    if (d->n_iters != w->n_iters)
        return differ(m, "block %s has %u iters, the description's %s %u", w->name,
                      w->n_iters, d->name, d->n_iters);
    for (size_t k = 0; k < d->n_iters; k++) {
        const ml_Iter *a = &d->iters[k], *b = &w->iters[k];

        if (a->kind != b->kind)
            return differ(m, "iter %s of block %s is %s, the description's %s is %s",
                          b->var->hint, w->name, ml_iter_kind_name((ml_IterKind)b->kind),
                          a->var->hint, ml_iter_kind_name((ml_IterKind)a->kind));
        if (!match_value(m, "the value of iter", b->var, a->value, b->value) ||
            !match_value(m, "the extent of iter", b->var, a->extent, b->extent) ||
            !match_value(m, "the minimum of iter", b->var, a->min, b->min))
            return false;
    }
    if (d->predicate != w->predicate && !match_expr(m, d->predicate, w->predicate))
        return false;
    for (size_t k = 0; k < d->n_iters; k++)
        map_var(m, d->iters[k].var, w->iters[k].var);
    ml_arith_bind_iters(m->ar, w);
    if (!d->init != !w->init)
        return differ(m, "block %s has %s init", w->name, w->init ? "an" : "no");
    if (!match_inner_buffers(m, d, w) ||
        !match_regions(m, w, d->writes, d->n_writes, w->writes, w->n_writes) ||
        !match_regions(m, w, d->reads, d->n_reads, w->reads, w->n_reads) ||
        (d->init && !match_stmt(m, d->init, w->init)))
        return false;
    return match_stmt(m, d->body, w->body);
}

static const char *stmt_word(const ml_Stmt *s)
{
    static const char *const words[ML_STMT_KINDS] = {
        [ML_STMT_STORE] = "a store",   [ML_STMT_SEQ] = "a list",
        [ML_STMT_FOR] = "a loop",      [ML_STMT_WHILE] = "a while loop",
        [ML_STMT_IF] = "an if",        [ML_STMT_BIND] = "a let",
        [ML_STMT_EVALUATE] = "a call", [ML_STMT_BLOCK] = "a block"};

    ML_ASSERT(s->kind < ML_STMT_KINDS);
    return words[s->kind] ? words[s->kind] : "another statement";
}

static bool match_stmt(Match *m, const ml_Stmt *d, const ml_Stmt *w)
{
    if (d->kind != w->kind)
        return differ(m, "it has %s where the description has %s", stmt_word(w),
                      stmt_word(d));
    switch (d->kind) {
    case ML_STMT_FOR: return match_loop(m, ml_as_for(d), ml_as_for(w));
    case ML_STMT_BLOCK: return match_block(m, ml_as_block(d), ml_as_block(w));
    case ML_STMT_SEQ:
        if (ml_as_seq(d)->n != ml_as_seq(w)->n)
            return differ(m, "it has %u statements in a row, the description %u",
                          ml_as_seq(w)->n, ml_as_seq(d)->n);
        for (size_t k = 0; k < ml_as_seq(d)->n; k++)
            if (!match_stmt(m, ml_as_seq(d)->stmts[k], ml_as_seq(w)->stmts[k]))
                return false;
        return true;
    case ML_STMT_STORE: {
        const ml_Store *a = ml_as_store(d), *b = ml_as_store(w);

        if (a->mask || b->mask)
            return differ(m, "a store under a mask");
        return match_indices(m, a->buffer, a->indices, a->n, b->buffer, b->indices, b->n) &&
               match_expr(m, a->value, b->value);
    }
    case ML_STMT_BIND: {
        const ml_Bind *a = (const ml_Bind *)(const void *)d,
                      *b = (const ml_Bind *)(const void *)w;

        if (!ml_dtype_eq(a->var->type, b->var->type) || !match_expr(m, a->value, b->value))
            return ml_ok(m->cx) ? differ(m, "a let differs") : false;
        map_var(m, a->var, b->var);
        return true;
    }
    case ML_STMT_IF: {
        const ml_If *a = ml_as_if(d), *b = ml_as_if(w);

        if (!a->other != !b->other)
            return differ(m, "an else differs");
        return match_expr(m, a->cond, b->cond) && match_stmt(m, a->then, b->then) &&
               (!a->other || match_stmt(m, a->other, b->other));
    }
    case ML_STMT_EVALUATE:
        return match_expr(m, ml_as_evaluate(d)->value, ml_as_evaluate(w)->value);
    }
    return differ(m, "%s cannot be compared", stmt_word(w));
}

/* With the operands in one order; the description's variables are those of no other try. */
static bool match_in_order(ml_Call *c, const char *name, const ml_Func *desc,
                           const ml_Block *b, ml_Uid shown, const uint32_t *reads,
                           unsigned swapped, ml_IntrinPlace *places)
{
    Match m = {.c = c,
               .cx = c->cx,
               .name = name,
               .shown = shown,
               .reads = reads,
               .swapped = swapped};
    const ml_Block *root = ml_func_root(desc);

    m.ar = ml_arith_at(c->cx, c->p, b->tag);
    ml_arith_bind_iters(m.ar, b);
    if (b->n_matches || b->n_allocs)
        return differ(&m, "it has buffers of its own");
    if (!root_regions(&m, "writes", root->writes, root->n_writes, b->writes, b->n_writes,
                      NULL) ||
        !root_regions(&m, "reads", root->reads, root->n_reads, b->reads, b->n_reads, reads))
        return false;
    for (uint32_t k = 0; k < desc->n_params; k++)
        places[k] = pair_of(&m, desc->params[k].buffer)->at;
    return match_inner_buffers(&m, root, b) && match_stmt(&m, root->body, b->body);
}

static bool is_commuting(const ml_Expr *e, void *user)
{
    *(unsigned *)user += commutes(e);
    return true;
}

static bool count_commuting(const ml_Stmt *s, void *user)
{
    ml_stmt_visit_exprs(s, ML_ROLES_ALL, is_commuting, user);
    return true;
}

/* The next order of the reads, as words are in a dictionary; false: it was the last. */
static bool next_order(uint32_t *v, size_t n)
{
    size_t k = n, j = n;

    while (k-- > 1 && v[k - 1] > v[k])
        ;
    if (n < 2 || k == 0)
        return false;
    while (v[--j] < v[k - 1])
        ;
    uint32_t x = v[j];

    v[j] = v[k - 1];
    v[k - 1] = x;
    for (size_t a = k, z = n; a + 1 < z; a++) {
        x = v[a];
        v[a] = v[--z];
        v[z] = x;
    }
    return true;
}

bool ml_intrin_match(ml_Call *c, const char *name, const ml_Func *desc, const ml_Block *b,
                     ml_Uid shown, ml_IntrinPlace *places)
{
    const ml_Block *root = ml_func_root(desc);
    uint32_t reads[MAX_READS];
    unsigned n_swaps = 0;

    if (root->n_reads > MAX_READS)
        return match_in_order(c, name, desc, b, shown, NULL, 0, places);
    ml_stmt_visit(root->body, count_commuting, &n_swaps);
    n_swaps = n_swaps < MAX_SWAPS ? n_swaps : MAX_SWAPS;
    for (uint32_t k = 0; k < root->n_reads; k++)
        reads[k] = k;
    do {
        for (unsigned swapped = 0; swapped < 1u << n_swaps; swapped++) {
            if (match_in_order(c, name, desc, b, shown, reads, swapped, places))
                return true;
            if (!ml_error(c->cx) || ml_error(c->cx)->code != ML_E_INTRIN_MISMATCH)
                return false;
            ml_error_clear(c->cx);
        }
    } while (b->n_reads == root->n_reads && next_order(reads, root->n_reads));
    return match_in_order(c, name, desc, b, shown, NULL, 0, places); /* says why */
}
