/* The embedded queue's siblings share its file and its thread: one commit can hold a retry, its number and the streak.
 * Only app/ includes this. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_QUEUE_EMBEDDED_H
#define OUTRIDER_QUEUE_EMBEDDED_H

#include "queue/queue.h"
#include "store/delay.h"
#include "store/once.h"
#include "store/streak.h"

/* Views of an open embedded (or mem) queue; closed with it. */
struct delay *queue_embedded_delay(struct queue *q);
struct once *queue_embedded_once(struct queue *q);
struct streak *queue_embedded_streak(struct queue *q);

#endif
