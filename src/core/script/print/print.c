/*
 * print - modules, functions and fragments as text of the dialect.
 *
 * What is printed parses back to an equal program, and printing that again gives the same
 * bytes. The output depends on the program and the options alone. Source: script 12.
 */
#include "moonloop/core/script/print/print.h"

/* ---- functions */
static const char *symbol_of(const ml_Func *f)
{
    const ml_Value *v = ml_dict_get(f->attrs, "global_symbol");
    return v && v->kind == ML_VAL_STRING ? v->as.s : NULL;
}

static const char *func_name(ml_Ctx *cx, const ml_Func *f)
{
    const char *name = f->name && *f->name ? f->name : symbol_of(f);
    return ml_name_of_func(cx, name && *name ? name : "main");
}

/* Whether the parameter prints as A: T.Buffer(...). `k` parameters stand to its left. */
static bool in_annotation(ml_Printer *p, const ml_Func *f, size_t k)
{
    const ml_Buffer *b = f->params[k].buffer;
    if (p->no_sugar || ml_pr_var(p, f->params[k].var)->n_uses > 0 ||
        f->params[k].var->elem.code != ML_VOID || f->params[k].var->scope)
        return false;
    const ml_NameInfo *data = ml_pr_var(p, b->data);
    if (data->how != ML_HOW_DATA || data->owner != b)
        return false;
    bool plain = b->n_strides == 0 && ml_is_int(b->elem_offset, 0) &&
                 ml_dtype_eq(b->elem_offset->type, ml_buffer_index_dtype(b)) &&
                 ml_is_scope(b->scope, ML_SCOPE_GLOBAL) && b->align == 64 &&
                 b->offset_factor == 1 && !b->auto_broadcast && !b->says_offset &&
                 b->n_separators == 0;
    if (!p->newest && !plain)
        return false;
    for (size_t d = 0; d < b->rank; d++) {
        const ml_Expr *e = b->shape[d];
        if (e->kind == ML_EXPR_INT)
            continue;
        if (!p->newest && (e->kind != ML_EXPR_VAR || ml_pr_var(p, e->as.var)->how ||
                           !ml_pr_var(p, e->as.var)->name))
            return false;
    }
    return true;
}

typedef struct Unbound {
    ml_Printer *p;
    const ml_Buffer *b;
    bool bad;
} Unbound;

/* A variable inside a dimension: bound, or an int32 that quoting may introduce. */
static void check_dim(const ml_Var *v, void *user)
{
    Unbound *u = user;
    const ml_NameInfo *info = ml_pr_var(u->p, v);
    if (info->how != ML_HOW_NAME)
        u->bad |= info->owner != u->b; /* A.strides[k] in another annotation */
    else if (!info->name && !ml_dtype_eq(v->type, ML_DT_I32))
        u->bad = true;
}

/* Newest: whether all variables of the buffer can be introduced or are bound. */
static bool dims_fit(ml_Printer *p, const ml_Buffer *b)
{
    Unbound u = {.p = p, .b = b};
    ml_pr_buffer_vars(b, check_dim, &u);
    if (u.bad)
        return false;
    /* a dimension may introduce variables; strides and offset may only use them */
    for (size_t k = 0; k <= b->n_strides; k++) {
        const ml_Expr *e = k < b->n_strides ? b->strides[k] : b->elem_offset;
        if (e->kind == ML_EXPR_INT)
            continue;
        if (e->kind == ML_EXPR_VAR) {
            const ml_NameInfo *info = ml_pr_var(p, e->as.var);
            if (info->name || (info->how != ML_HOW_NAME && info->owner == b))
                continue;
        }
        return false;
    }
    return true;
}

/* The signature; match[k] tells which parameters' buffers are matched in the body. */
static void print_signature(ml_Printer *p, const ml_Func *f, const char *name, bool *match)
{
    ml_pr_line(p);
    ml_pr_z(p, "def ");
    ml_pr_z(p, name);
    ml_pr_z(p, "(");
    for (size_t k = 0; k < f->n_params; k++) {
        const ml_FuncParam *param = &f->params[k];
        ml_pr_z(p, k ? ", " : "");
        if (param->buffer && in_annotation(p, f, k) &&
            (!p->newest || dims_fit(p, param->buffer))) {
            uint32_t col = ml_pr_col(p);
            const char *buffer = ml_pr_define_buffer(p, param->buffer);
            ml_TextMark *m = ml_pr_mark(p, ML_MARK_BUFFER, param->buffer->uid, col);
            if (m)
                m->len = (uint32_t)strlen(buffer);
            ml_pr_z(p, buffer);
            ml_pr_z(p, ": ");
            ml_pr_t(p, "Buffer(");
            ml_pr_buffer_args(p, param->buffer,
                              ML_BUF_DTYPE | ML_BUF_DEFINES | ML_BUF_QUOTE, NULL);
            ml_pr_z(p, ")");
            continue;
        }
        match[k] = param->buffer != NULL;
        ml_NameInfo *info = ml_pr_var(p, param->var);
        ml_pr_z(p, info->name ? info->name : ml_pr_define_var(p, param->var));
        ml_pr_z(p, ": ");
        ml_pr_type(p, param->var, false);
    }
    ml_pr_z(p, ")");
    if (f->ret.code != ML_VOID) {
        ml_pr_z(p, " -> ");
        ml_pr_type(p, &(ml_Var){.type = f->ret, .elem = ML_DT_VOID}, false);
    }
    ml_pr_z(p, ":");
}

static void print_matches(ml_Printer *p, const ml_Func *f, const bool *match)
{
    for (size_t k = 0; k < f->n_params; k++) {
        if (!match[k])
            continue;
        const ml_Buffer *b = f->params[k].buffer;
        const ml_NameInfo *data = ml_pr_var(p, b->data);
        bool shared = data->how != ML_HOW_DATA || data->owner != b;
        ml_pr_declare_dims(p, b);
        ml_pr_line(p);
        ml_pr_new_buffer(p, b);
        ml_pr_z(p, " = ");
        ml_pr_t(p, "match_buffer(");
        ml_pr_var_name(p, f->params[k].var);
        ml_pr_z(p, ", ");
        ml_pr_buffer_args(p, b, ML_BUF_DEFINES, shared ? ml_var(p->cx, b->data) : NULL);
        ml_pr_z(p, ")");
    }
}

static void print_free_buffers(ml_Printer *p)
{
    for (size_t k = 0; k < p->free_buffers.n; k++) {
        const ml_Buffer *b = p->free_buffers.v[k]->buffer;
        ml_pr_declare_dims(p, b);
        ml_pr_line(p);
        ml_pr_new_buffer(p, b);
        ml_pr_z(p, " = ");
        ml_pr_t(p, "Buffer(");
        ml_pr_buffer_args(p, b, ML_BUF_DTYPE | ML_BUF_DEFINES, NULL);
        ml_pr_z(p, ")");
    }
}

/* Newest: s_tir=True, unless the text of the function had none and the header says which
 * spelling this is. */
static void print_decorator(ml_Printer *p, const ml_Func *f)
{
    bool private = !symbol_of(f);
    bool s_tir = p->newest && !(f->no_s_tir && (p->newest_header || p->o->no_header));

    ml_pr_line(p);
    ml_pr_z(p, "@");
    ml_pr_t(p, "prim_func");
    if (!private && !s_tir)
        return;
    ml_pr_z(p, "(");
    if (private)
        ml_pr_z(p, "private=True");
    if (s_tir)
        ml_pr_z(p, private ? ", s_tir=True" : "s_tir=True");
    ml_pr_z(p, ")");
}

static bool note_block(const ml_Stmt *s, void *user)
{
    ml_Printer *p = user;

    if (s->kind == ML_STMT_BLOCK)
        ml_map_set(ml_arith_ctx(p->ar), p->copies, ml_as_block(s)->tag, s);
    return s->has_block;
}

static void copy_for_regions(ml_Printer *p, const ml_Func *f)
{
    ml_Ctx *own = ml_ctx_new(0);

    f = ml_import_func(ml_import_begin(own), f);
    p->ar = ml_arith_new(own);
    ml_arith_bind_params(p->ar, f);
    p->pointers = ml_infer_pointers(own, f);
    p->copies = ml_map_new(own);
    ml_stmt_visit(f->body, note_block, p);
}

static void print_func(ml_Printer *p, const ml_Func *f, const char *name)
{
    size_t mark = ml_pr_scope_mark(p);
    bool *match = ML_ARRAY(p->cx, bool, f->n_params + 1);

    p->func = f;
    p->newest =
        p->o->spelling == -1 ? f->spelling == ML_NEWEST : p->o->spelling == ML_NEWEST;
    p->scope = p->next_scope = 0;
    p->scopes.n = 0;
    p->trail.n = 0;
    p->free_buffers.n = 0;
    p->order.n = 0;
    p->n_around = 0;
    p->ar = NULL;
    if (p->o->regions_auto)
        copy_for_regions(p, f);
    p->infos = ml_map_new(p->cx);
    p->stmt = NULL;
    p->elide_root = !p->no_sugar && ml_pr_is_plain_root(f->body) &&
                    (!p->o->own_root || ml_streq(ml_as_block(f->body)->name, "root"));
    ml_pr_scan_func(p, f);
    p->scope = 0;
    p->next_scope = 1;

    print_decorator(p, f);
    print_signature(p, f, name, match);
    p->level++;
    const char *symbol = symbol_of(f);
    const char *without = symbol && ml_streq(symbol, name) ? "global_symbol" : NULL;
    if (ml_dict_count(f->attrs) > (without ? 1 : 0)) {
        ml_pr_line(p);
        ml_pr_t(p, "func_attr(");
        ml_pr_attrs(p, f->attrs, without);
        ml_pr_z(p, ")");
    }
    print_matches(p, f, match);
    print_free_buffers(p);
    ml_pr_pending(p, 0);
    bool rooted = f->body->kind == ML_STMT_BLOCK && ml_as_block(f->body)->n_iters == 0;
    if (f->body->has_block && !rooted) {
        ml_pr_line(p);
        ml_pr_z(p, "# no root block here: reading this text adds one");
    }
    if (p->elide_root)
        ml_pr_elided_root(p, ml_as_block(f->body));
    else
        ml_pr_list(p, f->body);
    p->level--;
    ml_pr_scope_end(p, mark);
    for (size_t k = 0; k < p->order.n; k++)
        if (p->order.v[k]->fixed_slot)
            ml_names_release(p->order.v[k]->fixed_slot);
    if (p->ar)
        ml_ctx_unref(ml_arith_ctx(p->ar));
}

static void print_import(ml_Printer *p, bool newest)
{
    ml_pr_line(p);
    ml_pr_z(p, "# from tvm.script import ");
    ml_pr_z(p, newest ? "tirx as " : "tir as ");
    ml_pr_z(p, p->prefix);
}

/* Scratch is given back unless the marks live in the same arena. */
static void finish(ml_Printer *p, ml_Mark mark)
{
    ml_ctx_put_marks(p->cx, p->before);
    if (!p->o->marks || p->o->marks_cx != p->cx)
        ml_release(p->cx, mark);
}

static bool is_newest(const ml_Printer *p, const ml_Func *f)
{
    return p->o->spelling == -1 ? f->spelling == ML_NEWEST : p->o->spelling == ML_NEWEST;
}

void ml_print_func(ml_Ctx *cx, ml_Text *out, const ml_Func *f, const ml_PrintOpts *opts)
{
    ml_Mark mark = ml_mark(cx);
    ml_Printer p;

    ml_pr_begin(&p, cx, out, opts);
    const char *name = func_name(cx, f);
    ml_names_take_as_is(&p.names, name);
    p.newest_header = is_newest(&p, f);
    if (!p.o->no_header) {
        print_import(&p, is_newest(&p, f));
        ml_pr_blank(&p);
    }
    print_func(&p, f, name);
    ml_pr_fold(&p);
    finish(&p, mark);
}

/* By name, main last. */
static const ml_Func **sorted(ml_Ctx *cx, const ml_Module *m)
{
    const ml_Func **fs = ML_ARRAY(cx, const ml_Func *, (size_t)m->n + 1);
    for (size_t k = 0; k < m->n; k++) {
        const ml_Func *f = m->funcs[k];
        const char *name = f->name ? f->name : "";
        size_t at = k;
        for (; at > 0; at--) {
            const char *other = fs[at - 1]->name ? fs[at - 1]->name : "";
            bool other_main = ml_streq(other, "main"), main = ml_streq(name, "main");
            if (main || (!other_main && strcmp(other, name) <= 0))
                break;
            fs[at] = fs[at - 1];
        }
        fs[at] = f;
    }
    return fs;
}

void ml_print_module(ml_Ctx *cx, ml_Text *out, const ml_Module *m, const ml_PrintOpts *opts)
{
    ml_Mark mark = ml_mark(cx);
    ml_Printer p;

    ml_pr_begin(&p, cx, out, opts);
    const ml_Func **fs = sorted(cx, m);
    const char **names = ML_ARRAY(cx, const char *, (size_t)m->n + 1);
    bool newest = m->n > 0;
    for (size_t k = 0; k < m->n; k++) {
        names[k] = func_name(cx, fs[k]);
        ml_names_take_as_is(&p.names, names[k]);
        newest = newest && is_newest(&p, fs[k]);
    }
    p.newest_header = newest;
    p.mod = m;
    if (!p.o->no_header) {
        ml_pr_line(&p);
        ml_pr_z(&p, "# from tvm.script import ir as I");
        if (m->n > 0)
            print_import(&p, newest);
        ml_pr_blank(&p);
    }
    ml_pr_line(&p);
    ml_pr_z(&p, "@I.ir_module");
    ml_pr_line(&p);
    ml_pr_z(&p, "class Module:");
    p.level++;
    if (ml_dict_count(m->attrs) > 0) {
        ml_pr_line(&p);
        ml_pr_z(&p, "I.module_attrs(");
        p.newest = newest;
        ml_pr_attrs(&p, m->attrs, NULL);
        ml_pr_z(&p, ")");
        if (m->n > 0)
            ml_pr_blank(&p);
    } else if (m->n == 0) {
        ml_pr_line(&p);
        ml_pr_z(&p, "pass");
    }
    for (size_t k = 0; k < m->n; k++) {
        if (k > 0)
            ml_pr_blank(&p);
        print_func(&p, fs[k], names[k]);
    }
    ml_pr_fold(&p);
    finish(&p, mark);
}

void ml_print_start(ml_Ctx *cx, ml_Text *out, const ml_Module *m)
{
    ml_print_module(cx, out, m, &(ml_PrintOpts){.spelling = -1, .own_root = true});
}

/* ---- fragments */
void ml_print_stmt(ml_Ctx *cx, ml_Text *out, const ml_Stmt *s, const ml_PrintOpts *opts)
{
    ml_Mark mark = ml_mark(cx);
    ml_Printer p;

    ml_pr_begin(&p, cx, out, opts);
    ml_pr_scan_stmt(&p, s);
    p.scope = 0;
    p.next_scope = 1;
    print_free_buffers(&p);
    ml_pr_pending(&p, 0);
    ml_pr_list(&p, s);
    ml_pr_fold(&p);
    finish(&p, mark);
}

/* The data pointers of buffers that occur in e are written A.data. */
static void note_buffers(ml_Printer *p, const ml_Expr *e)
{
    if (!(e->flags & ML_X_HAS_LOAD))
        return;
    if (e->kind == ML_EXPR_LOAD) {
        ml_NameInfo *data = ml_pr_var(p, e->as.buffer->data);
        data->how = ML_HOW_DATA;
        data->owner = e->as.buffer;
    }
    for (size_t k = 0; k < e->n_args; k++)
        note_buffers(p, e->args[k]);
}

void ml_print_expr(ml_Ctx *cx, ml_Text *out, const ml_Expr *e, const ml_PrintOpts *opts)
{
    ml_Mark mark = ml_mark(cx);
    ml_Printer p;

    ml_pr_begin(&p, cx, out, opts);
    note_buffers(&p, e);
    ml_pr_expr(&p, e, ML_PREC_TEST);
    finish(&p, mark);
}

void ml_print_value(ml_Ctx *cx, ml_Text *out, const ml_Value *v, const ml_PrintOpts *opts)
{
    ml_Mark mark = ml_mark(cx);
    ml_Printer p;

    ml_pr_begin(&p, cx, out, opts);
    ml_pr_value(&p, v);
    finish(&p, mark);
}

void ml_print_region(ml_Ctx *cx, ml_Text *out, const ml_Region *r, const ml_PrintOpts *opts)
{
    ml_Mark mark = ml_mark(cx);
    ml_Printer p;

    ml_pr_begin(&p, cx, out, opts);
    ml_pr_region(&p, r);
    finish(&p, mark);
}
