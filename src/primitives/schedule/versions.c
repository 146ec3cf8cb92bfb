/*
 * versions - the tree of versions: moves, marks, branches, the undo limit.
 *
 * A version is a program with its index, the trace that made it and the random state after
 * it; versions are never changed, moves only change which one is current.
 * Source: interaction 6, DESIGN section 3.
 */
#include "moonloop/primitives/schedule/schedule_impl.h"

int ml_schedule_version(const ml_Schedule *s)
{
    return s->cur;
}

int ml_schedule_n_versions(const ml_Schedule *s)
{
    return s->n_versions;
}

bool ml_version_ok(const ml_Schedule *s, int version)
{
    return version >= 0 && version < s->n_versions && s->v[version].known;
}

bool ml_version_known(const ml_Schedule *s, int version)
{
    return ml_version_ok(s, version);
}

ml_Program ml_version_program(const ml_Schedule *s, int version)
{
    return ml_version_ok(s, version) ? s->v[version].p : (ml_Program){0};
}

bool ml_version_step(ml_Schedule *s, int version, ml_Step *out)
{
    if (version < 0 || version >= s->n_versions)
        return false;
    const ml_Version *v = &s->v[version];

    *out = (ml_Step){.prim = v->prim, .parent = v->parent, .seconds = v->seconds};
    if (v->prim) {
        out->line = ml_step_line(s, version);
        out->headline = ml_step_headline(s, version);
    }
    out->n_notes = v->n_notes;
    out->notes = v->notes;
    out->check = v->check;
    out->speed = v->speed;
    return true;
}

/* ---- layouts of parameters */

/* The map without the axis separators that may stand in it. */
static const ml_IndexMap *bare_map(ml_Ctx *cx, const ml_IndexMap *m)
{
    const ml_Expr **exprs = ML_ARRAY(cx, const ml_Expr *, m->n_exprs + 1u);
    ml_IndexMap *out = ML_NEW(cx, ml_IndexMap);

    *out = *m;
    out->exprs = exprs;
    out->n_exprs = 0;
    for (uint32_t k = 0; k < m->n_exprs; k++)
        if (!ml_is_op(m->exprs[k], ML_OP_AXIS_SEPARATOR))
            exprs[out->n_exprs++] = m->exprs[k];
    return out;
}

static const ml_Given *argument(const ml_Version *v, const char *name)
{
    for (size_t k = 0; k < v->prim->n_params; k++)
        if (ml_streq(v->prim->params[k].name, name))
            return &v->args[k];
    return NULL;
}

/* Adds what the step of v did to a parameter of the function; programs before and after
 * it are known. */
static void add_moved(const ml_Schedule *s, const ml_Version *v, uint32_t func, ml_Ctx *cx,
                      ml_MovedVec *out)
{
    ml_Program was = s->v[v->parent].p;
    const ml_Given *block = argument(v, "block"), *buffer = argument(v, "buffer"),
                   *map = argument(v, "index_map"), *pad = argument(v, "pad_value"),
                   *assume = argument(v, "assume_injective_transform");
    const ml_Stmt *node = block ? ml_index_node(was.index, block->uid) : NULL;

    if (!node || node->kind != ML_STMT_BLOCK || !buffer || !map || !map->map ||
        ml_index_func(was.index, block->uid) != func)
        return;
    const ml_Block *b = ml_as_block(node);
    const ml_Buffer *buf = (buffer->b ? b->writes : b->reads)[buffer->i].buffer;
    const ml_Func *f = v->p.mod->funcs[func];

    for (uint32_t k = 0; k < f->n_params; k++) {
        if (!was.mod->funcs[func]->params[k].buffer ||
            was.mod->funcs[func]->params[k].buffer->uid != buf->uid)
            continue;
        ml_Moved m = {
            .param = k, .map = bare_map(cx, map->map), .shape = f->params[k].buffer->shape};

        if (pad && !(assume && assume->b)) {
            m.pad = pad->value;
            m.pad_map = pad->map;
        }
        ml_push(cx, out, m);
    }
}

bool ml_version_moved(ml_Schedule *s, int from, int version, uint32_t func, ml_Ctx *cx,
                      ml_MovedVec *out)
{
    ML_VEC(int) path = {0};
    int v = version;

    for (; v > from && v < s->n_versions; v = s->v[v].parent)
        ml_push(cx, &path, v);
    if (v != from)
        return false;
    while (path.n > 0) {
        const ml_Version *step = &s->v[path.v[--path.n]];

        if (!step->prim || !ml_streq(step->prim->name, "transform_layout"))
            continue;
        if (!step->known || !ml_version_ok(s, step->parent))
            return false;
        add_moved(s, step, func, cx, out);
    }
    return true;
}

static bool no_move(ml_Schedule *s, const char *why)
{
    return ml_fail(s->space->cx, ML_E_BAD_ARGUMENT, ML_TEXT(why));
}

/* Makes the path from the root down to `version` the one that redo follows. */
static void visit_node(ml_Schedule *s, int version)
{
    for (int v = version; s->v[v].parent >= 0; v = s->v[v].parent)
        s->v[s->v[v].parent].redo = v;
    s->cur = version;
}

/* Where the newest mark or label of that name is, or -1. */
static int find_name(const ml_MarkName *list, const char *name)
{
    for (const ml_MarkName *m = list; m; m = m->prev)
        if (ml_streq(m->name, name))
            return m->version;
    return -1;
}

/* The label at a version that was put there last. */
static const char *label_at(const ml_Schedule *s, int version)
{
    for (const ml_MarkName *m = s->labels; m; m = m->prev)
        if (m->version == version && find_name(s->labels, m->name) == version)
            return m->name;
    return NULL;
}

/* The state of an ancestor is the one just before the step that leads away from it. */
static void move_to(ml_Schedule *s, int version)
{
    int below = -1;

    for (int v = s->cur; v >= 0 && v != version; v = s->v[v].parent)
        below = s->v[v].parent == version ? v : below;
    if (below >= 0) {
        s->trace = s->v[below].before;
        s->random = s->v[below].random_before;
    } else if (version != s->cur) {
        s->trace = s->v[version].trace;
        s->random = s->v[version].random;
    }
    if (below >= 0) /* redo returns along the way that was left */
        s->cur = version;
    else
        visit_node(s, version);
    s->branch = label_at(s, version);
}

bool ml_schedule_undo(ml_Schedule *s, int n)
{
    int to = s->cur;

    ml_schedule_begin(s);
    if (n < 0)
        return no_move(s, "undo: the number of steps is negative");
    for (int k = 0; k < n; k++) {
        if (s->v[to].parent < 0)
            return no_move(s, k == 0 ? "there is no step to undo"
                                     : "there are not that many steps to undo");
        to = s->v[to].parent;
    }
    if (!ml_version_ok(s, to))
        return no_move(s, "that version was dropped (undo limit)");
    move_to(s, to);
    return true;
}

bool ml_schedule_redo(ml_Schedule *s, int n)
{
    int to = s->cur;

    ml_schedule_begin(s);
    if (n < 0)
        return no_move(s, "redo: the number of steps is negative");
    for (int k = 0; k < n; k++) {
        if (s->v[to].redo < 0)
            return no_move(s, k == 0 ? "there is no step to redo"
                                     : "there are not that many steps to redo");
        to = s->v[to].redo;
    }
    if (!ml_version_ok(s, to))
        return no_move(s, "that version was dropped (undo limit)");
    move_to(s, to);
    return true;
}

bool ml_schedule_goto(ml_Schedule *s, int version)
{
    ml_schedule_begin(s);
    if (version < 0 || version >= s->n_versions)
        return ml_bad_argument(s->space->cx,
                               "there is no version %d; they run from 0 to %d", version,
                               s->n_versions - 1);
    if (!s->v[version].known)
        return no_move(s, "that version was dropped (undo limit)");
    move_to(s, version);
    return true;
}

static const ml_MarkName *put_name(ml_Schedule *s, const ml_MarkName *list,
                                   const char *name)
{
    ml_MarkName *m = ML_NEW(s->space->home, ml_MarkName);

    m->prev = list;
    m->name = ml_strdup(s->space->home, ml_str(name));
    m->version = s->cur;
    return m;
}

bool ml_schedule_mark(ml_Schedule *s, const char *name)
{
    ml_schedule_begin(s);
    if (!name || !*name)
        return no_move(s, "a mark needs a name");
    s->marks = put_name(s, s->marks, name);
    return true;
}

int ml_schedule_find_mark(const ml_Schedule *s, const char *name)
{
    return find_name(s->marks, name);
}

/* The names of the list that are at the version, the k-th from the oldest; the same one set
 * again is where it was set first. */
static const char *name_at(const ml_MarkName *list, int version, size_t k)
{
    size_t n = 0;
    const ml_MarkName *older;

    for (int count = 1; count >= 0; count--)
        for (const ml_MarkName *m = list; m; m = m->prev) {
            if (m->version != version || find_name(list, m->name) != version)
                continue;
            for (older = m->prev; older; older = older->prev)
                if (older->version == version && ml_streq(older->name, m->name))
                    break;
            if (older)
                continue;
            if (count)
                n++;
            else if (--n == k)
                return m->name;
        }
    return NULL;
}

const char *ml_version_name(const ml_Schedule *s, int version, bool branches, size_t k)
{
    return name_at(branches ? s->labels : s->marks, version, k);
}

static const char *join_names(ml_Ctx *cx, const ml_MarkName *list, int version)
{
    const char *all = name_at(list, version, 0), *z;

    for (size_t k = 1; all && (z = name_at(list, version, k)) != NULL; k++)
        all = ml_format(cx, "%s, %s", all, z);
    return all;
}

const char *ml_schedule_marks_of(const ml_Schedule *s, int version)
{
    return join_names(s->space->home, s->marks, version);
}

/* ---- branches */

void ml_schedule_label(ml_Schedule *s, const char *name)
{
    s->labels = put_name(s, s->labels, name);
    s->branch = s->labels->name;
}

bool ml_schedule_branch(ml_Schedule *s, const char *name)
{
    ml_schedule_begin(s);
    if (!name || !*name)
        return no_move(s, "a branch needs a name");
    ml_schedule_label(s, name);
    return true;
}

void ml_schedule_detach(ml_Schedule *s)
{
    s->branch = NULL;
}

int ml_schedule_find_branch(const ml_Schedule *s, const char *name)
{
    return find_name(s->labels, name);
}

const char *ml_version_branch(const ml_Schedule *s, int version)
{
    return join_names(s->space->home, s->labels, version);
}

const char *ml_schedule_branch_name(const ml_Schedule *s)
{
    return s->branch;
}

void ml_schedule_set_check(ml_Schedule *s, int version, const char *result)
{
    if (version >= 0 && version < s->n_versions)
        s->v[version].check = result ? ml_strdup(s->space->home, ml_str(result)) : NULL;
}

void ml_schedule_set_speed(ml_Schedule *s, int version, const char *speed)
{
    if (version >= 0 && version < s->n_versions)
        s->v[version].speed = ml_strdup(s->space->home, ml_str(speed));
}

/* Versions older than the newest n lose their program, except the start, the current one,
 * those with marks or labels and what leads to them by undo from the newest. */
void ml_schedule_set_undo_limit(ml_Schedule *s, int n)
{
    s->undo_limit = n > 0 ? n : 0;
    if (n <= 0)
        return;
    int dropped = 0, kept = n;

    for (int v = 1; v < s->n_versions - n; v++) {
        kept += s->v[v].known;
        if (!s->v[v].known || v == s->cur || ml_schedule_marks_of(s, v) || label_at(s, v))
            continue;
        ml_names_ensure(s, v);
        ml_step_headline(s, v);
        ml_step_line(s, v);
        s->v[v].known = false;
        s->v[v].p = (ml_Program){0};
        dropped++;
    }
    if (2 * dropped > kept) /* most of what was live is dead now */
        s->space->live = 0;
}

ml_State ml_schedule_state(const ml_Schedule *s)
{
    return (ml_State){s->cur, s->trace, s->random, s->branch, s->labels};
}

static bool go_to(ml_Schedule *s, ml_State st)
{
    ml_schedule_begin(s);
    if (!ml_version_ok(s, st.version))
        return false;
    if (st.version != s->cur)
        move_to(s, st.version);
    s->trace = st.trace;
    s->random = st.random;
    return true;
}

void ml_schedule_restore(ml_Schedule *s, ml_State st)
{
    if (!go_to(s, st))
        return;
    s->labels = st.labels;
    s->branch = st.branch;
}

void ml_schedule_return(ml_Schedule *s, ml_State st)
{
    const char *branch = s->branch;
    bool along = branch && st.branch && ml_streq(branch, st.branch);

    if (go_to(s, st) && along)
        ml_schedule_label(s, branch);
}
