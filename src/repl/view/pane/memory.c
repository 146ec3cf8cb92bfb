/*
 * memory - pane 8: what the selected loop touches, and how it walks through it.
 *
 * Per access: how far apart two iterations of the loop are, and how many cache lines one
 * takes of that alone; per buffer: the bytes that all iterations touch, and how often each
 * element. That is worked out from the program. Below it stands what walking through it
 * counts, as soon as that is known (touches.c).
 * Source: interaction 8, 10.
 */
#include <math.h>

#include "repl/show/footprint.h"
#include "repl/view/pane/touches.h"

enum { LINE = 64 }; /* bytes */

typedef struct Memory {
    ml_Rows *r;
    ml_Shown sh;
    ml_Ctx *cx; /* of the answers */
    ml_LoopFacts f;
} Memory;

static const char *number(Memory *m, ml_Number n, ml_Unit unit)
{
    ml_Text t = {0};

    ml_text_number(m->cx, &t, n, unit, m->sh.names, false);
    return ml_text_into(m->cx, &t);
}

static void put_loop(Memory *m)
{
    const ml_For *f = m->f.loop;
    ml_Rows *r = m->r;

    ml_rows_put(r, ml_loop_role((ml_ForKind)f->kind), "%s", ml_pane_loop_name(&m->sh, f));
    ml_rows_put(r, ML_ROLE_NUMBER, "  %s", number(m, m->f.extent, ML_UNIT_COUNT));
    ml_rows_put(r, ML_ROLE_TEXT, " iterations");
    if (m->f.iterations.how != ML_UNKNOWN && !m->f.iterations.expr)
        ml_rows_put(r, ML_ROLE_DIM, ", %s in all",
                    number(m, m->f.iterations, ML_UNIT_COUNT));
    if (m->f.flops.how != ML_UNKNOWN && !m->f.flops.expr && m->f.flops.n > 0) {
        const char *n = number(m, m->f.flops, ML_UNIT_SHORT);
        char last = n[strlen(n) - 1];

        ml_rows_put(r, ML_ROLE_DIM, ", %s%sFLOP", n, last >= '0' && last <= '9' ? " " : "");
    }
    ml_rows_end(r)->node = f->var->uid;
}

/* ---- buffers */

static void put_touched(Memory *m, const ml_Touched *t, int name)
{
    bool exact = true;
    double reuse = ml_reuse(t, &exact);
    ml_Rows *r = m->r;

    ml_rows_put(r, ML_ROLE_BUFFER, "%s", ml_pane_name(&m->sh, t->buffer->uid));
    ml_rows_pad(r, name + 2, 1);
    ml_rows_put(r, ML_ROLE_NUMBER, "%s", number(m, t->bytes, ML_UNIT_BYTES));
    if (!isnan(reuse))
        ml_rows_put(r, ML_ROLE_TEXT, ", each element %s%.*f×", exact ? "" : "≥ ",
                    reuse < 10 && reuse != floor(reuse) ? 1 : 0, reuse);
    if (t->loads.how != ML_UNKNOWN && (t->loads.expr || t->loads.n > 0))
        ml_rows_put(r, ML_ROLE_DIM, ", %s loads", number(m, t->loads, ML_UNIT_COUNT));
    if (t->stores.how != ML_UNKNOWN && (t->stores.expr || t->stores.n > 0))
        ml_rows_put(r, ML_ROLE_DIM, ", %s stores", number(m, t->stores, ML_UNIT_COUNT));
    ml_rows_end(r)->key = ml_strdup(r->cx, ml_str(ml_pane_name(&m->sh, t->buffer->uid)));
}

/* ---- accesses */

static void put_access(Memory *m, const ml_Site *s)
{
    ml_Text t = {0};

    ml_text_access(m->cx, &t, s, m->sh.names);
    ml_rows_put(m->r, s->write ? ML_ROLE_NOTE : ML_ROLE_DIM, "%s ",
                s->in_init ? "init "
                : s->write ? "store"
                           : "load ");
    ml_rows_put(m->r, ML_ROLE_BUFFER, "%s", ml_text_z(&t));
    ml_text_free(&t);
}

/* How far an iteration is from the next one, and what that costs. */
static void put_stride(Memory *m, const ml_Stride *st)
{
    int64_t bytes = 0, away;
    ml_Text t = {0};

    if (st->kind == ML_STRIDE_OPEN) {
        ml_rows_put(m->r, ML_ROLE_ERROR, "  anywhere");
        return;
    }
    if (st->expr) {
        const ml_PrintOpts o = {.spelling = -1, .plain = true, .names = m->sh.names};

        ml_print_expr(m->cx, &t, st->expr, &o);
        ml_rows_put(m->r, ML_ROLE_NUMBER, "  %s elements apart", ml_text_z(&t));
        ml_text_free(&t);
        return;
    }
    if (__builtin_mul_overflow(st->n, (int64_t)ml_dtype_bytes(st->site->buffer->type),
                               &bytes))
        bytes = INT64_MAX;
    away = bytes == INT64_MIN ? INT64_MAX : bytes < 0 ? -bytes : bytes;
    if (away == 0) {
        ml_rows_put(m->r, ML_ROLE_OK, "  the same element");
    } else {
        ml_text_add(&t, bytes < 0 ? "-" : "");
        ml_text_bytes(&t, away);
        ml_rows_put(m->r, ML_ROLE_NUMBER, "  %s apart", ml_text_z(&t));
        if (away < LINE && LINE % away == 0)
            ml_rows_put(m->r, ML_ROLE_TEXT, ", 1/%d line per iteration", LINE / (int)away);
        else if (away < LINE)
            ml_rows_put(m->r, ML_ROLE_TEXT, ", %.2f lines per iteration",
                        (double)away / LINE);
        else
            ml_rows_put(m->r, ML_ROLE_ERROR, ", a line per iteration");
    }
    if (st->kind == ML_STRIDE_UNEVEN)
        ml_rows_put(m->r, ML_ROLE_DIM, ", with jumps");
    ml_text_free(&t);
}

/* ---- what was counted */

static void put_fact(Memory *m, ml_CellRole role, int column, const char *text)
{
    if (!text || !*text)
        return;
    ml_rows_pad(m->r, column, 0);
    ml_rows_put(m->r, role, "%s", text);
    ml_rows_end(m->r);
}

static const char *lines_of(Memory *m, double n)
{
    ml_Text t = {0};

    if (n < 100 && n != floor(n))
        ml_text_fmt(&t, "%.3g", n);
    else
        ml_text_thousands(&t, llround(n));
    return ml_text_into(m->r->cx, &t);
}

static void put_lines(Memory *m, const ml_BufferTouches *b, int column)
{
    for (uint32_t k = 0; k < b->n_loops; k++) {
        const ml_LoopLines *l = &b->loops[k];

        if (l->loop != m->f.loop->var->uid)
            continue;
        ml_rows_pad(m->r, column, 0);
        ml_rows_put(m->r, ML_ROLE_NUMBER, "%s", lines_of(m, l->lines));
        ml_rows_put(m->r, ML_ROLE_TEXT, l->lines == 1 ? " line" : " lines");
        ml_rows_put(m->r, ML_ROLE_TEXT, " an iteration of %s",
                    ml_pane_loop_name(&m->sh, m->f.loop));
        ml_rows_put(m->r, ML_ROLE_DIM, ", %s of all buffers", lines_of(m, l->all));
        ml_rows_end(m->r);
    }
}

static void put_counted(ml_View *v, Memory *m, const ml_Buffer *buffer, int name)
{
    const ml_BufferTouches *b = ml_pane_touches(v, &m->sh, buffer->uid);
    ml_Row *row;

    ml_rows_put(m->r, ML_ROLE_BUFFER, "%s", ml_pane_name(&m->sh, buffer->uid));
    ml_rows_pad(m->r, name + 2, 1);
    switch (b->state) {
    case ML_TOUCH_WAITING:
        ml_rows_put(m->r, ML_ROLE_DIM, "%s",
                    v->uncounted ? "not counted; 8 counts it" : "…");
        break;
    case ML_TOUCH_FAILED: ml_rows_put(m->r, ML_ROLE_DIM, "%s", b->why); break;
    case ML_TOUCH_READY: ml_rows_put(m->r, ML_ROLE_TEXT, "%s", b->per_element); break;
    }
    row = ml_rows_end(m->r);
    row->key = ml_format(m->r->cx, "counted %s", ml_pane_name(&m->sh, buffer->uid));
    if (b->state != ML_TOUCH_READY)
        return;
    put_fact(m, ML_ROLE_ERROR, name + 2, b->redundant);
    put_lines(m, b, name + 2);
    put_fact(m, ML_ROLE_TEXT, name + 2, b->reuse);
    for (uint32_t k = 0; k < b->n_threads; k++)
        put_fact(m, ML_ROLE_LOOP_PARALLEL, name + 2, b->threads[k]);
    put_fact(m, ML_ROLE_DIM, name + 2, b->walked);
}

static void put_all(ml_View *v, Memory *m)
{
    enum { NAME = 16 };
    int name = 0;

    put_loop(m);
    for (uint32_t k = 0; k < m->f.n_touched; k++)
        name = ml_wider(name, ml_pane_name(&m->sh, m->f.touched[k].buffer->uid), NAME);
    for (uint32_t k = 0; k < m->f.n_strides; k++) {
        const ml_Stride *st = &m->f.strides[k];

        if (st->site->declared)
            continue;
        put_access(m, st->site);
        put_stride(m, st);
        ml_rows_end(m->r)->node = st->site->block ? st->site->block->tag : 0;
    }
    for (uint32_t k = 0; k < m->f.n_touched; k++)
        put_touched(m, &m->f.touched[k], name);
    if (m->f.n_touched > 0)
        ml_rows_add(m->r, ML_ROLE_STRONG, "counted");
    for (uint32_t k = 0; k < m->f.n_touched; k++)
        put_counted(v, m, m->f.touched[k].buffer, name);
}

void ml_pane_memory(ml_View *v, ml_Rows *r)
{
    Memory m = {.r = r};
    ml_Uid loop = v->node;
    const ml_Stmt *st;

    if (!ml_pane_shows(v, r, &m.sh))
        return;
    st = ml_pane_selected(v, &m.sh);
    while (st && st->kind == ML_STMT_BLOCK) { /* of a block: the loop right around it */
        loop = ml_index_parent(m.sh.p.index, loop);
        st = loop ? ml_index_node(m.sh.p.index, loop) : NULL;
    }
    if (!st) {
        ml_pane_say(v, r, ML_PANE_MEMORY, ML_ROLE_DIM,
                    "select a loop to see what it touches");
        return;
    }
    m.cx = ml_ctx_fork(ml_schedule_ctx(m.sh.s));
    ml_ctx_set_limit(m.cx, 0);
    if (ml_counts_loop(m.cx, m.sh.p, loop, &m.f) && m.f.loop)
        put_all(v, &m);
    else
        ml_pane_say(v, r, ML_PANE_MEMORY, ML_ROLE_DIM,
                    "what this loop touches is not known");
    ml_ctx_unref(m.cx);
}

/* Counted from regions, where there are some: what is told of a loop takes longer to find. */
void ml_pane_memory_wants(ml_View *v, ml_Rows *r, ml_Want *out)
{
    enum { COLUMNS = 64, MOST_ROWS = 24, HEADS = 2, COUNTED = 4 };
    ml_StmtVec nests = {0};
    ml_Shown sh;

    if (!v->ss->focus || !ml_pane_shows(v, r, &sh))
        return;
    ml_pane_nests(r->cx, &sh, &nests);
    for (size_t k = 0; k < nests.n; k++) {
        ml_StmtVec blocks = {0};
        int n = HEADS;

        ml_all_blocks(r->cx, nests.v[k], &blocks);
        for (size_t m = 0; m < blocks.n && n < MOST_ROWS; m++) {
            const ml_Block *b = ml_as_block(blocks.v[m]);

            n += (int)(b->n_reads + b->n_writes) * (1 + COUNTED);
        }
        n = n > MOST_ROWS || blocks.n == 0 ? MOST_ROWS : n;
        out->rows = n > out->rows ? n : out->rows;
    }
    out->columns = COLUMNS;
}
