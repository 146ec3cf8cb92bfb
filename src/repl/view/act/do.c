/*
 * do - requests that need no choice: one call or one command each, or one prompt.
 */
#include "repl/view/act/act_impl.h"

static void say_why(ml_View *v)
{
    ml_view_say(v, "%s", ml_text_z(&v->act->why));
}

/* ---- loops */

void ml_act_plain(ml_View *v)
{
    ml_ActCall c = ml_act_call(v->act->tmp, v->row->prim, v->node, ML_H_LOOP);

    ml_act_do(v, &c);
}

/* The loop with those below it, `count` in all. */
void ml_act_fuse(ml_View *v)
{
    ml_Act *a = v->act;
    const ml_For *f = ml_act_for(v, v->node);
    ml_ActCall c = ml_act_call(a->tmp, "fuse", v->node, ML_H_LOOP);

    for (int k = 1; f && k < (v->count < 2 ? 2 : v->count); k++) {
        f = ml_act_inner(v, f, &a->why);
        if (f)
            ml_act_arg_node(a->tmp, &c, f->var->uid, ML_H_LOOP);
    }
    if (f)
        ml_act_do(v, &c);
    else
        say_why(v);
}

/* The loop by so many places. */
void ml_act_move(ml_View *v)
{
    ml_Act *a = v->act;
    const ml_For *at = ml_act_for(v, v->node);
    bool down = v->row->way > 0;
    ml_UidVec passed = {0};
    ml_ActCall c = {.prim = "reorder"};

    for (int k = 0; at && k < (v->count < 1 ? 1 : v->count); k++) {
        at = down ? ml_act_inner(v, at, &a->why) : ml_act_outer(v, at, &a->why);
        if (at)
            ml_push(a->tmp, &passed, at->var->uid);
    }
    if (!at) {
        say_why(v);
        return;
    }
    if (!down)
        ml_act_arg_node(a->tmp, &c, v->node, ML_H_LOOP);
    for (size_t k = 0; k < passed.n; k++)
        ml_act_arg_node(a->tmp, &c, passed.v[down ? k : passed.n - 1 - k], ML_H_LOOP);
    if (down)
        ml_act_arg_node(a->tmp, &c, v->node, ML_H_LOOP);
    ml_act_do(v, &c);
}

void ml_act_split(ml_View *v)
{
    ml_Ctx *tmp = v->act->tmp;
    ml_ActAsk ask = {.open = "{",
                     .tail = "})",
                     .factors = true,
                     .hint = "factors; auto is whatever is left; Tab proposes"};

    ask.label = ml_format(tmp, "split %s into: ", ml_act_shown(v, tmp, v->node));
    ask.call = ml_act_call(tmp, "split", v->node, ML_H_LOOP);
    ask.n_proposals =
        ml_act_tilings(v, tmp, ml_act_for(v, v->node), &ask.proposals, &ask.notes);
    ml_act_ask(v, ML_REQ_SPLIT, &ask);
}

/* Pressed again, it takes the tiling back and makes the next one: siblings in the tree. */
void ml_act_split_next(ml_View *v)
{
    ml_Act *a = v->act;
    ml_Schedule *s = v->ss->focus;
    int count = v->count > 1 ? v->count : 1;
    const char *const *list;

    if (a->tiled && ml_schedule_version(s) == a->tiled_to && v->node == a->tiled_node) {
        if (!ml_act_run(v, ":undo") || ml_schedule_version(s) != a->tiled_from ||
            !ml_act_for(v, a->tiled)) {
            a->tiled = 0;
            return;
        }
        ml_view_select(v, a->tiled);
        a->tiling += (size_t)count;
    } else {
        a->tiled = v->node;
        a->tiling = (size_t)count - 1;
    }
    ml_Uid loop = a->tiled;
    size_t n = ml_act_tilings(v, a->tmp, ml_act_for(v, loop), &list, NULL);
    ml_ActCall c = ml_act_call(a->tmp, "split", loop, ML_H_LOOP);

    if (n == 0) {
        ml_view_say(v, "loop %s has no tilings: its extent is 1 or 2", ml_name_of(s, loop));
        return;
    }
    a->tiling %= n;
    a->tiled_from = ml_schedule_version(s);
    ml_act_arg(a->tmp, &c, ml_format(a->tmp, "{%s}", list[a->tiling]));
    if (!ml_act_do(v, &c))
        loop = 0;
    else
        ml_view_say(v, "tiling %zu of %zu: %s   S takes the next", a->tiling + 1, n,
                    list[a->tiling]);
    a->tiled = loop;
    a->tiled_to = ml_schedule_version(s);
    a->tiled_node = v->node;
}

/* ---- blocks */

void ml_act_on_block(ml_View *v)
{
    ml_Act *a = v->act;
    const ml_Block *b = ml_act_block_here(v, v->node, &a->why);

    if (!b) {
        say_why(v);
        return;
    }
    ml_ActCall c = ml_act_call(a->tmp, v->row->prim, b->tag, ML_H_BLOCK);

    ml_act_do(v, &c);
}

void ml_act_blockize(ml_View *v)
{
    bool loop = ml_act_for(v, v->node) != NULL;
    ml_ActCall c =
        ml_act_call(v->act->tmp, "blockize", v->node, loop ? ML_H_LOOP : ML_H_BLOCK);

    c.args.v[0].braced = !loop;
    ml_act_do(v, &c);
}

void ml_act_layout(ml_View *v)
{
    const ml_Primitive *p = ml_primitive_find("transform_layout");
    ml_ActAsk ask = {.label = "transform_layout(",
                     .call = {.prim = p->name},
                     .tail = ")",
                     .prim = p,
                     .text = ml_act_template(v, p, v->node, v->act->tmp)};

    ml_act_ask(v, ML_REQ_LAYOUT, &ask);
}

/* ---- versions, measuring */

void ml_act_command(ml_View *v)
{
    ml_act_run(v, v->count > 1 ? ml_format(v->act->tmp, "%s %d", v->row->line, v->count)
                               : v->row->line);
}

void ml_act_mark(ml_View *v)
{
    ml_ActAsk ask = {.head = ":mark ", .hint = "a name for this version"};

    ask.label = ml_format(v->act->tmp, "mark v%d as: ", ml_schedule_version(v->ss->focus));
    ml_act_ask(v, ML_REQ_MARK, &ask);
}

/* A line of the prompt, as its text begins. */
void ml_act_type(ml_View *v)
{
    ml_Text label = {0};
    ml_ActAsk ask = {.text = v->row->line,
                     .free = true,
                     .hint = "a command, or Lua without the colon; Tab completes"};

    ml_session_prompt(v->ss, &label);
    ask.label = ml_text_into(v->act->tmp, &label);
    ml_act_ask(v, v->row->req, &ask);
}

void ml_act_tune_subtree(ml_View *v)
{
    ml_view_say(v,
                "tuning the factors of a subtree alone comes later; y tunes the program");
}

void ml_act_picture(ml_View *v)
{
    bool deps = v->in == ML_PANE_DATAFLOW || v->in == ML_PANE_BLOCK;

    ml_view_page_of(v, deps ? "graph deps" : "graph loops",
                    deps ? "dependences   :graph deps FILE.svg writes them"
                         : "loops   :graph loops FILE.svg writes them");
}

void ml_act_explain(ml_View *v)
{
    if (!v->ss->last)
        ml_view_say(v, "there was no error yet");
    else
        ml_view_page_of(v, "explain", "the last error");
}
