/* Runs the unit tests of src/util, one cmocka group per file. The status is 1 when anything failed.
 * A new x_test.c needs a line here, in tests.h and in meson.build.
 * SPDX-License-Identifier: Apache-2.0 */
#include "util/tests.h"

int main(void)
{
    int (*const groups[])(void) = {
        arena_tests, buf_tests,    decimal_tests, err_tests,  hash_tests, heap_tests,
        id_tests,    json_tests,   list_tests,    log_tests,  map_tests,  json_write_tests,
        query_tests, secret_tests, str_tests,     time_tests, utf8_tests,
    };
    int failed = 0;
    for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
        failed += groups[i]();
    }
    return failed != 0;
}
