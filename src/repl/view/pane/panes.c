/* panes - the table of the panes, and what their files share. Source: interaction 10. */
#include "repl/view/pane/panes.h"

#include "moonloop/core/base/arena.h"
#include "repl/job/jobs.h"
#include "repl/out/wrap.h"
#include "repl/view/pane/counts.h"
#include "repl/view/pane/text.h"
#include "repl/view/pane/touches.h"

const ml_PaneKind ml_panes[ML_N_PANES] = {
#define ML_PANE(pane, title, ...) [ML_PANE_##pane] = {__VA_ARGS__},
#include "repl/view/keys/panes.def"
#undef ML_PANE
};

struct ml_PaneKept *ml_pane_kept(ml_View *v)
{
    if (!v->kept)
        v->kept = ml_heap_zalloc(sizeof *v->kept);
    return v->kept;
}

/* All from *at on. */
static void drop(ml_View *v, ml_PaneMemo **at)
{
    while (*at) {
        ml_PaneMemo *m = *at;
        ml_Schedule *s = m->s;

        *at = m->next;
        if (m == v->kept->compiling)
            ml_pane_code_stop(v);
        ml_ctx_unref(m->cx); /* m is in it */
        ml_schedule_unref(s);
    }
}

void *ml_pane_memo(ml_View *v, ml_PaneMemo **list, ml_Schedule *s, int version,
                   uint32_t key, size_t size, size_t most, bool *made)
{
    ml_PaneMemo **at = list, *m;

    while ((m = *at) != NULL && (m->s != s || m->version != version || m->key != key))
        at = &m->next;
    *made = m == NULL;
    if (m) {
        *at = m->next;
    } else {
        ml_Ctx *cx = ml_ctx_new(0);

        m = ml_zalloc(cx, size);
        m->cx = cx;
        m->s = ml_schedule_ref(s);
        m->version = version;
        m->key = key;
    }
    m->next = *list;
    *list = m;
    for (at = list; *at && most > 0; most--)
        at = &(*at)->next;
    drop(v, at);
    return m;
}

void ml_panes_free(ml_View *v)
{
    if (!v->kept)
        return;
    drop(v, &v->kept->texts);
    drop(v, &v->kept->counts);
    drop(v, &v->kept->touches);
    ml_heap_free(v->kept->nests);
    ml_heap_free(v->kept);
    v->kept = NULL;
}

bool ml_panes_idle(ml_View *v, int ms)
{
    unsigned changes = ml_jobs_changes(v->ss);

    if (changes != ml_pane_kept(v)->jobs_changes) {
        v->kept->jobs_changes = changes;
        ml_view_pane_stale(v, ML_PANE_JOBS);
        ml_view_pane_stale(v, ML_PANE_STEPS); /* a time came in, or a check */
        ml_view_pane_stale(v, ML_PANE_PERF);
    }
    bool counts = ml_pane_counts_idle(v, ms), texts = ml_pane_texts_idle(v, ms);

    return counts || texts;
}

/* ---- what is shown */

bool ml_pane_shows(ml_View *v, ml_Rows *r, ml_Shown *sh)
{
    ml_Schedule *s = v->ss->focus;

    if (s == NULL) {
        ml_rows_add(r, ML_ROLE_DIM, "no program is open yet");
        if (r == &v->pane[ML_PANE_LOOPS].rows) {
            ml_rows_add(r, ML_ROLE_DIM, "press : and type one of");
            ml_rows_code(r, ":open FILE");
            ml_rows_code(r, "schedule(workload(\"C2D-1\"))");
        }
        return false;
    }
    sh->s = s;
    sh->version = ml_schedule_version(s);
    sh->p = ml_version_program(s, sh->version);
    sh->names = ml_version_names(s, sh->version);
    return true;
}

bool ml_pane_before(const ml_Shown *sh, ml_Program *out)
{
    ml_Step step;
    bool there = ml_version_step(sh->s, sh->version, &step) && step.parent >= 0 &&
                 ml_version_known(sh->s, step.parent);

    if (there)
        *out = ml_version_program(sh->s, step.parent);
    return there;
}

const ml_Stmt *ml_pane_selected(const ml_View *v, const ml_Shown *sh)
{
    return v->node ? ml_index_node(sh->p.index, v->node) : NULL;
}

const char *ml_pane_name(const ml_Shown *sh, ml_Uid uid)
{
    const char *z = ml_map_get(sh->names->map, uid);

    return z ? z : "?";
}

const char *ml_pane_loop_name(const ml_Shown *sh, const ml_For *f)
{
    const char *z = ml_map_get(sh->names->map, f->var->uid);

    return z ? z : f->var->hint;
}

const char *ml_pane_expr(ml_Rows *r, const ml_Shown *sh, const ml_Expr *e)
{
    const ml_PrintOpts o = {.spelling = -1, .plain = true, .names = sh->names};
    ml_Text t = {0};

    if (ml_is_const_int(e)) /* without its dtype */
        return ml_format(r->cx, "%lld", (long long)e->as.i);
    ml_print_expr(r->cx, &t, e, &o);
    return ml_text_into(r->cx, &t);
}

enum { MOST_NESTS = 64 };
typedef struct Nests {
    ml_Ctx *cx;
    ml_StmtVec *out;
} Nests;

static void visit_nest(const ml_Stmt *st, bool in_init, void *user)
{
    Nests *n = user;

    if (in_init || n->out->n >= MOST_NESTS || !(st->has_block || st->has_loop))
        return;
    if (st->kind == ML_STMT_FOR || st->kind == ML_STMT_BLOCK)
        ml_push(n->cx, n->out, st);
    else
        ml_stmt_children(st, visit_nest, n);
}

void ml_pane_nests(ml_Ctx *cx, const ml_Shown *sh, ml_StmtVec *out)
{
    Nests n = {cx, out};
    bool all = !ml_schedule_func(sh->s);

    for (uint32_t k = 0; k < sh->p.mod->n; k++) {
        const ml_Func *f = sh->p.mod->funcs[k];
        const ml_Block *root = ml_func_root(f);

        if (all || k == ml_schedule_func_pos(sh->s))
            visit_nest(root ? root->body : f->body, false, &n);
    }
}

void ml_want_rows(ml_Want *w, const ml_Rows *r, int most)
{
    w->rows = (int)r->v.n > w->rows ? (int)r->v.n : w->rows;
    for (size_t k = 0; k < r->v.n; k++) {
        int n = (int)ml_columns(r->v.v[k].text) + 2;

        w->columns = n > w->columns ? n : w->columns;
    }
    w->columns = w->columns > most ? most : w->columns;
}

ml_CellRole ml_loop_role(ml_ForKind kind)
{
    switch (kind) {
    case ML_FOR_PARALLEL: return ML_ROLE_LOOP_PARALLEL;
    case ML_FOR_VECTORIZED: return ML_ROLE_LOOP_VECTOR;
    case ML_FOR_UNROLLED: return ML_ROLE_LOOP_UNROLL;
    case ML_FOR_THREAD: return ML_ROLE_LOOP_THREAD;
    case ML_FOR_SERIAL:
    case ML_FOR_KINDS: break;
    }
    return ML_ROLE_LOOP_SERIAL;
}

void ml_pane_say(ml_View *v, ml_Rows *r, ml_PaneId id, ml_CellRole role, const char *text)
{
    ml_Text t = {0};
    int width = ml_pane_width(v, id) - 2;

    ml_wrap(&t, text, 0, (size_t)(width > 10 ? width : 10));
    ml_rows_add_lines(r, role, ml_text_z(&t));
    ml_text_free(&t);
}

int ml_pane_width(const ml_View *v, ml_PaneId id)
{
    return v->pane[id].at.w > 0 ? v->pane[id].at.w : 38;
}

void ml_pane_node_title(ml_View *v, ml_Text *out)
{
    if (v->node && v->ss->focus)
        ml_text_add(out, ml_view_name(v, v->node));
}
