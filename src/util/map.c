/* Linear probing, backward-shift deletion, at most 3/4 full. Keyed hash (str.c), so that a peer
 * cannot choose names that collide. Contract: map.h; ordered by number instead: heap.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "util/map.h"

#include <stdlib.h>

void map_init(struct map *m)
{
    *m = (struct map){NULL, 0, 0};
}

void map_fini(struct map *m)
{
    free(m->slots);
    map_init(m);
}

static size_t find(const struct map *m, struct str key, uint64_t hash)
{
    size_t i = hash & (m->cap - 1);
    while (m->slots[i].key.p && !(m->slots[i].hash == hash && str_eq(m->slots[i].key, key))) {
        i = (i + 1) & (m->cap - 1);
    }
    return i;
}

void *map_get(const struct map *m, struct str key)
{
    return m->cap ? m->slots[find(m, key, str_hash(key))].value : NULL;
}

static void grow(struct map *m)
{
    struct map bigger = {NULL, m->count, m->cap ? m->cap * 2 : 16};
    bigger.slots = xcalloc(bigger.cap, sizeof(*bigger.slots));
    for (size_t i = 0; i < m->cap; i++) {
        if (m->slots[i].key.p) {
            bigger.slots[find(&bigger, m->slots[i].key, m->slots[i].hash)] = m->slots[i];
        }
    }
    free(m->slots);
    *m = bigger;
}

void *map_put(struct map *m, struct str key, void *value)
{
    if ((m->count + 1) * 4 > m->cap * 3) {
        grow(m);
    }
    uint64_t hash = str_hash(key);
    struct map_slot *s = &m->slots[find(m, key, hash)];
    void *before = s->value;
    m->count += s->key.p == NULL;
    *s = (struct map_slot){key, hash, value};
    return before;
}

void *map_del(struct map *m, struct str key)
{
    if (!m->cap) {
        return NULL;
    }
    size_t hole = find(m, key, str_hash(key));
    void *value = m->slots[hole].value;
    if (!m->slots[hole].key.p) {
        return NULL;
    }
    for (size_t i = (hole + 1) & (m->cap - 1); m->slots[i].key.p; i = (i + 1) & (m->cap - 1)) {
        size_t home = m->slots[i].hash & (m->cap - 1);
        /* May the entry at i move to the hole? Only when its home is not behind the hole. */
        if (((i - home) & (m->cap - 1)) >= ((i - hole) & (m->cap - 1))) {
            m->slots[hole] = m->slots[i];
            hole = i;
        }
    }
    m->slots[hole] = (struct map_slot){0};
    m->count--;
    return value;
}

void *map_next(const struct map *m, size_t *i)
{
    while (*i < m->cap) {
        const struct map_slot *s = &m->slots[(*i)++];
        if (s->key.p) {
            return s->value;
        }
    }
    return NULL;
}
