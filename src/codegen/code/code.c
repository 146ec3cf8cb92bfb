/* code - the table of backends, and the way of a question to the one that answers. */
#include "moonloop/codegen/code/code.h"

#include "config.h"

#include <ctype.h>

#include "moonloop/core/walk.h"

/* Rows that this build lacks name nothing: HAVE_... is 0 or 1. */
#define DECLARE_1(name) extern const ml_Backend ml_backend_##name;
#define DECLARE_0(name)
#define DECLARE(have, name)                             DECLARE_##have(name)
#define ML_BACKEND(name, have, title, release, without) DECLARE(have, name)
#include "moonloop/codegen/code/backends.def"
#undef ML_BACKEND

#define BACKEND_1(name)     &ml_backend_##name
#define BACKEND_0(name)     NULL
#define BACKEND(have, name) BACKEND_##have(name)
const ml_BackendRow ml_backends[] = {
#define ML_BACKEND(name, have, title, release, without)                                    \
    {#name, title, release, BACKEND(have, name), without},
#include "moonloop/codegen/code/backends.def"
#undef ML_BACKEND
};
const size_t ml_n_backends = ML_COUNT(ml_backends);

static const ml_BackendRow *find_row(const char *name)
{
    for (size_t k = 0; name && k < ml_n_backends; k++)
        if (ml_streq(ml_backends[k].name, name))
            return &ml_backends[k];
    return NULL;
}

const char *ml_backend_find(const char *name)
{
    const ml_BackendRow *row = find_row(name);

    return row && row->backend ? row->backend->find() : NULL;
}

/* ---- asking */

static const ml_BackendRow *row_of(const ml_Target *t)
{
    return find_row(ml_target_kinds[t->kind].backend);
}

static bool alone;

void ml_code_alone(void)
{
    alone = true;
}

bool ml_code_is_alone(void)
{
    return alone;
}

const char *ml_code_find(const ml_Target *t)
{
    return ml_backend_find(ml_target_kinds[t->kind].backend);
}

ml_Codegen *ml_code_open(ml_Ctx *cx, const ml_Target *t)
{
    const ml_BackendRow *row = row_of(t);

    if (row && row->backend) {
        ml_Codegen *c = row->backend->open(cx, t);

        if (c)
            c->kind = &ml_target_kinds[t->kind];
        return c;
    }
    ml_fail(cx, ML_E_NO_TARGET,
            ML_TEXT(row ? row->without
                        : ml_format(cx, "no code is made for the target %s",
                                    ml_target_kinds[t->kind].name)));
    return NULL;
}

void ml_code_close(ml_Codegen *c)
{
    if (c)
        c->by->close(c);
}

const char *ml_code_version(const ml_Codegen *c)
{
    return c->by->version(c);
}

bool ml_code_object(ml_Codegen *c, ml_Ctx *cx, const ml_Func *const *fs, size_t n,
                    const ml_CodeOpts *o, ml_Bytes *out)
{
    *out = (ml_Bytes){NULL, 0};
    return c->by->object(c, cx, fs, n, o, out);
}

/* A text by name or suffix: of the backend of the kind, or of one that prints (for CPUs,
 * so far); *from: whose. */
static const ml_CodeText *find_text(const ml_TargetKind *kind, const char *name,
                                    const char *suffix, const ml_Backend **from)
{
    for (size_t r = 0; r < ml_n_backends; r++) {
        const ml_Backend *b = ml_backends[r].backend;
        bool own = kind->backend && ml_streq(ml_backends[r].name, kind->backend);

        if (b == NULL || !(own || (!b->object && kind->pipeline == ML_PIPE_CPU)))
            continue;
        *from = b;
        for (size_t k = 0; k < b->n_texts; k++)
            if (name ? ml_streq(b->texts[k].name, name)
                     : b->texts[k].suffix && ml_streq(b->texts[k].suffix, suffix))
                return &b->texts[k];
    }
    return NULL;
}

static bool no_text(const ml_Codegen *c, ml_Ctx *cx, const char *name)
{
    ml_Text have = {0};

    for (size_t r = 0; r < ml_n_backends; r++) {
        const ml_Backend *b = ml_backends[r].backend;

        for (size_t k = 0; b && (b == c->by || !b->object) && k < b->n_texts; k++)
            ml_text_fmt(&have, "%s%s", have.n ? ", " : "", b->texts[k].name);
    }
    ml_fail(cx, ML_E_NO_TARGET,
            ML_TEXT(ml_format(cx, "no text is named %s for this target: %s", name,
                              ml_text_z(&have))));
    ml_text_free(&have);
    return false;
}

bool ml_code_text(ml_Codegen *c, ml_Ctx *cx, const ml_Func *const *fs, size_t n,
                  const ml_CodeOpts *o, const char *name, ml_Text *out)
{
    const ml_Backend *from = NULL;
    const ml_CodeText *text = find_text(c->kind, name, NULL, &from);

    return text ? from->text(c, cx, fs, n, o, text, out) : no_text(c, cx, name);
}

const char *ml_code_saved(const ml_Target *t, const char *suffix)
{
    const ml_Backend *from;
    const ml_CodeText *text = find_text(&ml_target_kinds[t->kind], NULL, suffix, &from);

    return text ? text->name : NULL;
}

uint32_t ml_code_line_at(ml_Codegen *c, ml_Ctx *cx, const ml_Func *const *fs, size_t n,
                         const ml_CodeOpts *o, const char *symbol, int64_t offset)
{
    return c->by->line_at ? c->by->line_at(c, cx, fs, n, o, symbol, offset) : 0;
}

ml_Linked *ml_code_link(ml_Codegen *c, ml_Ctx *cx, const void *object, size_t n)
{
    if (c->by->link)
        return c->by->link(c, cx, object, n);
    ml_fail(cx, ML_E_NO_DEVICE, ML_TEXT("code for this target does not run in a process"));
    return NULL;
}

void *ml_linked_find(ml_Linked *l, const char *symbol)
{
    return l->by->symbol(l, symbol);
}

void ml_linked_free(ml_Linked *l)
{
    if (l)
        l->by->unlink(l);
}

/* ---- what backends ask of a program */

bool ml_code_annotated(const ml_For *f, const char *key)
{
    const ml_Value *v = ml_dict_get(f->annotations, key);

    if (v == NULL)
        return false;
    if (v->kind == ML_VAL_EXPR)
        return ml_is_true(v->as.expr);
    return (v->kind == ML_VAL_INT || v->kind == ML_VAL_BOOL) && v->as.i != 0;
}

typedef struct Widest {
    unsigned bits, half, budget;
} Widest;

static bool see_width(const ml_Expr *e, void *user)
{
    Widest *w = user;
    bool half =
        (e->type.code == ML_FLOAT || e->type.code == ML_BFLOAT) && e->type.bits == 16;
    unsigned bits = e->type.code == ML_BOOL ? 8 : half ? w->half : e->type.bits;

    if (w->budget == 0)
        return false;
    w->budget--;
    if (e->type.lanes > 1 && bits > w->bits)
        w->bits = bits;
    return e->type.lanes > 1;
}

unsigned ml_code_widest(const ml_Expr *e, unsigned half)
{
    Widest w = {8, half, 4096};

    ml_expr_visit(e, see_width, &w);
    return w.budget ? w.bits : 64;
}

/* ---- names */

bool ml_code_is_c_name(const char *z)
{
    static const char *const words[] = {
        "auto",         "break",     "case",      "char",
        "const",        "continue",  "default",   "do",
        "double",       "else",      "enum",      "extern",
        "float",        "for",       "goto",      "if",
        "inline",       "int",       "long",      "register",
        "restrict",     "return",    "short",     "signed",
        "sizeof",       "static",    "struct",    "switch",
        "typedef",      "union",     "unsigned",  "void",
        "volatile",     "while",     "bool",      "true",
        "false",        "asm",       "typeof",    "alignas",
        "alignof",      "nullptr",   "constexpr", "class",
        "new",          "delete",    "this",      "template",
        "operator",     "private",   "public",    "using",
        "virtual",      "namespace", "try",       "catch",
        "throw",        "friend",    "export",    "typename",
        "mutable",      "explicit",  "protected", "static_assert",
        "thread_local", "decltype",  "noexcept",  "and",
        "or",           "not",       "xor"};

    if (!isalpha((unsigned char)*z) && *z != '_')
        return false;
    for (const char *c = z; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_')
            return false;
    for (size_t k = 0; k < ML_COUNT(words); k++)
        if (ml_streq(words[k], z))
            return false;
    return true;
}
