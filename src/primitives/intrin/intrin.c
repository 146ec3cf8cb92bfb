/*
 * intrin - see intrin.h. A registry is a list that only grows: an entry is made whole, in a
 * context of its own, before it is put in front. What is built in is kept as text and read
 * when it is first asked for; of two threads that do so at once one throws its copy away.
 * Source: primitives 10, lowering-and-codegen 9.1.
 */
#include "moonloop/primitives/intrin.h"

#include "moonloop/primitives/intrin/intrin_texts.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "moonloop/core/base/arena.h"
#include "moonloop/core/script/report.h"
#include "moonloop/core/script/script.h"
#include "moonloop/core/walk.h"
#include "moonloop/primitives/reducer/reducer.h"

/* ---- the registry */

typedef struct Entry Entry;
struct Entry {
    ml_Intrin in;
    ml_Ctx *cx; /* the entry's own; it lies in there */
    const Entry *next;
};

struct ml_Intrins {
    _Atomic int refs;
    _Atomic(Entry *) added;  /* newest first */
    ml_ReducerHead reducers; /* see own_reducer.c */
    _Atomic(Entry *) known[];
};

ml_ReducerHead *ml_intrins_reducers(ml_Intrins *t)
{
    return &t->reducers;
}

ml_Intrins *ml_intrins_new(void)
{
    ml_Intrins *t = ml_heap_zalloc(sizeof(*t) + ml_n_built_in() * sizeof(t->known[0]));

    t->refs = 1;
    return t;
}

ml_Intrins *ml_intrins_ref(ml_Intrins *t)
{
    t->refs++;
    return t;
}

void ml_intrins_unref(ml_Intrins *t)
{
    if (!t || --t->refs > 0)
        return;
    for (size_t k = 0; k < ml_n_built_in(); k++)
        if (t->known[k])
            ml_ctx_unref(t->known[k]->cx);
    for (const Entry *e = t->added; e;) {
        const Entry *next = e->next;

        ml_ctx_unref(e->cx);
        e = next;
    }
    ml_own_reducers_free(&t->reducers);
    ml_heap_free(t);
}

static Entry *new_entry(ML_TAKES ml_Ctx *cx, const char *name, const ml_Func *desc,
                        const ml_Func *impl)
{
    Entry *e = ML_NEW(cx, Entry);

    e->in = (ml_Intrin){ml_strdup(cx, ml_str(name)), desc, impl};
    e->cx = cx;
    return e;
}

static Entry *read_built_in(size_t k)
{
    const ml_BuiltIn *in = ml_built_in(k);
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Text t = {0};

    in->text(&t, in);
    ml_Parsed p = ml_parse(cx, (ml_Str){t.p, t.n}, NULL);

    ml_text_free(&t);
    ML_ASSERT(p.mod);
    return new_entry(cx, in->name, ml_module_find(p.mod, "desc"),
                     ml_module_find(p.mod, "impl"));
}

static const Entry *find_added(ml_Intrins *t, const char *name)
{
    for (const Entry *e = t->added; e; e = e->next)
        if (ml_streq(e->in.name, name))
            return e;
    return NULL;
}

const ml_Intrin *ml_intrin_find(ml_Intrins *t, const char *name)
{
    const Entry *e = find_added(t, name);

    if (e)
        return &e->in;
    for (size_t k = 0; k < ml_n_built_in(); k++) {
        if (!ml_streq(ml_built_in(k)->name, name))
            continue;
        Entry *have = t->known[k];

        if (!have) {
            Entry *made = read_built_in(k);

            if (atomic_compare_exchange_strong(&t->known[k], &have, made))
                have = made;
            else
                ml_ctx_unref(made->cx);
        }
        return &have->in;
    }
    return NULL;
}

/* ---- registering */

const ml_Region *ml_intrin_region(const ml_Block *root, const ml_Buffer *b)
{
    const ml_Region *r = ml_write_of(root, b);

    return r ? r : ml_read_of(root, b);
}

static bool bad(ml_Ctx *cx, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool bad(ml_Ctx *cx, const char *fmt, ...)
{
    ml_Text t = {0};
    va_list ap;

    va_start(ap, fmt);
    ml_text_vfmt(&t, fmt, ap);
    va_end(ap);
    ml_fail(cx, ML_E_BAD_ARGUMENT, ML_TEXT(ml_text_z(&t)));
    ml_text_free(&t);
    return false;
}

static bool check_function(ml_Ctx *cx, const char *what, const ml_Func *f)
{
    const ml_Block *root = ml_func_root(f);

    for (uint32_t k = 0; k < f->n_params; k++)
        if (!f->params[k].buffer)
            return bad(cx, "the %s's parameter %s is no buffer", what,
                       f->params[k].var->hint);
    if (!root || !ml_is_true(root->predicate) || root->init)
        return bad(cx, "the %s is not one block without iters, condition and init", what);
    for (uint32_t k = 0; k < f->n_params; k++)
        if (!ml_intrin_region(root, f->params[k].buffer))
            return bad(cx, "the %s's block neither reads nor writes its parameter %s", what,
                       f->params[k].buffer->name);
    return true;
}

bool ml_intrin_register(ml_Ctx *cx, ml_Intrins *t, const char *name, const ml_Func *desc,
                        const ml_Func *impl, bool override)
{
    if (!*name)
        return bad(cx, "an intrinsic needs a name");
    if (!check_function(cx, "description", desc) ||
        !check_function(cx, "implementation", impl))
        return false;
    if (desc->n_params != impl->n_params)
        return bad(cx, "the description has %u parameters, the implementation %u",
                   desc->n_params, impl->n_params);
    for (uint32_t k = 0; k < desc->n_params; k++) {
        const ml_Buffer *a = desc->params[k].buffer, *b = impl->params[k].buffer;

        if (!ml_dtype_eq(a->type, b->type) || a->rank != b->rank ||
            !ml_scope_eq(a->scope, b->scope))
            return bad(
                cx,
                "parameter %s differs: dtype, rank and storage scope are those of the "
                "description",
                b->name);
    }
    const char *why = ml_intrin_leaves_signature(cx, "description", desc);

    why = why ? why : ml_intrin_leaves_signature(cx, "implementation", impl);
    why = why ? why : ml_intrin_differs(cx, desc, impl);
    if (why)
        return bad(cx, "%s", why);
    if (!override && ml_intrin_find(t, name))
        return ml_fail(cx, ML_E_INTRIN_EXISTS, ML_TEXT(name));
    ml_Ctx *own = ml_ctx_new(0);
    Entry *e = new_entry(own, name, ml_import_func(ml_import_begin(own), desc),
                         ml_import_func(ml_import_begin_apart(own), impl));

    e->next = t->added;
    t->added = e;
    return true;
}

/* ---- names */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

size_t ml_intrin_names(ml_Ctx *cx, ml_Intrins *t, const char *const **out)
{
    size_t n = ml_n_built_in(), at = 0;

    for (const Entry *e = t->added; e; e = e->next)
        n++;
    const char **v = ML_ARRAY(cx, const char *, n);

    for (size_t k = 0; k < ml_n_built_in(); k++)
        v[at++] = ml_built_in(k)->name;
    for (const Entry *e = t->added; e; e = e->next)
        v[at++] = e->in.name;
    qsort(v, n, sizeof *v, by_name);
    at = 0;
    for (size_t k = 0; k < n; k++)
        if (at == 0 || !ml_streq(v[at - 1], v[k]))
            v[at++] = v[k];
    *out = v;
    return at;
}

int ml_intrin_sm(const char *name)
{
    for (size_t k = 0; k < ml_n_built_in(); k++)
        if (ml_streq(ml_built_in(k)->name, name))
            return ml_built_in(k)->sm;
    return -1;
}

const char *ml_intrin_nearest(ml_Ctx *cx, ml_Intrins *t, const char *name)
{
    const char *const *names;
    size_t n = ml_intrin_names(cx, t, &names);
    ml_Nearest near = ml_nearest_begin(ml_str(name));

    for (size_t k = 0; k < n; k++)
        ml_nearest_try(&near, ml_str(names[k]));
    return near.best.n ? ml_strdup(cx, near.best) : NULL;
}
