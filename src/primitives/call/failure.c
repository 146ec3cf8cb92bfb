/*
 * failure - an error taken out of its schedule: everything it mentions is copied or can be
 * found again by number, so that it may be looked at at any later time.
 *
 * Taking is cheap; sentences, marks and ways out are made when somebody looks.
 * Source: interaction 7, lua-api 1.
 */
#include "moonloop/primitives/call/failure.h"

/* ---- taking */

typedef struct Seek {
    const ml_Stmt *what;
    bool found;
    ml_Uid uid;
} Seek;

static bool seek(const ml_Stmt *st, void *user)
{
    Seek *sk = user;

    sk->found |= st == sk->what;
    return !sk->found;
}

static bool in_program(const ml_Schedule *s, const ml_Stmt *st)
{
    const ml_Module *m = s->v[s->cur].p.mod;
    Seek sk = {.what = st};

    for (uint32_t k = 0; k < m->n && !sk.found; k++)
        ml_stmt_visit(m->funcs[k]->body, seek, &sk);
    return sk.found;
}

/* A loop or block that only the failed rewrite has keeps its own name; its number may come
 * to stand for another. */
static void forget_node(const ml_Failure *f, ml_Fact *fact)
{
    if (fact->hint && f->s && !ml_index_node(f->s->v[f->s->cur].p.index, fact->as.uid))
        fact->as.uid = 0;
}

/* Facts point into memory that the next call takes back: what the program does not hold is
 * copied, statements that are only in the failed rewrite are forgotten. */
static void take_facts(ml_Failure *f, ml_Import *im)
{
    const ml_Space *sp = f->s ? f->s->space : NULL;

    for (uint32_t k = 0; k < f->e.n_facts; k++) {
        ml_Fact *fact = &f->e.facts[k];

        switch ((ml_FactKind)fact->kind) {
        case ML_FACT_EXPR:
            if (fact->name && ml_streq(fact->name, ML_HIDDEN))
                f->exprs[k] = NULL;
            else if (sp && (!sp->dirty || fact->as.expr->id < sp->dirty_mark.n_exprs))
                f->exprs[k] = fact->as.expr;
            fact->as.expr = ml_import_expr(im, fact->as.expr);
            break;
        case ML_FACT_BUFFER: fact->as.buffer = ml_import_buffer(im, fact->as.buffer); break;
        case ML_FACT_VAR: {
            const ml_Value *v = ml_import_value(im, ml_val_var(f->cx, fact->as.var));

            fact->as.var = v->as.var;
            break;
        }
        case ML_FACT_STMT: {
            static const char *const words[ML_STMT_KINDS] = {
                "store",   "sequence", "for",        "while",    "if",
                "binding", "call",     "allocation", "decl",     "attr",
                "assert",  "return",   "break",      "continue", "block"};

            if (f->s && in_program(f->s, fact->as.stmt))
                f->stmts[k] = fact->as.stmt;
            *fact = (ml_Fact){.kind = ML_FACT_STMT,
                              .name = fact->name,
                              .as.text = words[fact->as.stmt->kind]};
            break;
        }
        case ML_FACT_LOOP:
        case ML_FACT_BLOCK:
        case ML_FACT_ITER: forget_node(f, fact); break;
        case ML_FACT_STOP:
        case ML_FACT_NUMBER:
        case ML_FACT_TEXT:
        case ML_FACT_POINT:
        case ML_FACT_DTYPE: break;
        }
    }
}

/* What is nested too deep to be resolved is left out. */
static ml_Arg copy_arg(ml_Ctx *cx, const ml_Arg *a, int depth)
{
    ml_Arg to = *a;

    if (depth > ML_MAX_ARG_DEPTH)
        return ML_ARG_ABSENT;

    if (a->kind == ML_A_STRING)
        to.as.s = ml_strdup(cx, ml_str(a->as.s));
    if (a->kind == ML_A_EXPR || a->kind == ML_A_MAP)
        to = (ml_Arg){.kind = a->kind};
    if (a->kind != ML_A_LIST && a->kind != ML_A_DICT)
        return to;
    ml_Arg *list = ML_ARRAY(cx, ml_Arg, a->n + 1);
    const char **keys = ML_ARRAY(cx, const char *, a->n + 1);

    for (uint32_t k = 0; k < a->n; k++) {
        list[k] = copy_arg(cx, &a->as.list[k], depth + 1);
        if (a->kind == ML_A_DICT)
            keys[k] = ml_strdup(cx, ml_str(a->keys[k]));
    }
    to.as.list = list;
    to.keys = a->kind == ML_A_DICT ? keys : NULL;
    return to;
}

const ml_Arg *ml_args_copy(ml_Ctx *cx, const ml_Arg *const *raw, size_t n)
{
    ml_Arg *to = ML_ARRAY(cx, ml_Arg, n + 1);

    for (size_t k = 0; k < n; k++)
        to[k] = raw[k] ? copy_arg(cx, raw[k], 0) : ML_ARG_ABSENT;
    return to;
}

const ml_Given *ml_given_copy(ml_Ctx *cx, ml_Import *im, const ml_Given *from, size_t n)
{
    ml_Given *to = ML_ARRAY(cx, ml_Given, n + 1);

    for (size_t k = 0; k < n; k++) {
        ml_Uid *uids = ML_ARRAY(cx, ml_Uid, from[k].n + 1);
        const ml_Expr **exprs = ML_ARRAY(cx, const ml_Expr *, from[k].n + 1);

        to[k] = from[k];
        to[k].node = NULL;
        to[k].map =
            from[k].map ? ml_import_value(im, ml_val_map(cx, from[k].map))->as.map : NULL;
        to[k].s = from[k].s ? ml_strdup(cx, ml_str(from[k].s)) : NULL;
        to[k].value = from[k].value ? ml_import_value(im, from[k].value) : NULL;
        for (size_t m = 0; m < from[k].n; m++) {
            if (from[k].uids)
                uids[m] = from[k].uids[m];
            if (from[k].exprs && from[k].exprs[m])
                exprs[m] = ml_import_expr(im, from[k].exprs[m]);
        }
        to[k].uids = uids;
        to[k].exprs = exprs;
    }
    return to;
}

static ml_Failure *new_failure(const ml_Error *e, ml_Schedule *s)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Failure *f = ML_NEW(cx, ml_Failure);

    f->cx = cx;
    f->s = s ? ml_schedule_ref(s) : NULL;
    f->e = *ml_error_copy(cx, e);
    return f;
}

ml_Failure *ml_failure_take(ml_Schedule *s)
{
    const ml_Error *e = ml_schedule_error(s);

    if (!e)
        return NULL;
    ml_Failure *f = new_failure(e, s);
    ml_Import *im = ml_import_begin(f->cx);

    f->version = s->cur;
    f->epoch = s->space->epoch;
    take_facts(f, im);
    if (s->failed) {
        f->prim = s->failed_prim;
        f->n_args = s->n_failed_args;
        f->args = ml_given_copy(f->cx, im, s->failed_args, s->n_failed_args);
        const ml_Arg **raw = ML_ARRAY(f->cx, const ml_Arg *, f->n_args + 1);

        for (size_t k = 0; k < f->n_args; k++)
            raw[k] = &s->failed_raw[k];
        f->raw = ml_args_copy(f->cx, raw, f->n_args);
        f->in_call = s->failed_in_call;
    }
    return f;
}

ml_Failure *ml_failure_from(const ml_Error *e)
{
    ml_Failure *f = new_failure(e, NULL);

    take_facts(f, ml_import_begin(f->cx));
    return f;
}

ml_Failure *ml_failure_about(const ml_Error *e, ml_Schedule *s, const ml_Module *m)
{
    ml_Failure *f = new_failure(e, s);

    if (s) {
        f->version = s->cur;
        f->epoch = s->space->epoch;
    }
    take_facts(f, ml_import_begin(f->cx));
    memset(f->exprs, 0, sizeof f->exprs); /* of whoever looked at the program */
    f->about = m;
    ml_failure_message(f);
    f->about = NULL;
    return f;
}

void ml_failure_free(ml_Failure *f)
{
    if (!f)
        return;
    ml_schedule_unref(f->s);
    ml_ctx_unref(f->cx);
}

/* ---- asking */

ml_ErrorCode ml_failure_code(const ml_Failure *f)
{
    return f->e.code;
}

const char *ml_failure_primitive(const ml_Failure *f)
{
    return f->e.primitive;
}

bool ml_failure_has_program(const ml_Failure *f)
{
    return f->s && ml_version_ok(f->s, f->version);
}

ml_Program ml_failure_program(const ml_Failure *f)
{
    return f->s->v[f->version].p;
}

/* The loop or block of that number in a program without a schedule. */
static bool seek_uid(const ml_Stmt *st, void *user)
{
    Seek *sk = user;

    if (!sk->what && (st->kind == ML_STMT_FOR || st->kind == ML_STMT_BLOCK) &&
        ml_stmt_uid(st) == sk->uid)
        sk->what = st;
    return !sk->what;
}

static const ml_Stmt *node_about(const ml_Failure *f, ml_Uid uid)
{
    Seek sk = {.uid = uid};

    for (uint32_t k = 0; f->about && k < f->about->n && !sk.what; k++)
        ml_stmt_visit(f->about->funcs[k]->body, seek_uid, &sk);
    return sk.what;
}

static const char *name_of(ml_Failure *f, ml_Uid uid)
{
    const ml_Stmt *st = uid ? node_about(f, uid) : NULL;
    const char *z = NULL;

    if (f->s && uid) {
        ml_names_ensure(f->s, f->version);
        z = ml_name_known(f->s->space, uid);
    } else if (st)
        z = st->kind == ML_STMT_FOR ? ml_as_for(st)->var->hint : ml_as_block(st)->name;
    return z && *z ? z : "?";
}

static const char *iter_name(const ml_Failure *f, ml_Uid block, uint32_t pos)
{
    const ml_Stmt *st = ml_failure_has_program(f)
                            ? ml_index_node(ml_failure_program(f).index, block)
                            : node_about(f, block);

    if (!st || st->kind != ML_STMT_BLOCK || pos >= ml_as_block(st)->n_iters)
        return "?";
    return ml_as_block(st)->iters[pos].var->hint;
}

/* An expression of a text, its middle left out when it is long. */
static void add_elided(ml_Failure *f, size_t k, ml_Text *out)
{
    enum { LONGEST = 24, HEAD = 14, TAIL = 10 };
    ml_Text t = {0};

    ml_failure_fact(f, k, &t);
    if (t.n <= LONGEST)
        ml_text_add(out, ml_text_z(&t));
    else { /* at word boundaries: names may hold several bytes per character */
        const char *z = ml_text_z(&t);
        size_t a = HEAD, b = t.n - TAIL;

        while (a > 0 && z[a] != ' ')
            a--;
        while (b < t.n && z[b] != ' ')
            b++;
        ml_text_fmt(out, "%.*s …%s", (int)a, z, z + b);
    }
    ml_text_free(&t);
}

static void fill_template(ml_Failure *f, const char *z, ml_Text *out)
{
    for (; *z; z++) {
        size_t k = z[0] == '{' && z[1] >= '0' && z[1] <= '9' && z[2] == '}'
                       ? (size_t)(z[1] - '0')
                       : ML_MAX_FACTS;

        if (k < f->e.n_facts &&
            (f->e.facts[k].kind == ML_FACT_EXPR ||
             (f->e.facts[k].kind == ML_FACT_TEXT && !f->e.facts[k].name))) {
            add_elided(f, k, out);
            z += 2;
        } else
            ml_text_char(out, *z);
    }
}

static const char *coord_name(ml_Failure *f, const ml_Coord *c)
{
    const char *z = name_of(f, c->loop);

    return ml_streq(z, "?") ? c->hint : z;
}

/* "3, 4" or "i = 3, j = 4" */
static void add_point(ml_Failure *f, const ml_Fact *fact, ml_Text *out)
{
    for (uint32_t k = 0; k < fact->aux; k++) {
        const ml_Coord *c = &fact->as.point[k];

        ml_text_add(out, k ? ", " : "");
        if (c->loop)
            ml_text_fmt(out, "%s = ", coord_name(f, c));
        ml_text_int(out, c->at);
    }
}

void ml_failure_fact(ml_Failure *f, size_t k, ml_Text *out)
{
    const ml_Fact *fact = &f->e.facts[k];
    ml_PrintOpts o = {.spelling = -1, .plain = true};

    switch ((ml_FactKind)fact->kind) {
    case ML_FACT_LOOP:
    case ML_FACT_BLOCK: {
        const char *z = name_of(f, fact->as.uid), *own = fact->hint;

        if (fact->kind == ML_FACT_LOOP && fact->name)
            own = fact->name;
        ml_text_add(out, ml_streq(z, "?") && own ? own : z);
        return;
    }
    case ML_FACT_ITER:
        ml_text_add(out, fact->hint ? fact->hint : iter_name(f, fact->as.uid, fact->aux));
        return;
    case ML_FACT_POINT: add_point(f, fact, out); return;
    case ML_FACT_BUFFER: {
        const char *z = f->s ? name_of(f, fact->as.buffer->uid) : "?";

        ml_text_add(out, ml_streq(z, "?") ? fact->as.buffer->name : z);
        return;
    }
    case ML_FACT_EXPR:
        if (ml_failure_has_program(f))
            o.names = ml_version_names(f->s, f->version);
        ml_print_expr(f->cx, out, fact->as.expr, &o);
        return;
    case ML_FACT_VAR: {
        const char *z = f->s ? name_of(f, fact->as.var->uid) : "?";

        ml_text_add(out, ml_streq(z, "?") ? fact->as.var->hint : z);
        return;
    }
    case ML_FACT_NUMBER: ml_text_int(out, fact->as.i); return;
    case ML_FACT_TEXT:
        if (fact->name && ml_streq(fact->name, ML_TEMPLATE))
            fill_template(f, fact->as.text, out);
        else
            ml_text_add(out, fact->as.text);
        return;
    case ML_FACT_STMT: ml_text_add(out, fact->as.text); return;
    case ML_FACT_DTYPE: ml_dtype_print(out, fact->as.type); return;
    case ML_FACT_STOP: return;
    }
}

const char *ml_failure_message(ml_Failure *f)
{
    ml_Text t = {0};

    if (f->message)
        return f->message;
    ml_text_add(&t, ml_error_opening(&f->e));
    for (const char *p = ml_error_says(&f->e); *p; p++) {
        if (p[0] == '{' && p[1] >= '0' && p[1] <= '9' && p[2] == '}') {
            size_t k = (size_t)(p[1] - '0');

            if (k < f->e.n_facts)
                ml_failure_fact(f, k, &t);
            else
                ml_text_char(&t, '?');
            p += 2;
        } else
            ml_text_char(&t, *p);
    }
    ml_Text shown = {0};

    for (size_t k = 0; k < t.n;
         k++) { /* what a name or a line holds must not reach a screen */
        unsigned char c = (unsigned char)t.p[k];

        if ((c < ' ' && c != '\n' && c != '\t') || c == 0x7f)
            ml_text_fmt(&shown, "\\%u", (unsigned)c);
        else
            ml_text_char(&shown, t.p[k]);
    }
    f->message = ml_strdup(f->cx, (ml_Str){ml_text_z(&shown), shown.n});
    ml_text_free(&t);
    ml_text_free(&shown);
    return f->message;
}

static const char *kth(ml_Failure *f, ml_FactKind kind, size_t k)
{
    ml_Text t = {0};
    const char *z = NULL;

    for (uint32_t m = 0; m < f->e.n_facts; m++) {
        if (f->e.facts[m].kind != (uint8_t)kind || k-- > 0)
            continue;
        ml_failure_fact(f, m, &t);
        z = ml_strdup(f->cx, (ml_Str){ml_text_z(&t), t.n});
        break;
    }
    ml_text_free(&t);
    return z;
}

const char *ml_failure_loop(ml_Failure *f, size_t k)
{
    return kth(f, ML_FACT_LOOP, k);
}

const char *ml_failure_block(ml_Failure *f, size_t k)
{
    return kth(f, ML_FACT_BLOCK, k);
}

const char *ml_failure_buffer(ml_Failure *f, size_t k)
{
    return kth(f, ML_FACT_BUFFER, k);
}

bool ml_failure_coord(ml_Failure *f, size_t point, size_t k, const char **loop, int64_t *at)
{
    for (uint32_t m = 0; m < f->e.n_facts; m++) {
        const ml_Fact *fact = &f->e.facts[m];

        if (fact->kind != ML_FACT_POINT || point-- > 0)
            continue;
        if (k >= fact->aux)
            return false;
        *loop = fact->as.point[k].loop ? coord_name(f, &fact->as.point[k]) : NULL;
        *at = fact->as.point[k].at;
        return true;
    }
    return false;
}

bool ml_failure_number(ml_Failure *f, size_t k, const char **name, int64_t *value)
{
    for (uint32_t m = 0; m < f->e.n_facts; m++) {
        if (f->e.facts[m].kind != ML_FACT_NUMBER || k-- > 0)
            continue;
        *name = f->e.facts[m].name ? f->e.facts[m].name : "";
        *value = f->e.facts[m].as.i;
        return true;
    }
    return false;
}

const char *ml_failure_note(ml_Failure *f, size_t k)
{
    if (k < f->e.n_notes)
        return f->e.notes[k];
    k -= f->e.n_notes;
    return k < f->notes.n ? f->notes.v[k] : NULL;
}

const ml_Span *ml_failure_place(const ml_Failure *f)
{
    return f->e.place;
}

void ml_failure_add_note(ml_Failure *f, const char *note)
{
    ml_push(f->cx, &f->notes, ml_strdup(f->cx, ml_str(note)));
}

/* ---- what came of an ended handle */

ml_Uid ml_failure_expired(const ml_Failure *f)
{
    if (f->e.code != ML_E_EXPIRED_HANDLE)
        return 0;
    for (uint32_t k = 0; k < f->e.n_facts; k++)
        if (f->e.facts[k].kind == ML_FACT_LOOP || f->e.facts[k].kind == ML_FACT_BLOCK)
            return f->e.facts[k].as.uid;
    return 0;
}

static bool ends(const ml_Version *v, ml_Uid uid)
{
    for (uint32_t k = 0; k < v->n_ended; k++)
        if (v->ended[k] == uid)
            return true;
    return false;
}

static size_t heirs(const ml_Failure *f, ml_Uid uid, ml_Uid *out, size_t have, size_t n)
{
    const ml_Schedule *s = f->s;

    if (have == n)
        return have;
    if (ml_index_node(ml_failure_program(f).index, uid)) {
        for (size_t k = 0; k < have; k++)
            if (out[k] == uid)
                return have;
        out[have] = uid;
        return have + 1;
    }
    for (int v = f->version; v > 0; v = s->v[v].parent)
        if (ends(&s->v[v], uid)) {
            for (uint32_t k = 0; k < s->v[v].n_results; k++)
                if (s->v[v].results[k].uid != uid)
                    have = heirs(f, s->v[v].results[k].uid, out, have, n);
            break;
        }
    return have;
}

size_t ml_failure_heirs(ml_Failure *f, ml_Uid uid, ml_Uid *out, size_t n)
{
    return ml_failure_has_program(f) ? heirs(f, uid, out, 0, n) : 0;
}
