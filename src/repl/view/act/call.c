/*
 * call - a call of a primitive as requests make it: nodes stay nodes until its line is
 * wanted, for the log, a trial, a prompt. So it can be made again about another node.
 */
#include "moonloop/primitives/call_text.h"
#include "repl/host/host.h"
#include "repl/view/act/act_impl.h"

void ml_act_arg_node(ml_Ctx *cx, ml_ActCall *c, ml_Uid node, ml_HandleKind want)
{
    ml_push(cx, &c->args, ((ml_ActArg){.node = node, .want = (uint8_t)want}));
}

void ml_act_arg(ml_Ctx *cx, ml_ActCall *c, const char *lua)
{
    ml_push(cx, &c->args, ((ml_ActArg){.lua = lua}));
}

void ml_act_arg_text(ml_Ctx *cx, ml_ActCall *c, const char *z)
{
    ml_act_arg(cx, c, ml_quoted(cx, z));
}

ml_ActCall ml_act_call(ml_Ctx *cx, const char *prim, ml_Uid node, ml_HandleKind want)
{
    ml_ActCall c = {.prim = prim};

    ml_act_arg_node(cx, &c, node, want);
    return c;
}

const char *ml_act_print(const ml_View *v, ml_Ctx *cx, const ml_ActCall *c)
{
    ml_Text t = {0};
    bool named = true;

    ml_text_fmt(&t, "%s(", c->prim);
    for (size_t k = 0; k < c->args.n && named; k++) {
        const ml_ActArg *g = &c->args.v[k];
        const char *z =
            g->node ? ml_act_name(v, cx, g->node, (ml_HandleKind)g->want) : g->lua;

        named = z != NULL;
        if (named)
            ml_text_fmt(&t, g->braced ? "%s{%s}" : "%s%s", k ? ", " : "", z);
    }
    ml_text_char(&t, ')');
    const char *line = ml_text_into(cx, &t);

    return named ? line : NULL;
}

/* ---- what somebody wrote */

size_t ml_act_arg_length(const char *text)
{
    char quote = '\0';
    int depth = 0;
    size_t k = 0;

    for (; text[k] && (quote || depth != 0 || text[k] != ','); k++) {
        char c = text[k];

        if (quote)
            quote = c == quote ? '\0' : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else
            depth += (strchr("({[", c) != NULL) - (strchr(")}]", c) != NULL);
    }
    return k;
}

/* Whether an argument is a string that means the node. */
static bool says(const ml_View *v, ml_Str arg, ml_Uid node)
{
    ml_Text t = {0};
    ml_Handle h = {0};

    if (!node || arg.n < 2 || (arg.p[0] != '"' && arg.p[0] != '\'') ||
        arg.p[arg.n - 1] != arg.p[0])
        return false;
    ml_text_addn(&t, arg.p + 1, arg.n - 2);
    bool ok = ml_resolve(v->ss->focus, ml_text_z(&t),
                         ml_act_for(v, node) ? ML_H_LOOP : ML_H_BLOCK, &h);

    ml_error_clear(ml_schedule_ctx(v->ss->focus));
    ml_text_free(&t);
    return ok && h.uid == node;
}

void ml_act_arg_typed(const ml_View *v, ml_Ctx *cx, ml_ActCall *c, const char *text,
                      ml_Uid node)
{
    const ml_Block *b = ml_act_block_here(v, node, NULL);

    while (*text) {
        size_t n = ml_act_arg_length(text);
        ml_Str arg = {text, n};

        for (; arg.n > 0 && *arg.p == ' '; arg.n--)
            arg.p++;
        while (arg.n > 0 && arg.p[arg.n - 1] == ' ')
            arg.n--;
        if (says(v, arg, node))
            ml_act_arg_node(cx, c, node, ml_act_for(v, node) ? ML_H_LOOP : ML_H_BLOCK);
        else if (b && says(v, arg, b->tag))
            ml_act_arg_node(cx, c, b->tag, ML_H_BLOCK);
        else
            ml_act_arg(cx, c, ml_strdup(cx, arg));
        text += n + (text[n] == ',');
    }
}

/* ---- as data */

typedef struct Naming {
    const ml_View *v;
    ml_Ctx *cx;
    const ml_ActCall *c;
} Naming;

/* node_3 is the node of argument 3; other names are the user's. */
static const char NODE[] = "node_";

static bool value_of(void *user, ml_Str name, int64_t element, ml_Arg *out)
{
    const Naming *n = user;
    size_t k, head = sizeof NODE - 1;

    if (name.n <= head || memcmp(name.p, NODE, head) != 0)
        return ml_host_held_arg(n->v->ss->host, name, element, n->cx, out);
    for (k = 0; head < name.n && name.p[head] >= '0' && name.p[head] <= '9'; head++)
        k = 10 * k + (size_t)(name.p[head] - '0');
    if (k >= n->c->args.n || !n->c->args.v[k].node || element)
        return false;
    ml_Uid node = n->c->args.v[k].node;

    *out =
        ML_ARG_HANDLE(((ml_Handle){ml_act_for(n->v, node) ? ML_H_LOOP : ML_H_BLOCK, node}));
    return true;
}

/* It is the primitive, whatever a name of the user's means. */
static bool means(void *user, ml_Str receiver, ml_Str prim)
{
    const Naming *n = user;

    return receiver.n == 0 && ml_str_eq(prim, ml_str(n->c->prim));
}

bool ml_act_read(const ml_View *v, ml_Ctx *cx, const ml_ActCall *c, ml_RunCall *out)
{
    Naming n = {v, cx, c};
    ml_CallNames names = {&n, value_of, means};
    ml_CallText call;
    ml_Text t = {0};

    ml_text_fmt(&t, "%s(", c->prim);
    for (size_t k = 0; k < c->args.n; k++) {
        const ml_ActArg *g = &c->args.v[k];

        ml_text_add(&t, k ? ", " : "");
        if (g->node)
            ml_text_fmt(&t, g->braced ? "{%s%zu}" : "%s%zu", NODE, k);
        else
            ml_text_add(&t, g->lua ? g->lua : "nil");
    }
    ml_text_char(&t, ')');
    ml_Str rest = ml_str(ml_text_into(cx, &t));
    bool ok = ml_parse_call(cx, &rest, &names, &call) && strspn(rest.p, " ") == rest.n;

    ml_error_clear(cx);
    if (ok)
        *out = (ml_RunCall){call.prim, call.args, call.n};
    return ok;
}
