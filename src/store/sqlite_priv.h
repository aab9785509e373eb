/* Shared by sqlite.c (requests, the cache) and sqlite_rows.c (columns). SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_STORE_SQLITE_PRIV_H
#define OUTRIDER_STORE_SQLITE_PRIV_H

#include "io/sqlc.h"
#include "store/store.h"

enum ec state_write_tenant(struct sqlc *db, const struct tenant *t);
enum ec state_write_dest(struct sqlc *db, const struct secret *key, struct str env, const struct destination *d);
/* From columns env, id, metadata, created, updated; NULL (logged) when damaged. */
struct tenant *state_read_tenant(sqlite3_stmt *st);
/* From columns env, tenant, id, type, topics, filter, config, credentials, delivery_metadata, metadata, created, updated, disabled. */
struct destination *state_read_dest(sqlite3_stmt *st, const struct secret *key);

#endif
