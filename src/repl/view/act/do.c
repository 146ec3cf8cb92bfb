/*
 * act_do - requests that need no choice: one line of Lua or one command each, or one
 * prompt.
 */
#include "repl/view/act/act_impl.h"

/* ---- loops: what needs no argument */

static void on_loop(ml_View *v, const char *prim)
{
    ml_Ctx *tmp = ml_ctx_new(0);
    const char *name = ml_act_name(v, tmp, v->node, ML_H_LOOP);

    if (name)
        ml_act_run(v, ml_format(tmp, "%s(%s)", prim, name));
    ml_ctx_unref(tmp);
}

void ml_act_parallel(ml_View *v, int count)
{
    (void)count;
    on_loop(v, "parallel");
}

void ml_act_vectorize(ml_View *v, int count)
{
    (void)count;
    on_loop(v, "vectorize");
}

void ml_act_unroll(ml_View *v, int count)
{
    (void)count;
    on_loop(v, "unroll");
}

/* fuse("i", "j"): with the loops below it, `count` in all; in cx. NULL: *why says. */
static const char *fuse_line(ml_View *v, ml_Ctx *cx, int count, ml_Text *why)
{
    const ml_For *f = ml_act_for(v, v->node);
    ml_Text t = {0};
    const char *z = NULL;

    ml_text_add(&t, "fuse(");
    for (int k = 0; f; k++) {
        const char *name = ml_act_name(v, cx, f->var->uid, ML_H_LOOP);

        if (!name)
            break;
        ml_text_fmt(&t, "%s%s", k ? ", " : "", name);
        if (k + 1 >= count) {
            ml_text_char(&t, ')');
            z = ml_strdup(cx, ml_str(ml_text_z(&t)));
            break;
        }
        f = ml_act_inner(v, f, why);
    }
    ml_text_free(&t);
    return z;
}

static void run_or_say(ml_View *v, ml_Ctx *tmp, const char *line, ml_Text *why)
{
    if (line)
        ml_act_run(v, line);
    else
        ml_view_say(v, "%s", ml_text_z(why));
    ml_text_free(why);
    ml_ctx_unref(tmp);
}

void ml_act_fuse(ml_View *v, int count)
{
    ml_Ctx *tmp = ml_ctx_new(0);
    ml_Text why = {0};
    const char *line = fuse_line(v, tmp, count < 2 ? 2 : count, &why);

    run_or_say(v, tmp, line, &why);
}

/* reorder(…) that moves the selected loop by so many places; in cx. NULL: *why says. */
static const char *move_line(ml_View *v, ml_Ctx *cx, int by, ml_Text *why)
{
    const ml_For *f = ml_act_for(v, v->node), *at = f;
    int n = by < 0 ? -by : by;
    ml_Text t = {0};
    ML_VEC(const char *) names = {0};
    const char *z;

    for (int k = 0; k < n; k++) {
        at = by > 0 ? ml_act_inner(v, at, why) : ml_act_outer(v, at, why);
        if (!at)
            return NULL;
        ml_push(cx, &names, ml_act_name(v, cx, at->var->uid, ML_H_LOOP));
    }
    const char *self = ml_act_name(v, cx, f->var->uid, ML_H_LOOP);

    ml_text_add(&t, "reorder(");
    if (by < 0)
        ml_text_fmt(&t, "%s", self);
    for (size_t k = 0; k < names.n; k++)
        ml_text_fmt(&t, "%s%s", k || by < 0 ? ", " : "",
                    names.v[by > 0 ? k : names.n - 1 - k]);
    if (by > 0)
        ml_text_fmt(&t, ", %s", self);
    ml_text_char(&t, ')');
    z = ml_strdup(cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return z;
}

static void move_by(ml_View *v, int by)
{
    ml_Ctx *tmp = ml_ctx_new(0);
    ml_Text why = {0};
    const char *line = move_line(v, tmp, by, &why);

    run_or_say(v, tmp, line, &why);
}

void ml_act_move_down(ml_View *v, int count)
{
    move_by(v, count < 1 ? 1 : count);
}

void ml_act_move_up(ml_View *v, int count)
{
    move_by(v, -(count < 1 ? 1 : count));
}

void ml_act_split(ml_View *v, int count)
{
    const ml_For *f = ml_act_for(v, v->node);
    ml_Ctx *tmp = ml_ctx_new(0);
    const char *name = ml_act_name(v, tmp, v->node, ML_H_LOOP);
    ml_ActAsk ask = {.tail = "})",
                     .factors = true,
                     .hint = "factors; auto is whatever is left; Tab proposes"};

    (void)count;
    if (name) {
        ask.label = ml_format(tmp, "split %s into: ", ml_act_shown(v, tmp, v->node));
        ask.head = ml_format(tmp, "split(%s, {", name);
        ask.n_proposals = ml_act_tilings(v, tmp, f, &ask.proposals, &ask.notes);
        ml_act_ask(v, ML_REQ_SPLIT, &ask);
    }
    ml_ctx_unref(tmp);
}

/* Pressed again, it takes the tiling back and makes the next one: siblings in the tree. */
void ml_act_split_next(ml_View *v, int count)
{
    ml_Act *a = v->act;
    ml_Schedule *s = v->ss->focus;
    ml_Ctx *tmp = ml_ctx_new(0);
    bool go_on =
        a->tiled && ml_schedule_version(s) == a->tiled_to && v->node == a->tiled_node;
    const char *const *list, *name;
    size_t n;

    if (go_on) {
        if (!ml_act_run(v, ":undo") || ml_schedule_version(s) != a->tiled_from ||
            !ml_act_for(v, a->tiled)) {
            a->tiled = 0;
            ml_ctx_unref(tmp);
            return;
        }
        ml_view_select(v, a->tiled);
        a->tiling += count > 1 ? (size_t)count : 1;
    } else {
        a->tiled = v->node;
        a->tiling = count > 1 ? (size_t)count - 1 : 0;
    }
    n = ml_act_tilings(v, tmp, ml_act_for(v, a->tiled), &list, NULL);
    name = ml_act_name(v, tmp, a->tiled, ML_H_LOOP);
    if (n == 0 || !name)
        ml_view_say(v, "loop %s has no tilings: its extent is 1 or 2",
                    ml_name_of(s, a->tiled));
    else {
        ml_Uid loop = a->tiled;

        a->tiling %= n;
        a->tiled_from = ml_schedule_version(s);
        if (!ml_act_run(v, ml_format(tmp, "split(%s, {%s})", name, list[a->tiling])))
            loop = 0;
        else
            ml_view_say(v, "tiling %zu of %zu: %s   S takes the next", a->tiling + 1, n,
                        list[a->tiling]);
        a->tiled = loop;
        a->tiled_to = ml_schedule_version(s);
        a->tiled_node = v->node;
    }
    ml_ctx_unref(tmp);
}

/* ---- blocks: what needs no argument */

static void on_block(ml_View *v, const char *prim)
{
    ml_Ctx *tmp = ml_ctx_new(0);
    ml_Text why = {0};
    const ml_Block *b = ml_act_block_here(v, v->node, &why);
    const char *name = b ? ml_act_name(v, tmp, b->tag, ML_H_BLOCK) : NULL;

    run_or_say(v, tmp, name ? ml_format(tmp, "%s(%s)", prim, name) : NULL, &why);
}

void ml_act_compute_inline(ml_View *v, int count)
{
    (void)count;
    on_block(v, "compute_inline");
}

void ml_act_reverse_inline(ml_View *v, int count)
{
    (void)count;
    on_block(v, "reverse_compute_inline");
}

void ml_act_blockize(ml_View *v, int count)
{
    ml_Ctx *tmp = ml_ctx_new(0);
    ml_Text why = {0};
    bool loop = ml_act_for(v, v->node) != NULL;
    const char *name = ml_act_name(v, tmp, v->node, loop ? ML_H_LOOP : ML_H_BLOCK);

    (void)count;
    if (!name)
        ml_text_fmt(&why, "%s has no name that means it alone",
                    ml_name_of(v->ss->focus, v->node));
    run_or_say(v, tmp,
               name ? ml_format(tmp, loop ? "blockize(%s)" : "blockize({%s})", name) : NULL,
               &why);
}

void ml_act_layout(ml_View *v, int count)
{
    ml_Ctx *tmp = ml_ctx_new(0);
    const ml_Primitive *p = ml_primitive_find("transform_layout");
    ml_ActAsk ask = {
        .label = "transform_layout(", .head = "transform_layout(", .tail = ")", .prim = p};

    (void)count;
    ask.text = ml_act_template(v, p, v->node, tmp);
    ml_act_ask(v, ML_REQ_LAYOUT, &ask);
    ml_ctx_unref(tmp);
}

/* ---- versions, measuring */

static void run_command(ml_View *v, const char *command, int count)
{
    ml_Ctx *tmp = ml_ctx_new(0);

    ml_act_run(v, count > 1 ? ml_format(tmp, "%s %d", command, count) : command);
    ml_ctx_unref(tmp);
}

void ml_act_undo(ml_View *v, int count)
{
    run_command(v, ":undo", count);
}

void ml_act_redo(ml_View *v, int count)
{
    run_command(v, ":redo", count);
}

void ml_act_mark(ml_View *v, int count)
{
    ml_Ctx *tmp = ml_ctx_new(0);
    ml_ActAsk ask = {.head = ":mark ", .hint = "a name for this version"};

    (void)count;
    ask.label = ml_format(tmp, "mark v%d as: ", ml_schedule_version(v->ss->focus));
    ml_act_ask(v, ML_REQ_MARK, &ask);
    v->act->node = 0;
    ml_ctx_unref(tmp);
}

void ml_act_time_it(ml_View *v, int count)
{
    (void)count;
    ml_act_run(v, ":time --background");
}

void ml_act_check(ml_View *v, int count)
{
    (void)count;
    ml_act_run(v, ":check --background");
}

static void ask_line(ml_View *v, ml_Request r, const char *text)
{
    ml_Text label = {0};
    ml_ActAsk ask = {.text = text,
                     .free = true,
                     .hint = "a command, or Lua without the colon; Tab completes"};

    ml_session_prompt(v->ss, &label);
    ask.label = ml_text_z(&label);
    ml_act_ask(v, r, &ask);
    ml_text_free(&label);
}

void ml_act_command(ml_View *v, int count)
{
    (void)count;
    ask_line(v, ML_REQ_COMMAND, ":");
}

void ml_act_tune(ml_View *v, int count)
{
    (void)count;
    ask_line(v, ML_REQ_TUNE, ":tune --trials 64 --background");
}

void ml_act_tune_subtree(ml_View *v, int count)
{
    (void)count;
    ml_view_say(v,
                "tuning the factors of a subtree alone comes later; y tunes the program");
}

void ml_act_picture(ml_View *v, int count)
{
    bool deps = v->in == ML_PANE_DATAFLOW || v->in == ML_PANE_BLOCK;

    (void)count;
    if (!v->ss->focus) {
        ml_view_say(v, "no program is open");
        return;
    }
    ml_act_page(v, deps ? "graph deps" : "graph loops",
                deps ? "dependences   :graph deps FILE.svg writes them"
                     : "loops   :graph loops FILE.svg writes them");
}

void ml_act_explain(ml_View *v, int count)
{
    (void)count;
    if (!v->ss->last)
        ml_view_say(v, "there was no error yet");
    else
        ml_act_page(v, "explain", "the last error");
}
