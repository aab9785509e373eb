/* JSON as exact text: check once, then walk spans. Numbers are never turned into floating point
 * here, and a value's raw text is the published bytes. Grammar: RFC 8259. UTF-8 inside strings is
 * not a reason to refuse (invalid bytes become U+FFFD when decoded), nor are duplicate keys or lone
 * surrogates. Held against simdjson and jansson by fuzz/json.c. SPDX-License-Identifier: Apache-2.0
 */
#ifndef OUTRIDER_UTIL_JSON_H
#define OUTRIDER_UTIL_JSON_H

#include "util/arena.h"
#include "util/buf.h"
#include "util/err.h"

enum json_type {
    JSON_NONE,
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
};

/* One value inside a checked text: raw has no surrounding white space; strings keep their quotes.
 */
struct json {
    enum json_type type; /* JSON_NONE: absent */
    struct str raw;
};

#define JSON_DEPTH_MAX 10000 /* as deep as Go's decoder allows (spec api.md 3) */

/* Checks the first value of text, leading white space skipped. *out_end (may be NULL) is the offset
 * behind the value. Errors: EC_INVALID (grammar, empty text), EC_LIMIT (deeper than max_depth).
 * Constant stack, O(n). */
enum ec json_first(struct str text, unsigned max_depth, struct json *out, size_t *out_end,
                   struct err *err) MUST_CHECK;
/* Like json_first, and nothing but white space may follow. */
enum ec json_check(struct str text, unsigned max_depth, struct json *out,
                   struct err *err) MUST_CHECK;

/* Walking an array or object that json_first/json_check has seen; on other types next answers false
 * at once. */
struct json_iter {
    const char *p, *end;
    bool object;
};
struct json_iter json_iter(struct json v);
/* key (a JSON_STRING, NONE in arrays; may be NULL) and value of the next member. */
bool json_next(struct json_iter *it, struct json *key, struct json *value);

/* Member of an object by exact name, the last one when repeated; JSON_NONE when absent. */
struct json json_get(struct json object, struct str name);
size_t json_count(struct json v); /* members or elements */

/* Decodes a JSON_STRING: escapes resolved, invalid UTF-8 and lone surrogates become U+FFFD, \u0000
 * is a NUL byte. Borrows from the raw text when nothing needs decoding, else lives in a. */
struct str json_text(struct json v, struct arena *a);
bool json_is_text(struct json v, struct str text); /* decoded text equals */

/* The value without white space between tokens (Go's json.Compact), into b. */
void json_compact(struct buf *b, struct str raw);
/* Go's json.Marshal of a RawMessage as an API answer shows it: compact, and <, >, & and U+2028/9
 * escaped when html. Invalid UTF-8 becomes \ufffd. */
void json_add_raw(struct buf *b, struct str raw, bool html);
/* text as a JSON string with quotes, escaped as Go's encoder does (html: also < > &); invalid UTF-8
 * -> \ufffd. */
void json_add_string(struct buf *b, struct str text, bool html);

/* Writer: puts commas and colons itself. Objects and arrays nest at most 63 deep. */
struct jsonw {
    struct buf *b;
    bool html;    /* escape < > & as Go's default encoder does */
    uint64_t has; /* bit per depth: something was written at this depth */
    unsigned depth;
    bool after_key;
};
void jw_init(struct jsonw *w, struct buf *b, bool html);
void jw_obj(struct jsonw *w);
void jw_obj_end(struct jsonw *w);
void jw_arr(struct jsonw *w);
void jw_arr_end(struct jsonw *w);
void jw_key(struct jsonw *w, struct str key);
void jw_str(struct jsonw *w, struct str s);
void jw_int(struct jsonw *w, int64_t v);
void jw_bool(struct jsonw *w, bool v);
void jw_null(struct jsonw *w);
void jw_raw(struct jsonw *w, struct str raw);    /* a JSON text as it is, byte for byte */
void jw_raw_go(struct jsonw *w, struct str raw); /* through json_add_raw */
/* key and value in one call */
void jw_kstr(struct jsonw *w, const char *key, struct str s);
void jw_kint(struct jsonw *w, const char *key, int64_t v);
void jw_kbool(struct jsonw *w, const char *key, bool v);
void jw_knull(struct jsonw *w, const char *key);

#endif
