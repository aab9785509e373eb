/* First start of an embedded server: the data folder, and the secrets nobody set. A secret is
 * written beside its name, synced and then linked to it: a crash leaves none or a whole one, and of
 * two processes that start at once the second takes the first's. Not the folder's lock: that is the
 * app's. SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config_priv.h"
#include "util/hash.h"

#define SECRET_MOST 4096

struct made {
    const char *yaml, *file, *prefix;
};
static const struct made api_key = {"api_key", "api_key", "ork_"};
static const struct made encryption_secret = {"aes_encryption_secret", "encryption_secret", ""};
static const struct made jwt_secret = {"api_jwt_secret", "jwt_secret", ""};

/* mkdir -p; what is new is private. */
static enum ec make_folder(const char *path, struct err *err)
{
    CLEANUP(buf_fini) struct buf part;
    buf_init(&part, 4096);
    for (const char *at = path; *at; at++) {
        buf_addc(&part, *at);
        if ((at[1] == '/' || !at[1]) && mkdir(buf_z(&part), 0700) && errno != EEXIST) {
            return err_set(err, EC_UNAVAILABLE, "cannot make the data folder %s: %s", path,
                           strerror(errno));
        }
    }
    struct stat st;
    if (part.over || stat(path, &st) || !S_ISDIR(st.st_mode)) {
        return err_set(err, EC_UNAVAILABLE, "DATA_DIR %s is not a folder", path);
    }
    return EC_OK;
}

/* EC_NOT_FOUND: no such file. An empty one is an accident that must not become an open door or a
 * new key. */
static enum ec read_secret(int folder, const char *name, struct secret *out, struct err *err)
{
    char text[SECRET_MOST + 1];
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return err_set(err, errno == ENOENT ? EC_NOT_FOUND : EC_UNAVAILABLE,
                       "cannot read the secret file %s: %s", name, strerror(errno));
    }
    ssize_t n = read(fd, text, sizeof(text));
    int e = errno;
    close(fd);
    struct str s = str_trim((struct str){text, n > 0 ? (size_t)n : 0});
    enum ec ec = EC_OK;
    if (n < 0) {
        ec = err_set(err, EC_UNAVAILABLE, "cannot read the secret file %s: %s", name, strerror(e));
    } else if (n > SECRET_MOST || s.n == 0) {
        ec = err_set(err, EC_CORRUPT,
                     "the secret file %s in the data folder is %s; put it back from a backup, or "
                     "remove it to get a new secret",
                     name, s.n ? "too long" : "empty");
    } else {
        secret_set(out, s);
    }
    explicit_bzero(text, sizeof(text));
    return ec;
}

static bool write_all(int fd, struct str s)
{
    while (s.n) {
        ssize_t n = write(fd, s.p, s.n);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        s = str_sub(s, (size_t)n, s.n);
    }
    return true;
}

/* EC_CONFLICT: somebody was faster. */
static enum ec write_secret(int folder, const char *name, struct str value, struct err *err)
{
    char beside[96];
    snprintf(beside, sizeof(beside), ".%s.%lld.%016llx", name, (long long)getpid(),
             (unsigned long long)random_u64());
    int fd = openat(folder, beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool made = fd >= 0;
    bool ok = made && write_all(fd, value) && write_all(fd, STR("\n")) && fsync(fd) == 0;
    int e = errno;
    if (made) {
        close(fd);
    }
    bool late = false;
    if (ok && linkat(folder, beside, folder, name, 0)) {
        ok = false;
        e = errno;
        late = e == EEXIST;
    }
    if (made) {
        unlinkat(folder, beside, 0);
    }
    if (ok && fsync(folder)) {
        ok = false;
        e = errno;
    }
    return ok ? EC_OK
              : err_set(err, late ? EC_CONFLICT : EC_UNAVAILABLE,
                        "cannot write the secret file %s: %s", name, strerror(e));
}

static enum ec make_secret(int folder, const struct made *m, struct secret *out, struct err *err)
{
    uint8_t bytes[32];
    random_bytes(bytes, sizeof(bytes));
    struct buf text;
    buf_init(&text, 128);
    buf_addz(&text, m->prefix);
    b64url_add(&text, bytes, sizeof(bytes));
    enum ec ec = write_secret(folder, m->file, buf_str(&text), err);
    if (!ec) {
        secret_set(out, buf_str(&text));
    }
    explicit_bzero(bytes, sizeof(bytes));
    explicit_bzero(text.p, text.n);
    buf_fini(&text);
    return ec;
}

/* Reads or makes one that is not set. */
static enum ec ensure(struct config *c, int folder, const struct made *m, struct secret *out,
                      bool *out_new, struct err *err)
{
    *out_new = false;
    if (secret_is_set(out)) {
        return EC_OK;
    }
    enum ec ec = read_secret(folder, m->file, out, err);
    if (ec == EC_NOT_FOUND) {
        ec = make_secret(folder, m, out, err);
        *out_new = !ec;
    }
    if (ec == EC_CONFLICT) {
        ec = read_secret(folder, m->file, out, err);
    }
    if (!ec) {
        bool alias;
        c->sources[setting_by_yaml(str_z(m->yaml), &alias) - settings] = "first start";
        if (err) {
            *err = (struct err){0};
        }
    }
    return ec;
}

enum ec config_first_start(struct config *c, bool *out_new_key, struct err *err)
{
    const struct config_derived *d = &c->derived;
    *out_new_key = false;
    if (!d->store_embedded && !d->log_embedded && !d->queue_embedded) {
        return EC_OK;
    }
    const char *path = arena_z(&c->arena, c->data_dir);
    enum ec ec = make_folder(path, err);
    if (ec || !d->store_embedded) {
        return ec;
    }
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return err_set(err, EC_UNAVAILABLE, "cannot open the data folder %s: %s", path,
                       strerror(errno));
    }
    bool other;
    ec = str_eqz(c->api_auth, "none") ? EC_OK
                                      : ensure(c, folder, &api_key, &c->api_key, out_new_key, err);
    ec = ec ? ec : ensure(c, folder, &encryption_secret, &c->aes_secret, &other, err);
    ec = ec ? ec : ensure(c, folder, &jwt_secret, &c->api_jwt_secret, &other, err);
    close(folder);
    return ec;
}
