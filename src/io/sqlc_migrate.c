/* Steps from one stored form to the next, counted by the file's user_version.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "io/sqlc_priv.h"

static int file_version(sqlite3 *h, int *out)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(h, "PRAGMA user_version", -1, &st, NULL);
    if (rc == SQLITE_OK) {
        rc = sqlite3_step(st);
        *out = rc == SQLITE_ROW ? sqlite3_column_int(st, 0) : 0;
        rc = rc == SQLITE_ROW ? SQLITE_OK : rc;
    }
    sqlite3_finalize(st);
    return rc;
}

static int one_step(sqlite3 *h, const char *sql, int version)
{
    char number[64];
    snprintf(number, sizeof(number), "PRAGMA user_version=%d", version);
    int rc = sqlite3_exec(h, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    rc = rc ? rc : sqlite3_exec(h, sql, NULL, NULL, NULL);
    rc = rc ? rc : sqlite3_exec(h, number, NULL, NULL, NULL);
    return rc ? rc : sqlite3_exec(h, "COMMIT", NULL, NULL, NULL);
}

enum ec sqlc_migrate(sqlite3 *h, const char *const steps[], int n, struct err *err)
{
    const char *path = sqlite3_db_filename(h, "main");
    int version = 0;
    int rc = file_version(h, &version);
    if (rc == SQLITE_OK && (version > n || version < 0)) {
        return err_set(
            err, EC_INVALID,
            "%s was written by a newer release (stored form %d, this release knows up to %d): "
            "use that release or restore a backup",
            path, version, n);
    }
    for (; rc == SQLITE_OK && version < n; version++) {
        rc = one_step(h, steps[version], version + 1);
        if (rc != SQLITE_OK) {
            break;
        }
    }
    if (rc == SQLITE_OK) {
        return EC_OK;
    }
    enum ec ec = sqlc_ec(rc) == EC_CORRUPT                          ? EC_CORRUPT
                 : sqlc_is_outage(rc) || (rc & 0xff) == SQLITE_BUSY ? EC_UNAVAILABLE
                                                                    : EC_INTERNAL;
    err_set(err, ec, "%s: step %d of the stored form failed: %s", path, version + 1,
            sqlite3_errmsg(h));
    if (!sqlite3_get_autocommit(h)) {
        sqlite3_exec(h, "ROLLBACK", NULL, NULL, NULL);
    }
    return ec;
}
