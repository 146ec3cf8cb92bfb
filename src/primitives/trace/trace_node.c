/*
 * trace_node - index maps in the traces of TVM: a graph of nodes as JSON text, read as the
 * lambda that it is, and written where it consists of what the graph has nodes for.
 *
 * {"root": k, "nodes": [{"type_key": "tir.IndexMap", "attrs": {"initial_indices": "2",
 * ...}}, {"type_key": "Array", "data": [3, 5]}, {"type_key": "tir.FloorDiv", "attrs": {"a":
 * "3", "b": "6"}}, ...]}; an attribute of a node is the number of another one, as a string.
 * Since 2025: {"root_index": k, "nodes": [{"type": "tir.IndexMap", "data":
 * {"initial_indices": 2, ...}}, {"type": "ffi.Array", "data": [3, 5]}, ...]}, in numbers.
 * Source: primitives 12.3.
 */
#include "moonloop/primitives/trace/trace_impl.h"

#include "moonloop/core/json/json.h"
#include "moonloop/core/walk.h"

#include <stdlib.h>

enum { MAX_NODES_DEPTH = 64, MAX_VARS = 32, MAX_NODES_TEXT = 1 << 16 };

typedef struct Nodes {
    const ml_Json *list;
    ml_Text *out;
    size_t n_vars;
    uint32_t var[MAX_VARS]; /* node of the k-th variable */
    const char *names[MAX_VARS];
} Nodes;

static bool node_number(const Nodes *g, const ml_Json *field, uint32_t *out)
{
    char *end;
    long long k;

    if (!field)
        return false;
    if (field->kind == ML_JSON_STRING) {
        k = strtoll(field->as.s, &end, 10);
        if (end == field->as.s || *end)
            return false;
    } else if (field->kind == ML_JSON_INT)
        k = field->as.i;
    else
        return false;
    if (k < 0 || k >= (long long)g->list->n)
        return false;
    *out = (uint32_t)k;
    return true;
}

static const char *type_of(const Nodes *g, uint32_t k)
{
    const ml_Json *node = &g->list->as.list[k];
    const ml_Json *t = node->kind == ML_JSON_OBJECT ? ml_json_get(node, "type_key") : NULL;

    if (!t && node->kind == ML_JSON_OBJECT)
        t = ml_json_get(node, "type");
    const char *z = t && t->kind == ML_JSON_STRING ? t->as.s : "";
    const char *dot = strrchr(z, '.'); /* tir.Add, tirx.Add, ir.IntImm, ffi.Array */

    return dot ? dot + 1 : z;
}

static const ml_Json *attr(const Nodes *g, uint32_t k, const char *name)
{
    const ml_Json *a = ml_json_get(&g->list->as.list[k], "attrs");

    if (!a)
        a = ml_json_get(&g->list->as.list[k], "data");
    return a && a->kind == ML_JSON_OBJECT ? ml_json_get(a, name) : NULL;
}

static bool child(const Nodes *g, uint32_t k, const char *name, uint32_t *out)
{
    return node_number(g, attr(g, k, name), out);
}

static const struct {
    const char *type, *before, *between;
    ml_ExprKind kind;
} binary[] = {
    {"Add", "(", " + ", ML_EXPR_ADD},           {"Sub", "(", " - ", ML_EXPR_SUB},
    {"Mul", "(", " * ", ML_EXPR_MUL},           {"FloorDiv", "(", " // ", ML_EXPR_FLOORDIV},
    {"FloorMod", "(", " % ", ML_EXPR_FLOORMOD}, {"Div", "T.truncdiv(", ", ", ML_EXPR_DIV},
    {"Mod", "T.truncmod(", ", ", ML_EXPR_MOD},  {"Min", "T.min(", ", ", ML_EXPR_MIN},
    {"Max", "T.max(", ", ", ML_EXPR_MAX}};

static bool add_expr(Nodes *g, uint32_t k, int depth);
static const ml_Json *array(const Nodes *g, uint32_t k, const char *name);

/* The text that a field gives: as such, or as a node. */
static const char *word(const Nodes *g, uint32_t k, const char *name)
{
    const ml_Json *a = attr(g, k, name), *z;
    uint32_t at;

    if (!node_number(g, a, &at))
        return a && a->kind == ML_JSON_STRING ? a->as.s : NULL;
    z = ml_json_get(&g->list->as.list[at], "repr_str");
    if (!z)
        z = ml_json_get(&g->list->as.list[at], "data");
    return z && z->kind == ML_JSON_STRING ? z->as.s : NULL;
}

static bool is_word(const char *z)
{
    for (; z && *z; z++)
        if (*z == '"' || *z == '\\' || (unsigned char)*z < ' ')
            return false;
    return z != NULL;
}

/* An element of a buffer, which its name tells. */
static bool add_load(Nodes *g, uint32_t k, int depth)
{
    const ml_Json *idx = array(g, k, "indices");
    const char *dtype = word(g, k, "dtype"), *name;
    uint32_t buffer, at;

    if (!idx || !is_word(dtype) || !child(g, k, "buffer", &buffer))
        return false;
    name = word(g, buffer, "name");
    if (!is_word(name))
        return false;
    ml_text_fmt(g->out, "T.named_load(\"%s\", \"%s\"", dtype, name);
    for (uint32_t d = 0; d < idx->n; d++) {
        ml_text_add(g->out, ", ");
        if (!node_number(g, &idx->as.list[d], &at) || !add_expr(g, at, depth + 1))
            return false;
    }
    ml_text_char(g->out, ')');
    return true;
}

static bool add_expr(Nodes *g, uint32_t k, int depth)
{
    const char *type = type_of(g, k);
    uint32_t a, b;

    if (depth > MAX_NODES_DEPTH || g->out->n > MAX_NODES_TEXT)
        return false;
    for (size_t v = 0; v < g->n_vars; v++)
        if (g->var[v] == k) {
            ml_text_add(g->out, g->names[v]);
            return true;
        }
    if (ml_streq(type, "IntImm")) {
        const ml_Json *v = attr(g, k, "value");
        const char *z = v && v->kind == ML_JSON_STRING ? v->as.s : "";
        char *end;
        long long n = strtoll(z, &end, 10);

        if (v && v->kind == ML_JSON_INT)
            n = v->as.i;
        else if (end == z || *end)
            return false;
        ml_text_fmt(g->out, "%lld", n);
        return true;
    }
    if (ml_streq(type, "BufferLoad"))
        return add_load(g, k, depth);
    if (ml_streq(type, "Cast"))
        return child(g, k, "value", &a) && add_expr(g, a, depth + 1);
    for (size_t t = 0; t < ML_COUNT(binary); t++) {
        if (!ml_streq(type, binary[t].type))
            continue;
        if (!child(g, k, "a", &a) || !child(g, k, "b", &b))
            return false;
        ml_text_add(g->out, binary[t].before);
        if (!add_expr(g, a, depth + 1))
            return false;
        ml_text_add(g->out, binary[t].between);
        if (!add_expr(g, b, depth + 1))
            return false;
        ml_text_char(g->out, ')');
        return true;
    }
    return false;
}

static const ml_Json *array(const Nodes *g, uint32_t k, const char *name)
{
    uint32_t at;

    if (!child(g, k, name, &at) || !ml_streq(type_of(g, at), "Array"))
        return NULL;
    const ml_Json *data = ml_json_get(&g->list->as.list[at], "data");

    return data && data->kind == ML_JSON_LIST ? data : NULL;
}

static bool add_lambda(ml_Ctx *cx, Nodes *g, uint32_t k)
{
    const ml_Json *from = array(g, k, "initial_indices"),
                  *to = array(g, k, "final_indices");
    uint32_t at;

    if (!ml_streq(type_of(g, k), "IndexMap") || !from || !to || from->n > MAX_VARS)
        return false;
    ml_text_add(g->out, "lambda ");
    g->n_vars = 0;
    for (uint32_t v = 0; v < from->n; v++) {
        if (!node_number(g, &from->as.list[v], &g->var[v]))
            return false;
        g->names[v] = word(g, g->var[v], "name");
    }
    ml_lambda_names(cx, g->names, from->n, g->names);
    for (uint32_t v = 0; v < from->n; v++)
        ml_text_fmt(g->out, "%s%s", v ? ", " : "", g->names[v]);
    g->n_vars = from->n;
    ml_text_add(g->out, ": (");
    for (uint32_t v = 0; v < to->n; v++) {
        if (!node_number(g, &to->as.list[v], &at) || !add_expr(g, at, 0))
            return false;
        ml_text_add(g->out, ", ");
    }
    ml_text_char(g->out, ')');
    return true;
}

/* The dtype of the variables, where it is told. */
static void add_dtype(const Nodes *g)
{
    const ml_Json *t = g->n_vars ? attr(g, g->var[0], "dtype") : NULL;

    if (t && t->kind == ML_JSON_STRING &&
        (ml_streq(t->as.s, "int32") || ml_streq(t->as.s, "int64")))
        ml_text_fmt(g->out, ", index_dtype=\"%s\"", t->as.s);
}

const char *ml_trace_node_map(ml_Ctx *cx, const char *json)
{
    ml_JsonError e;
    ml_Text text = {0};
    Nodes g = {.out = &text};
    const ml_Json *j = ml_json_read(cx, ml_str(json), &e);
    const char *z = NULL;
    uint32_t root, inverse = 0;

    if (!j || j->kind != ML_JSON_OBJECT)
        return NULL;
    g.list = ml_json_get(j, "nodes");
    if (!g.list || g.list->kind != ML_JSON_LIST)
        return NULL;
    ml_text_add(&text, "T.index_map(");
    const ml_Json *at = ml_json_get(j, "root");
    bool ok = node_number(&g, at ? at : ml_json_get(j, "root_index"), &root) &&
              add_lambda(cx, &g, root);

    /* Node 0, or one of type None, is none. */
    if (ok && child(&g, root, "inverse_index_map", &inverse) && *type_of(&g, inverse) &&
        !ml_streq(type_of(&g, inverse), "None")) {
        ml_text_add(&text, ", inverse_index_map=");
        ok = add_lambda(cx, &g, inverse);
    }
    if (ok)
        add_dtype(&g);
    ml_text_char(&text, ')');
    if (ok && text.n < MAX_NODES_TEXT)
        z = ml_strdup(cx, (ml_Str){ml_text_z(&text), text.n});
    ml_text_free(&text);
    return z;
}

/* ---- writing */

typedef struct Graph {
    ml_Ctx *cx;
    ml_Text *out;
    ml_Map *known; /* by number of the expression: that of its node */
    uint32_t n;    /* nodes so far; node 0 is none */
} Graph;

static uint32_t node(Graph *g)
{
    if (g->n)
        ml_text_add(g->out, ", ");
    return g->n++;
}

static void add_dtype_of(Graph *g, ml_Dtype t)
{
    ml_text_add(g->out, "\"dtype\": \"");
    ml_dtype_print(g->out, t);
    ml_text_char(g->out, '"');
}

/* The number of the node; 0: there is no node for it. */
static uint32_t write_expr(Graph *g, const ml_Expr *e, int depth)
{
    uint32_t k = (uint32_t)(uintptr_t)ml_map_get(g->known, e->id), a, b;

    if (k || depth > MAX_NODES_DEPTH || e->type.lanes != 1)
        return k;
    if (e->kind == ML_EXPR_VAR) {
        a = node(g);
        ml_text_add(g->out, "{\"type_key\": \"runtime.String\", \"repr_str\": ");
        ml_json_string(g->out, e->as.var->hint);
        ml_text_char(g->out, '}');
        k = node(g);
        ml_text_add(g->out, "{\"type_key\": \"tir.Var\", \"attrs\": {");
        add_dtype_of(g, e->type);
        ml_text_fmt(g->out,
                    ", \"name\": \"%u\", \"span\": \"0\", \"type_annotation\": \"0\"}}", a);
    } else if (e->kind == ML_EXPR_INT) {
        k = node(g);
        ml_text_add(g->out, "{\"type_key\": \"IntImm\", \"attrs\": {");
        add_dtype_of(g, e->type);
        ml_text_fmt(g->out, ", \"span\": \"0\", \"value\": \"%lld\"}}", (long long)e->as.i);
    } else {
        for (size_t t = 0; t < ML_COUNT(binary) && !k; t++) {
            if (e->kind != binary[t].kind || !(a = write_expr(g, e->args[0], depth + 1)) ||
                !(b = write_expr(g, e->args[1], depth + 1)))
                continue;
            k = node(g);
            ml_text_fmt(g->out,
                        "{\"type_key\": \"tir.%s\", \"attrs\": {\"a\": \"%u\", \"b\": "
                        "\"%u\", ",
                        binary[t].type, a, b);
            add_dtype_of(g, e->type);
            ml_text_add(g->out, ", \"span\": \"0\"}}");
        }
    }
    ml_map_set(g->cx, g->known, e->id, (const void *)(uintptr_t)k);
    return k;
}

/* The node of an array of these; 0: one of them has no node. */
static uint32_t write_array(Graph *g, const ml_Expr *const *e, uint32_t n)
{
    uint32_t *at = ML_ARRAY(g->cx, uint32_t, n + 1);

    for (uint32_t k = 0; k < n; k++)
        if (!(at[k] = write_expr(g, e[k], 0)))
            return 0;
    uint32_t me = node(g);

    ml_text_add(g->out, "{\"type_key\": \"Array\", \"data\": [");
    for (uint32_t k = 0; k < n; k++)
        ml_text_fmt(g->out, "%s%u", k ? ", " : "", at[k]);
    ml_text_add(g->out, "]}");
    return me;
}

static uint32_t write_map(Graph *g, const ml_IndexMap *m)
{
    const ml_Expr **vars = ML_ARRAY(g->cx, const ml_Expr *, m->n_vars + 1u);
    uint32_t from, to, inverse = 0;

    for (uint32_t k = 0; k < m->n_vars; k++)
        vars[k] = ml_var(g->cx, m->vars[k]);
    if (m->n_vars > MAX_VARS || (m->inverse && !(inverse = write_map(g, m->inverse))))
        return 0;
    if (!(from = write_array(g, vars, m->n_vars)) ||
        !(to = write_array(g, m->exprs, m->n_exprs)))
        return 0;
    uint32_t me = node(g);

    ml_text_fmt(g->out,
                "{\"type_key\": \"tir.IndexMap\", \"attrs\": {\"final_indices\": \"%u\", "
                "\"initial_indices\": \"%u\", \"inverse_index_map\": \"%u\"}}",
                to, from, inverse);
    return me;
}

bool ml_trace_map_nodes(ml_Text *out, const ml_IndexMap *m)
{
    ml_Ctx *tmp = ml_ctx_new(0);
    ml_Text text = {0};
    Graph g = {.cx = tmp, .out = &text, .known = ml_map_new(tmp)};

    m = ml_import_value(ml_import_begin(tmp), ml_val_map(tmp, m))->as.map;
    node(&g);
    ml_text_add(&text, "{\"type_key\": \"\"}");
    uint32_t root = write_map(&g, m);

    if (root && text.n < MAX_NODES_TEXT)
        ml_text_fmt(out,
                    "{\"root\": %u, \"nodes\": [%s], \"b64ndarrays\": [], \"attrs\": "
                    "{\"tvm_version\": \"0.17.0\"}}",
                    root, ml_text_z(&text));
    else
        root = 0;
    out->bad |= text.bad;
    ml_text_free(&text);
    ml_ctx_unref(tmp);
    return root != 0;
}
