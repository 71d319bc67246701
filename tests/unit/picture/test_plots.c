/* Tests that crossings of sweeps are found with their range, and that plots draw unknown values as unknown.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "joule/picture/plots.h"

#define SIZES 10

static double xs[SIZES];
static struct plot_value first[SIZES], second[SIZES];

static struct plot_value around(double value, double error)
{
    return (struct plot_value){value, value * (1 - error), value * (1 + error)};
}

/* A line of slope 1 and a line of slope 1/2 on logarithmic axes, which cross at `at`. */
static struct plot_sweep make_sweep(struct plot_series series[2], double at, double error)
{
    for (int i = 0; i < SIZES; i++) {
        xs[i] = 1000 * pow(2, i);
        first[i] = around(xs[i] / at, error);
        second[i] = around(sqrt(xs[i] / at), error);
    }
    series[0] = (struct plot_series){"steep", xs, first, SIZES};
    series[1] = (struct plot_series){"flat", xs, second, SIZES};
    return (struct plot_sweep){
        .labels = {.y_name = "energy", .y_unit = "J", .x_name = "size"}, .series = series, .series_count = 2};
}

static void test_crossing_is_found_with_its_range(void **state)
{
    (void)state;
    struct plot_series series[2];
    struct plot_sweep sweep = make_sweep(series, 12345, 0.1);
    struct plot_crossing crossing;
    assert_int_equal(plot_find_crossings(&sweep, 0, 1, &crossing, 1), 1);
    assert_true(fabs(crossing.x - 12345) < 1);
    assert_true(fabs(crossing.y - 1) < 1e-3);
    /* The intervals overlap while sqrt(x / at) is between 0.9 / 1.1 and 1.1 / 0.9. */
    assert_true(fabs(crossing.x_low / (12345 * pow(0.9 / 1.1, 2)) - 1) < 1e-3);
    assert_true(fabs(crossing.x_high / (12345 * pow(1.1 / 0.9, 2)) - 1) < 1e-3);
}

static void test_parallel_lines_and_unknown_points_do_not_cross(void **state)
{
    (void)state;
    struct plot_series series[2];
    struct plot_sweep sweep = make_sweep(series, 12345, 0.1);
    struct plot_crossing crossings[4];
    for (int i = 0; i < SIZES; i++)
        second[i] = around(first[i].value * 2, 0.1);
    assert_int_equal(plot_find_crossings(&sweep, 0, 1, crossings, 4), 0);
    sweep = make_sweep(series, 12345, NAN);
    assert_int_equal(plot_find_crossings(&sweep, 0, 1, crossings, 4), 1);
    assert_true(crossings[0].x_low == crossings[0].x && crossings[0].x_high == crossings[0].x);
    first[3].value = NAN;
    assert_int_equal(plot_find_crossings(&sweep, 0, 1, crossings, 4), 1);
    assert_int_equal(plot_find_crossings(&sweep, 0, 2, crossings, 4), 0);
}

static bool has_text(const struct drawing *drawing, const char *part)
{
    for (size_t i = 0; i < drawing->shape_count; i++) {
        if (drawing->shapes[i].kind == SHAPE_TEXT && strstr(drawing->shapes[i].text, part))
            return true;
    }
    return false;
}

static void test_sweep_marks_the_crossing(void **state)
{
    (void)state;
    struct plot_series series[2];
    struct plot_sweep sweep = make_sweep(series, 12345, 0.1);
    struct drawing drawing;
    assert_int_equal(plot_sweep(&sweep, &drawing), JOULE_OK);
    assert_true(has_text(&drawing, "crossing at 12 k"));
    assert_true(has_text(&drawing, "100 mJ"));
    drawing_free(&drawing);
}

static void test_bars_say_unknown_and_never_zero(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c"};
    static const struct plot_value values[] = {{12.5, 12, 13}, {NAN, NAN, NAN}, {8, NAN, NAN}};
    static const char *const notes[] = {"baseline", NULL, "better"};
    struct plot_panel panel = {"energy", "J", values, notes};
    struct plot_bars bars = {
        .series = names, .series_count = 3, .group_count = 1, .panels = &panel, .panel_count = 1};
    struct drawing drawing;
    assert_int_equal(plot_bars(&bars, &drawing), JOULE_OK);
    assert_true(has_text(&drawing, "12.5 J"));
    assert_true(has_text(&drawing, "unknown"));
    assert_true(has_text(&drawing, "better"));
    assert_false(has_text(&drawing, "0.00 J"));
    drawing_free(&drawing);
    bars.panel_count = 0;
    assert_int_equal(plot_bars(&bars, &drawing), JOULE_INVALID);
    drawing_free(&drawing);
}

static void test_trend_has_dates_and_gaps(void **state)
{
    (void)state;
    double times[SIZES];
    struct plot_value values[SIZES];
    for (int i = 0; i < SIZES; i++) {
        times[i] = 1790000000 + 86400.0 * i;
        values[i] = around(10, 0.02);
    }
    values[4] = (struct plot_value){NAN, NAN, NAN};
    struct plot_series series = {"make test", times, values, SIZES};
    struct plot_trend trend = {.labels = {.y_name = "energy", .y_unit = "J"},
                               .series = &series,
                               .series_count = 1,
                               .baseline = {10, 9.8, 10.2},
                               .baseline_name = "baseline main"};
    struct drawing drawing;
    assert_int_equal(plot_trend(&trend, &drawing), JOULE_OK);
    size_t lines = 0;
    for (size_t i = 0; i < drawing.shape_count; i++)
        lines += drawing.shapes[i].kind == SHAPE_LINE && drawing.shapes[i].paint.stroke == COLOUR_SERIES &&
                 drawing.shapes[i].paint.stroke_width == 2 && drawing.shapes[i].point_count > 2;
    assert_int_equal(lines, 2);
    assert_true(has_text(&drawing, "2026-09-2"));
    assert_true(has_text(&drawing, "baseline main"));
    drawing_free(&drawing);
    series.count = 0;
    assert_int_equal(plot_trend(&trend, &drawing), JOULE_INVALID);
    drawing_free(&drawing);
}

/* Returns true if all horizontal texts are within the drawing. */
static bool has_texts_inside(const struct drawing *drawing)
{
    for (size_t i = 0; i < drawing->shape_count; i++) {
        const struct shape *s = &drawing->shapes[i];
        if (s->kind != SHAPE_TEXT || s->style.is_vertical)
            continue;
        double width = drawing_text_width(s->text, s->style.size ? s->style.size : 12, s->style.is_bold);
        double left = s->style.anchor == ANCHOR_START    ? s->x
                      : s->style.anchor == ANCHOR_MIDDLE ? s->x - width / 2
                                                         : s->x - width;
        if (left < 0 || left + width > drawing->width)
            return false;
    }
    return true;
}

static void test_no_date_is_cut_at_the_edge(void **state)
{
    (void)state;
    for (double span = 60; span < 4e8; span *= 1.07) {
        const double times[] = {1790000000, 1790000000 + span};
        const struct plot_value values[] = {around(10, 0.02), around(11, 0.02)};
        const struct plot_series series = {"make test", times, values, 2};
        const struct plot_trend trend = {.labels = {.y_name = "energy", .y_unit = "J"},
                                         .series = &series,
                                         .series_count = 1,
                                         .baseline = {NAN, NAN, NAN}};
        struct drawing drawing;
        assert_int_equal(plot_trend(&trend, &drawing), JOULE_OK);
        assert_true(has_texts_inside(&drawing));
        drawing_free(&drawing);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crossing_is_found_with_its_range),
        cmocka_unit_test(test_parallel_lines_and_unknown_points_do_not_cross),
        cmocka_unit_test(test_sweep_marks_the_crossing),
        cmocka_unit_test(test_bars_say_unknown_and_never_zero),
        cmocka_unit_test(test_trend_has_dates_and_gaps),
        cmocka_unit_test(test_no_date_is_cut_at_the_edge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
