/* Fuzz target: the readers of settings files and the check behind them. The first byte chooses
 * YAML, .env or a value of some row; the rest is the text. What it looks for, beside crashes: a
 * row's value that can't be shown, a refusal without words. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "config/config_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ignore(void *user, const char *key, struct str value)
{
    *(size_t *)user += strlen(key) + value.n;
}

static void check_whole(struct config *c, struct config_report *report)
{
    struct config_input in = {0};
    size_t shown = 0;
    config_resolve(c);
    config_summary(c, ignore, &shown);
    if (config_check(c, &in, report)) {
        assert(report->error.n);
    }
    assert(shown);
}

static void one_value(struct config *c, struct str text)
{
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, FILE_MOST);
    if (text.n < 1 || memchr(text.p, '\0', text.n)) {
        return;
    }
    const struct setting *s = &settings[(unsigned char)text.p[0] % setting_count];
    if (value_parse(c, s, str_sub(text, 1, text.n), &b)) {
        assert(b.n);
    }
    value_format(c, s, &b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > FILE_MOST) {
        return 0;
    }
    struct str text = {(const char *)data + 1, size - 1};
    struct config_report report;
    struct config *c = config_defaults();
    config_report_init(&report);
    if (data[0] % 3 == 2) {
        one_value(c, text);
    } else if ((data[0] % 3 ? dotenv_apply : yaml_apply)(c, text, &report)) {
        assert(report.error.n);
    } else {
        check_whole(c, &report);
    }
    config_report_fini(&report);
    config_free(c);
    return 0;
}
