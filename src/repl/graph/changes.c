/*
 * changes - how the loops and blocks of a function differ from those of another version:
 * new, changed, moved, gone. They are the same when their numbers are. Source: interaction
 * 12.
 */
#include "repl/graph/graph.h"

#include "moonloop/core/walk.h"

typedef struct Item { /* a loop or block */
    ml_Uid uid;
    const ml_Stmt *stmt;
    const struct Item *above; /* what it stands directly in */
} Item;

typedef struct Tree {
    ml_Ctx *cx;
    ML_VEC(const Item *) items;
    const Item *above; /* while it is read */
} Tree;

struct ml_Changes {
    Tree before, now;
};

static void read_stmt(const ml_Stmt *s, bool in_init, void *user)
{
    Tree *t = user;
    const Item *above = t->above;

    if (in_init || (!s->has_block && s->kind != ML_STMT_SEQ))
        return;
    if (ml_stmt_uid(s) != 0) {
        Item *one = ML_NEW(t->cx, Item);

        *one = (Item){ml_stmt_uid(s), s, above};
        ml_push(t->cx, &t->items, one);
        t->above = one;
    }
    ml_stmt_children(s, read_stmt, t);
    t->above = above;
}

static const Item *find(const Tree *t, ml_Uid uid)
{
    for (size_t k = 0; k < t->items.n; k++)
        if (t->items.v[k]->uid == uid)
            return t->items.v[k];
    return NULL;
}

const ml_Changes *ml_changes_new(ml_Ctx *cx, const ml_Func *before, const ml_Func *now)
{
    ml_Changes *c = ML_NEW(cx, ml_Changes);

    *c = (ml_Changes){.before.cx = cx, .now.cx = cx};
    if (before)
        read_stmt(before->body, false, &c->before);
    read_stmt(now->body, false, &c->now);
    return c;
}

/* Whether `one` stands in what `other` stands in, of what there is in the tree of that. */
static bool stands_in_as_much(const Item *one, const Item *other, const Tree *others)
{
    for (one = one->above; one; one = one->above) {
        const Item *k = other->above;

        while (k && k->uid != one->uid)
            k = k->above;
        if (!k && find(others, one->uid))
            return false;
    }
    return true;
}

static bool same_loop(const ml_For *a, const ml_For *b)
{
    return a->kind == b->kind && a->min == b->min && a->extent == b->extent &&
           a->annotations == b->annotations;
}

static bool same_block(const ml_Block *a, const ml_Block *b)
{
    return a->n_iters == b->n_iters && a->annotations == b->annotations &&
           !a->init == !b->init && ml_streq(a->name, b->name);
}

ml_GraphLook ml_changes_of(const ml_Changes *c, ml_Uid uid)
{
    const Item *was = find(&c->before, uid), *is = find(&c->now, uid);

    ML_ASSERT(is);
    if (!was)
        return ML_LOOK_NEW;
    bool same = was->stmt->kind == ML_STMT_FOR
                    ? same_loop(ml_as_for(was->stmt), ml_as_for(is->stmt))
                    : same_block(ml_as_block(was->stmt), ml_as_block(is->stmt));

    same = same && stands_in_as_much(was, is, &c->now) &&
           stands_in_as_much(is, was, &c->before);
    return same ? ML_LOOKS : ML_LOOK_CHANGED;
}

void ml_changes_gone(const ml_Changes *c, bool loops, ml_Schedule *s, ml_Text *out)
{
    for (size_t k = 0; k < c->before.items.n; k++) {
        const Item *was = c->before.items.v[k];

        if ((!loops && was->stmt->kind == ML_STMT_FOR) || find(&c->now, was->uid))
            continue;
        ml_text_add(out, out->n ? ", " : " ");
        ml_text_add(out, ml_name_of(s, was->uid));
    }
}
