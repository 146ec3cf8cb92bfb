/*
 * call - a call of a primitive as requests make it: nodes stay nodes until its line is
 * wanted, for the log, a trial, a prompt. So it can be made again about another node.
 */
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
