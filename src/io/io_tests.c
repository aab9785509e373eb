/* Runs all unit tests of this room. SPDX-License-Identifier: Apache-2.0 */
#include "io/tests.h"

int main(void)
{
    int failed = 0;
    failed += egress_tests();
    failed += httpc_tests();
    failed += httpc_reach_tests();
    failed += httpd_tests();
    failed += httpd_clients_tests();
    failed += httpd_probe_tests();
    failed += loop_tests();
    failed += sqlc_tests();
    failed += sqlc_fault_tests();
    return failed ? 1 : 0;
}
