/* Tests the parts of a page: formatted values, columns that fit, the grid, histories, and their bars. */
#include <joule/devices.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "columns.h"
#include "history.h"
#include "format.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* --- formatted values ----------------------------------------------------------------------------------- */

static void test_figures_have_prefixes(void **state)
{
    (void)state;
    char out[FORMAT_SIZE];
    assert_string_equal(format_power(312.4, out), "312 W");
    assert_string_equal(format_power(1254, out), "1.25 kW");
    assert_string_equal(format_power(0.9071, out), "907 mW");
    assert_string_equal(format_power(999.96, out), "1.00 kW");
    assert_string_equal(format_power(0, out), "0 W");
    assert_string_equal(format_power(1e-7, out), "0 W");
    assert_string_equal(format_power(NAN, out), "-");
    assert_string_equal(format_energy(35123, out), "35.1 kJ");
    assert_string_equal(format_energy(3.6e6, out), "3.60 MJ");
    assert_string_equal(format_share(0.974, out), "97%");
    assert_string_equal(format_share(0.053, out), "5.3%");
    assert_string_equal(format_share(0, out), "0%");
    assert_string_equal(format_share(12.5, out), "1250%");
    assert_string_equal(format_share(NAN, out), "-");
    assert_string_equal(format_celsius(66.6, out), "67 C");
    assert_string_equal(format_time(7384, out), "2:03:04");
    assert_string_equal(format_time(NAN, out), "-");
}

static void test_memory_has_binary_prefixes(void **state)
{
    (void)state;
    char out[FORMAT_SIZE];
    const uint64_t gib = UINT64_C(1) << 30, unknown = JOULE_BYTES_UNKNOWN;
    assert_string_equal(format_bytes(0, out), "0 B");
    assert_string_equal(format_bytes(1023, out), "1.0 KiB");
    assert_string_equal(format_bytes(141 * gib, out), "141 GiB");
    assert_string_equal(format_bytes(1000 * gib, out), "1.0 TiB");
    assert_string_equal(format_bytes(unknown, out), "-");
    assert_string_equal(format_memory(120 * gib, 141 * gib, out), "120/141 GiB");
    assert_string_equal(format_memory(gib / 2, 24 * gib, out), "0.5/24 GiB");
    assert_string_equal(format_memory(gib, unknown, out), "1.0 GiB");
    assert_string_equal(format_memory(unknown, 24 * gib, out), "-/24 GiB");
    assert_string_equal(format_memory(unknown, unknown, out), "-");
    for (uint64_t bytes = 1; bytes < UINT64_C(1) << 59; bytes += bytes / 3 + 1) {
        assert_true(strlen(format_bytes(bytes, out)) <= 8);
        assert_true(strlen(format_memory(bytes, bytes, out)) <= 12);
    }
}

static void test_ranges_and_classes(void **state)
{
    (void)state;
    char out[FORMAT_SIZE];
    joule_quantity q = {87.3, 83.1, 91.6, JOULE_CLASS_MEASURED, 0},
                   wide = {900, 800, 1100, JOULE_CLASS_MODELLED, 0};
    joule_quantity unknown = {NAN, NAN, NAN, JOULE_CLASS_NONE, 0};
    assert_string_equal(format_range(q, format_power, out), "83.1 to 91.6 W");
    assert_string_equal(format_range(wide, format_power, out), "800 W to 1.10 kW");
    assert_string_equal(format_range(unknown, format_power, out), "");
    assert_int_equal(class_letter(JOULE_CLASS_MEASURED), 'm');
    assert_int_equal(class_letter(JOULE_CLASS_DERIVED), 'd');
    assert_int_equal(class_letter(JOULE_CLASS_MODELLED), '~');
    assert_int_equal(class_letter(JOULE_CLASS_ASSUMED), '?');
    assert_int_equal(class_letter(JOULE_CLASS_NONE), ' ');
}

/* --- columns -------------------------------------------------------------------------------------------- */

static void test_the_least_important_column_goes_first(void **state)
{
    (void)state;
    struct column c[] = {{"a", 8, 100},
                         {"b", 9, 50, .is_right = true},
                         {"c", 7, 10},
                         {"d", 5, 5, .is_empty = true},
                         {"e", 10, 70, .grows = true}};
    columns_fit(c, COUNT(c), 1, 60);
    assert_true(c[0].is_shown && c[1].is_shown && c[2].is_shown && !c[3].is_shown && c[4].is_shown);
    assert_int_equal(c[0].x, 1);
    assert_int_equal(c[1].x, 10);
    assert_int_equal(c[2].x, 20);
    assert_int_equal(c[4].x, 28);
    /* the last column reaches to the edge of the page, which has 60 columns */
    assert_int_equal(c[4].given, 33);
    columns_fit(c, COUNT(c), 0, 30);
    assert_true(!c[2].is_shown && c[1].is_shown);
    columns_fit(c, COUNT(c), 0, 20);
    assert_true(!c[1].is_shown && c[4].is_shown);
    assert_int_equal(c[4].given, 11);
    columns_fit(c, COUNT(c), 0, 3);
    assert_true(c[0].is_shown && !c[4].is_shown); /* at least one column is always shown */
}

/* --- the grid ------------------------------------------------------------------------------------------- */

static const char *row_of(const struct frame *frame, int y)
{
    static char text[400];
    struct text out;
    text_init(&out, text, sizeof text);
    frame_row(frame, y, &out);
    return text;
}

static void test_text_is_cut_and_tamed(void **state)
{
    (void)state;
    struct frame frame = {0};
    assert_true(frame_clear(&frame, 12, 2));
    assert_int_equal(frame_text(&frame, 0, 1, -1, STYLE_PLAIN, "a\x1b[31m\xc3\xa9\xff"), 9);
    assert_string_equal(row_of(&frame, 0), " a?[31m\xc3\xa9?");
    frame_text(&frame, 1, 9, -1, STYLE_PLAIN, "too long");
    frame_text(&frame, 1, -3, 5, STYLE_PLAIN, "abcdefgh"); /* text outside the grid is not drawn */
    frame_text(&frame, 7, 0, -1, STYLE_PLAIN, "below");
    assert_string_equal(row_of(&frame, 1), "de       too");
    frame_clear(&frame, 12, 2);
    frame_right(&frame, 0, 2, 6, STYLE_PLAIN, "123");
    frame_right(&frame, 1, 2, 6, STYLE_PLAIN, "1234567890");
    assert_string_equal(row_of(&frame, 0), "     123");
    assert_string_equal(row_of(&frame, 1), "  123456");
    assert_int_equal(frame_width_of("\xe2\x96\x88x"), 2);
    frame.is_ascii = true;
    frame_clear(&frame, 12, 2);
    frame_text(&frame, 0, 0, -1, STYLE_PLAIN, "\xe2\x96\x88x\xe4\xb8\xad");
    assert_string_equal(row_of(&frame, 0), "?x?");
    frame_free(&frame);
}

static void test_wide_characters_cannot_shift_a_row(void **state)
{
    (void)state;
    struct frame frame = {0};
    frame_clear(&frame, 8, 1);
    /* the first character is two columns wide, the accent has no width */
    frame_text(&frame, 0, 0, -1, STYLE_PLAIN, "\xe4\xb8\xad|e\xcc\x81|");
    assert_string_equal(row_of(&frame, 0), "?|e?|");
    frame_free(&frame);
}

/* --- histories ------------------------------------------------------------------------------------------ */

static void test_bars_are_means(void **state)
{
    (void)state;
    static struct history history;
    memset(&history, 0, sizeof history);
    assert_true(isnan(history_bar(&history, 0, 1)));
    for (uint64_t t = 0; t < 10; t++)
        history_add(&history, t, (double)t);
    assert_true(fabs(history_bar(&history, 1, 4) - 5.5) < 1e-6); /* the mean of 4, 5, 6 and 7 */
    /* The bar is incomplete. It is the mean of the values that it has so far. */
    assert_true(fabs(history_bar(&history, 2, 4) - 8.5) < 1e-6);
    assert_true(fabs(history_peak(&history, 9, 4, 2) - 8.5) < 1e-6);
    assert_true(isnan(history_bar(&history, 3, 4)));
    history_add(&history, 12, 100); /* the times 10 and 11 have no value */
    assert_true(isnan(history_bar(&history, 5, 2)));
    assert_true(fabs(history_bar(&history, 3, 4) - 100) < 1e-6);
    history_add(&history, 13, NAN);
    assert_true(fabs(history_bar(&history, 6, 2) - 100) < 1e-6);
    for (uint64_t t = 14; t < 14 + 3 * HISTORY_TICKS; t++)
        history_add(&history, t, 7);
    assert_int_equal(history.end - history.begin, HISTORY_TICKS);
    assert_true(isnan(history_bar(&history, 12, 1)));
    /* the first value after a long time without values */
    history_add(&history, history.end + 5 * HISTORY_TICKS, 3);
    assert_int_equal(history.end - history.begin, 1);
}

static void test_bars_reach_back_as_far_as_there_is_something(void **state)
{
    (void)state;
    assert_int_equal(history_ticks_per_bar(1, 120, 5, 20), 1);
    assert_int_equal(history_ticks_per_bar(1, 120, 30, 20), 2);
    assert_int_equal(history_ticks_per_bar(1, 120, 100000, 20), 6);
    assert_int_equal(history_ticks_per_bar(10, 120, 100000, 20), 1);
    assert_int_equal(history_ticks_per_bar(0.1, 600, 100000, 100), HISTORY_TICKS / 100);
    assert_int_equal(history_ticks_per_bar(1, 120, 100, 0), 1);
}

static void test_bars_are_drawn(void **state)
{
    (void)state;
    static struct history history;
    struct frame frame = {0};
    static const double watts[] = {0, 50, 100, NAN, 12.5};
    memset(&history, 0, sizeof history);
    for (uint64_t t = 0; t < COUNT(watts); t++)
        history_add(&history, t, watts[t]);
    frame_clear(&frame, 8, 2);
    history_draw(&history, 4, 1, 100, &frame, 0, 0, 8, 1);
    assert_string_equal(row_of(&frame, 0), "   \xe2\x96\x81\xe2\x96\x84\xe2\x96\x88 \xe2\x96\x81");
    frame_clear(&frame, 8, 2);
    history_draw(&history, 4, 1, 100, &frame, 0, 0, 3, 2);
    assert_string_equal(row_of(&frame, 0), "\xe2\x96\x88");
    assert_string_equal(row_of(&frame, 1), "\xe2\x96\x88 \xe2\x96\x82");
    frame.is_ascii = true;
    frame_clear(&frame, 8, 2);
    history_draw(&history, 4, 1, 100, &frame, 0, 0, 8, 1);
    assert_string_equal(row_of(&frame, 0), "   _=@ _");
    history_draw(&history, 4, 1, 0, &frame, 0, 0, 8, 1); /* a history that contains only zeros */
    frame_free(&frame);
}

int main(void)
{
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures_have_prefixes),
        cmocka_unit_test(test_memory_has_binary_prefixes),
        cmocka_unit_test(test_ranges_and_classes),
        cmocka_unit_test(test_the_least_important_column_goes_first),
        cmocka_unit_test(test_text_is_cut_and_tamed),
        cmocka_unit_test(test_wide_characters_cannot_shift_a_row),
        cmocka_unit_test(test_bars_are_means),
        cmocka_unit_test(test_bars_reach_back_as_far_as_there_is_something),
        cmocka_unit_test(test_bars_are_drawn),
    };
    return cmocka_run_group_tests_name("top page", tests, NULL, NULL);
}
