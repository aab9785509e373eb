/* The data folder and the secrets that a first start makes in it. SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config_priv.h"
#include "util/buf.h"
#include "util/hash.h"

static bool read_secret(const char *path, struct secret *out)
{
    char text[512];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t n = read(fd, text, sizeof(text));
    close(fd);
    struct str s = str_trim((struct str){text, n > 0 ? (size_t)n : 0});
    secret_set(out, s);
    explicit_bzero(text, sizeof(text));
    return s.n > 0;
}

/* Written beside and renamed, so that a crash leaves the old file or the whole new one. */
static enum ec write_secret(const char *path, struct str value, struct err *err)
{
    char beside[4200];
    snprintf(beside, sizeof(beside), "%s.new", path);
    int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && write(fd, value.p, value.n) == (ssize_t)value.n && write(fd, "\n", 1) == 1 && fsync(fd) == 0;
    int e = errno;
    if (fd >= 0) {
        close(fd);
    }
    if (!ok || rename(beside, path)) {
        return err_set(err, EC_UNAVAILABLE, "cannot write %s: %s", path, strerror(ok ? errno : e));
    }
    return EC_OK;
}

static enum ec ensure(struct config *c, const char *env, const char *file, const char *prefix, struct secret *out, bool *out_new,
                      struct err *err)
{
    *out_new = false;
    if (secret_is_set(out)) {
        return EC_OK;
    }
    const struct setting *s = setting_by_env(str_z(env));
    c->sources[s - settings] = "first start";
    char path[4096];
    snprintf(path, sizeof(path), "%.*s/%s", STR_ARG(c->data_dir), file);
    if (read_secret(path, out)) {
        return EC_OK;
    }
    uint8_t bytes[32];
    random_bytes(bytes, sizeof(bytes));
    CLEANUP(buf_fini) struct buf text;
    buf_init(&text, 256);
    buf_addz(&text, prefix);
    hex_add(&text, bytes, prefix[0] ? 24 : 32);
    enum ec ec = write_secret(path, buf_str(&text), err);
    if (!ec) {
        secret_set(out, buf_str(&text));
        *out_new = true;
    }
    explicit_bzero(bytes, sizeof(bytes));
    explicit_bzero(text.p, text.n);
    return ec;
}

enum ec config_first_start(struct config *c, bool *out_new_key, struct err *err)
{
    char *dir = arena_z(&c->arena, c->data_dir);
    if (mkdir(dir, 0700) && errno != EEXIST) {
        return err_set(err, EC_UNAVAILABLE, "cannot make the data folder %s: %s", dir, strerror(errno));
    }
    struct stat st;
    if (stat(dir, &st) || !S_ISDIR(st.st_mode)) {
        return err_set(err, EC_UNAVAILABLE, "DATA_DIR %s is not a folder", dir);
    }
    bool other;
    *out_new_key = false;
    enum ec ec = EC_OK;
    if (!str_eqz(c->api_auth, "none")) {
        ec = ensure(c, "API_KEY", "api_key", "ork_", &c->api_key, out_new_key, err);
    }
    ec = ec ? ec : ensure(c, "AES_ENCRYPTION_SECRET", "encryption_secret", "", &c->aes_secret, &other, err);
    return ec ? ec : ensure(c, "API_JWT_SECRET", "jwt_secret", "", &c->api_jwt_secret, &other, err);
}
