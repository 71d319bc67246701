/* Tests that SVG has escaped texts and only finite coordinates, and that the code of series can be read back.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "joule/picture/drawing.h"
#include "joule/picture/series_code.h"

static char *svg_of(const struct drawing *drawing)
{
    struct text text;
    text_init(&text, NULL, 0);
    drawing_svg(drawing, &text);
    char *svg = malloc(text.length + 1);
    assert_non_null(svg);
    text_init(&text, svg, text.length + 1);
    drawing_svg(drawing, &text);
    assert_int_equal(text.length, strlen(svg));
    return svg;
}

static void test_hostile_texts_are_escaped(void **state)
{
    (void)state;
    struct drawing drawing;
    drawing_init(&drawing, 100, 50, "</title><script>alert(1)</script>", "a & b \" '");
    drawing_begin_group(&drawing, "]]> <!-- &amp;");
    drawing_add_text(&drawing, 1, 2, "\x01\x1b[31m\xff\xfe\xc3(\xed\xa0\x80\xef\xbf\xbf<b>",
                     (struct text_style){0});
    drawing_end_group(&drawing);
    char *svg = svg_of(&drawing);
    assert_null(strstr(svg, "<script"));
    assert_null(strstr(svg, "<b>"));
    assert_null(strstr(svg, "<!--"));
    assert_null(strstr(svg, "]]>"));
    assert_non_null(strstr(svg, "&lt;/title&gt;&lt;script&gt;alert(1)"));
    assert_non_null(strstr(svg, "a &amp; b &quot; '"));
    assert_non_null(strstr(svg, "&amp;amp;"));
    for (const char *c = svg; *c; c++)
        assert_true((unsigned char)*c >= 0x20 || *c == '\n');
    size_t length = strlen(svg);
    for (size_t i = 0, bytes; i < length; i += bytes) {
        bytes = string_utf8_length(svg + i, length - i);
        assert_true(bytes > 0);
    }
    free(svg);
    drawing_free(&drawing);
}

static void test_coordinates_are_finite_and_short(void **state)
{
    (void)state;
    struct drawing drawing;
    drawing_init(&drawing, 100, 50, NULL, NULL);
    struct paint paint = {.fill = COLOUR_SERIES, .stroke = COLOUR_INK};
    drawing_add_rectangle(&drawing, NAN, 0, 1, 1, paint);
    drawing_add_rectangle(&drawing, 0, 0, INFINITY, 1, paint);
    drawing_add_rectangle(&drawing, 0, 0, -1, 1, paint);
    drawing_add_segment(&drawing, 0, NAN, 1, 1, paint);
    drawing_add_text(&drawing, NAN, 1, "x", (struct text_style){0});
    drawing_add_line(&drawing, &(struct point){1, 1}, 1, paint);
    assert_int_equal(drawing.shape_count, 0);
    drawing_add_area(&drawing, (struct point[]){{1, 2}, {3, 2}, {3, -4.256}, {1e300, 0.1}}, 4, paint);
    char *svg = svg_of(&drawing);
    assert_non_null(strstr(svg, "M1 2H3V-4.26L1000000000 0.1Z"));
    assert_null(strstr(svg, "nan"));
    assert_null(strstr(svg, "inf"));
    free(svg);
    drawing_free(&drawing);
}

static void test_long_texts_are_shortened_to_their_room(void **state)
{
    (void)state;
    struct drawing drawing;
    drawing_init(&drawing, 100, 50, NULL, NULL);
    char name[2000];
    memset(name, 'm', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_true(drawing_add_fitted_text(&drawing, 0, 0, 90, name, (struct text_style){0}));
    assert_true(drawing_text_width(drawing.shapes[0].text, 12, false) <= 90);
    assert_non_null(strstr(drawing.shapes[0].text, "\u2026"));
    assert_false(drawing_add_fitted_text(&drawing, 0, 0, 12, name, (struct text_style){0}));
    assert_true(drawing_add_fitted_text(&drawing, 0, 0, 90, "short", (struct text_style){0}));
    assert_string_equal(drawing.shapes[1].text, "short");
    drawing_free(&drawing);
}

static void test_colours_differ_in_both_modes(void **state)
{
    (void)state;
    for (int mode = 0; mode < 2; mode++) {
        for (int a = COLOUR_SERIES; a < DRAWING_COLOURS; a++) {
            for (int b = COLOUR_SERIES; b < a; b++)
                assert_int_not_equal(drawing_rgb((enum colour)a, mode), drawing_rgb((enum colour)b, mode));
            assert_int_not_equal(drawing_rgb((enum colour)a, mode), drawing_rgb(COLOUR_GROUND, mode));
        }
    }
}

#define VALUES 5000

static void test_series_code_is_read_back(void **state)
{
    (void)state;
    static int64_t values[VALUES], read[VALUES];
    uint64_t seed = 7;
    for (int round = 0; round < 200; round++) {
        struct code_bytes code = {0};
        for (size_t i = 0; i < VALUES; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            int64_t step = (int64_t)(seed >> 33) >> (seed % 31);
            values[i] = seed % 3 ? (i ? values[i - 1] : 0) : (seed % 2 ? step : -step);
        }
        size_t count = 1 + seed % VALUES, offset = 0;
        assert_true(series_code_add(&code, values, count));
        assert_true(series_code_read(code.items, code.count, &offset, read, count));
        assert_int_equal(offset, code.count);
        assert_memory_equal(values, read, count * sizeof *values);
        offset = 0;
        assert_false(series_code_read(code.items, code.count - 1, &offset, read, count));
        free(code.items);
    }
}

static void test_constant_series_need_few_bytes(void **state)
{
    (void)state;
    static int64_t values[VALUES];
    struct code_bytes code = {0}, text = {0};
    for (size_t i = 0; i < VALUES; i++)
        values[i] = 4000;
    assert_true(series_code_add(&code, values, VALUES));
    assert_true(code.count <= 6);
    assert_true(series_code_add_base64(&text, (const uint8_t *)"joule", 5));
    assert_int_equal(text.count, 8);
    assert_memory_equal(text.items, "am91bGU=", 8);
    free(code.items);
    free(text.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile_texts_are_escaped),
        cmocka_unit_test(test_coordinates_are_finite_and_short),
        cmocka_unit_test(test_long_texts_are_shortened_to_their_room),
        cmocka_unit_test(test_colours_differ_in_both_modes),
        cmocka_unit_test(test_series_code_is_read_back),
        cmocka_unit_test(test_constant_series_need_few_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
