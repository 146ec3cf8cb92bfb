/*
 * wants - see wants.h.
 *
 * A nest is known by what its rows are made of: the names, extents and kinds of its loops,
 * the iters, regions and annotations of its blocks; where buffers count, also by the nests
 * of all that use them. Pointers are not enough: programs move when memory is compacted.
 */
#include "repl/view/pane/wants.h"

#include "moonloop/core/base/arena.h"

enum { MOST_KEPT = 512 }; /* nests, of all panes */

struct ml_NestWant {
    uint64_t key;
    int rows, columns;
};

static void mix(uint64_t *h, uint64_t x)
{
    *h = (*h ^ x) * 0x9e3779b97f4a7c15u;
    *h ^= *h >> 29;
}

static void mix_text(uint64_t *h, const char *z)
{
    uint64_t w = 0;

    for (int k = 0; z && *z; z++, k++) {
        w = w << 8 | (unsigned char)*z;
        if (k % 8 == 7)
            mix(h, w);
    }
    mix(h, w + 1);
}

static void mix_name(uint64_t *h, const ml_Shown *sh, ml_Uid uid)
{
    mix(h, uid);
    mix_text(h, ml_pane_name(sh, uid));
}

static void mix_buffer(uint64_t *h, const ml_Shown *sh, const ml_Buffer *b)
{
    mix_name(h, sh, b->uid);
    for (size_t d = 0; d < b->rank; d++)
        mix(h, b->shape[d]->hash);
    mix(h, (uint64_t)b->type.code << 32 | (uint64_t)b->type.bits << 16 | b->type.lanes);
    mix_text(h, b->scope.name);
}

static void mix_regions(uint64_t *h, const ml_Shown *sh, const ml_Region *v, size_t n)
{
    mix(h, n);
    for (size_t k = 0; k < n; k++) {
        mix_buffer(h, sh, v[k].buffer);
        for (size_t d = 0; d < v[k].buffer->rank; d++) {
            mix(h, v[k].ranges[d].min->hash);
            mix(h, v[k].ranges[d].extent->hash);
        }
    }
}

typedef struct Mix {
    const ml_Shown *sh;
    uint64_t h;
} Mix;

static bool visit(const ml_Stmt *st, void *user)
{
    Mix *m = user;

    if (st->kind == ML_STMT_FOR) {
        const ml_For *f = ml_as_for(st);

        mix_name(&m->h, m->sh, f->var->uid);
        mix_text(&m->h, f->var->hint);
        mix(&m->h, f->extent->hash);
        mix(&m->h, f->kind);
        mix_text(&m->h, f->thread.axis ? f->thread.name : "");
    } else if (st->kind == ML_STMT_BLOCK) {
        const ml_Block *b = ml_as_block(st);

        mix_name(&m->h, m->sh, b->tag);
        for (size_t k = 0; k < b->n_iters; k++) {
            mix_text(&m->h, b->iters[k].var->hint);
            mix(&m->h, b->iters[k].kind);
            mix(&m->h, b->iters[k].min->hash);
            mix(&m->h, b->iters[k].extent->hash);
            mix(&m->h, b->iters[k].value->hash);
        }
        mix(&m->h, b->predicate->hash);
        mix_regions(&m->h, m->sh, b->reads, b->n_reads);
        mix_regions(&m->h, m->sh, b->writes, b->n_writes);
        for (size_t k = 0; k < ml_dict_count(b->annotations); k++)
            mix_text(&m->h, b->annotations->keys[k]);
        mix(&m->h, (uintptr_t)b->annotations);
    }
    mix(&m->h, st->kind);
    return st->has_loop || st->has_block;
}

/* How two users stand: one inside of the other, or one before the other. */
static unsigned order_of(const ml_Index *ix, ml_Uid a, ml_Uid b)
{
    if (ml_index_is_above(ix, a, b) || ml_index_is_above(ix, b, a))
        return 2;
    return ml_index_before(ix, a, b);
}

/* The nests that use the buffers of this one: each by its own key and its place. */
static void mix_users(ml_Rows *r, const ml_Shown *sh, const ml_Map *keys,
                      const ml_Stmt *nest, uint64_t *h)
{
    ml_StmtVec blocks = {0};

    ml_all_blocks(r->cx, nest, &blocks);
    for (size_t k = 0; k < blocks.n; k++) {
        const ml_Block *b = ml_as_block(blocks.v[k]);

        for (size_t m = 0; m < b->n_reads + b->n_writes; m++) {
            const ml_Buffer *buffer =
                m < b->n_reads ? b->reads[m].buffer : b->writes[m - b->n_reads].buffer;
            ml_Tags t = ml_index_users(sh->p.index, buffer);
            ml_Uid before = 0;

            mix(h, t.n);
            for (size_t i = 0; i < t.n; i++) {
                const uint64_t *key = NULL;

                for (ml_Up u = ml_index_up(sh->p.index, t.v[i]); u.node && !key;
                     ml_index_next(&u)) {
                    mix(h, u.uid);
                    key = ml_map_get(keys, u.uid);
                }
                mix(h, key ? *key : t.v[i]);
                mix(h, before ? order_of(sh->p.index, before, t.v[i]) : 0);
                before = t.v[i];
            }
        }
    }
}

static struct ml_NestWant *kept_want(struct ml_PaneKept *kept, uint64_t key, bool *known)
{
    struct ml_NestWant *w;

    if (!kept->nests)
        kept->nests = ml_heap_zalloc(MOST_KEPT * sizeof *kept->nests);
    w = &kept->nests[key % MOST_KEPT];
    *known = w->key == key;
    w->key = key;
    return w;
}

/* What makes rows of the program as a whole: its parameters, which are told apart. */
static uint64_t key_of_program(const ml_Shown *sh)
{
    uint64_t h = 1;

    for (uint32_t k = 0; k < sh->p.mod->n; k++)
        for (size_t m = 0; m < sh->p.mod->funcs[k]->n_params; m++)
            if (sh->p.mod->funcs[k]->params[m].buffer)
                mix(&h, sh->p.mod->funcs[k]->params[m].buffer->uid);
    return h;
}

void ml_nests_want(ml_View *v, ml_Rows *r, const ml_Shown *sh, ml_PaneId pane, bool users,
                   ml_NestWants *wants, ml_Want *out)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_StmtVec nests = {0};
    ml_Map *keys = ml_map_new(cx);
    uint64_t whole = key_of_program(sh), *own;

    ml_pane_nests(cx, sh, &nests);
    own = ML_ARRAY(cx, uint64_t, nests.n + 1);
    for (size_t k = 0; k < nests.n; k++) {
        Mix m = {.sh = sh, .h = whole + (uint64_t)pane};

        ml_stmt_visit(nests.v[k], visit, &m);
        own[k] = m.h;
        ml_map_set(cx, keys, ml_stmt_uid(nests.v[k]), &own[k]);
    }
    ml_rows_reset(r);
    for (size_t k = 0; k < nests.n; k++) {
        uint64_t key = own[k];
        bool known;
        struct ml_NestWant *w;

        if (users)
            mix_users(r, sh, keys, nests.v[k], &key);
        w = kept_want(ml_pane_kept(v), key, &known);
        if (!known) {
            ml_Want one = {0};

            ml_rows_reset(r);
            wants(r, sh, nests.v[k], &one);
            w->rows = one.rows;
            w->columns = one.columns;
        }
        out->rows = w->rows > out->rows ? w->rows : out->rows;
        out->columns = w->columns > out->columns ? w->columns : out->columns;
    }
    ml_ctx_unref(cx);
}
