/* What the unit tests of this room share. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_LOGSTORE_TESTS_H
#define OUTRIDER_LOGSTORE_TESTS_H

/* Each runs the group of its file and returns the number of failures. */
int contract_tests(void);

#endif
