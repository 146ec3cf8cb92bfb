/* tree_data - the loop tree as rows: its loops and blocks with what they do. Source:
 * interaction 4. */
#include "moonloop/core/json/data.h"
#include "repl/show/footprint.h"
#include "repl/show/show.h"

typedef struct ml_TreeNode {
    ml_Ctx *cx; /* for texts */
    const ml_Names *names;
    const char *function; /* NULL: there is but one */
    const ml_Stmt *node;
    const ml_LoopFacts *facts; /* of a loop; NULL: nothing is known */
    uint32_t depth;
} ml_TreeNode;

static bool is_loop(const ml_TreeNode *n)
{
    return n->node->kind == ML_STMT_FOR;
}

static const char *name_of_node(const ml_TreeNode *n)
{
    if (is_loop(n))
        return ml_shown_name(n->names, ml_as_for(n->node)->var->uid,
                             ml_as_for(n->node)->var->hint);
    return ml_shown_name(n->names, ml_as_block(n->node)->tag, ml_as_block(n->node)->name);
}

static void tell_annotations(ml_Data *d, const char *key, const void *s)
{
    const ml_TreeNode *n = s;
    const ml_Value *of = is_loop(n) ? ml_as_for(n->node)->annotations : NULL;

    if (!is_loop(n))
        return;
    ml_data_list(d, key);
    for (size_t k = 0; k < ml_dict_count(of); k++)
        ml_data_str(d, NULL, of->keys[k]);
    ml_data_end(d);
}

/* As :counts tells it. */
static void tell_of_loop(ml_Data *d, const char *key, const void *s)
{
    const ml_TreeNode *n = s;
    const ml_LoopRow row = {n->cx, n->names, n->facts, true};

    if (n->facts)
        ml_data_field(d, &ml_loop_fields, key, &row);
}

static void tell_buffers(ml_Data *d, const char *key, const ml_TreeNode *n,
                         const ml_Region *v, size_t count)
{
    ml_data_list(d, key);
    for (size_t k = 0; k < count; k++)
        ml_data_str(d, NULL, ml_shown_name(n->names, v[k].buffer->uid, v[k].buffer->name));
    ml_data_end(d);
}

static void tell_reads(ml_Data *d, const char *key, const void *s)
{
    const ml_TreeNode *n = s;

    if (!is_loop(n))
        tell_buffers(d, key, n, ml_as_block(n->node)->reads, ml_as_block(n->node)->n_reads);
}

static void tell_writes(ml_Data *d, const char *key, const void *s)
{
    const ml_TreeNode *n = s;

    if (!is_loop(n))
        tell_buffers(d, key, n, ml_as_block(n->node)->writes,
                     ml_as_block(n->node)->n_writes);
}

static void tell_predicate(ml_Data *d, const char *key, const void *s)
{
    const ml_TreeNode *n = s;
    const ml_PrintOpts o = {.spelling = -1, .plain = true, .names = n->names};
    ml_Text t = {0};

    if (is_loop(n) || ml_is_true(ml_as_block(n->node)->predicate))
        return;
    ml_print_expr(n->cx, &t, ml_as_block(n->node)->predicate, &o);
    ml_data_str(d, key, ml_text_z(&t));
    ml_text_free(&t);
}

#define ML_FIELDS       "repl/show/tree.def"
#define ML_FIELDS_TABLE ml_tree_fields
#define ML_FIELDS_NAME  "tree"
#define ML_FIELDS_WHAT  "a node of the loop tree"
#include "moonloop/core/json/field_table.def"

typedef struct Walk {
    ml_TreeNode n;
    const ml_Counts *counts;
    ml_Data *d;
} Walk;

/* The loops of inits are left out, as in the drawing. */
static void visit(const ml_Stmt *st, bool in_init, void *user)
{
    Walk *w = user;
    uint32_t depth = w->n.depth;

    if (in_init || !st->has_block)
        return;
    if (st->kind == ML_STMT_FOR || st->kind == ML_STMT_BLOCK) {
        w->n.node = st;
        w->n.facts = st->kind == ML_STMT_FOR
                         ? ml_counts_of(w->counts, ml_as_for(st)->var->uid)
                         : NULL;
        ml_data_row(w->d);
        ml_data_fields(w->d, &ml_tree_fields, &w->n);
        w->n.depth++;
    }
    ml_stmt_children(st, visit, w);
    w->n.depth = depth;
}

void ml_tree_data(ml_Schedule *s, int version, ml_Data *d)
{
    ml_Program p = ml_version_program(s, version);
    bool all = !ml_schedule_func(s);
    uint32_t from = all ? 0 : ml_schedule_func_pos(s), end = all ? p.mod->n : from + 1;
    Walk w = {.n.names = ml_version_names(s, version), .d = d};

    for (uint32_t k = from; d && k < end; k++) {
        const ml_Block *root = ml_func_root(p.mod->funcs[k]);
        ml_Counts c;

        w.n.cx = ml_ctx_fork(ml_schedule_ctx(s));
        ml_ctx_set_limit(w.n.cx, 0);
        if (!ml_counts(w.n.cx, p, k, &c))
            c = (ml_Counts){0};
        w.counts = &c;
        w.n.function = all && p.mod->n > 1 ? p.mod->funcs[k]->name : NULL;
        if (root)
            visit(root->body, false, &w);
        ml_ctx_unref(w.n.cx);
    }
}
