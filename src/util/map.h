/* Hash map from text to pointer, open addressing, grows by itself. Keys are borrowed: the value
 * usually holds them. Not thread-safe. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_UTIL_MAP_H
#define OUTRIDER_UTIL_MAP_H

#include "util/str.h"

struct map_slot {
    struct str key; /* p == NULL: free */
    uint64_t hash;
    void *value;
};
struct map {
    struct map_slot *slots;
    size_t count, cap;
};

void map_init(struct map *m);
void map_fini(struct map *m);
void *map_get(const struct map *m, struct str key);
/* Returns the value that was there (NULL if none). The key must stay valid while it is in the map;
 * a replaced entry takes the new key pointer. value must not be NULL, key.p neither. */
void *map_put(struct map *m, struct str key, void *value);
void *map_del(struct map *m, struct str key); /* returns the value, or NULL */
/* for (size_t i = 0; (v = map_next(&m, &i));) ...; deleting while walking is not allowed. */
void *map_next(const struct map *m, size_t *i);

#endif
