/*
 * kernel - building and calling: the checks on the caller's tensors, the copies that a
 * worker runs on, or the call in this process.
 *
 * The text is read into the kernel's own context, so that nothing of the schedule it came
 * from is needed later, and the worker reads the same text.
 */
#include "moonloop/codegen/kernel/kernel.h"

#include "moonloop/codegen/kernel/kernel_impl.h"
#include "moonloop/codegen/worker/message.h"

#include "moonloop/core/script/script.h"
#include "moonloop/core/walk.h"

#include <stdlib.h>

#define KEPT_BYTES ((size_t)256 << 20) /* of arguments of earlier calls, beyond one */

/* ---------------------------------------------------------------- what a function does */

static bool see_call(const ml_Expr *e, void *user)
{
    bool *opaque = user;

    if (e->kind == ML_EXPR_CALL &&
        (e->as.op->effect > ML_EFFECT_READ || ml_is_op(e, ML_OP_ADDRESS_OF)))
        *opaque = true;
    return (e->flags & ML_X_HAS_CALL) && !*opaque;
}

static void see_role(const ml_Expr *e, ml_Role role, void *user)
{
    (void)role;
    if (e->flags & ML_X_HAS_CALL)
        ml_expr_visit(e, see_call, user);
}

static bool see_stmt(const ml_Stmt *s, void *user)
{
    ml_stmt_exprs(s, see_role, user);
    return true;
}

/* Which parameters are written, or may be: a call can write what it was given. */
static const bool *find_written(ml_Ctx *cx, const ml_Func *f)
{
    ml_ParamRole *roles = ML_ARRAY(cx, ml_ParamRole, f->n_params + 1u);
    bool *written = ML_ARRAY(cx, bool, f->n_params + 1u), opaque = false;

    ml_param_roles(cx, f, NULL, 0, roles);
    ml_stmt_visit(f->body, see_stmt, &opaque);
    for (uint32_t k = 0; k < f->n_params; k++)
        written[k] = roles[k].written || opaque ||
                     (!f->params[k].buffer && f->params[k].var->type.code == ML_HANDLE);
    return written;
}

/* ---------------------------------------------------------------- one use */

void ml_built_begin(ml_Built *b, const ml_Ctx *cx)
{
    ml_error_clear(b->cx);
    ml_ctx_clear_marks(b->cx);
    if (b->start.chunk)
        ml_release(b->cx, b->start);
    ml_ctx_limits_of(b->cx, cx);
}

/* Whether nothing in it points into the context it is from. */
static bool plain(const ml_Error *e)
{
    for (uint32_t k = 0; k < e->n_facts; k++)
        if (e->facts[k].kind != ML_FACT_TEXT && e->facts[k].kind != ML_FACT_NUMBER)
            return false;
    return e->place == NULL;
}

bool ml_built_end(ml_Built *b, ml_Ctx *cx, bool ok)
{
    const ml_Error *e = ml_error(b->cx);
    ml_JobResult r = {0};

    if (ok)
        return true;
    if (e && !plain(e)) { /* as a worker would have told it */
        r.code = e->code;
        r.message = ml_error_line(cx, e);
        r.line = e->place ? e->place->line : 0;
        for (uint32_t k = 0; k < e->n_facts; k++)
            if (e->facts[k].kind == ML_FACT_STMT && e->facts[k].as.stmt->span)
                r.line = e->facts[k].as.stmt->span->line;
        ml_error_clear(b->cx);
        return ml_job_fail(cx, &r, b->work.func ? b->work.func->name : "the program");
    }
    ml_error_move(cx, b->cx);
    return false;
}

static bool see_failure(const ml_Stmt *s, void *user)
{
    bool *fails = user;

    *fails |= s->kind == ML_STMT_ASSERT || s->kind == ML_STMT_ALLOC;
    return !*fails;
}

/* ---------------------------------------------------------------- building */

static bool read_text(ml_Built *b, const ml_Work *work)
{
    ml_ParseOpts o = {.file = "the program", .spelling = -1};
    const char *text = ml_strdup(b->cx, ml_str(work->text));
    ml_Parsed p = ml_parse(b->cx, ml_str(text), &o);
    const ml_Func *f = p.mod ? ml_module_find(p.mod, work->func->name) : NULL;

    if (p.mod && f == NULL)
        ml_fail(b->cx, ML_E_UNKNOWN_FUNCTION, ML_TEXT(work->func->name));
    if (f == NULL || !ml_signature_of(b->cx, f, &b->sig))
        return false;
    b->work = (ml_Work){.mod = p.mod, .func = f, .text = text};
    b->binary = ml_binary_write(b->cx, p.mod, true);
    b->written = find_written(b->cx, f);
    b->overlap = !ml_func_noalias(f);
    return true;
}

/* Says where the backend was looked for. */
static bool have_backend(const ml_Built *b)
{
    ml_Codegen *c;

    if (ml_code_find(&b->o.target) != NULL)
        return true;
    c = ml_code_open(b->cx, &b->o.target);
    ml_code_close(c);
    return c != NULL;
}

const ml_Func *ml_built_lower(const ml_Built *b, ml_Ctx *cx)
{
    ml_Lower lo = {
        .cx = cx, .opts = ml_lower_defaults(&b->o.target), .module = b->work.mod};

    return ml_lower(&lo, b->work.func, NULL, NULL, NULL);
}

static bool compile_here(ml_Built *b)
{
    union {
        void *p;
        ml_KernelFn *fn;
    } find = {0};
    ml_Bytes object = {0};

    b->lowered = ml_built_lower(b, b->cx);
    b->code = b->lowered ? ml_code_open(b->cx, &b->o.target) : NULL;
    if (b->code == NULL ||
        !ml_code_object(b->code, b->cx, &b->lowered, 1, &b->o.code, &object))
        return false;
    if (!b->foreign)
        b->linked = ml_code_link(b->code, b->cx, object.v, object.n);
    free(object.v);
    if (b->foreign)
        return true;
    if (b->linked)
        find.p = ml_linked_find(b->linked, ml_format(b->cx, "%s_call", ml_built_name(b)));
    b->fn = find.fn;
    ml_stmt_visit(b->lowered->body, see_failure, &b->may_fail);
    return b->fn != NULL;
}

static bool compile_there(ml_Built *b)
{
    uint32_t keep = b->foreign ? 0 : ML_WANT_KEEP;
    ml_JobResult r;

    if (!ml_built_job(b, &b->o.code, ML_WANT_OBJECT | keep, NULL, NULL, &r))
        return false;
    free(r.object.v);
    return true;
}

ml_Built *ml_build(ml_Ctx *cx, ml_Engine *e, const ml_Work *work, const ml_BuildOpts *o)
{
    ml_Built *b = calloc(1, sizeof *b);

    if (b == NULL)
        ml_out_of_memory();
    *b = (ml_Built){.cx = ml_ctx_new(0), .engine = e, .o = *o};
    ml_built_begin(b, cx);
    b->threads = o->code.threads;
    b->foreign = ml_target_is_foreign(&o->target);
    b->lacks = b->foreign ? NULL : ml_target_lacks(b->cx, &o->target);
    if (b->o.code.threads == 0)
        b->o.code.threads = ml_engine_threads(e);
    if (!ml_built_end(b, cx,
                      have_backend(b) && read_text(b, work) &&
                          (o->inprocess ? compile_here(b) : compile_there(b)))) {
        ml_built_free(b);
        return NULL;
    }
    b->start = ml_mark(b->cx);
    return b;
}

static void drop_set(ml_Built *b, size_t k)
{
    uint32_t n = b->work.func ? b->work.func->n_params : 0;

    ml_workset_free(b->sets[k].set);
    for (uint32_t p = 0; b->sets[k].shapes && p < n; p++)
        free(b->sets[k].shapes[p]);
    free(b->sets[k].shapes);
    free(b->sets[k].types);
    memset(&b->sets[k], 0, sizeof b->sets[k]);
}

void ml_built_free(ml_Built *b)
{
    if (b == NULL)
        return;
    for (size_t k = 0; k < ML_BUILT_SETS; k++)
        drop_set(b, k);
    ml_linked_free(b->linked);
    ml_code_close(b->code);
    ml_ctx_unref(b->cx);
    free(b);
}

/* ---------------------------------------------------------------- what is known of it */

const char *ml_built_name(const ml_Built *b)
{
    return b->work.func->name;
}

const ml_Func *ml_built_func(const ml_Built *b)
{
    return b->work.func;
}

bool ml_built_writes(const ml_Built *b, uint32_t param)
{
    return b->written[param];
}

const ml_BuildOpts *ml_built_opts(const ml_Built *b)
{
    return &b->o;
}

ml_Work ml_built_work(const ml_Built *b)
{
    return b->work;
}

static const char *name_of(const ml_Built *b, uint32_t k)
{
    const ml_FuncParam *p = &b->work.func->params[k];

    return p->buffer ? p->buffer->name : p->var->hint ? p->var->hint : "v";
}

void ml_built_signature(const ml_Built *b, ml_Ctx *cx, ml_Text *out)
{
    const ml_Func *f = b->work.func;

    ml_text_fmt(out, "%s(", f->name);
    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *buffer = f->params[k].buffer;

        ml_text_fmt(out, "%s%s: %s", k ? ", " : "", name_of(b, k),
                    buffer ? "Tensor([" : "");
        for (uint16_t d = 0; buffer && d < buffer->rank; d++) {
            ml_text_add(out, d ? ", " : "");
            ml_print_expr(cx, out, buffer->shape[d], NULL);
        }
        ml_text_add(out, buffer ? "], " : "");
        ml_dtype_print(out, buffer ? buffer->type : f->params[k].var->type);
        ml_text_add(out, buffer ? ")" : "");
    }
    ml_text_char(out, ')');
}

/* ---------------------------------------------------------------- jobs */

bool ml_built_job(ml_Built *b, const ml_CodeOpts *code, uint32_t want, const char *text,
                  const ml_WorkSet *set, ml_JobResult *r)
{
    ml_Worker *w = ml_engine_worker(b->engine, b->cx, 0);
    ml_Job j = {.binary = b->binary,
                .func = b->work.func->name,
                .target = b->o.target,
                .code = *code,
                .set = set,
                .want = want,
                .text = text,
                .run_limit = b->o.limit};

    if (w == NULL || !ml_worker_run(w, b->cx, &j, r))
        return false;
    return r->ok || ml_job_fail(b->cx, r, b->work.func->name);
}

/* ---------------------------------------------------------------- the checks */

static bool refuse(ml_Built *b, uint32_t k, const char *what)
{
    return ml_fail(b->cx, ML_E_CALL_REFUSED,
                   ML_TEXT(ml_format(b->cx, "%s: argument #%u '%s'%s", ml_built_name(b), k,
                                     name_of(b, k), what)));
}

/* A constant offset is where data begins in the declared memory: tensors hold the view. */
static uint64_t offset_of(const ml_Buffer *buffer)
{
    return buffer && buffer->elem_offset->kind == ML_EXPR_INT &&
                   buffer->elem_offset->as.i > 0
               ? (uint64_t)buffer->elem_offset->as.i * ml_dtype_bytes(buffer->type)
               : 0;
}

static ml_PackedKind packed_kind(ml_GivenKind k)
{
    switch (k) {
    case ML_GIVEN_NULL: return ML_PACKED_NULL;
    case ML_GIVEN_INT: return ML_PACKED_INT;
    case ML_GIVEN_FLOAT: return ML_PACKED_FLOAT;
    case ML_GIVEN_BOOL: return ML_PACKED_BOOL;
    case ML_GIVEN_TENSOR: return ML_PACKED_TENSOR;
    }
    return ML_PACKED_NULL;
}

static ml_PackedArg *pack(ml_Built *b, const ml_CallArg *args, int32_t n)
{
    ml_PackedArg *out = ML_ARRAY(b->cx, ml_PackedArg, (size_t)n + 1);
    ml_DLTensor *dl = ML_ARRAY(b->cx, ml_DLTensor, (size_t)n + 1);
    const ml_Func *f = b->work.func;

    for (int32_t k = 0; k < n; k++) {
        const ml_Tensor *t = args[k].tensor;
        uint64_t offset = (uint32_t)k < f->n_params ? offset_of(f->params[k].buffer) : 0;

        out[k].kind = packed_kind(args[k].kind);
        if (out[k].kind == ML_PACKED_FLOAT)
            out[k].as.f = args[k].f;
        else if (out[k].kind != ML_PACKED_TENSOR)
            out[k].as.i = args[k].i;
        if (out[k].kind != ML_PACKED_TENSOR)
            continue;
        out[k].as.tensor = &dl[k];
        dl[k] = (ml_DLTensor){.data = (uint8_t *)t->data - offset,
                              .device = {1, 0},
                              .ndim = (int32_t)t->rank,
                              .dtype = ml_dl_type(t->type),
                              .shape = t->shape,
                              .byte_offset = offset};
    }
    return out;
}

/* A tensor that is given twice. */
static bool shared(const ml_CallArg *args, int32_t n)
{
    for (int32_t k = 0; k < n; k++)
        for (int32_t j = 0; j < k; j++)
            if (args[k].tensor && args[k].tensor == args[j].tensor)
                return true;
    return false;
}

/* What the table of 5.3 leaves open: types without an agreed description, alignments that
 * would hang on where a tensor happens to lie, and what a worker's copies cannot be. */
static bool check_rest(ml_Built *b, const ml_CallArg *args, bool twice)
{
    const ml_Func *f = b->work.func;

    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *buffer = f->params[k].buffer;
        const ml_Tensor *t = args[k].tensor;

        if (buffer && t && !ml_dtype_eq(buffer->type, t->type))
            return refuse(b, k,
                          ml_format(b->cx, ".dtype: expected %s, got %s",
                                    ml_dtype_name(b->cx, buffer->type),
                                    ml_dtype_name(b->cx, t->type)));
        if (buffer && t && buffer->align > ML_GUARD_BYTES && !b->o.code.unaligned &&
            t->bytes > 0)
            return refuse(b, k,
                          ml_format(b->cx,
                                    ".data: misaligned, expected %u bytes, tensors are "
                                    "aligned to %d; built with unaligned = true it runs",
                                    buffer->align, ML_GUARD_BYTES));
        if (!buffer && args[k].kind == ML_GIVEN_NULL && !b->o.inprocess)
            return refuse(b, k,
                          ": a null pointer is passed in this process only "
                          "(inprocess = true)");
    }
    if (!twice || b->o.inprocess)
        return true;
    for (uint32_t k = 0; k < f->n_params; k++)
        for (uint32_t j = 0; j < f->n_params; j++)
            if (j != k && b->written[k] && args[k].tensor &&
                args[k].tensor == args[j].tensor)
                return refuse(b, k,
                              ml_format(b->cx,
                                        ".data overlaps '%s', and is written; a worker "
                                        "runs on copies: built with inprocess = true it "
                                        "runs",
                                        name_of(b, j)));
    return true;
}

static bool check(ml_Built *b, const ml_CallArg *args, int32_t n, ml_PackedArg **packed)
{
    const ml_Func *f = b->work.func;
    bool twice = shared(args, n);
    /* Alignment is that of all tensors: see check_rest. */
    ml_CallOpts o = {.unaligned = true, .check_alias = twice && !b->overlap};
    ml_Word *words = ML_ARRAY(b->cx, ml_Word, f->n_params + b->sig.n_sizes + 1u);

    if (b->foreign)
        return ml_fail(b->cx, ML_E_NOT_SUPPORTED,
                       ML_TEXT(ml_format(b->cx,
                                         "%s was built for %s: it can be saved, and not "
                                         "called on this machine",
                                         f->name, b->o.target.triple)));
    if (b->lacks)
        return ml_fail(
            b->cx, ML_E_NOT_SUPPORTED,
            ML_TEXT(ml_format(b->cx,
                              "%s was built for a processor with %s, which this "
                              "one has not: it can be saved, and not called here",
                              f->name, b->lacks)));
    *packed = pack(b, args, n);
    return ml_packed_decode(b->cx, &b->sig, *packed, n, &o, words) == 0 &&
           check_rest(b, args, twice);
}

/* ---------------------------------------------------------------- in a worker */

static bool same_shapes(const ml_Built *b, size_t slot, const ml_CallArg *args)
{
    for (uint32_t k = 0; k < b->work.func->n_params; k++) {
        const int64_t *shape = b->sets[slot].shapes[k];
        const ml_Tensor *t = args[k].tensor;

        if ((shape == NULL) != (t == NULL))
            return false;
        if (t && (shape[0] != (int64_t)t->rank ||
                  !ml_dtype_eq(b->sets[slot].types[k], t->type) ||
                  (t->rank && memcmp(shape + 1, t->shape, t->rank * sizeof *shape) != 0)))
            return false;
    }
    return true;
}

static void remember_shapes(ml_Built *b, size_t slot, const ml_CallArg *args)
{
    uint32_t n = b->work.func->n_params;
    int64_t **shapes = calloc(n + 1u, sizeof *shapes);
    ml_Dtype *types = calloc(n + 1u, sizeof *types);

    if (shapes == NULL || types == NULL)
        ml_out_of_memory();
    for (uint32_t k = 0; k < n; k++) {
        const ml_Tensor *t = args[k].tensor;
        int64_t *shape;

        if (t == NULL)
            continue;
        shape = malloc((t->rank + 1u) * sizeof *shape);
        if (shape == NULL)
            ml_out_of_memory();
        shape[0] = (int64_t)t->rank;
        if (t->rank)
            memcpy(shape + 1, t->shape, t->rank * sizeof *shape);
        shapes[k] = shape;
        types[k] = t->type;
    }
    b->sets[slot].shapes = shapes;
    b->sets[slot].types = types;
}

static ml_RunArg number_of(const ml_CallArg *a)
{
    return (ml_RunArg){.i = a->i, .f = a->kind == ML_GIVEN_FLOAT ? a->f : (double)a->i};
}

static ml_WorkSet *new_set(ml_Built *b, const ml_CallArg *args)
{
    uint32_t n = b->work.func->n_params;
    ml_WorkArg *w = ML_ARRAY(b->cx, ml_WorkArg, n + 1u);

    for (uint32_t k = 0; k < n; k++) {
        const ml_Tensor *t = args[k].tensor;

        if (t)
            w[k] = (ml_WorkArg){.is_tensor = true,
                                .type = t->type,
                                .rank = t->rank,
                                .shape = t->shape,
                                .initial = t,
                                .written = b->written[k]};
        else
            w[k] = (ml_WorkArg){.scalar = number_of(&args[k]),
                                .type = b->work.func->params[k].var->type};
    }
    return ml_workset_new(b->cx, w, n);
}

/* The arguments' contents in shared memory, in the set of a call on the same shapes. */
static ml_WorkSet *fill_set(ml_Built *b, const ml_CallArg *args)
{
    size_t oldest = 0;

    for (size_t k = 0; k < ML_BUILT_SETS; k++) {
        ml_WorkSet *s = b->sets[k].set;
        bool ok = true;

        if (b->sets[k].used < b->sets[oldest].used)
            oldest = k;
        if (s == NULL || !same_shapes(b, k, args))
            continue;
        b->sets[k].used = ++b->clock;
        for (uint32_t p = 0; p < b->work.func->n_params && ok; p++)
            if (args[p].tensor)
                ok = ml_workset_fill(s, p, args[p].tensor);
            else
                ml_workset_number(s, p, number_of(&args[p]));
        if (!ok)
            ml_fail(b->cx, ML_E_TOO_LARGE,
                    ML_TEXT("no shared memory for the contents of the arguments"));
        return ok ? s : NULL;
    }
    drop_set(b, oldest);
    b->sets[oldest].set = new_set(b, args);
    if (b->sets[oldest].set == NULL)
        return NULL;
    remember_shapes(b, oldest, args);
    b->sets[oldest].used = ++b->clock;
    return b->sets[oldest].set;
}

/* Large arguments are not kept several times over. */
static void thin_out(ml_Built *b, const ml_CallArg *args)
{
    size_t bytes = 0;

    for (uint32_t k = 0; k < b->work.func->n_params; k++)
        bytes += args[k].tensor ? args[k].tensor->bytes : 0;
    for (size_t k = 0; k < ML_BUILT_SETS && bytes > KEPT_BYTES / ML_BUILT_SETS; k++)
        if (b->sets[k].used != b->clock)
            drop_set(b, k);
}

static bool call_there(ml_Built *b, const ml_CallArg *args)
{
    ml_WorkSet *set = fill_set(b, args);
    ml_JobResult r;

    if (set == NULL ||
        !ml_built_job(b, &b->o.code, ML_WANT_OUTPUTS | ML_WANT_KEEP, NULL, set, &r))
        return false;
    for (uint32_t k = 0; k < b->work.func->n_params; k++)
        if (args[k].tensor && b->written[k] && !ml_workset_output(set, k, args[k].tensor))
            return ml_fail(b->cx, ML_E_WORKER_CRASHED,
                           ML_TEXT(ml_format(b->cx, "%s: the result %s could not be read",
                                             ml_built_name(b), name_of(b, k))));
    thin_out(b, args);
    return true;
}

/* ---------------------------------------------------------------- in this process */

static bool call_here(ml_Built *b, const ml_CallArg *args, const ml_PackedArg *packed,
                      int32_t n)
{
    ml_CallOpts o = {.unaligned = true, .body = b->lowered};
    uint8_t **before = ML_ARRAY(b->cx, uint8_t *, (size_t)n + 1);
    bool ok = true;

    for (int32_t k = 0; k < n && b->may_fail && ok; k++) {
        const ml_Tensor *t = args[k].tensor;

        if (t == NULL || !b->written[k] || t->bytes == 0)
            continue;
        before[k] = malloc(t->bytes);
        ok = before[k] != NULL;
        if (ok)
            memcpy(before[k], t->data, t->bytes);
        else
            ml_fail(b->cx, ML_E_TOO_LARGE,
                    ML_TEXT("no memory to keep the arguments while the kernel runs"));
    }
    if (ok) {
        ok = ml_packed_call(b->cx, &b->sig, b->fn, packed, n, &o);
        for (int32_t k = 0; k < n && !ok; k++)
            if (before[k] && args[k].tensor)
                memcpy(args[k].tensor->data, before[k], args[k].tensor->bytes);
    }
    for (int32_t k = 0; k < n; k++)
        free(before[k]);
    return ok;
}

bool ml_built_call(ml_Built *b, ml_Ctx *cx, const ml_CallArg *args, int32_t n)
{
    ml_PackedArg *packed = NULL;

    ml_built_begin(b, cx);
    if (!ml_built_end(
            b, cx,
            check(b, args, n, &packed) &&
                (b->o.inprocess ? call_here(b, args, packed, n) : call_there(b, args))))
        return false;
    for (int32_t k = 0; k < n; k++) /* what it left is defined */
        if (args[k].tensor && args[k].tensor->defined && b->written[k])
            memset(args[k].tensor->defined, 1, (size_t)args[k].tensor->n_lanes);
    return true;
}
