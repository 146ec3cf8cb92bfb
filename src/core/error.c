/*
 * error - the sticky error of a context: set once, where it is found.
 *
 * It and its texts live beside the arena, so that a release leaves them whole; a fact that
 * pointed into released memory becomes a text. Source: style section 5.
 */
#include "moonloop/core/error.h"

#include "moonloop/core/ctx_impl.h"

#include <stdarg.h>
#include <stdio.h>

typedef struct Info {
    const char *code, *sentence, *rule, *family;
    bool quiet; /* the rule says no more than the sentence that is shown */
} Info;

static const Info infos[] = {
    [ML_E_OK] = {"ok", "", "", NULL, false},
#define ML_ERROR(NAME, ...)    [ML_E_##NAME] = {__VA_ARGS__, NULL, false},
#define ML_QUIET_(NAME, ...)   [ML_E_##NAME] = {__VA_ARGS__, NULL, true},
#define ML_UNSOUND_(NAME, ...) [ML_E_##NAME] = {__VA_ARGS__, "unsound", false},
#include "moonloop/core/errors.def"
#undef ML_UNSOUND_
#undef ML_QUIET_
#undef ML_ERROR
};

/* Where copies go: the arena of a context, or the one that belongs to its error. */
typedef struct Place {
    ml_Ctx *cx;
    ml_Arena *arena; /* NULL: cx's own */
} Place;

static void *take(Place to, size_t n)
{
    return to.arena ? ml_arena_alloc(to.arena, n) : ml_alloc(to.cx, n);
}

static const char *copy_text(Place to, const char *z)
{
    if (!z)
        return NULL;
    size_t n = strlen(z) + 1;
    return memcpy(take(to, n), z, n);
}

static const ml_Span *copy_span(Place to, const ml_Span *span)
{
    if (!span)
        return NULL;
    ml_Span *s = take(to, sizeof(*s));
    *s = *span;
    s->exprs = NULL; /* of another context */
    s->file = copy_text(to, span->file);
    return s;
}

static ml_Fact copy_fact(Place to, const ml_Fact *f)
{
    ml_Fact g = *f;
    g.name = copy_text(to, f->name);
    g.hint = copy_text(to, f->hint);
    if (f->kind == ML_FACT_TEXT)
        g.as.text = copy_text(to, f->as.text);
    if (f->kind == ML_FACT_POINT) {
        ml_Coord *v = take(to, (f->aux + 1u) * sizeof *v);

        for (uint32_t k = 0; k < f->aux; k++) {
            v[k] = f->as.point[k];
            v[k].hint = copy_text(to, v[k].hint);
        }
        g.as.point = v;
    }
    return g;
}

static void copy_error(Place to, ml_Error *dst, const ml_Error *src)
{
    *dst = *src;
    dst->primitive = copy_text(to, src->primitive);
    for (uint32_t k = 0; k < src->n_facts; k++)
        dst->facts[k] = copy_fact(to, &src->facts[k]);
    const char **notes = src->n_notes ? take(to, src->n_notes * sizeof(*notes)) : NULL;
    for (uint32_t k = 0; k < src->n_notes; k++)
        notes[k] = copy_text(to, src->notes[k]);
    dst->notes = notes;
    dst->place = copy_span(to, src->place);
}

/* NULL: another error is the cause already. */
static ml_Error *begin(ml_Ctx *cx, ml_ErrorCode code, const char *says)
{
    ML_ASSERT(code > ML_E_OK && code < ML_E_COUNT);
    if (cx->error.code != ML_E_OK)
        return NULL;
    cx->error = (ml_Error){.code = code, .says = says};
    return &cx->error;
}

static void add_facts(ml_Ctx *cx, ml_Error *e, va_list ap)
{
    Place to = {cx, &cx->error_arena};

    for (;;) {
        ml_Fact f = va_arg(ap, ml_Fact);
        if (f.kind == ML_FACT_STOP || e->n_facts == ML_MAX_FACTS)
            return;
        e->facts[e->n_facts++] = copy_fact(to, &f);
    }
}

bool ml_fail_(ml_Ctx *cx, ml_ErrorCode code, ...)
{
    ml_Error *e = begin(cx, code, NULL);
    va_list ap;

    va_start(ap, code);
    if (e)
        add_facts(cx, e, ap);
    va_end(ap);
    return false;
}

bool ml_fail_as_(ml_Ctx *cx, ml_ErrorCode code, const char *says, ...)
{
    ml_Error *e = begin(cx, code, says);
    va_list ap;

    va_start(ap, says);
    if (e)
        add_facts(cx, e, ap);
    va_end(ap);
    return false;
}

bool ml_unproved_(ml_Ctx *cx, ml_ErrorCode code, const char *says, ...)
{
    ml_Error *e = begin(cx, code, says);
    va_list ap;

    va_start(ap, says);
    if (e) {
        add_facts(cx, e, ap);
        e->unproved = true;
    }
    va_end(ap);
    return false;
}

ml_Fact ml_node_fact(ml_FactKind kind, const ml_Stmt *node)
{
    ml_Fact f = {.kind = (uint8_t)kind, .as.uid = ml_stmt_uid(node)};

    if (node->kind == ML_STMT_FOR)
        f.hint = ml_as_for(node)->var->hint;
    else if (node->kind == ML_STMT_BLOCK)
        f.hint = ml_as_block(node)->name;
    return f;
}

const ml_Error *ml_error(const ml_Ctx *cx)
{
    return cx->error.code == ML_E_OK ? NULL : &cx->error;
}

/* With the error goes the condition it reports; a mark that another error hid stays. */
void ml_error_clear(ml_Ctx *cx)
{
    if (cx->error.code == ML_E_INDEX_OVERFLOW)
        cx->overflow = false;
    if (cx->error.code == ML_E_TOO_DEEP)
        cx->too_deep = false;
    cx->out_of_memory = cx->stopped = false;
    cx->error = (ml_Error){.code = ML_E_OK};
    ml_arena_release(&cx->error_arena, NULL, 0);
}

void ml_error_note(ml_Ctx *cx, const char *fmt, ...)
{
    ml_Error *e = &cx->error;
    if (e->code == ML_E_OK)
        return;

    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    ML_ASSERT(n >= 0);
    char *note = ml_arena_alloc(&cx->error_arena, (size_t)n + 1);
    vsnprintf(note, (size_t)n + 1, fmt, again);
    va_end(again);

    const char **notes =
        ml_arena_alloc(&cx->error_arena, (e->n_notes + 1) * sizeof(*notes));
    for (uint32_t k = 0; k < e->n_notes; k++)
        notes[k] = e->notes[k];
    notes[e->n_notes++] = note;
    e->notes = notes;
}

void ml_error_set_primitive(ml_Ctx *cx, const char *name)
{
    if (cx->error.code != ML_E_OK)
        cx->error.primitive = copy_text((Place){cx, &cx->error_arena}, name);
}

void ml_error_set_unproved(ml_Ctx *cx)
{
    if (cx->error.code != ML_E_OK)
        cx->error.unproved = true;
}

void ml_error_set_place(ml_Ctx *cx, const ml_Span *place)
{
    if (cx->error.code != ML_E_OK)
        cx->error.place = copy_span((Place){cx, &cx->error_arena}, place);
}

const ml_Error *ml_error_copy(ml_Ctx *to, const ml_Error *e)
{
    ml_Error *copy = ml_alloc(to, sizeof(*copy));
    copy_error((Place){to, NULL}, copy, e);
    return copy;
}

void ml_error_move(ml_Ctx *to, ml_Ctx *from)
{
    if (to == from)
        return;
    if (from->error.code != ML_E_OK && to->error.code == ML_E_OK)
        copy_error((Place){to, &to->error_arena}, &to->error, &from->error);
    ml_error_clear(from);
}

/* The name that stays when what a fact points to goes. */
static const char *last_name(const ml_Fact *f)
{
    if (f->kind == ML_FACT_VAR)
        return f->as.var->hint;
    if (f->kind == ML_FACT_BUFFER)
        return f->as.buffer->name;
    return f->kind == ML_FACT_EXPR ? "an expression" : "a statement";
}

void ml_error_detach(ml_Ctx *cx, const ml_Mark *mark)
{
    Place to = {cx, &cx->error_arena};
    for (uint32_t k = 0; k < cx->error.n_facts; k++) {
        ml_Fact *f = &cx->error.facts[k];
        const void *p = NULL;
        if (f->kind == ML_FACT_VAR)
            p = f->as.var;
        else if (f->kind == ML_FACT_BUFFER)
            p = f->as.buffer;
        else if (f->kind == ML_FACT_EXPR)
            p = f->as.expr;
        else if (f->kind == ML_FACT_STMT)
            p = f->as.stmt;
        if (!p || !ml_arena_holds_since(&cx->arena, mark->chunk, mark->used, p))
            continue;
        f->as.text = copy_text(to, last_name(f));
        f->kind = ML_FACT_TEXT;
    }
}

const char *ml_error_code(ml_ErrorCode c)
{
    ML_ASSERT(c < ML_E_COUNT);
    return infos[c].code;
}

/* A sentence without its facts: … where they stand. */
static void add_sentence(ml_Text *t, ml_ErrorCode code)
{
    for (const char *z = ml_error_sentence(code); *z; z++) {
        if (*z == '{' && strchr(z, '}')) {
            ml_text_add(t, "…");
            z = strchr(z, '}');
        } else
            ml_text_char(t, *z);
    }
}

void ml_error_meaning(ml_Text *t, ml_ErrorCode code)
{
    if (!ml_streq(ml_error_sentence(code), "{0}"))
        add_sentence(t, code);
    else if (*ml_error_rule(code))
        ml_text_fmt(t, "broken rule: %s", ml_error_rule(code));
    else
        ml_text_add(t, "(its sentence is made where the error is found)");
}

const char *ml_error_sentence(ml_ErrorCode c)
{
    ML_ASSERT(c < ML_E_COUNT);
    return infos[c].sentence;
}

const char *ml_error_says(const ml_Error *e)
{
    return e->says ? e->says : ml_error_sentence(e->code);
}

const char *ml_error_opening(const ml_Error *e)
{
    return e->unproved && e->says ? "cannot show that " : "";
}

const char *ml_error_family(ml_ErrorCode c)
{
    ML_ASSERT(c < ML_E_COUNT);
    return infos[c].family;
}

const char *ml_error_rule(ml_ErrorCode c)
{
    ML_ASSERT(c < ML_E_COUNT);
    return infos[c].rule;
}

bool ml_error_rule_is_shown(ml_ErrorCode c)
{
    ML_ASSERT(c < ML_E_COUNT);
    return *infos[c].rule && !infos[c].quiet;
}

ml_ErrorCode ml_error_find(const char *code)
{
    for (int c = ML_E_OK + 1; c < ML_E_COUNT; c++)
        if (ml_streq(infos[c].code, code))
            return (ml_ErrorCode)c;
    return ML_E_OK;
}
