/*
 * annotate, unannotate - constants attached to a block or loop; they never change meaning.
 * Source: primitives 6.
 */
#include "moonloop/primitives/prim.h"

enum { TARGET, KEY, VALUE };

static const ml_Value *annotations_of(const ml_Stmt *node)
{
    return node->kind == ML_STMT_FOR ? ml_as_for(node)->annotations
                                     : ml_as_block(node)->annotations;
}

static void set_annotations(ml_Call *c, const ml_Value *dict)
{
    const ml_Stmt *node = c->args[TARGET].node;

    if (ml_dict_count(dict) == 0)
        dict = NULL;
    if (node->kind == ML_STMT_FOR) {
        ml_For f = *ml_as_for(node);

        f.annotations = dict;
        ml_call_replace(c, c->args[TARGET].uid, ml_for_from(c->cx, &f));
    } else {
        ml_Block b = *ml_as_block(node);

        b.annotations = dict;
        ml_call_replace(c, c->args[TARGET].uid, ml_block_from(c->cx, &b));
    }
}

/* Programs have the classic prefix; the newest spelling writes another one. */
static const char *key_of(ml_Call *c)
{
    const char *key = c->args[KEY].s;

    return strncmp(key, "tirx.", 5) == 0 ? ml_format(c->cx, "tir.%s", key + 5) : key;
}

static bool annotate(ml_Call *c)
{
    const ml_Value *old = annotations_of(c->args[TARGET].node);
    const char *key = key_of(c);

    if (ml_dict_get(old, key)) {
        ml_call_note(
            c,
            "the annotation %s is there already and stays as it is; unannotate first "
            "to change it",
            key);
        return true;
    }
    set_annotations(c, ml_dict_with(c->cx, old, key, c->args[VALUE].value));
    return true;
}

static bool unannotate(ml_Call *c)
{
    const ml_Stmt *node = c->args[TARGET].node;
    const ml_Value *old = annotations_of(node);
    const char *key = key_of(c);

    if (!ml_dict_get(old, key))
        return node->kind == ML_STMT_FOR
                   ? ml_fail(c->cx, ML_E_NO_SUCH_ANNOTATION, ML_LOOP(node), ML_TYPED(key))
                   : ml_fail_as(c->cx, ML_E_NO_SUCH_ANNOTATION,
                                "block {0} has no annotation {1}", ML_BLOCK(node),
                                ML_TYPED(key));
    set_annotations(c, ml_dict_without(c->cx, old, key));
    return true;
}

static void suggest_annotate(ml_Schedule *s, const ml_Given *args, const ml_Error *e,
                             ml_Tries *t)
{
    const ml_Stmt *node = ml_index_node(ml_schedule_program(s).index, args[TARGET].uid);

    if (!node || e->code != ML_E_NO_SUCH_ANNOTATION)
        return;
    const ml_Value *dict = annotations_of(node);

    for (size_t k = 0; dict && k < dict->n; k++)
        ml_try(t, NULL, "unannotate(\"%s\", \"%s\")", ml_name_of(s, args[TARGET].uid),
               dict->keys[k]);
}

static const ml_Param annotate_params[] = {
    ML_PARAM("block_or_loop", ML_P_BLOCK_OR_LOOP, "what is annotated"),
    ML_PARAM_ATTR("ann_key", ML_P_KEY, "name of the annotation"),
    ML_PARAM("ann_val", ML_P_VALUE, "string, number, boolean, or a list or map of such"),
};

const ml_Primitive ml_prim_annotate = {
    ML_PRIM(annotate, "Annotate"),
    .group = "annotations",
    .summary = "attach a constant to a block or loop",
    .help = "A key that is there already stays as it is. A loop with an annotation can no "
            "longer\n"
            "be split, fused or merged.",
    .params = annotate_params,
    .n_params = 3,
    .result = ML_R_NONE,
    .errors = (const ml_ErrorCode[]){ML_E_BAD_ARGUMENT, ML_E_OK},
    .one_order = true,
};

const ml_Primitive ml_prim_unannotate = {
    ML_PRIM(unannotate, "Unannotate"),
    .group = "annotations",
    .summary = "remove an annotation",
    .help = "The key must be there.",
    .params = annotate_params,
    .n_params = 2,
    .result = ML_R_NONE,
    .suggest = suggest_annotate,
    .errors = (const ml_ErrorCode[]){ML_E_NO_SUCH_ANNOTATION, ML_E_OK},
    .one_order = true,
};
