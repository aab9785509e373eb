/* jansson behind the names of json_peer.h: every number a double, NUL allowed in strings, any value
 * at the top. SPDX-License-Identifier: Apache-2.0 */
#include "json_peer.h"

#include <jansson.h>

static const json_t *in(const struct peer *p)
{
    return (const json_t *)(const void *)p;
}

static const struct peer *out(const json_t *v)
{
    return (const struct peer *)(const void *)v;
}

static enum peer_why why_of(const json_error_t *error)
{
    switch (json_error_code(error)) {
    case json_error_invalid_utf8:
        return PEER_UNICODE;
    case json_error_numeric_overflow:
    case json_error_null_byte_in_key:
        return PEER_RANGE;
    case json_error_stack_overflow:
        return PEER_DEPTH;
    default:
        return PEER_SYNTAX;
    }
}

struct peer *peer_parse(struct str text, enum peer_why *why)
{
    json_error_t error;
    const size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL;
    json_t *v = json_loadb(text.n ? text.p : "", text.n, flags, &error);
    if (!v) {
        *why = why_of(&error);
    }
    return (struct peer *)(void *)v;
}

void peer_free(struct peer *p)
{
    json_decref((json_t *)(void *)p);
}

char peer_kind(const struct peer *p)
{
    switch (json_typeof(in(p))) {
    case JSON_NULL:
        return 'n';
    case JSON_FALSE:
        return 'f';
    case JSON_TRUE:
        return 't';
    case JSON_INTEGER:
    case JSON_REAL:
        return '0';
    case JSON_STRING:
        return '"';
    case JSON_ARRAY:
        return '[';
    case JSON_OBJECT:
        return '{';
    }
    return '?';
}

size_t peer_count(const struct peer *p)
{
    return json_is_object(in(p)) ? json_object_size(in(p)) : json_array_size(in(p));
}

const struct peer *peer_at(const struct peer *p, size_t i)
{
    return out(json_array_get(in(p), i));
}

const struct peer *peer_member(const struct peer *p, struct str name)
{
    return out(json_object_getn(in(p), name.p, name.n));
}

struct str peer_text(const struct peer *p)
{
    return (struct str){json_string_value(in(p)), json_string_length(in(p))};
}

double peer_number(const struct peer *p)
{
    return json_number_value(in(p));
}

bool peer_equal(const struct peer *a, const struct peer *b)
{
    return json_equal(in(a), in(b));
}
