/* Topic matching. SPDX-License-Identifier: Apache-2.0 */
#include "core/topic.h"

bool topic_glob(struct str pattern, struct str topic)
{
    size_t p = 0, t = 0, star = SIZE_MAX, from = 0;
    while (t < topic.n) {
        if (p < pattern.n && pattern.p[p] == '*') {
            star = p++;
            from = t;
        } else if (p < pattern.n && pattern.p[p] == topic.p[t]) {
            p++, t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++from;
        } else {
            return false;
        }
    }
    while (p < pattern.n && pattern.p[p] == '*') {
        p++;
    }
    return p == pattern.n;
}

bool topic_match(const struct strlist *wanted, struct str topic)
{
    if (topic.n == 0 || str_eqz(topic, "*")) {
        return true;
    }
    for (size_t i = 0; i < wanted->n; i++) {
        if (topic_glob(wanted->v[i], topic)) {
            return true;
        }
    }
    return false;
}
