/* The lists of backends. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_APP_BACKENDS_H
#define OUTRIDER_APP_BACKENDS_H

#include "dest/dest.h"

/* Destination types by webhook mode; ends with NULL. */
extern const struct dest_ops *const backends_dest_default[], *const backends_dest_standard[];

#endif
