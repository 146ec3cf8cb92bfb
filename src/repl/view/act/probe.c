/*
 * probe - whether a primitive can do something at a node: its parameters are filled
 * with what the program offers (loops, buffers, scopes, small numbers) and tried, at most
 * so many combinations.
 *
 * The first combination that works is also the text that a prompt for its arguments begins
 * with. Where a parameter cannot be guessed there is no verdict. Source: interaction 10.
 */
#include "moonloop/primitives/intrin.h"
#include "repl/view/act/act_impl.h"

enum { MOST_TRIED = 64, MOST_OF_ONE = 48, MAX_PARAMS = 12, IDLE_MS = 5, MENU_MS = 50 };

typedef struct Cand {
    ml_Arg arg;
    const char *lua; /* as it is written; NULL: handles, named when they are */
    uint8_t want;    /* of a handle: an ml_HandleKind */
    bool bare;       /* of a list: without braces, as arguments one by one */
} Cand;

typedef struct Cands {
    ML_VEC(Cand) list;
    bool left_out; /* an optional one: its default */
} Cands;

typedef struct Probe {
    ml_View *v;
    ml_Ctx *cx;
    const ml_Primitive *p;
    ml_Uid node;
    const ml_For *loop;     /* the node, when it is one */
    const ml_Block *block;  /* the node, or the only block below it */
    unsigned blocks_so_far; /* parameters that are blocks */
    Cands of[MAX_PARAMS];
    size_t n;
} Probe;

static void add(Probe *pb, Cands *c, Cand cand)
{
    if (c->list.n < MOST_OF_ONE)
        ml_push(pb->cx, &c->list, cand);
}

static Cand node_cand(const Probe *pb, ml_Uid uid, ml_HandleKind want)
{
    ml_Handle h = {ml_act_for(pb->v, uid) ? ML_H_LOOP : ML_H_BLOCK, uid};

    return (Cand){.arg = ML_ARG_HANDLE(h), .want = (uint8_t)want};
}

static void add_node(Probe *pb, Cands *c, ml_Uid uid, ml_HandleKind want)
{
    add(pb, c, node_cand(pb, uid, want));
}

static void add_int(Probe *pb, Cands *c, int64_t i)
{
    add(pb, c,
        (Cand){.arg = ML_ARG_INT(i), .lua = ml_format(pb->cx, "%lld", (long long)i)});
}

static void add_text(Probe *pb, Cands *c, const char *z)
{
    z = ml_strdup(pb->cx, ml_str(z));
    add(pb, c, (Cand){.arg = ML_ARG_STR(z), .lua = ml_quoted(pb->cx, z)});
}

/* A list of handles or of numbers. */
static void add_list(Probe *pb, Cands *c, const Cand *v, size_t n, bool bare)
{
    ml_Arg *args = ML_ARRAY(pb->cx, ml_Arg, n + 1);
    ml_Text t = {0};
    Cand list = {.bare = bare};

    ml_text_char(&t, '{');
    for (size_t k = 0; k < n; k++) {
        args[k] = v[k].arg;
        ml_text_fmt(&t, "%s%s", k ? ", " : "", v[k].lua ? v[k].lua : "");
    }
    ml_text_char(&t, '}');
    list.arg = ML_ARG_LIST(args, n);
    list.want = n ? v[0].want : ML_H_NONE;
    const char *lua = ml_text_into(pb->cx, &t);

    list.lua = n && v[0].lua ? lua : NULL;
    add(pb, c, list);
}

/* false: a handle that no name means. */
static bool write_cand(const Probe *pb, const Cand *c, ml_ActCall *out)
{
    bool list = c->arg.kind == ML_A_LIST;
    const ml_Arg *v = list ? c->arg.as.list : &c->arg;

    if (c->lua) {
        ml_act_arg(pb->cx, out, c->lua);
        return true;
    }
    for (uint32_t k = 0; k < (list ? c->arg.n : 1); k++) {
        ml_HandleKind want = (ml_HandleKind)c->want;

        if (!ml_act_name(pb->v, pb->cx, v[k].as.h.uid, want))
            return false;
        ml_act_arg_node(pb->cx, out, v[k].as.h.uid, want);
        out->args.v[out->args.n - 1].braced = list && !c->bare;
    }
    return true;
}

static void add_pair(Probe *pb, Cands *c, const ml_For *a, const ml_For *b)
{
    Cand pair[2];

    if (!a || !b)
        return;
    pair[0] = node_cand(pb, a->var->uid, ML_H_LOOP);
    pair[1] = node_cand(pb, b->var->uid, ML_H_LOOP);
    add_list(pb, c, pair, 2, true);
}

static void fill_loops(Probe *pb, Cands *c)
{
    const char *name = pb->p->name;
    const ml_For *f = pb->loop;

    if (!f)
        return;
    if (ml_streq(name, "reorder")) {
        add_pair(pb, c, ml_act_inner(pb->v, f, NULL), f);
        add_pair(pb, c, f, ml_act_outer(pb->v, f, NULL));
    } else if (ml_streq(name, "fuse")) {
        add_pair(pb, c, f, ml_act_inner(pb->v, f, NULL));
        add_pair(pb, c, ml_act_outer(pb->v, f, NULL), f);
    } else { /* merge: loops of other nests */
        ml_UidVec all = {0};

        ml_act_all_nodes(pb->v, pb->cx, true, false, &all);
        for (size_t k = 0; k < all.n; k++)
            if (all.v[k] != pb->node)
                add_pair(pb, c, f, ml_act_for(pb->v, all.v[k]));
    }
}

/* Loops that a block could go to, or that are above it. */
static void fill_loop(Probe *pb, Cands *c)
{
    const char *name = pb->p->name;
    bool moves = ml_streq(name, "compute_at") || ml_streq(name, "reverse_compute_at");
    ml_UidVec all = {0};
    ml_StmtVec above = {0};

    if (pb->loop && !moves) {
        add_node(pb, c, pb->node, ML_H_LOOP);
        return;
    }
    if (!pb->block)
        return;
    if (moves) {
        ml_act_all_nodes(pb->v, pb->cx, true, false, &all);
        for (size_t k = 0; k < all.n; k++)
            if (!ml_index_is_above(ml_act_program(pb->v).index, all.v[k], pb->block->tag))
                add_node(pb, c, all.v[k], ML_H_LOOP);
        return;
    }
    ml_index_loops(pb->cx, ml_act_program(pb->v).index, pb->block->tag, &above);
    for (size_t k = 0; k < above.n; k++)
        add_node(pb, c, ml_stmt_uid(above.v[k]), ML_H_LOOP);
}

static void fill_block(Probe *pb, Cands *c)
{
    ml_UidVec all = {0};

    if (pb->blocks_so_far++ == 0) {
        if (pb->block)
            add_node(pb, c, pb->block->tag, ML_H_BLOCK);
        return;
    }
    ml_act_all_nodes(pb->v, pb->cx, false, true, &all);
    for (size_t k = 0; k < all.n; k++)
        if (!pb->block || all.v[k] != pb->block->tag)
            add_node(pb, c, all.v[k], ML_H_BLOCK);
}

static void fill_buffer(Probe *pb, Cands *c, bool reads, bool writes)
{
    const ml_Block *b = pb->block;
    ml_Schedule *s = pb->v->ss->focus;

    for (int w = 0; b && w < 2; w++) {
        const ml_Region *v = w ? b->reads : b->writes;

        for (uint32_t k = 0; k < (w ? b->n_reads : b->n_writes); k++)
            if (w ? reads : writes)
                add_text(pb, c, ml_name_of(s, v[k].buffer->uid));
    }
}

/* lambda i0, i1, i2: (i0, i2); those of the mask are results. */
static void add_map(Probe *pb, Cands *c, uint32_t n, uint32_t mask)
{
    ml_Text t = {0};
    uint32_t results = 0;

    ml_text_add(&t, "lambda ");
    for (uint32_t k = 0; k < n; k++)
        ml_text_fmt(&t, "%si%u", k ? ", " : "", k);
    ml_text_add(&t, ": (");
    for (uint32_t k = 0; k < n; k++)
        if (k >= 32 || mask >> k & 1)
            ml_text_fmt(&t, "%si%u", results++ ? ", " : "", k);
    ml_text_add(&t, results == 1 ? ",)" : ")");
    add_text(pb, c, ml_text_z(&t));
    ml_text_free(&t);
}

static void fill_map(Probe *pb, Cands *c)
{
    const ml_Block *b = pb->block;
    const char *name = pb->p->name;
    bool iters = !ml_streq(name, "transform_layout");
    uint32_t n = !b ? 0 : iters ? b->n_iters : b->n_writes ? b->writes[0].buffer->rank : 0;

    if (n == 0 || ml_streq(name, "annotate_buffer_access"))
        return;
    if (strncmp(name, "reindex_cache", 13) == 0 &&
        n <= 4) /* those that the buffer's index has */
        for (uint32_t mask = (1u << n) - 1; mask > 0; mask--)
            add_map(pb, c, n, mask);
    else
        add_map(pb, c, n, UINT32_MAX);
}

static void fill_ints(Probe *pb, Cands *c)
{
    const char *name = pb->p->name;
    Cand v[64] = {0};
    size_t n = pb->block ? pb->block->n_iters : 0;

    n = n > ML_COUNT(v) ? ML_COUNT(v) : n;
    if (ml_streq(name, "reorder_block_iter_var"))
        for (size_t k = 0; k < n; k++)
            v[k].arg = ML_ARG_INT((int64_t)(n - 1 - k));
    else if (ml_streq(name, "pad_einsum"))
        for (size_t k = 0; k < n; k++)
            v[k].arg = ML_ARG_INT(16);
    else if (ml_streq(name, "sample_categorical")) {
        n = 2;
        v[0].arg = ML_ARG_INT(1);
        v[1].arg = ML_ARG_INT(2);
    } else { /* an axis, a buffer: the first */
        n = 1;
        v[0].arg = ML_ARG_INT(ml_streq(name, "set_axis_separator") ? 1 : 0);
    }
    for (size_t k = 0; k < n; k++)
        v[k].lua = ml_format(pb->cx, "%lld", (long long)v[k].arg.as.i);
    if (n > 0)
        add_list(pb, c, v, n, false);
}

static void fill_key(Probe *pb, Cands *c)
{
    const ml_Block *b = ml_act_block(pb->v, pb->node);
    const ml_Value *dict = pb->loop ? pb->loop->annotations : b ? b->annotations : NULL;

    for (size_t k = 0; dict && k < ml_dict_count(dict); k++)
        if (ml_streq(pb->p->name, "unannotate"))
            add_text(pb, c, dict->keys[k]);
    if (!ml_streq(pb->p->name, "unannotate"))
        add_text(pb, c, "pragma_unroll_explicit");
}

static void fill_string(Probe *pb, Cands *c, const char *param)
{
    const char *const *names;
    size_t n = 0;

    if (ml_streq(param, "tensor_intrin")) {
        n = ml_intrin_names(pb->cx, pb->v->ss->focus->space->intrins, &names);
        for (size_t k = 0; k < n; k++)
            add_text(pb, c, names[k]);
    } else if (ml_streq(param, "dtype")) {
        add_text(pb, c, "float16");
        add_text(pb, c, "int32");
    } else if (ml_streq(param, "buf_type")) {
        add_text(pb, c, "read");
        add_text(pb, c, "write");
    }
}

static void fill(Probe *pb, size_t k)
{
    static const char *const AXES[] = {"threadIdx.x", "blockIdx.x", "vthread.x"};
    const ml_Param *pa = &pb->p->params[k];
    Cands *c = &pb->of[k];
    Cand two[2] = {{.arg = ML_ARG_AUTO, .lua = "auto"}, {.arg = ML_ARG_INT(2), .lua = "2"}};

    if (pa->optional || pa->input_if_given || pa->kind == ML_P_DECISION ||
        pa->kind == ML_P_PAD) {
        c->left_out = true;
        return;
    }
    switch ((ml_ParamKind)pa->kind) {
    case ML_P_BLOCK: fill_block(pb, c); return;
    case ML_P_LOOP:
    case ML_P_LOOP_OR_MARK: fill_loop(pb, c); return;
    case ML_P_BLOCK_OR_LOOP: add_node(pb, c, pb->node, ML_H_NONE); return;
    case ML_P_LOOPS: fill_loops(pb, c); return;
    case ML_P_LOOP_BLOCKS:
    case ML_P_BLOCKS:
        if (pb->loop && pa->kind == ML_P_LOOP_BLOCKS) {
            add_node(pb, c, pb->node, ML_H_LOOP);
        } else if (pb->block) {
            Cand one = node_cand(pb, pb->block->tag, ML_H_BLOCK);

            add_list(pb, c, &one, 1, false);
        }
        return;
    case ML_P_FACTORS: add_list(pb, c, two, 2, false); return;
    case ML_P_INT:
        if (ml_streq(pa->name, "factor"))
            add_int(pb, c, 16);
        else if (pb->p->result == ML_R_EXPRS) /* how many factors to sample */
            add_int(pb, c, 2);
        else {
            add_int(pb, c, 0);
            add_int(pb, c, 1);
        }
        return;
    case ML_P_BOOL: add(pb, c, (Cand){.arg = ML_ARG_BOOL(true), .lua = "true"}); return;
    case ML_P_STRING: fill_string(pb, c, pa->name); return;
    case ML_P_SCOPE:
        add_text(pb, c, "local");
        add_text(pb, c, "shared");
        return;
    case ML_P_THREAD:
        for (size_t i = 0; i < ML_COUNT(AXES); i++)
            add_text(pb, c, AXES[i]);
        return;
    case ML_P_READ_BUFFER: fill_buffer(pb, c, true, false); return;
    case ML_P_WRITE_BUFFER: fill_buffer(pb, c, false, true); return;
    case ML_P_BUFFER: fill_buffer(pb, c, true, true); return;
    case ML_P_VALUE: add_int(pb, c, 1); return;
    case ML_P_KEY: fill_key(pb, c); return;
    case ML_P_INTS: fill_ints(pb, c); return;
    case ML_P_FLOATS:
        two[0] = (Cand){.arg = {.kind = ML_A_FLOAT, .as.f = 0.5}, .lua = "0.5"};
        two[1] = two[0];
        add_list(pb, c, two, 2, false);
        return;
    case ML_P_NAME:
        if (pb->block)
            add_text(pb, c, ml_name_of(pb->v->ss->focus, pb->block->tag));
        return;
    case ML_P_MAP: fill_map(pb, c); return;
    case ML_P_DECISION:
    case ML_P_PAD: return;
    }
}

static Probe begin(ml_View *v, const ml_Primitive *p, ml_Uid node, ml_Ctx *cx)
{
    Probe pb = {.v = v, .cx = cx, .p = p, .node = node, .n = p->n_params};

    pb.loop = ml_act_for(v, node);
    pb.block = ml_act_block_here(v, node, NULL);
    if (pb.n > MAX_PARAMS)
        pb.n = MAX_PARAMS;
    for (size_t k = 0; k < pb.n; k++)
        fill(&pb, k);
    return pb;
}

/* The call with these, up to the first that is not known or has no name. */
static ml_ActCall written(const Probe *pb, const size_t *at, bool *all)
{
    ml_ActCall c = {.prim = pb->p->name};

    *all = true;
    for (size_t k = 0; k < pb->n && *all; k++)
        if (!pb->of[k].left_out)
            *all = at[k] < pb->of[k].list.n && write_cand(pb, &pb->of[k].list.v[at[k]], &c);
    return c;
}

/* The next combination: the last parameter changes fastest. */
static bool next(const Probe *pb, size_t *at)
{
    for (size_t k = pb->n; k-- > 0;) {
        if (at[k] + 1 < pb->of[k].list.n) {
            at[k]++;
            return true;
        }
        at[k] = 0;
    }
    return false;
}

/* What is missing for a verdict: the thing that this node has none of. */
static bool lacks(const Probe *pb, ml_Text *why)
{
    ml_Schedule *s = pb->v->ss->focus;

    for (size_t k = 0; k < pb->n; k++) {
        const ml_Param *pa = &pb->p->params[k];

        if (pb->of[k].left_out || pb->of[k].list.n > 0)
            continue;
        switch ((int)pa->kind) {
        case ML_P_BLOCK:
        case ML_P_BLOCKS:
        case ML_P_NAME:
        case ML_P_LOOP_BLOCKS:
            if (pb->blocks_so_far > 1)
                ml_text_fmt(why, "%s takes two blocks; there is one", pb->p->name);
            else
                ml_act_block_here(pb->v, pb->node, why);
            break;
        case ML_P_LOOP:
        case ML_P_LOOP_OR_MARK:
            if (pb->block)
                ml_text_fmt(why, "there is no %s block %s",
                            pa->kind == ML_P_LOOP ? "loop above"
                                                  : "loop outside the nest of",
                            ml_name_of(s, pb->block->tag));
            else
                ml_act_block_here(pb->v, pb->node, why);
            break;
        case ML_P_LOOPS:
            if (!pb->loop)
                ml_text_fmt(why, "%s works on loops: select one", pb->p->name);
            else if (ml_streq(pb->p->name, "merge"))
                ml_text_add(why, "there is no other loop to merge with");
            else
                ml_act_inner(pb->v, pb->loop, why);
            break;
        case ML_P_READ_BUFFER:
        case ML_P_WRITE_BUFFER:
        case ML_P_BUFFER:
            if (!pb->block)
                ml_act_block_here(pb->v, pb->node, why);
            else
                ml_text_fmt(why, "block %s %s no buffer", ml_name_of(s, pb->block->tag),
                            pa->kind == ML_P_WRITE_BUFFER ? "writes" : "reads");
            break;
        case ML_P_KEY:
            ml_text_fmt(why, "%s has no annotations", ml_name_of(s, pb->node));
            break;
        default: continue; /* could be typed */
        }
        return true;
    }
    return false;
}

ml_TrialKind ml_act_probe(ml_View *v, const ml_Primitive *p, ml_Uid node, ml_Ctx *cx,
                          ml_ActCall *call, ml_Text *why)
{
    Probe pb = begin(v, p, node, cx);
    size_t at[MAX_PARAMS] = {0};
    ml_Arg args[MAX_PARAMS];
    bool first = true;
    int64_t end =
        ml_loop_now() + ml_act_ms(v, v->act->open == ML_ACT_NONE ? IDLE_MS : MENU_MS);

    if (call)
        *call = (ml_ActCall){0};
    if (lacks(&pb, why))
        return ML_TRIAL_FAILS;
    for (size_t k = 0; k < pb.n; k++)
        if (!pb.of[k].left_out && pb.of[k].list.n == 0)
            return ML_TRIAL_NONE;
    for (int k = 0; k < MOST_TRIED; k++) {
        ml_Text reason = {0};

        for (size_t i = 0; i < pb.n; i++)
            args[i] = pb.of[i].left_out ? ML_ARG_ABSENT : pb.of[i].list.v[at[i]].arg;
        bool works = ml_trial_call(v->ss, p->name, args, pb.n, &reason) == ML_E_OK;

        if (works && call) {
            bool all;

            *call = written(&pb, at, &all);
            call->prim = all ? p->name : NULL;
        }
        if (!works && first)
            ml_text_addn(why, ml_text_z(&reason), strcspn(ml_text_z(&reason), "\n"));
        first = false;
        ml_text_free(&reason);
        if (works)
            ml_text_clear(why);
        if (works)
            return ML_TRIAL_WORKS;
        if (!next(&pb, at))
            return ML_TRIAL_FAILS;
        if (ml_loop_now() > end)
            break;
    }
    return ML_TRIAL_NONE; /* others might work */
}

const char *ml_act_template(ml_View *v, const ml_Primitive *p, ml_Uid node, ml_Ctx *cx)
{
    size_t at[MAX_PARAMS] = {0}, n = strlen(p->name) + 1;
    bool all;
    ml_Text why = {0};
    ml_ActCall call;

    if (ml_act_probe(v, p, node, cx, &call, &why) != ML_TRIAL_WORKS || !call.prim) {
        Probe pb = begin(v, p, node, cx);

        call = written(&pb, at, &all);
    }
    ml_text_free(&why);
    const char *line = ml_act_print(v, cx, &call);

    return ml_strdup(cx, (ml_Str){line + n, strlen(line) - n - 1});
}
