/*
 * pipeline - whether a scope is a stage pipeline: no block overwrites what an earlier one
 * reads, and every block is covered by its producers.
 *
 * A version that shares most of its statements with one that was shown is shown from what
 * changed. Source: ir-and-analysis 2.4, 8.4; primitives 2.2.
 */
#include "moonloop/verify/cover/cover_strides.h"

#include "moonloop/core/shown.h"
#include "moonloop/verify/facts.h"

ml_CoverEnds ml_cover_no_ends(ml_Ctx *cx)
{
    const ml_Expr *zero = ml_i32(cx, 0);

    return (ml_CoverEnds){{zero, zero, zero, zero}};
}

/* A block that overwrites what an earlier one reads. */
static bool find_war(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid scope,
                     const ml_Block **reader, const ml_Block **writer,
                     const ml_Buffer **buf)
{
    ml_Children ch = ml_scope_children(f, p, scope);
    ml_Map *readers = ml_map_new(cx); /* canonical buffer -> first reader */

    for (size_t m = 0; m < ch.n; m++) {
        const ml_Block *b = ch.v[m];

        for (size_t k = 0; k < b->n_writes; k++) {
            const ml_Buffer *w = ml_canonical_buffer(p, scope, b->writes[k].buffer);
            const ml_Block *r = ml_map_get(readers, w->uid);

            if (r && r->tag != b->tag) {
                *reader = r;
                *writer = b;
                *buf = w;
                return true;
            }
        }
        for (size_t k = 0; k < b->n_reads; k++) {
            const ml_Buffer *r = ml_canonical_buffer(p, scope, b->reads[k].buffer);

            if (!ml_map_has(readers, r->uid))
                ml_map_set(cx, readers, r->uid, b);
        }
    }
    return false;
}

/* Nothing that a child block writes is read outside of the blocks, where no signature says
 * so. */
static bool reads_in_blocks(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid scope,
                            bool explain)
{
    const ml_Stmt *root = ml_index_node(p.index, scope);
    const ml_Block *writer = NULL;
    const ml_Buffer *buf;

    if (ml_is_signed(f, ml_as_block(root)))
        return true;
    buf = ml_read_between(cx, p, root, NULL, &writer);
    if (buf && explain)
        ml_fail_as(
            cx, ML_E_NOT_STAGE_PIPELINE,
            "the scope of block {0} is not a stage pipeline: block {1} writes {2}, which "
            "is read outside of blocks, in a bound, a condition or a binding",
            ML_BLOCK(root), ML_BLOCK(writer), ML_BUFFER(buf));
    return !buf;
}

typedef bool Cover(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block, bool set_error);

/* What is asked of every block, and under which names the answers are kept. */
typedef struct Asked {
    Cover *cover;
    ml_Question question;
    ml_Shown shown;
} Asked;

static const Asked by_thread = {ml_is_covered, ML_ASK_PIPELINE, ML_SHOWN_PIPELINE};
static const Asked by_value = {ml_is_produced, ML_ASK_PRODUCED_PIPELINE, ML_SHOWN_PRODUCED};

static bool stage_pipeline(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid scope,
                           const Asked *asked, bool explain)
{
    ml_Children ch = ml_scope_children(f, p, scope);
    const ml_Stmt *root = ml_index_node(p.index, scope);
    const ml_Block *reader = NULL, *writer = NULL;
    const ml_Buffer *buf = NULL;

    if (!reads_in_blocks(cx, f, p, scope, explain))
        return false;
    if (find_war(cx, f, p, scope, &reader, &writer, &buf)) {
        if (explain)
            ml_fail_as(
                cx, ML_E_NOT_STAGE_PIPELINE,
                "the scope of block {0} is not a stage pipeline: block {1} overwrites "
                "{2}, which block {3} reads before it",
                ML_BLOCK(root), ML_BLOCK(writer), ML_BUFFER(buf), ML_BLOCK(reader));
        return false;
    }
    for (size_t m = 0; m < ch.n; m++) {
        if (asked->cover(cx, f, p, ch.v[m]->tag, false))
            continue;
        if (explain) {
            asked->cover(cx, f, p, ch.v[m]->tag, true);
            const ml_Error *e = ml_error(cx);
            const char *text = "its producers do not cover what it reads";
            const ml_Buffer *read = NULL;
            ml_CoverEnds ends = ml_cover_no_ends(cx);
            ml_Uid from = ch.v[m]->tag;
            bool unproved = e && e->unproved;

            if (e && e->code == ML_E_NOT_REGION_COVERED) {
                read = e->facts[1].as.buffer;
                text = ml_strdup(cx, ml_str(e->facts[2].as.text));
                from = e->facts[3].as.uid;
                for (size_t k = 0; k < ML_COUNT(ends.v); k++)
                    ends.v[k] = e->facts[ML_COVER_FIRST_END + k].as.expr;
            }
            ml_error_clear(cx);
            ml_fail(cx, ML_E_NOT_STAGE_PIPELINE, ML_BLOCK(root),
                    ML_TEMPLATED(ml_format(
                        cx, "cannot show that what block %s reads of %s was written: %s",
                        ml_shown(cx, ch.v[m]), read ? read->name : "a buffer", text)),
                    ML_BLOCK(ch.v[m]), ML_BLOCK_UID(from), ML_SHOWN_IN(ends.v[0]),
                    ML_SHOWN_IN(ends.v[1]), ML_SHOWN_IN(ends.v[2]), ML_SHOWN_IN(ends.v[3]));
            if (unproved)
                ml_error_set_unproved(cx);
        }
        return false;
    }
    return true;
}

/* ---- the same for a version that shares most of its statements with one that was shown */

enum { MAX_CHANGED = 24 };

typedef struct Changed {
    ml_StmtVec blocks;              /* of the statements that are new */
    ML_VEC(const ml_Buffer *) made; /* written by blocks of old and new statements */
    ML_VEC(const ml_Buffer *) used; /* read or written by those of new statements */
} Changed;

static bool in_list(const ml_Buffer *const *v, size_t n, const ml_Buffer *b)
{
    for (size_t k = 0; k < n; k++)
        if (v[k]->uid == b->uid)
            return true;
    return false;
}

static void add_buffers(ml_Ctx *cx, Changed *c, const ml_Block *b, bool is_new)
{
    for (size_t k = 0; k < b->n_writes; k++) {
        if (!in_list(c->made.v, c->made.n, b->writes[k].buffer))
            ml_push(cx, &c->made, b->writes[k].buffer);
        if (is_new && !in_list(c->used.v, c->used.n, b->writes[k].buffer))
            ml_push(cx, &c->used, b->writes[k].buffer);
    }
    for (size_t k = 0; is_new && k < b->n_reads; k++)
        if (!in_list(c->used.v, c->used.n, b->reads[k].buffer))
            ml_push(cx, &c->used, b->reads[k].buffer);
}

/* The statements that differ between two bodies; false: too many, or no lists. */
static bool find_changed(ml_Ctx *cx, const ml_Stmt *was, const ml_Stmt *now, Changed *c)
{
    if (was->kind != ML_STMT_SEQ || now->kind != ML_STMT_SEQ)
        return false;
    const ml_Seq *a = ml_as_seq(was), *b = ml_as_seq(now);
    size_t head, tail;

    ml_common_ends(a->stmts, a->n, b->stmts, b->n, &head, &tail);
    if (a->n - head - tail > MAX_CHANGED || b->n - head - tail > MAX_CHANGED)
        return false;
    for (size_t side = 0; side < 2; side++) {
        const ml_Seq *q = side ? b : a;

        for (size_t k = head; k < q->n - tail; k++) {
            ml_StmtVec v = {0};

            if (q->stmts[k]->kind == ML_STMT_BLOCK)
                ml_push(cx, &v, q->stmts[k]);
            else
                ml_child_blocks(cx, q->stmts[k], &v);
            for (size_t m = 0; m < v.n; m++) {
                add_buffers(cx, c, ml_as_block(v.v[m]), side == 1);
                if (side)
                    ml_push(cx, &c->blocks, v.v[m]);
            }
        }
    }
    return true;
}

/* Whether the first reader of the buffer comes before another block that writes it. */
static bool has_war(const ml_BlockVec *users, const ml_Buffer *buf)
{
    const ml_Block *reader = NULL;

    for (size_t m = 0; m < users->n; m++) {
        const ml_Block *b = users->v[m];

        for (size_t k = 0; k < b->n_writes; k++)
            if (b->writes[k].buffer->uid == buf->uid && reader && reader != b)
                return true;
        for (size_t k = 0; k < b->n_reads && !reader; k++)
            if (b->reads[k].buffer->uid == buf->uid)
                reader = b;
    }
    return false;
}

/* Whether what changed keeps the scope a stage pipeline: only its blocks, and readers of
 * what they write or wrote, can have lost their cover; only their buffers can have got a
 * WAR. No views. */
static bool still_pipeline(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid scope,
                           const Asked *asked, const Changed *c)
{
    for (size_t u = 0; u < c->used.n; u++) {
        ml_BlockVec users = {0};

        ml_scope_users(cx, f, p, scope, &c->used.v[u], 1, &users);
        if (has_war(&users, c->used.v[u]))
            return false;
    }
    for (size_t k = 0; k < c->blocks.n; k++)
        if (!asked->cover(cx, f, p, ml_as_block(c->blocks.v[k])->tag, false))
            return false;
    for (size_t k = 0; k < c->made.n; k++) {
        ml_BlockVec users = {0};

        ml_scope_users(cx, f, p, scope, &c->made.v[k], 1, &users);
        for (size_t m = 0; m < users.n; m++)
            if (ml_block_reads(p, scope, users.v[m], c->made.v[k]) &&
                !asked->cover(cx, f, p, users.v[m]->tag, false))
                return false;
    }
    return true;
}

/* true: shown from what was shown before; false: nothing is known by this. */
static bool pipeline_by_change(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid scope,
                               const Asked *asked)
{
    const ml_Block *root = ml_as_block(ml_index_node(p.index, scope));
    const ml_Stmt *was = ml_last_shown(f, asked->shown, scope);
    Changed c = {0};

    /* Views and thread loops above the scope take part in cover, too. */
    if (!was || root->n_matches > 0 || ml_index_parent(p.index, scope) != 0)
        return false;
    return find_changed(cx, was, root->body, &c) &&
           still_pipeline(cx, f, p, scope, asked, &c);
}

static bool ask_pipeline(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid scope,
                         const Asked *asked, bool explain)
{
    ml_Mark mark = ml_mark(cx);
    ml_FactKey key = {0};
    const ml_Block *root = ml_as_block(ml_index_node(p.index, scope));
    bool answer;

    ml_key_ask(cx, &key, asked->question);
    ml_key_add(cx, &key, root->body);
    ml_key_add(cx, &key, root->matches);
    for (ml_Uid u = ml_index_parent(p.index, scope); u; u = ml_index_parent(p.index, u)) {
        const ml_Stmt *node = ml_index_node(p.index, u);

        if (node->kind == ML_STMT_FOR)
            ml_key_add(cx, &key, ml_as_for(node)->thread.name);
    }
    if (!ml_fact_get(f, &key, &answer)) {
        answer = (pipeline_by_change(cx, f, p, scope, asked) &&
                  reads_in_blocks(cx, f, p, scope, false)) ||
                 stage_pipeline(cx, f, p, scope, asked, false);
        ml_fact_put(f, &key, answer);
        if (answer)
            ml_set_shown(f, asked->shown, scope, root->body);
    }
    if (!answer && explain)
        stage_pipeline(cx, f, p, scope, asked, true);
    if (answer || !explain)
        ml_release(cx, mark);
    return answer;
}

bool ml_is_stage_pipeline(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid scope)
{
    return ask_pipeline(cx, f, p, scope, &by_thread, false);
}

bool ml_need_stage_pipeline(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid scope)
{
    return ask_pipeline(cx, f, p, scope, &by_thread, true);
}

bool ml_need_produced_pipeline(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid scope)
{
    return ml_is_stage_pipeline(cx, f, p, scope) ||
           ask_pipeline(cx, f, p, scope, &by_value, true);
}
