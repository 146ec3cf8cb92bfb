/*
 * test_arith_rules - every rewrite rule against enumeration. A rule is data, so pattern and
 * template are evaluated for all small values of the wildcards and literals; where the
 * pattern is defined and the condition holds for that very point, both must agree. A point
 * stands for itself: conditions by bounds hold at least where they hold of all points.
 */
#include <stdio.h>

#include "core/core_test.h"

#include "moonloop/core/arith/rule.h"

typedef struct Env {
    int64_t v[ML_RULE_SLOTS];
    bool undefined;
} Env;

static int64_t eval(const ml_Pat *p, Env *env)
{
    int64_t a, b;

    switch (p->op) {
    case ML_P_ANY:
    case ML_P_LIT: return env->v[p->n];
    case ML_P_NUM:
    case ML_P_TRUTH: return p->v;
    case ML_P_PROVE: return eval(p->a, env);
    case ML_EXPR_NOT: return !eval(p->a, env);
    case ML_EXPR_SELECT:
        a = eval(p->b, env);
        b = eval(p->c, env);
        return eval(p->a, env) ? a : b;
    default: break;
    }
    a = eval(p->a, env);
    b = eval(p->b, env);
    if (p->op >= ML_EXPR_DIV && p->op <= ML_EXPR_FLOORMOD && b == 0) {
        env->undefined = true;
        return 0;
    }
    switch (p->op) {
    case ML_EXPR_ADD: return a + b;
    case ML_EXPR_SUB: return a - b;
    case ML_EXPR_MUL: return a * b;
    case ML_EXPR_DIV: return a / b;
    case ML_EXPR_MOD: return a % b;
    case ML_EXPR_FLOORDIV: return ml_floordiv_i64(a, b);
    case ML_EXPR_FLOORMOD: return ml_floormod_i64(a, b);
    case ML_EXPR_MIN: return a < b ? a : b;
    case ML_EXPR_MAX: return a > b ? a : b;
    case ML_EXPR_EQ: return a == b;
    case ML_EXPR_NE: return a != b;
    case ML_EXPR_LT: return a < b;
    case ML_EXPR_LE: return a <= b;
    case ML_EXPR_GT: return a > b;
    case ML_EXPR_GE: return a >= b;
    case ML_EXPR_AND: return a && b;
    case ML_EXPR_OR: return a || b;
    default: fail_msg("unknown operator %d", p->op);
    }
    return 0;
}

static void slots(const ml_Pat *p, bool *used, bool *lit)
{
    if (!p)
        return;
    if (p->op == ML_P_ANY || p->op == ML_P_LIT) {
        used[p->n] = true;
        lit[p->n] = p->op == ML_P_LIT;
        return;
    }
    slots(p->a, used, lit);
    slots(p->b, used, lit);
    slots(p->c, used, lit);
}

/* min(x+a, x+b) and the like are proved for the difference of two expressions of all
 * points; a condition that names several wildcards by intervals is stronger than by point.
 */
static void check_rule(const ml_RuleSet *set, size_t k)
{
    const ml_Rule *r = &set->rules[k];
    bool used[ML_RULE_SLOTS] = {false}, lit[ML_RULE_SLOTS] = {false};
    bool to_used[ML_RULE_SLOTS] = {false};
    int which[ML_RULE_SLOTS], n = 0;
    int64_t points = 0, met = 0;

    slots(r->from, used, lit);
    slots(r->to, to_used, lit);
    for (int s = 0; s < ML_RULE_SLOTS; s++) {
        assert_true(used[s] || !to_used[s]);
        if (used[s])
            which[n++] = s;
    }
    int64_t wide = n <= 3 ? 13 : n == 4 ? 7 : n == 5 ? 5 : 4;
    Env env = {0};
    for (int j = 0; j < n; j++)
        env.v[which[j]] = which[j] == 4 || which[j] == 5 ? 0 : -wide;
    for (;;) {
        env.undefined = false;
        int64_t from = eval(r->from, &env);
        bool defined = !env.undefined;
        bool holds = !r->when || eval(r->when, &env);
        /* a condition or literal that divides by 0 makes the rule not apply */
        if (defined && holds && !env.undefined) {
            int64_t to = eval(r->to, &env);
            met++;
            if (env.undefined || from != to) {
                print_message("%s rule %zu:", set->name, k);
                for (int j = 0; j < n; j++)
                    print_message(" [%d]=%lld", which[j], (long long)env.v[which[j]]);
                print_message(" from %lld to %lld\n", (long long)from, (long long)to);
                fail();
            }
        }
        points++;
        int j = 0;
        for (; j < n; j++) {
            bool boolean = which[j] == 4 || which[j] == 5;
            if (++env.v[which[j]] <= (boolean ? 1 : wide))
                break;
            env.v[which[j]] = boolean ? 0 : -wide;
        }
        if (j == n)
            break;
    }
    if (met == 0)
        fail_msg("%s rule %zu never applies in %lld points", set->name, k,
                 (long long)points);
}

static void every_rule_holds_on_all_small_values(void **state)
{
    static const ml_RuleSet *const sets[] = {
        &ml_rules_add, &ml_rules_sub, &ml_rules_mul, &ml_rules_floordiv, &ml_rules_floormod,
        &ml_rules_div, &ml_rules_mod, &ml_rules_min, &ml_rules_max,      &ml_rules_eq,
        &ml_rules_lt,  &ml_rules_and, &ml_rules_or};
    size_t total = 0;

    (void)state;
    for (size_t s = 0; s < ML_COUNT(sets); s++)
        for (size_t k = 0; k < sets[s]->n; k++, total++)
            check_rule(sets[s], k);
    print_message("%zu rules\n", total);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_holds_on_all_small_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
