/* Runs the unit tests of src/core, one cmocka group per file. The status is 1 when anything failed.
 * A new x_test.c needs a line here, in tests.h and in meson.build.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/tests.h"

int main(void)
{
    int (*const groups[])(void) = {
        backoff_tests,
        filter_tests,
        topic_tests,
    };
    int failed = 0;
    for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
        failed += groups[i]();
    }
    return failed != 0;
}
