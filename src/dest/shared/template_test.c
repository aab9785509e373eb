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

static void refusals(void **state)
{
    (void)state;
    refused(TEMPLATE_HEADER, "v0={{.Body}}", "can't evaluate field \"Body\"");
    refused(TEMPLATE_CONTENT, "{{.Signatures | join \",\"}}",
            "can't evaluate field \"Signatures\"");
    refused(TEMPLATE_CONTENT, "{{.RandomHex}}", "can't evaluate field \"RandomHex\"");
    refused(TEMPLATE_SECRET, "{{.Topic}}", "can't evaluate field \"Topic\"");
    refused(TEMPLATE_CONTENT, "{{.Nothing}}", "can't evaluate field \"Nothing\"");
    refused(TEMPLATE_CONTENT, "a {{.Body", "unclosed action");
    refused(TEMPLATE_CONTENT, "{{}}", "not supported here");
    refused(TEMPLATE_CONTENT, "{{if .Body}}x{{end}}", "not supported here");
    refused(TEMPLATE_CONTENT, "{{- .Body -}}", "not supported here");
    refused(TEMPLATE_CONTENT, "{{.Body | rot13}}", "function not supported: \"rot13\"");
    refused(TEMPLATE_CONTENT, "{{.Body | }}", "function not supported");
    refused(TEMPLATE_CONTENT, "{{.Body|upper|upper|upper|upper|upper}}", "function not supported");
    refused(TEMPLATE_CONTENT, "{{index .Body 0}}", "not a list");
}

/* What the language would refuse, or do otherwise than we do. */
static void wrong_arguments(void **state)
{
    (void)state;
    refused(TEMPLATE_HEADER, "{{.Signatures | join}}", "wrong arguments for \"join\"");
    refused(TEMPLATE_HEADER, "{{.Signatures | join ,}}", "wrong arguments for \"join\"");
    refused(TEMPLATE_HEADER, "{{.Signatures | join \",`}}", "wrong arguments for \"join\"");
    refused(TEMPLATE_HEADER, "{{.Signatures | join \"}}", "wrong arguments for \"join\"");
    refused(TEMPLATE_HEADER, "{{.Signatures | join \"\\n\"}}", "wrong arguments for \"join\"");
    refused(TEMPLATE_HEADER, "{{.Signatures | join \",\" \";\"}}", "wrong arguments for \"join\"");
    refused(TEMPLATE_HEADER, "{{.Topic | upper \"x\"}}", "wrong arguments for \"upper\"");
    refused(TEMPLATE_HEADER, "{{.Signatures | upper}}", "not for a list: \"upper\"");
    refused(TEMPLATE_HEADER, "{{index .Signatures 2}}", "index out of range");
    refused(TEMPLATE_HEADER, "{{index .Signatures -1}}", "index out of range");
    refused(TEMPLATE_HEADER, "{{index .Signatures x}}", "not supported here");
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
        cmocka_unit_test(content),      cmocka_unit_test(header_and_secret),
        cmocka_unit_test(refusals),     cmocka_unit_test(wrong_arguments),
        cmocka_unit_test(index_beyond), cmocka_unit_test(too_long_fails),
    };
    return cmocka_run_group_tests_name("dest/template", tests, NULL, NULL);
}
