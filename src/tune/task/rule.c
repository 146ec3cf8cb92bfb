/*
 * rule - which task is next.
 *
 * By turns, or by gradient: what another batch is expected to save is what the last three
 * saved, or what is saved if a time goes on falling as 1 over the number of batches; no more
 * than what lies between the time and its bound. A time that is as good as its bound saves
 * nothing. Source: auto-scheduler 18.
 */
#include "moonloop/tune/task/task.h"

#include <math.h>

#define ALPHA 0.2 /* weight of what was saved against what may be */
enum { WINDOW = 3 };
#define REACHED 0.95 /* of the bound: there is nothing left to find */

double ml_task_gradient(const ml_TaskTurn *t)
{
    double now = t->n > 0 ? t->best[t->n - 1] : 0, saved = 0, may;

    if (now <= 0)
        return -1e9;
    if (t->n > WINDOW && t->best[t->n - 1 - WINDOW] > 0)
        saved = (t->best[t->n - 1 - WINDOW] - now) / WINDOW;
    may = now / (double)t->n;
    if (t->bound > 0) {
        double gap = fmax(0, now - t->bound / REACHED);

        may = fmin(may, gap);
        saved = fmin(saved, gap);
    }
    return t->weight * (ALPHA * saved + (1 - ALPHA) * may);
}

static size_t next_by_turns(const ml_TaskTurn *v, size_t n, size_t last)
{
    for (size_t k = 1; k <= n; k++) {
        size_t at = (last == SIZE_MAX ? k - 1 : last + k) % n;

        if (!v[at].over)
            return at;
    }
    return SIZE_MAX;
}

static size_t next_by_gradient(const ml_TaskTurn *v, size_t n, ml_Random *random)
{
    double most = -(double)INFINITY;
    size_t equal = 0, at = SIZE_MAX;

    for (size_t k = 0; k < n; k++) /* first each of them once */
        if (!v[k].over && v[k].n == 0)
            return k;
    for (size_t k = 0; k < n; k++) {
        double g = v[k].over ? 0 : ml_task_gradient(&v[k]);

        if (v[k].over || g < most)
            continue;
        equal = g > most ? 1 : equal + 1; /* one of those that are equal */
        if (g > most || ml_random_below(random, equal) == 0)
            at = k;
        most = g;
    }
    return at;
}

size_t ml_task_next(ml_TaskRule rule, const ml_TaskTurn *v, size_t n, size_t last,
                    ml_Random *random)
{
    if (n == 0)
        return SIZE_MAX;
    return rule == ML_TASKS_ROUND_ROBIN ? next_by_turns(v, n, last)
                                        : next_by_gradient(v, n, random);
}
