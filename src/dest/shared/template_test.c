/* Tests of signing templates: what renders to what, and what is refused when the template is made.
 * SPDX-License-Identifier: Apache-2.0 */
#include "dest/shared/template.h"
#include "dest/tests.h"

static const struct str two[] = {STR("sig1"), STR("sig2")};

static const struct template_input input = {
    .event_id = STR("evt_1"),
    .topic = STR("user.created"),
    .body = STR("{\"a\":1}"),
    .now = 1717230216123456,
    .signatures = two,
    .signature_count = 2,
    .random_hex = STR("00ff"),
    .random_base64 = STR("AP8="),
    .random_alphanumeric = STR("aZ9"),
};

static void renders(enum template_kind kind, const char *text, const char *want)
{
    struct template *t;
    struct err err = {0};
    if (template_new(str_z(text), kind, &t, &err)) {
        fail_msg("%s: refused: %s", text, err.text);
    }
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, 1000);
    assert_true(template_render(t, &input, &b));
    assert_str(buf_str(&b), want);
    template_free(t);
}

static void refused(enum template_kind kind, const char *text, const char *why)
{
    struct template *t = NULL;
    struct err err = {0};
    size_t at;
    assert_int_equal(template_new(str_z(text), kind, &t, &err), EC_INVALID);
    assert_null(t);
    if (!str_find(str_z(err.text), str_z(why), &at)) {
        fail_msg("%s: got \"%s\", want \"%s\"", text, err.text, why);
    }
}

static void content(void **state)
{
    (void)state;
    renders(TEMPLATE_CONTENT, "", "");
    renders(TEMPLATE_CONTENT, "plain } text {", "plain } text {");
    renders(TEMPLATE_CONTENT, "{{.Body}}", "{\"a\":1}");
    renders(TEMPLATE_CONTENT, "{{ .Timestamp.Unix }}.{{\t.Body\n}}", "1717230216.{\"a\":1}");
    renders(TEMPLATE_CONTENT, "{{.Timestamp.UnixMilli}}", "1717230216123");
    renders(TEMPLATE_CONTENT, "id={{.EventID}};topic={{.Topic}};", "id=evt_1;topic=user.created;");
    renders(TEMPLATE_CONTENT, "{{.Topic | upper}}{{.EventID|upper|lower}}", "USER.CREATEDevt_1");
    renders(TEMPLATE_CONTENT, "{{.EventID | b64enc}}", "ZXZ0XzE=");
    renders(TEMPLATE_CONTENT, "{{.EventID | sha256sum | upper}}",
            "7D4E5A76EAE6D8C165410AC19FE6756521BA86ED96752D0126B1953B155AF052");
}

static void header_and_secret(void **state)
{
    (void)state;
    renders(TEMPLATE_HEADER, "v0={{.Signatures | join \",\"}}", "v0=sig1,sig2");
    renders(TEMPLATE_HEADER, "{{.Signatures|join \" v1,\"}}", "sig1 v1,sig2");
    renders(TEMPLATE_HEADER, "{{.Signatures | join `\\`}}", "sig1\\sig2");
    renders(TEMPLATE_HEADER, "{{.Signatures | join \"\" | upper}}", "SIG1SIG2");
    renders(TEMPLATE_HEADER, "{{.Signatures}}", "[sig1 sig2]");
    renders(TEMPLATE_HEADER, "{{index .Signatures 1}};{{index .Signatures 0 | upper}}",
            "sig2;SIG1");
    renders(TEMPLATE_SECRET, "whsec_{{.RandomHex}}", "whsec_00ff");
    renders(TEMPLATE_SECRET, "{{.RandomBase64}}.{{.RandomAlphanumeric}}", "AP8=.aZ9");
    renders(TEMPLATE_SECRET, "my-static-secret", "my-static-secret");
}

static void blocks(void **state)
{
    (void)state;
    renders(TEMPLATE_HEADER, "{{range .Signatures}} v1={{.}}{{end}}", " v1=sig1 v1=sig2");
    renders(TEMPLATE_HEADER, "{{range $i,$s := .Signatures}}[{{$i}}={{$s | trunc 2}}]{{end}}",
            "[0=si][1=si]");
    renders(TEMPLATE_HEADER, "{{range splitList \"x\" \"\"}}{{else}}none{{end}}", "");
    renders(TEMPLATE_HEADER, "{{range list}}x{{else}}none{{end}}", "none");
    renders(TEMPLATE_HEADER,
            "{{if gt (len .Signatures) 1}}prev={{index .Signatures 1}}{{else}}-{{end}}",
            "prev=sig2");
    renders(TEMPLATE_HEADER, "{{if false}}x{{end}}", "");
    renders(TEMPLATE_HEADER,
            "{{if false}}1{{else if eq .Topic \"x\" \"user.created\"}}2{{else}}3{{end}}4", "24");
    renders(TEMPLATE_HEADER, "{{with .Topic}}{{.}}{{$.EventID}}{{end}}", "user.createdevt_1");
    renders(TEMPLATE_HEADER, "{{with \"\"}}x{{else}}y{{end}}", "y");
    renders(TEMPLATE_HEADER, "a {{- /* c */ -}} b", "ab");
    renders(TEMPLATE_HEADER, "a {{- .EventID -}} \n b", "aevt_1b");
    renders(TEMPLATE_CONTENT, "{{$x := \"1\"}}{{if true}}{{$x = \"2\"}}{{$y := 3}}{{end}}{{$x}}",
            "2");
    renders(TEMPLATE_CONTENT, "{{(.Timestamp).Unix}}", "1717230216");
}

static void functions(void **state)
{
    (void)state;
    renders(TEMPLATE_CONTENT, "{{len .Body}}|{{.EventID | trunc 3}}|{{trunc -2 .EventID}}",
            "7|evt|_1");
    renders(TEMPLATE_CONTENT, "{{.EventID | b64enc | replace \"=\" \"\"}}", "ZXZ0XzE");
    renders(TEMPLATE_CONTENT,
            "{{printf \"%d|%s|%05d|%-3s|%q|%%\" .Timestamp.Unix .Topic 42 \"a\" \"b\"}}",
            "1717230216|user.created|00042|a  |\"b\"|%");
    renders(TEMPLATE_CONTENT, "{{print 1 2 \"a\" 3}}{{add 1 2 3}}{{sub 1 2}}", "1 2a36-1");
    renders(TEMPLATE_CONTENT,
            "{{.Topic | splitList \".\" | last}} {{join \"-\" (splitList \".\" .Topic)}}",
            "created user-created");
    renders(TEMPLATE_CONTENT,
            "{{\"\" | default \"d\"}}{{ternary \"a\" \"b\" true}}{{and 1 0}}{{or 0 2}}{{not 1}}",
            "da02false");
    renders(TEMPLATE_CONTENT,
            "{{trimPrefix \"evt_\" .EventID}}{{substr 0 4 .Topic}}{{contains \"ser\" .Topic}}",
            "1usertrue");
    renders(TEMPLATE_HEADER, "{{.Signatures | join `\\`}}{{\"\\t\\\"\"}}", "sig1\\sig2\t\"");
    renders(TEMPLATE_SECRET, "{{.RandomHex | upper | trunc 3}}", "00F");
}

static void times(void **state)
{
    (void)state;
    renders(TEMPLATE_HEADER, "{{.Timestamp.UTC.Format \"2006-01-02T15:04:05Z07:00\"}}",
            "2024-06-01T08:23:36Z");
    renders(TEMPLATE_HEADER,
            "{{.Timestamp.UTC.Format \"Mon, _2 Jan 2006 3:04:05.000 PM -0700 MST\"}}",
            "Sat,  1 Jun 2024 8:23:36.123 AM +0000 UTC");
    renders(TEMPLATE_HEADER, "{{.Timestamp.UTC.Format \"Monday 1/2/06 .999999999 05.99\"}}",
            "Saturday 6/1/24 .123456 36.12");
    renders(TEMPLATE_HEADER, "{{.Timestamp.UTC}}", "2024-06-01 08:23:36.123456 +0000 UTC");
    renders(TEMPLATE_HEADER,
            "{{.Timestamp.UnixNano}} {{.Timestamp.UTC.Year}} {{.Timestamp.UTC.Hour}}",
            "1717230216123456000 2024 8");
}

static void refusals(void **state)
{
    (void)state;
    refused(TEMPLATE_HEADER, "v0={{.Body}}",
            "signature header template execution failed: can't evaluate field Body");
    refused(TEMPLATE_CONTENT, "{{.Signatures | join \",\"}}", "can't evaluate field Signatures");
    refused(TEMPLATE_CONTENT, "{{.RandomHex}}", "can't evaluate field RandomHex");
    refused(TEMPLATE_CONTENT, "{{.Nothing}}", "can't evaluate field Nothing");
    refused(TEMPLATE_CONTENT, "{{.Timestamp.Nope}}", "can't evaluate field Nope");
    refused(TEMPLATE_CONTENT, "{{.Body.Length}}", "can't evaluate field Length");
    refused(TEMPLATE_CONTENT, "a {{.Body", "unclosed action");
    refused(TEMPLATE_CONTENT, "{{}}", "missing value for command");
    refused(TEMPLATE_CONTENT, "{{if .Body}}x", "no {{end}}");
    refused(TEMPLATE_CONTENT, "x{{end}}", "unexpected {{end}}");
    refused(TEMPLATE_CONTENT, "x{{else}}", "unexpected {{else}}");
    refused(TEMPLATE_CONTENT, "{{if 1}}{{else}}{{else}}{{end}}", "unexpected {{else}}");
    refused(TEMPLATE_CONTENT, "{{(len .Body}}", "parenthesis");
    refused(TEMPLATE_CONTENT, "{{.Body | rot13}}", "function \"rot13\" not defined");
    refused(TEMPLATE_CONTENT, "{{.Body | }}", "missing value for command");
    refused(TEMPLATE_CONTENT, "{{$x}}", "undefined variable \"$x\"");
    refused(TEMPLATE_CONTENT, "{{if 1}}{{$x := 1}}{{end}}{{$x}}", "undefined variable");
    refused(TEMPLATE_CONTENT, "{{/* open }}", "unclosed comment");
    refused(TEMPLATE_CONTENT, "{{fail \"stop\"}}", "error calling fail: stop");
    refused(TEMPLATE_CONTENT, "{{range .Body}}{{end}}", "not a list");
    refused(TEMPLATE_CONTENT, "{{index .Body 0}}", "not a list");
    refused(TEMPLATE_CONTENT, "{{.Body .Topic}}", "can't give argument to non-function");
    refused(TEMPLATE_CONTENT, "{{1.5}}", "number not supported");
}

static void wrong_arguments(void **state)
{
    (void)state;
    refused(TEMPLATE_HEADER, "{{.Signatures | join}}", "wrong number of args for join");
    refused(TEMPLATE_HEADER, "{{.Signatures | join ,}}", "unexpected token");
    refused(TEMPLATE_HEADER, "{{.Signatures | join \",`}}", "unterminated quoted string");
    refused(TEMPLATE_HEADER, "{{.Signatures | join `}}", "unterminated raw quoted string");
    refused(TEMPLATE_HEADER, "{{.Signatures | join \",\" \";\"}}", "wrong number of args for join");
    refused(TEMPLATE_HEADER, "{{.Topic | upper \"x\"}}", "wrong number of args for upper");
    refused(TEMPLATE_HEADER, "{{.Signatures | upper}}", "expected string");
    refused(TEMPLATE_HEADER, "{{index .Signatures 2}}", "index out of range");
    refused(TEMPLATE_HEADER, "{{index .Signatures -1}}", "index out of range");
    refused(TEMPLATE_HEADER, "{{index .Signatures x}}", "function \"x\" not defined");
    refused(TEMPLATE_HEADER, "{{printf \"%d\" .Topic}}", "does not fit");
    refused(TEMPLATE_HEADER, "{{eq .Topic 1}}", "incompatible types");
}

/* What a template may cost is bounded: nesting when it is read, steps when it runs. */
static void bounds(void **state)
{
    (void)state;
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, 100000);
    for (size_t i = 0; i < 1000; i++) {
        buf_addz(&b, "{{if 1}}");
    }
    refused(TEMPLATE_CONTENT, buf_z(&b), "nested too deep");
    buf_reset(&b);
    buf_addz(&b, "{{");
    for (size_t i = 0; i < 1000; i++) {
        buf_addc(&b, '(');
    }
    refused(TEMPLATE_CONTENT, buf_z(&b), "nested too deep");
    buf_reset(&b);
    for (size_t i = 0; i < 6; i++) {
        buf_addz(&b, "{{range list 1 2 3 4 5 6 7 8 9 10}}");
    }
    for (size_t i = 0; i < 6; i++) {
        buf_addz(&b, "{{end}}");
    }
    refused(TEMPLATE_CONTENT, buf_z(&b), "too many steps");
}

/* E52: a secret's fields are looked at when one is made. */
static void secrets_at_first_use(void **state)
{
    (void)state;
    struct template *t;
    struct err err = {0};
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, 1000);
    assert_int_equal(template_new(STR("{{.Foo}}"), TEMPLATE_SECRET, &t, NULL), EC_OK);
    assert_int_equal(template_try(t, &input, &b, &err), EC_INVALID);
    assert_string_equal(err.text, "can't evaluate field Foo");
    template_free(t);
}

/* E47: a second signature is asked for and there is one. */
static void index_beyond(void **state)
{
    (void)state;
    struct template *t;
    struct template_input one = input;
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, 1000);
    one.signature_count = 1;
    assert_int_equal(template_new(STR("v0={{index .Signatures 1}}"), TEMPLATE_HEADER, &t, NULL),
                     EC_OK);
    assert_false(template_render(t, &one, &b));
    template_free(t);
}

static void too_long_fails(void **state)
{
    (void)state;
    struct template *t;
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, 10);
    assert_int_equal(template_new(STR("{{.Body}}{{.Body}}"), TEMPLATE_CONTENT, &t, NULL), EC_OK);
    assert_false(template_render(t, &input, &b));
    template_free(t);
}

int template_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content),         cmocka_unit_test(header_and_secret),
        cmocka_unit_test(refusals),        cmocka_unit_test(blocks),
        cmocka_unit_test(functions),       cmocka_unit_test(times),
        cmocka_unit_test(bounds),          cmocka_unit_test(secrets_at_first_use),
        cmocka_unit_test(wrong_arguments), cmocka_unit_test(index_beyond),
        cmocka_unit_test(too_long_fails),
    };
    return cmocka_run_group_tests_name("dest/template", tests, NULL, NULL);
}
