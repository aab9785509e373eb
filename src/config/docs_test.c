/* docs/configuration.md against the table: every used setting has its row with path, default and
 * meaning, and no row is of a setting that is not used. SPDX-License-Identifier: Apache-2.0 */
#include "config/tests.h"

#include <stdlib.h>

/* What a cell of a Markdown table shows of a text. */
static void cell_add(struct buf *b, const char *text)
{
    for (; *text; text++) {
        buf_addz(b, *text == '|' ? "\\" : "");
        buf_addc(b, *text);
    }
}

static void row_add(struct buf *b, const struct setting *s)
{
    buf_addf(b, "\n| `%s` | `%s` | ", s->env, s->yaml);
    buf_addz(b, s->default_value[0] ? "`" : "—");
    cell_add(b, s->default_value);
    buf_addz(b, s->default_value[0] ? "` | " : " | ");
    cell_add(b, s->help);
    buf_addz(b, " |\n");
}

static void documentation_is_complete(void **state)
{
    (void)state;
    CLEANUP(buf_fini) struct buf doc;
    buf_init(&doc, 256 * 1024);
    FILE *f = fopen(CONFIG_DOC, "re");
    assert_non_null(f);
    char *room = buf_space(&doc, 128 * 1024);
    doc.n = fread(room, 1, 128 * 1024, f);
    fclose(f);
    size_t used = 0, rows = 0;
    for (size_t i = 0; i < setting_count; i++) {
        CLEANUP(buf_fini) struct buf row;
        buf_init(&row, 2048);
        row_add(&row, &settings[i]);
        bool is_used = settings[i].flags & SET_USED;
        used += is_used;
        if (is_used != (strstr(buf_z(&doc), buf_z(&row)) != NULL)) {
            fail_msg("docs/configuration.md %s the row%s", is_used ? "lacks" : "should not have",
                     buf_z(&row));
        }
    }
    for (const char *at = buf_z(&doc); (at = strstr(at, "\n| `")); at++) {
        rows++;
    }
    assert_int_equal(rows, used);
}

int docs_tests(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(documentation_is_complete)};
    return cmocka_run_group_tests_name("config docs", tests, NULL, NULL);
}
