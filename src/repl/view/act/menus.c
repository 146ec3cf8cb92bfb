/*
 * menus - what the menus hold: thread axes, buffers and scopes, annotations, intrinsics,
 * all primitives, marks, and where Lua can be copied to.
 *
 * Names that completion knows (axes, scopes, keys) are asked of it, so that prompt and menu
 * offer the same. Source: interaction 10.
 */
#include "moonloop/core/base/arena.h"
#include "moonloop/primitives/intrin.h"
#include "repl/line/complete.h"
#include "repl/view/act/act_impl.h"

typedef struct Names {
    ml_Ctx *cx;
    ML_VEC(const char *) text;
    ML_VEC(const char *) note;
} Names;

static void gather(const char *text, const char *note, void *user)
{
    Names *n = user;

    ml_push(n->cx, &n->text, ml_strdup(n->cx, ml_str(text)));
    ml_push(n->cx, &n->note, ml_strdup(n->cx, ml_str(note ? note : "")));
}

/* What Tab offers for a string as the next argument of the call. */
static Names offered(ml_View *v, const ml_ActCall *c)
{
    Names n = {.cx = v->act->tmp};
    const char *line = ml_act_print(v, n.cx, c);

    if (line) {
        line = ml_format(n.cx, "%.*s, \"", (int)strlen(line) - 1, line);
        ml_completions(v->ss, line, strlen(line), gather, &n);
    }
    return n;
}

/* An item that runs the call with one more argument, a string. */
static void add_call(ml_View *v, const char *text, const char *note, const ml_ActCall *c,
                     const char *arg)
{
    ml_ActCall call = {.prim = c->prim};

    for (size_t k = 0; k < c->args.n; k++)
        ml_push(v->act->cx, &call.args, c->args.v[k]);
    ml_act_arg_text(v->act->cx, &call, arg);
    ml_act_item_call(v, ml_act_menu_add(v, text, note), call);
}

/* "bind k[1024] to: " */
static void begin(ml_View *v, ml_Request r, const char *what, const char *of,
                  const char *how)
{
    ml_act_menu_begin(v, r, ml_format(v->act->tmp, "%s %s%s: ", what, of, how));
}

static const char *shown(ml_View *v, ml_Uid node)
{
    return ml_act_shown(v, v->act->tmp, node);
}

/* ---- bind */

void ml_act_bind(ml_View *v)
{
    ml_ActCall c = ml_act_call(v->act->tmp, "bind", v->node, ML_H_LOOP);
    Names n = offered(v, &c);

    begin(v, ML_REQ_BIND, "bind", shown(v, v->node), " to");
    for (size_t k = 0; k < n.text.n; k++)
        add_call(v, n.text.v[k], n.note.v[k], &c, n.text.v[k]);
    ml_act_menu_show(v, "there are no thread axes to bind to");
}

/* ---- annotate */

/* The primitive on what is a loop or a block; false: it was said that no name means it. */
static bool on_either(ml_View *v, const char *prim, ml_ActCall *c)
{
    *c = ml_act_call(v->act->tmp, prim, v->node, ML_H_NONE);
    if (ml_act_name(v, v->act->tmp, v->node, ML_H_NONE))
        return true;
    ml_view_say(v,
                "%s: a loop and a block have this name; annotate it at : with "
                "get_block or loops",
                ml_name_of(v->ss->focus, v->node));
    return false;
}

static void ask_value(ml_View *v, const ml_ActItem *it)
{
    ml_Ctx *tmp = v->act->tmp;
    ml_ActAsk ask = {.tail = ")",
                     .hint = "a number, \"text\", true, or a list {…} of these"};

    if (!on_either(v, "annotate", &ask.call))
        return;
    ask.label = ml_format(tmp, "annotate %s %s = ", shown(v, v->node), it->text);
    ml_act_arg_text(tmp, &ask.call, it->text);
    ml_act_ask(v, ML_REQ_ANNOTATE, &ask);
}

static void ask_key(ml_View *v, const ml_ActItem *it)
{
    ml_Ctx *tmp = v->act->tmp;
    ml_ActCall c;
    ml_ActAsk ask = {.label = "annotate(",
                     .call = {.prim = "annotate"},
                     .tail = ")",
                     .prim = ml_primitive_find("annotate")};

    (void)it;
    if (!on_either(v, "annotate", &c))
        return;
    ask.text = ml_format(tmp, "%s, \"", ml_act_name(v, tmp, v->node, ML_H_NONE));
    ml_act_ask(v, ML_REQ_ANNOTATE, &ask);
}

void ml_act_annotate(ml_View *v)
{
    const char *others = ml_act_for(v, v->node) ? "block:" : "loop:";
    ml_ActCall on, off = ml_act_call(v->act->tmp, "unannotate", v->node, ML_H_NONE);

    if (!on_either(v, "annotate", &on))
        return;
    Names n = offered(v, &on);

    begin(v, ML_REQ_ANNOTATE, "annotate", shown(v, v->node), "");
    for (size_t k = 0; k < n.text.n; k++) {
        if (strncmp(n.note.v[k], others, strlen(others)) == 0)
            continue;
        if (ml_streq(n.note.v[k], "is set"))
            add_call(v, ml_format(v->act->tmp, "unannotate %s", n.text.v[k]),
                     "take it away", &off, n.text.v[k]);
        else
            ml_act_menu_add(v, n.text.v[k], n.note.v[k])->pick = ask_value;
    }
    ml_act_menu_add(v, "other…", "a key of your own")->pick = ask_key;
    ml_act_menu_show(v, "");
}

/* ---- cache_read, cache_write */

static void ask_scope(ml_View *v, ml_Request r, const char *buffer)
{
    ml_Act *a = v->act;
    const ml_Block *b = ml_act_block_here(v, v->node, NULL);
    const char *prim = v->requests[r].prim;

    if (!b)
        return;
    ml_ActCall c = ml_act_call(a->tmp, prim, b->tag, ML_H_BLOCK);

    ml_act_arg_text(a->tmp, &c, buffer);
    Names n = offered(v, &c);

    begin(v, r, prim, buffer, " in scope");
    for (size_t k = 0; k < n.text.n; k++)
        add_call(v, n.text.v[k], NULL, &c, n.text.v[k]);
    ml_act_menu_show(v, "there are no scopes");
}

static void pick_buffer(ml_View *v, const ml_ActItem *it)
{
    ask_scope(v, v->act->req, it->text);
}

void ml_act_cache(ml_View *v)
{
    ml_Act *a = v->act;
    bool write = v->row->req == ML_REQ_CACHE_WRITE;
    const ml_Block *b = ml_act_block_here(v, v->node, &a->why);
    const ml_Region *of = !b ? NULL : write ? b->writes : b->reads;
    uint32_t n = !b ? 0 : write ? b->n_writes : b->n_reads;

    if (!b) {
        ml_view_say(v, "%s", ml_text_z(&a->why));
        return;
    }
    if (n == 1) {
        ask_scope(v, v->row->req, ml_name_of(v->ss->focus, of[0].buffer->uid));
        return;
    }
    begin(v, v->row->req, v->row->prim, "of ", shown(v, b->tag));
    for (uint32_t k = 0; k < n; k++) {
        const ml_Buffer *buf = of[k].buffer;

        ml_act_menu_add(v, ml_name_of(v->ss->focus, buf->uid),
                        ml_format(a->tmp, "%s %s, %u dimension%s", buf->scope.name,
                                  ml_dtype_name(a->tmp, buf->type), buf->rank,
                                  buf->rank == 1 ? "" : "s"))
            ->pick = pick_buffer;
    }
    ml_act_menu_show(v, write ? "the block writes no buffer" : "the block reads no buffer");
}

/* ---- tensorize */

void ml_act_tensorize(ml_View *v)
{
    const char *const *names = NULL;
    ml_ActCall c;

    if (!on_either(v, "tensorize", &c))
        return;
    size_t n = ml_intrin_names(v->act->tmp, v->ss->focus->space->intrins, &names);

    begin(v, ML_REQ_TENSORIZE, "tensorize", shown(v, v->node), " with");
    for (size_t k = 0; k < n; k++)
        add_call(v, names[k], NULL, &c, names[k]);
    ml_act_menu_show(v, "no intrinsics are known");
}

/* ---- all primitives */

/* What runs at once is run as it is shown; a request that asks, asks; all others get a
 * prompt for their arguments, begun with some that work. */
static void pick_primitive(ml_View *v, const ml_ActItem *it)
{
    ml_Act *a = v->act;
    const ml_Primitive *p = it->prim;
    ml_Request r = ml_act_request_of(v, p->name);
    bool known = r != ML_REQ_NONE;

    if (known && v->requests[r].again && it->line) {
        if (ml_act_run_at(v, ML_REQ_ALL, it->line, &it->call, a->node))
            ml_act_close(v);
    } else if (known && r != ML_REQ_LAYOUT && ml_act_suits(v, r, &a->why)) {
        ml_act_close(v);
        ml_act_begin(v, r, 1);
    } else {
        ml_ActAsk ask = {.label = ml_format(a->tmp, "%s(", p->name),
                         .call = {.prim = p->name},
                         .text = ml_act_template(v, p, v->node, a->tmp),
                         .tail = ")",
                         .prim = p,
                         .may_be_empty = true};

        ml_act_ask(v, ML_REQ_ALL, &ask);
    }
}

/* Those about what is selected, those about what is around it, those that only ask. */
static uint8_t rank_of(const ml_View *v, const ml_Primitive *p)
{
    ml_ParamKind first = p->n_params ? (ml_ParamKind)p->params[0].kind : ML_P_STRING;
    bool about_loops = first == ML_P_LOOP || first == ML_P_LOOPS;

    if (p->no_version)
        return 2;
    return first != ML_P_BLOCK_OR_LOOP && first != ML_P_LOOP_BLOCKS &&
           about_loops != (ml_act_for(v, v->node) != NULL);
}

void ml_act_all(ml_View *v)
{
    begin(v, ML_REQ_ALL, "all", "at ", shown(v, v->node));
    for (size_t k = 0; k < ml_n_primitives; k++) {
        const ml_Primitive *p = ml_primitives[k];
        ml_ActItem *it = ml_act_menu_add(v, p->name, p->summary);

        it->key = p->group;
        it->pick = pick_primitive;
        it->prim = p;
        it->rank = rank_of(v, p);
    }
    ml_act_menu_show(v, "there are no primitives");
}

/* ---- marks */

static void add_marks(ml_View *v, int version, const char *marks, const ml_Step *step)
{
    ml_Act *a = v->act;
    bool here = version == ml_schedule_version(v->ss->focus);
    const char *note = ml_format(
        a->tmp, "v%d  %s%s%s%s", version, step->prim ? step->headline : "the start",
        step->speed ? "  " : "", step->speed ? step->speed : "", here ? "  (here)" : "");

    for (size_t n; *marks; marks += n + strspn(marks + n, ", ")) {
        n = strcspn(marks, ", ");
        if (n == 0)
            continue;
        ml_ActItem *it = ml_act_menu_add(v, ml_strdup(a->tmp, (ml_Str){marks, n}), note);

        it->line = ml_format(a->cx, ":goto %s", it->text);
    }
}

void ml_act_goto_mark(ml_View *v)
{
    ml_Schedule *s = v->ss->focus;
    ml_Step step;

    ml_act_menu_begin(v, ML_REQ_GOTO_MARK, "go to: ");
    for (int k = ml_schedule_n_versions(s) - 1; k >= 0; k--) {
        const char *marks = ml_schedule_marks_of(s, k);

        if (marks && ml_version_known(s, k) && ml_version_step(s, k, &step))
            add_marks(v, k, marks, &step);
    }
    ml_act_menu_add(v, "v0", "the start")->line = ":goto v0";
    ml_act_menu_show(v, "");
}

/* ---- the session's Lua */

static void to_clipboard(ml_View *v, const ml_ActItem *it)
{
    ml_Act *a = v->act;
    ml_Text t = {0};

    (void)it;
    ml_saved_lua(v->ss->focus, &t);
    ml_heap_free(a->clip);
    a->clip = ml_heap_text(ml_text_z(&t));
    ml_text_free(&t);
    ml_act_close(v);
    ml_view_say(v,
                "%zu lines of Lua are on their way to the clipboard (if the terminal has "
                "OSC 52)",
                ml_count_lines(a->clip));
}

static void to_file(ml_View *v, const ml_ActItem *it)
{
    ml_ActAsk ask = {.label = "write Lua to: ",
                     .head = ":save ",
                     .hint = "a file that ends in .lua, .json or .py"};

    (void)it;
    ask.text = ml_format(v->act->tmp, "%s.lua", ml_schedule_name(v->ss->focus));
    ml_act_ask(v, ML_REQ_COPY, &ask);
}

void ml_act_copy(ml_View *v)
{
    ml_act_menu_begin(v, ML_REQ_COPY, "the session's Lua: ");
    ml_act_menu_add(v, "to the clipboard", "the terminal's, by an escape sequence")->pick =
        to_clipboard;
    ml_act_menu_add(v, "to a file", "a script that rebuilds this version")->pick = to_file;
    ml_act_menu_show(v, "");
}

const char *ml_act_clipboard(ml_View *v)
{
    return v->act->clip;
}

void ml_act_clipboard_taken(ml_View *v)
{
    ml_heap_free(v->act->clip);
    v->act->clip = NULL;
}
