/* vec, map - growing arrays and small hash maps in an arena. A vector abandoned on growth
 * stays in the arena; fine for the short lists they are meant for. */
#ifndef ML_CORE_VEC_H
#define ML_CORE_VEC_H

#include "moonloop/core/ctx.h"

/* ML_VEC(T) declares {T *v; size_t n, cap}. ml_push(cx, &vec, value). */
#define ML_VEC(T)                                                                          \
    struct {                                                                               \
        T *v;                                                                              \
        size_t n, cap;                                                                     \
    }
#define ml_push(cx, vec, value)                                                            \
    (((vec)->n == (vec)->cap ? (void)((vec)->v = ml_vec_grow((cx), (vec)->v, &(vec)->cap,  \
                                                             (vec)->n, sizeof(*(vec)->v))) \
                             : (void)0),                                                   \
     (void)((vec)->v[(vec)->n++] = (value)))
void *ml_vec_grow(ml_Ctx *cx, void *v, size_t *cap, size_t n, size_t elem);

typedef ML_VEC(ml_Uid) ml_UidVec;

/* uint32 -> pointer-sized value, open addressing, insertion order kept for iteration. */
typedef struct ml_Map ml_Map;
ml_Map *ml_map_new(ml_Ctx *cx);
void ml_map_set(ml_Ctx *cx, ml_Map *m, uint32_t key, const void *value);
const void *ml_map_get(const ml_Map *m, uint32_t key); /* NULL when absent; m may be NULL */
bool ml_map_has(const ml_Map *m, uint32_t key);
size_t ml_map_count(const ml_Map *m);
uint32_t ml_map_key_at(const ml_Map *m, size_t k); /* in order of first insertion */
const void *ml_map_value_at(const ml_Map *m, size_t k);

#endif
