/* habits - the table of words that lead somewhere (habits.h). */
#include "moonloop/primitives/habits.h"

static const struct {
    const char *words, *what;
} HABITS[] = {
#define ML_HABIT(words, what) {words, what},
#include "moonloop/primitives/habits.def"
#undef ML_HABIT
};

const char *ml_habit(const char *word)
{
    size_t n = strlen(word);

    for (size_t k = 0; n > 0 && k < ML_COUNT(HABITS); k++)
        for (const char *p = HABITS[k].words; *p;) {
            size_t len = strcspn(p, " ");

            if (len == n && memcmp(p, word, n) == 0)
                return HABITS[k].what;
            p += len + (p[len] == ' ');
        }
    return NULL;
}

const char *ml_habit_words(size_t k)
{
    return k < ML_COUNT(HABITS) ? HABITS[k].words : NULL;
}

const char *ml_habit_at(size_t k)
{
    return k < ML_COUNT(HABITS) ? HABITS[k].what : NULL;
}
