/* Runs the unit tests of src/logstore, one cmocka group per file. The status is 1 when anything
 * failed. A new x_test.c needs a line here, in tests.h and in meson.build.
 * SPDX-License-Identifier: Apache-2.0 */
#include "logstore/tests.h"

int main(void)
{
    return contract_tests() != 0;
}
