/* func - functions and modules: immutable records around a body. Source: ir-and-analysis
 * 1.7. A module keeps its functions in the order in which they were given. */
#include "moonloop/core/stmt.h"

const ml_Func *ml_func_from(ml_Ctx *cx, const ml_Func *fields)
{
    ml_Func *f = ml_alloc(cx, sizeof(*f));

    ML_ASSERT(fields->name && fields->body);
    *f = *fields;
    return f;
}

const ml_Func *ml_func_with_body(ml_Ctx *cx, const ml_Func *f, const ml_Stmt *body)
{
    ml_Func copy = *f;

    if (body == f->body)
        return f;
    copy.body = body;
    return ml_func_from(cx, &copy);
}

bool ml_func_noalias(const ml_Func *f)
{
    const ml_Value *attr = ml_dict_get(f->attrs, "tir.noalias");

    return attr == NULL || attr->as.i != 0;
}

const ml_Module *ml_module_new(ml_Ctx *cx, const ml_Func *const *funcs, size_t n,
                               const ml_Value *attrs)
{
    const ml_Func **copy = ML_ARRAY(cx, const ml_Func *, n ? n : 1);
    ml_Module *m = ML_NEW(cx, ml_Module);

    ML_ASSERT(n <= UINT32_MAX);
    if (n)
        memcpy(copy, funcs, n * sizeof(*copy));
    m->n = (uint32_t)n;
    m->funcs = copy;
    m->attrs = attrs;
    return m;
}

/* Position of the function, or m->n. */
static size_t position(const ml_Module *m, const char *name)
{
    size_t k = 0;

    while (k < m->n && !ml_streq(m->funcs[k]->name, name))
        k++;
    return k;
}

const ml_Func *ml_module_find(const ml_Module *m, const char *name)
{
    size_t k = position(m, name);

    return k < m->n ? m->funcs[k] : NULL;
}

/* m with f in the place of the function of its name, or at the end. */
const ml_Module *ml_module_with(ml_Ctx *cx, const ml_Module *m, const ml_Func *f)
{
    size_t k = position(m, f->name), n = k < m->n ? m->n : (size_t)m->n + 1;
    const ml_Func **funcs;

    if (k < m->n && m->funcs[k] == f)
        return m;
    funcs = ML_ARRAY(cx, const ml_Func *, n);
    if (m->n)
        memcpy(funcs, m->funcs, m->n * sizeof(*funcs));
    funcs[k] = f;
    return ml_module_new(cx, funcs, n, m->attrs);
}

const ml_Block *ml_func_root(const ml_Func *f)
{
    if (f->body->kind != ML_STMT_BLOCK || ml_as_block(f->body)->n_iters != 0)
        return NULL;
    return ml_as_block(f->body);
}
