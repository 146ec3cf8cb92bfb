/* corpus - the programs of tests/corpus, read one after another. */
#ifndef ML_TESTS_SCRIPT_CORPUS_H
#define ML_TESTS_SCRIPT_CORPUS_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The k-th file of tests/corpus, or of a folder below it, in order of name as a
 * zero-terminated text (free it); NULL: there are no more. *name is kept until the next
 * call. */
static inline char *corpus_file_in(const char *folder, size_t k, char name[512])
{
    const char *corpus = getenv("ML_CORPUS") ? getenv("ML_CORPUS") : "tests/corpus";
    char dir[300];
    struct dirent **list;
    int n;
    char *text = NULL;
    size_t seen = 0;

    snprintf(dir, sizeof dir, "%.200s/%.90s", corpus, folder);
    n = scandir(dir, &list, NULL, alphasort);
    for (int j = 0; j < n; j++) {
        const char *z = list[j]->d_name;

        if (strlen(z) > 3 && strcmp(z + strlen(z) - 3, ".py") == 0 && seen++ == k) {
            FILE *f;

            snprintf(name, 512, "%.250s/%.255s", dir, z);
            f = fopen(name, "rb");
            if (f) {
                text = calloc(1, 1 << 20);
                if (text && fread(text, 1, (1 << 20) - 1, f) == 0)
                    text[0] = 0;
                fclose(f);
            }
        }
        free(list[j]);
    }
    if (n >= 0)
        free(list);
    return text;
}

static inline char *corpus_file(size_t k, char name[512])
{
    return corpus_file_in(".", k, name);
}

#endif
