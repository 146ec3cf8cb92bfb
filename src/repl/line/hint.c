/*
 * hint - what the call takes that the cursor stands in, and what trying the line said.
 *
 * A signature is text, "name(a, b = 1, …)", whatever it belongs to; the parameter that the
 * cursor is at is found in it by counting commas or by name. Source: interaction 4.
 */
#include "repl/line/hint.h"

#include "repl/bind/schedule/calls.h"
#include "repl/command/command.h"
#include "repl/host/host.h"
#include "repl/job/jobs.h"
#include "repl/line/scan.h"

typedef struct Signature {
    ml_Text text, doc; /* doc: of the whole, when the parameter has none */
    const ml_Primitive *prim;
} Signature;

static void signature_free(Signature *s)
{
    ml_text_free(&s->text);
    ml_text_free(&s->doc);
}

/* ---- whose */

static bool topic(ml_Session *ss, const char *name, Signature *s)
{
    ml_HostTopic t;
    bool known = ml_host_topic(ss->host, name, &t) && ml_streq(ml_text_z(&t.name), name) &&
                 t.signature.n;

    if (known) {
        ml_text_add(&s->text, ml_text_z(&t.signature));
        ml_text_add(&s->doc, ml_text_z(&t.summary));
    }
    ml_host_topic_free(&t);
    return known;
}

/* What a.b:name( calls; false: nobody knows. */
static bool find_signature(ml_Session *ss, ml_Ctx *cx, ml_Str chain, Signature *s)
{
    bool method;
    ml_Str last = ml_scan_last_name(chain, &method);
    const char *name = ml_strdup(cx, last), *whole = ml_strdup(cx, chain);
    bool bare = last.n == chain.n;

    if (last.n == 0)
        return false;
    if (method && !(bare && ml_host_holds(ss->host, last) != ML_HOLDS_NOTHING)) {
        const char *plain = strncmp(name, "can_", 4) == 0 ? name + 4 : name;
        const ml_ScheduleCall *c = ml_schedule_call_find(name);

        s->prim = ml_primitive_find(plain);
        if (s->prim) {
            ml_primitive_signature(&s->text, s->prim);
            ml_text_add(&s->doc, s->prim->summary);
            return true;
        }
        if (c) {
            ml_text_fmt(&s->text, "%s(%s)", c->name, c->args);
            ml_text_add(&s->doc, c->summary);
            return true;
        }
    }
    return topic(ss, whole, s) || (bare && topic(ss, ml_format(cx, "moon.%s", name), s)) ||
           (method && topic(ss, ml_format(cx, "s:%s", name), s));
}

/* ---- the parameter */

/* The k-th part between the brackets, or the one that begins with `key`; false: none. */
static bool find_part(const char *sign, int k, ml_Str key, ml_RoleSpan *out)
{
    const char *p = strchr(sign, '(');
    int at = 0;

    for (p = p ? p + 1 : sign + strlen(sign); *p && *p != ')'; at++) {
        p += strspn(p, " [,");
        size_t n = strcspn(p, ",])"), name = strcspn(p, " ,])");
        bool rest = strstr(p, "…") && strstr(p, "…") < p + n;

        if (n == 0)
            break;
        size_t next = n;

        while (n > 0 && (p[n - 1] == ' ' || p[n - 1] == '['))
            n--;
        if (key.n ? name == key.n && memcmp(p, key.p, name) == 0 : at == k || rest) {
            *out = (ml_RoleSpan){(uint32_t)(p - sign), (uint32_t)(p - sign + (ptrdiff_t)n),
                                 ML_ROLE_STRONG};
            return true;
        }
        p += next;
        p += *p == ']';
    }
    return false;
}

/* Without the optional parameters but the current one. */
static void shorten(const ml_Primitive *prim, const ml_Param *current, ml_Text *out)
{
    bool any = false, left = false;

    ml_text_clear(out);
    ml_text_fmt(out, "%s(", prim->name);
    for (size_t k = 0; k < prim->n_params; k++) {
        const ml_Param *p = &prim->params[k];

        if (p->optional && p != current) {
            left = true;
            continue;
        }
        ml_text_fmt(out, "%s%s%s", any ? ", " : "", p->name,
                    p->kind == ML_P_LOOPS ? "…" : "");
        any = true;
    }
    ml_text_fmt(out, "%s)", left ? any ? ", ..." : "..." : "");
}

static ml_Hint compose(ml_Ctx *cx, Signature *s, int arg, ml_Str key, int width)
{
    ml_Hint h = {0};
    const ml_Param *p = ml_scan_param(s->prim, arg, key);
    const char *doc = p && p->doc ? p->doc : ml_text_z(&s->doc);
    ml_RoleSpan part;
    bool marked = find_part(ml_text_z(&s->text), arg, key, &part);

    if (s->prim &&
        ml_text_columns(s->text.p, s->text.n) + 2 + ml_text_columns(doc, strlen(doc)) >
            width) {
        shorten(s->prim, p, &s->text);
        marked = p && find_part(ml_text_z(&s->text), -1, ml_str(p->name), &part);
        if (p && p->kind == ML_P_LOOPS)
            marked = find_part(ml_text_z(&s->text), arg, (ml_Str){0}, &part);
    }
    if (marked)
        ml_push(cx, &h.spans, part);
    ml_text_fmt(&s->text, "%s%s", *doc ? "  " : "", doc);
    h.text = ml_strdup(cx, (ml_Str){ml_text_z(&s->text), s->text.n});
    return h;
}

static ml_Hint hint_lua(ml_Session *ss, ml_Ctx *cx, const char *line, size_t cursor,
                        int width)
{
    ml_Scan s = {.p = line, .n = cursor};
    ml_Hint h = {0};

    ml_scan(&s);
    if (s.nowhere || s.depth > ML_SCAN_OPEN)
        return h;
    for (size_t d = s.depth; d-- > 0 && !h.text;) {
        const ml_ScanCall *c = &s.open[d];
        Signature sign = {0};

        if (!c->callee.n || c->kind == '[')
            continue;
        if (find_signature(ss, cx, c->callee, &sign)) {
            bool named = c->kind == '{';
            /* Among names no parameter is the current one until its name stands there. */
            int arg = named && !c->key.n ? -1 : c->arg;

            h = compose(cx, &sign, arg, named ? c->key : (ml_Str){0}, width);
        }
        signature_free(&sign);
    }
    return h;
}

/* :name and a blank: its words and what it does. */
static ml_Hint hint_command(ml_Ctx *cx, const char *line, size_t cursor)
{
    ml_Hint h = {0};
    size_t from = strspn(line, " \t:"), n = strcspn(line + from, " \t\n");
    ml_Text why = {0};

    if (n == 0 || from + n >= cursor)
        return h;
    const ml_Command *c = ml_command_find(ml_strdup(cx, (ml_Str){line + from, n}), &why);

    if (c) {
        const char *name = ml_format(cx, ":%s%s%s", c->name, *c->args ? " " : "", c->args);
        size_t word = strlen(c->name) + 2;
        ml_RoleSpan s = {(uint32_t)word, (uint32_t)strlen(name), ML_ROLE_STRONG};

        h.text = ml_format(cx, "%s  %s", name, c->help);
        if (*c->args)
            ml_push(cx, &h.spans, s);
    }
    ml_text_free(&why);
    return h;
}

ml_Hint ml_hint(ml_Session *ss, ml_Ctx *cx, const char *line, size_t cursor, int width)
{
    switch (ml_language_of_input(line)) {
    case ML_LANGUAGE_LUA: return hint_lua(ss, cx, line, cursor, width);
    case ML_LANGUAGE_COMMAND: return hint_command(cx, line, cursor);
    case ML_LANGUAGE_SCRIPT:
    case ML_LANGUAGE_HELP:
    case ML_LANGUAGE_SHELL: break;
    }
    return (ml_Hint){0};
}

ml_Hint ml_hint_jobs(ml_Session *ss, ml_Ctx *cx)
{
    ml_Text t = {0};
    ml_Hint h = {0};

    if (ml_jobs_unseen(ss, false, &t)) {
        ml_text_add(&t, ", :jobs shows it");
        h.text = ml_strdup(cx, ml_str(ml_text_z(&t)));
        ml_push(cx, &h.spans,
                ((ml_RoleSpan){.to = (uint32_t)strlen(h.text), .role = ML_ROLE_NOTE}));
    }
    ml_text_free(&t);
    return h;
}

ml_Hint ml_hint_trial(ml_Session *ss, ml_Ctx *cx, const ml_Trial *t)
{
    bool ok = t->kind == ML_TRIAL_WORKS;
    const char *mark = ss->out.ascii ? (ok ? "ok:" : "error:") : ok ? "✓" : "✗";
    ml_Text all = {0};
    ml_Hint h = {0};

    if (t->kind == ML_TRIAL_NONE)
        return h;
    ml_text_fmt(&all, "%s ", mark);
    ml_text_addn(&all, t->says.n ? t->says.p : "", t->says.n);
    if (!ok)
        ml_text_fmt(&all, "  [%s]", ml_error_code(t->code));
    for (char *p = all.p; p && *p; p++)
        if (*p == '\n')
            *p = ' ';
    ml_RoleSpan s = {0, (uint32_t)strlen(mark), ok ? ML_ROLE_OK : ML_ROLE_ERROR};

    h.text = ml_strdup(cx, (ml_Str){ml_text_z(&all), all.n});
    ml_push(cx, &h.spans, s);
    ml_text_free(&all);
    return h;
}
