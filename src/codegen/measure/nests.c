/* nests - see nests.h. */
#include "moonloop/codegen/measure/nests.h"

#include "moonloop/core/walk.h"

typedef struct Split {
    ml_Ctx *cx;
    const ml_Func *f;
    const ml_Block *root;
    const ml_Seq *seq;
    uint32_t *end;   /* per statement: its group reaches to before this one */
    uint32_t **uses; /* per allocation: how many statements before the k-th use it */
} Split;

static bool is_global(const ml_Buffer *b)
{
    return b->scope.rank == ML_SCOPE_GLOBAL;
}

/* What stands for the statements behind it cannot go alone. */
static bool goes_alone(const ml_Stmt *s)
{
    return s->kind == ML_STMT_FOR || s->kind == ML_STMT_BLOCK || s->kind == ML_STMT_IF ||
           s->kind == ML_STMT_STORE || s->kind == ML_STMT_WHILE;
}

static void join(Split *s, uint32_t from, uint32_t to)
{
    for (uint32_t k = from; k <= to; k++)
        if (s->end[k] < to + 1)
            s->end[k] = to + 1;
}

/* Each statement is asked once about each buffer. */
static void count_uses(Split *s)
{
    s->uses = ML_ARRAY(s->cx, uint32_t *, s->root->n_allocs + 1u);
    for (uint32_t b = 0; b < s->root->n_allocs; b++) {
        uint32_t *n = ML_ARRAY(s->cx, uint32_t, s->seq->n + 1u);

        n[0] = 0;
        for (uint32_t k = 0; k < s->seq->n; k++)
            n[k + 1] = n[k] + ml_stmt_uses_buffer(s->seq->stmts[k], s->root->allocs[b]);
        s->uses[b] = n;
    }
}

static bool used_in(const Split *s, uint32_t from, uint32_t to, uint32_t b)
{
    return s->uses[b][to] > s->uses[b][from];
}

/* Groups as intervals: those that overlap become one. */
static void group(Split *s)
{
    for (uint32_t k = 0; k < s->seq->n; k++)
        s->end[k] = k + 1;
    for (uint32_t b = 0; b < s->root->n_allocs; b++) {
        uint32_t first = s->seq->n, last = 0;

        if (is_global(s->root->allocs[b]))
            continue;
        for (uint32_t k = 0; k < s->seq->n; k++)
            if (used_in(s, k, k + 1, b)) {
                first = k < first ? k : first;
                last = k;
            }
        if (first < last)
            join(s, first, last);
    }
    for (uint32_t k = 0; k < s->seq->n; k++)
        for (uint32_t j = k + 1; j < s->end[k]; j++)
            if (s->end[j] > s->end[k])
                s->end[k] = s->end[j];
}

static ml_Nest make(Split *s, uint32_t from, uint32_t to)
{
    ml_Ctx *cx = s->cx;
    ml_FuncParam *params =
        ML_ARRAY(cx, ml_FuncParam, s->f->n_params + s->root->n_allocs + 1u);
    const ml_Buffer **own = ML_ARRAY(cx, const ml_Buffer *, s->root->n_allocs + 1u);
    ml_Func f = *s->f;
    ml_Block root = *s->root;
    ml_Nest n;

    if (f.n_params)
        memcpy(params, f.params, f.n_params * sizeof *params);
    root.n_allocs = 0;
    root.allocs = own;
    for (uint32_t k = 0; k < s->root->n_allocs; k++) {
        const ml_Buffer *b = s->root->allocs[k];

        if (!used_in(s, from, to, k))
            continue;
        if (used_in(s, 0, from, k) || used_in(s, to, s->seq->n, k))
            params[f.n_params++] = (ml_FuncParam){
                ml_var_new_handle(cx, b->name, ml_dtype_lanes(b->type, 1), "global"), b};
        else
            own[root.n_allocs++] = b;
    }
    f.params = params;
    n.stmt = ml_seq(cx, &s->seq->stmts[from], to - from);
    root.body = n.stmt;
    f.body = ml_block_from(cx, &root);
    n.func = ml_func_from(cx, &f);
    return n;
}

static const char *cannot(const Split *s)
{
    if (s->root == NULL)
        return "the function has no root block to take it apart";
    if (s->root->n_matches)
        return "the root block matches buffers";
    if (s->seq == NULL)
        return NULL; /* one nest */
    for (uint32_t k = 0; k < s->seq->n; k++)
        if (!goes_alone(s->seq->stmts[k]))
            return "a statement at the top is no nest of its own";
    return NULL;
}

void ml_nests_split(ml_Ctx *cx, const ml_Func *f, ml_NestVec *out, const char **why)
{
    Split s = {.cx = cx, .f = f, .root = ml_func_root(f)};

    if (s.root && s.root->body->kind == ML_STMT_SEQ)
        s.seq = ml_as_seq(s.root->body);
    *why = cannot(&s);
    if (*why || s.seq == NULL) {
        ml_push(cx, out, ((ml_Nest){f, s.root ? s.root->body : f->body}));
        return;
    }
    s.end = ML_ARRAY(cx, uint32_t, s.seq->n + 1u);
    count_uses(&s);
    group(&s);
    if (s.end[0] == s.seq->n && s.seq->n > 1)
        *why = "its nests share a buffer that cannot be a parameter";
    for (uint32_t k = 0; k < s.seq->n; k = s.end[k])
        ml_push(cx, out, *why ? ((ml_Nest){f, s.root->body}) : make(&s, k, s.end[k]));
}
