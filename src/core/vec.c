/* vec, map - arrays and maps in an arena. The map keeps its entries in the order of
 * insertion and a table of their positions (plus one; 0 is free), at most half full, probed
 * linearly. */
#include "moonloop/core/vec.h"

void *ml_vec_grow(ml_Ctx *cx, void *v, size_t *cap, size_t n, size_t elem)
{
    size_t more = *cap ? *cap * 2 : 4;
    ML_ASSERT(more > *cap && more <= SIZE_MAX / 2 / elem);
    void *w = ml_alloc(cx, more * elem);
    if (n > 0)
        memcpy(w, v, n * elem);
    *cap = more;
    return w;
}

typedef struct Entry {
    uint32_t key;
    const void *value;
} Entry;

struct ml_Map {
    Entry *entries;
    uint32_t *slots;
    uint32_t n, n_slots; /* n_slots a power of two, or 0; room for n_slots / 2 entries */
};

ml_Map *ml_map_new(ml_Ctx *cx)
{
    return ML_NEW(cx, ml_Map);
}

static uint32_t first_slot(const ml_Map *m, uint32_t key)
{
    uint32_t h = key * 0x9E3779B1u;
    return (h ^ (h >> 15)) & (m->n_slots - 1);
}

/* The entry of the key, or NULL; *slot is where it is or would be. */
static Entry *find(const ml_Map *m, uint32_t key, uint32_t *slot)
{
    uint32_t s = first_slot(m, key);
    for (; m->slots[s]; s = (s + 1) & (m->n_slots - 1))
        if (m->entries[m->slots[s] - 1].key == key)
            break;
    *slot = s;
    return m->slots[s] ? &m->entries[m->slots[s] - 1] : NULL;
}

static void grow(ml_Ctx *cx, ml_Map *m)
{
    uint32_t n_slots = m->n_slots ? m->n_slots * 2 : 16;
    ML_ASSERT(n_slots > m->n_slots);
    Entry *entries = ml_alloc(cx, n_slots / 2 * sizeof(Entry));
    if (m->n > 0)
        memcpy(entries, m->entries, m->n * sizeof(Entry));
    m->entries = entries;
    m->slots = ML_ARRAY(cx, uint32_t, n_slots);
    m->n_slots = n_slots;
    for (uint32_t k = 0; k < m->n; k++) {
        uint32_t s = first_slot(m, entries[k].key);
        while (m->slots[s])
            s = (s + 1) & (n_slots - 1);
        m->slots[s] = k + 1;
    }
}

void ml_map_set(ml_Ctx *cx, ml_Map *m, uint32_t key, const void *value)
{
    uint32_t slot;

    if (m->n == m->n_slots / 2) {
        if (m->n_slots > 0) {
            Entry *e = find(m, key, &slot);
            if (e) {
                e->value = value;
                return;
            }
        }
        grow(cx, m);
    }
    Entry *e = find(m, key, &slot);
    if (e) {
        e->value = value;
        return;
    }
    m->entries[m->n] = (Entry){key, value};
    m->slots[slot] = ++m->n;
}

const void *ml_map_get(const ml_Map *m, uint32_t key)
{
    uint32_t slot;
    const Entry *e = m && m->n > 0 ? find(m, key, &slot) : NULL;
    return e ? e->value : NULL;
}

bool ml_map_has(const ml_Map *m, uint32_t key)
{
    uint32_t slot;
    return m && m->n > 0 && find(m, key, &slot);
}

size_t ml_map_count(const ml_Map *m)
{
    return m ? m->n : 0;
}

uint32_t ml_map_key_at(const ml_Map *m, size_t k)
{
    ML_ASSERT(k < m->n);
    return m->entries[k].key;
}

const void *ml_map_value_at(const ml_Map *m, size_t k)
{
    ML_ASSERT(k < m->n);
    return m->entries[k].value;
}
