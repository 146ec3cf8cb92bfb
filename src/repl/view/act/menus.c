/*
 * act_menus - what the menus hold: thread axes, buffers and scopes, annotations,
 * intrinsics, all primitives, marks, and where Lua can be copied to.
 *
 * Names that completion knows (axes, scopes, keys) are asked of it, so that prompt and menu
 * offer the same. Source: interaction 10.
 */
#include "core/base/arena.h"
#include "primitives/intrin.h"
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

/* What Tab offers at the end of the line; in cx. */
static Names offered(ml_View *v, ml_Ctx *cx, const char *line)
{
    Names n = {.cx = cx};

    ml_completions(v->ss, line, strlen(line), gather, &n);
    return n;
}

static const char *quoted(ml_Ctx *cx, const char *z)
{
    ml_Text t = {0};
    const char *out;

    ml_text_quote(&t, z);
    out = ml_strdup(cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return out;
}

/* ---- bind */

void ml_act_bind(ml_View *v, int count)
{
    ml_Act *a = v->act;
    ml_Ctx *tmp = ml_ctx_new(0);
    const char *name = ml_act_name(v, tmp, v->node, ML_H_LOOP);
    Names n = offered(v, tmp, ml_format(tmp, "bind(%s, \"", name ? name : "\"\""));

    (void)count;
    ml_act_menu_begin(v, ML_REQ_BIND,
                      ml_format(tmp, "bind %s to: ", ml_act_shown(v, tmp, v->node)));
    for (size_t k = 0; name && k < n.text.n; k++)
        ml_act_menu_add(v, n.text.v[k], n.note.v[k])->line =
            ml_format(a->cx, "bind(%s, %s)", name, quoted(tmp, n.text.v[k]));
    ml_act_menu_show(v, "there are no thread axes to bind to");
    ml_ctx_unref(tmp);
}

/* ---- annotate */

/* A name for what takes loops and blocks; NULL: it was said that there is none. */
static const char *either_name(ml_View *v, ml_Ctx *cx)
{
    const char *name = ml_act_name(v, cx, v->node, ML_H_NONE);

    if (!name)
        ml_view_say(v,
                    "%s: a loop and a block have this name; annotate it at : with "
                    "get_block or loops",
                    ml_name_of(v->ss->focus, v->node));
    return name;
}

static void ask_value(ml_View *v, const ml_ActItem *it)
{
    ml_Ctx *tmp = ml_ctx_new(0);
    const char *name = either_name(v, tmp);
    ml_ActAsk ask = {.tail = ")",
                     .hint = "a number, \"text\", true, or a list {…} of these"};

    if (name) {
        ask.label =
            ml_format(tmp, "annotate %s %s = ", ml_act_shown(v, tmp, v->node), it->text);
        ask.head = ml_format(tmp, "annotate(%s, %s, ", name, quoted(tmp, it->text));
        ml_act_ask(v, ML_REQ_ANNOTATE, &ask);
    }
    ml_ctx_unref(tmp);
}

static void ask_key(ml_View *v, const ml_ActItem *it)
{
    ml_Ctx *tmp = ml_ctx_new(0);
    const char *name = either_name(v, tmp);
    ml_ActAsk ask = {.head = "annotate(", .tail = ")"};

    (void)it;
    if (name) {
        ask.label = "annotate(";
        ask.prim = ml_primitive_find("annotate");
        ask.text = ml_format(tmp, "%s, \"", name);
        ml_act_ask(v, ML_REQ_ANNOTATE, &ask);
    }
    ml_ctx_unref(tmp);
}

void ml_act_annotate(ml_View *v, int count)
{
    ml_Act *a = v->act;
    ml_Ctx *tmp = ml_ctx_new(0);
    const char *name = either_name(v, tmp);
    bool loop = ml_act_for(v, v->node) != NULL;

    (void)count;
    if (!name) {
        ml_ctx_unref(tmp);
        return;
    }
    Names n = offered(v, tmp, ml_format(tmp, "annotate(%s, \"", name));

    ml_act_menu_begin(v, ML_REQ_ANNOTATE,
                      ml_format(tmp, "annotate %s: ", ml_act_shown(v, tmp, v->node)));
    for (size_t k = 0; k < n.text.n; k++) {
        bool set = ml_streq(n.note.v[k], "is set");

        if (strncmp(n.note.v[k], loop ? "block:" : "loop:", loop ? 6 : 5) == 0)
            continue;
        if (set)
            ml_act_menu_add(v, ml_format(tmp, "unannotate %s", n.text.v[k]), "take it away")
                ->line =
                ml_format(a->cx, "unannotate(%s, %s)", name, quoted(tmp, n.text.v[k]));
        else
            ml_act_menu_add(v, n.text.v[k], n.note.v[k])->pick = ask_value;
    }
    ml_act_menu_add(v, "other…", "a key of your own")->pick = ask_key;
    ml_act_menu_show(v, "");
    ml_ctx_unref(tmp);
}

/* ---- cache_read, cache_write */

static void ask_scope(ml_View *v, const char *prim, ml_Request r, const char *buffer)
{
    ml_Act *a = v->act;
    ml_Ctx *tmp = ml_ctx_new(0);
    const ml_Block *b = ml_act_block_here(v, v->node, NULL);
    const char *block = b ? ml_act_name(v, tmp, b->tag, ML_H_BLOCK) : NULL;

    buffer = ml_strdup(tmp, ml_str(buffer)); /* it may be of the menu that led here */
    if (block) {
        const char *head = ml_format(tmp, "%s(%s, %s, ", prim, block, quoted(tmp, buffer));
        Names n = offered(v, tmp, ml_format(tmp, "%s\"", head));

        ml_act_menu_begin(v, r, ml_format(tmp, "%s %s in scope: ", prim, buffer));
        for (size_t k = 0; k < n.text.n; k++)
            ml_act_menu_add(v, n.text.v[k], NULL)->line =
                ml_format(a->cx, "%s%s)", head, quoted(tmp, n.text.v[k]));
        ml_act_menu_show(v, "there are no scopes");
    }
    ml_ctx_unref(tmp);
}

static void pick_read(ml_View *v, const ml_ActItem *it)
{
    ask_scope(v, "cache_read", ML_REQ_CACHE_READ, it->text);
}

static void pick_write(ml_View *v, const ml_ActItem *it)
{
    ask_scope(v, "cache_write", ML_REQ_CACHE_WRITE, it->text);
}

void ml_act_cache(ml_View *v, bool write)
{
    const char *prim = write ? "cache_write" : "cache_read";
    ml_Request r = write ? ML_REQ_CACHE_WRITE : ML_REQ_CACHE_READ;
    ml_Text why = {0};
    ml_Ctx *tmp = ml_ctx_new(0);
    const ml_Block *b = ml_act_block_here(v, v->node, &why);
    uint32_t n = !b ? 0 : write ? b->n_writes : b->n_reads;

    if (!b)
        ml_view_say(v, "%s", ml_text_z(&why));
    else if (n == 1)
        ask_scope(v, prim, r,
                  ml_name_of(v->ss->focus, (write ? b->writes : b->reads)[0].buffer->uid));
    else {
        ml_act_menu_begin(v, r,
                          ml_format(tmp, "%s of %s: ", prim, ml_act_shown(v, tmp, b->tag)));
        for (uint32_t k = 0; k < n; k++) {
            const ml_Buffer *buf = (write ? b->writes : b->reads)[k].buffer;

            ml_act_menu_add(v, ml_name_of(v->ss->focus, buf->uid),
                            ml_format(tmp, "%s %s, %u dimension%s", buf->scope.name,
                                      ml_dtype_name(tmp, buf->type), buf->rank,
                                      buf->rank == 1 ? "" : "s"))
                ->pick = write ? pick_write : pick_read;
        }
        ml_act_menu_show(v, write ? "the block writes no buffer"
                                  : "the block reads no buffer");
    }
    ml_text_free(&why);
    ml_ctx_unref(tmp);
}

/* ---- tensorize */

void ml_act_tensorize(ml_View *v, int count)
{
    ml_Act *a = v->act;
    ml_Ctx *tmp = ml_ctx_new(0);
    const char *name = either_name(v, tmp), *const *names = NULL;
    size_t n = name ? ml_intrin_names(tmp, v->ss->focus->space->intrins, &names) : 0;

    (void)count;
    if (name) {
        ml_act_menu_begin(
            v, ML_REQ_TENSORIZE,
            ml_format(tmp, "tensorize %s with: ", ml_act_shown(v, tmp, v->node)));
        for (size_t k = 0; k < n; k++)
            ml_act_menu_add(v, names[k], NULL)->line =
                ml_format(a->cx, "tensorize(%s, %s)", name, quoted(tmp, names[k]));
        ml_act_menu_show(v, "no intrinsics are known");
    }
    ml_ctx_unref(tmp);
}

/* ---- all primitives */

/* What runs at once is run as it is shown; a request that asks, asks; all others get a
 * prompt for their arguments, begun with some that work. */
static void pick_primitive(ml_View *v, const ml_ActItem *it)
{
    ml_Act *a = v->act;
    ml_Ctx *tmp = ml_ctx_new(0);
    const ml_Primitive *p = it->prim;
    ml_Request r = ml_act_request_of(p->name);
    ml_ActAsk ask = {.tail = ")", .prim = p, .may_be_empty = true};
    ml_Text why = {0};
    bool suits = r != ML_REQ_NONE && ml_act_suits(v, r, &why);

    if (r != ML_REQ_NONE && !ml_act_asks(r) && it->line) {
        const char *line = ml_strdup(tmp, ml_str(it->line));

        if (ml_act_run_at(v, ML_REQ_ALL, line, a->node))
            ml_act_close(v);
    } else if (suits && r != ML_REQ_LAYOUT) {
        ml_act_close(v);
        ml_act_begin(v, r, 1);
    } else {
        ask.head = ask.label = ml_format(tmp, "%s(", p->name);
        ask.text = ml_act_template(v, p, v->node, tmp);
        ml_act_ask(v, ML_REQ_ALL, &ask);
    }
    ml_text_free(&why);
    ml_ctx_unref(tmp);
}

/* Those about what is selected, those about what is around it, those that only ask. */
static uint8_t rank_of(const ml_View *v, const ml_Primitive *p)
{
    bool loop = ml_act_for(v, v->node) != NULL, about_loops;
    ml_ParamKind first = p->n_params ? (ml_ParamKind)p->params[0].kind : ML_P_STRING;

    if (p->no_version)
        return 2;
    about_loops = first == ML_P_LOOP || first == ML_P_LOOPS;
    return first == ML_P_BLOCK_OR_LOOP || first == ML_P_LOOP_BLOCKS ? 0
           : about_loops == loop                                    ? 0
                                                                    : 1;
}

void ml_act_all(ml_View *v, int count)
{
    ml_Ctx *tmp = ml_ctx_new(0);

    (void)count;
    ml_act_menu_begin(v, ML_REQ_ALL,
                      ml_format(tmp, "all at %s: ", ml_act_shown(v, tmp, v->node)));
    for (size_t k = 0; k < ml_n_primitives; k++) {
        const ml_Primitive *p = ml_primitives[k];
        ml_ActItem *it = ml_act_menu_add(v, p->name, p->summary);

        it->key = p->group;
        it->pick = pick_primitive;
        it->prim = p;
        it->rank = rank_of(v, p);
    }
    ml_act_menu_show(v, "there are no primitives");
    ml_ctx_unref(tmp);
}

/* ---- marks */

void ml_act_goto_mark(ml_View *v, int count)
{
    ml_Act *a = v->act;
    ml_Schedule *s = v->ss->focus;
    ml_Ctx *tmp = ml_ctx_new(0);
    int now = ml_schedule_version(s);
    ml_Step step;

    (void)count;
    ml_act_menu_begin(v, ML_REQ_GOTO_MARK, "go to: ");
    for (int k = ml_schedule_n_versions(s) - 1; k >= 0; k--) {
        const char *marks = ml_schedule_marks_of(s, k);

        if (!marks || !ml_version_known(s, k) || !ml_version_step(s, k, &step))
            continue;
        for (const char *p = marks; *p;) {
            size_t n = strcspn(p, ", ");
            const char *name = ml_strdup(tmp, (ml_Str){p, n});
            ml_ActItem *it;

            p += n + strspn(p + n, ", ");
            if (n == 0)
                continue;
            it = ml_act_menu_add(
                v, name,
                ml_format(tmp, "v%d  %s%s%s%s", k, step.prim ? step.headline : "the start",
                          step.speed ? "  " : "", step.speed ? step.speed : "",
                          k == now ? "  (here)" : ""));
            it->line = ml_format(a->cx, ":goto %s", name);
        }
    }
    ml_act_menu_add(v, "v0", "the start")->line = ":goto v0";
    ml_act_menu_show(v, "");
    ml_ctx_unref(tmp);
}

/* ---- the session's Lua */

static void to_clipboard(ml_View *v, const ml_ActItem *it)
{
    ml_Act *a = v->act;
    ml_Text t = {0};
    size_t lines = 0;

    (void)it;
    ml_saved_lua(v->ss->focus, &t);
    for (size_t k = 0; k < t.n; k++)
        lines += t.p[k] == '\n';
    ml_heap_free(a->clip);
    a->clip = ml_heap_zalloc(t.n + 1);
    if (t.n)
        memcpy(a->clip, t.p, t.n);
    ml_text_free(&t);
    ml_act_close(v);
    ml_view_say(v,
                "%zu lines of Lua are on their way to the clipboard (if the terminal has "
                "OSC 52)",
                lines);
}

static void to_file(ml_View *v, const ml_ActItem *it)
{
    ml_ActAsk ask = {.label = "write Lua to: ",
                     .head = ":save ",
                     .hint = "a file that ends in .lua, .json or .py"};
    ml_Ctx *tmp = ml_ctx_new(0);

    (void)it;
    ask.text = ml_format(tmp, "%s.lua", ml_schedule_name(v->ss->focus));
    ml_act_ask(v, ML_REQ_COPY, &ask);
    v->act->node = 0;
    ml_ctx_unref(tmp);
}

void ml_act_copy(ml_View *v, int count)
{
    (void)count;
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
