/* Rows of the filter's truth table, for filter_test.c. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_CORE_FILTER_TABLE_H
#define OUTRIDER_CORE_FILTER_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct filter_row {
    const char *name, *event, *filter; /* event: an object with what differs from the base event */
    bool matches;
};
extern const struct filter_row filter_table[]; /* ends with a NULL name */

#endif
