/* The files of unit tests of this room; each function runs its file's group and returns the number
 * of failures. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_IO_TESTS_H
#define OUTRIDER_IO_TESTS_H

int egress_tests(void);
int httpc_tests(void);
int httpc_reach_tests(void);
int httpd_tests(void);
int httpd_clients_tests(void);
int httpd_probe_tests(void);
int loop_tests(void);
int sqlc_tests(void);
int sqlc_fault_tests(void);

#endif
