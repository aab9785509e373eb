/* The embedded queue's siblings share its file and its thread: one commit can hold a retry, its number and the streak.
 * Only app/ includes this. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_QUEUE_EMBEDDED_H
#define OUTRIDER_QUEUE_EMBEDDED_H

#include "queue/queue.h"
#include "store/streak.h"

/* A view of an open embedded queue; closed with it. */
struct streak *queue_embedded_streak(struct queue *q);

#endif
