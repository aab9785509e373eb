/* Which backends there are. A new destination type is one line here. SPDX-License-Identifier: Apache-2.0 */
#include "app/backends.h"

const struct dest_ops *const backends_dest_default[] = {&dest_webhook, NULL};
const struct dest_ops *const backends_dest_standard[] = {&dest_webhook_standard, NULL};
