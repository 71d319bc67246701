/* Tests that a skyline conserves energy and extremes, divides energy among regions as the collector does, and
 * shows gaps as unknown: on random records. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/crc32.h"
#include "joule/picture/skyline_phases.h"
#include "joule/picture/skyline_record.h"

#define BEGIN_NS 5000000000LL
#define ROUNDS   300

/* --- a record in memory --------------------------------------------------------------------------------- */

struct builder {
    uint8_t bytes[1 << 20];
    size_t count, block; /* block: begin of the open block */
};

static struct builder builder;

static void put(const void *bytes, size_t count)
{
    assert_true(builder.count + count <= sizeof builder.bytes);
    memcpy(builder.bytes + builder.count, bytes, count);
    builder.count += count;
}

static void put_u32(uint32_t value)
{
    put(&value, sizeof value);
}

static void put_i64(int64_t value)
{
    put(&value, sizeof value);
}

static void put_f64(double value)
{
    put(&value, sizeof value);
}

static void put_text(const char *text)
{
    uint16_t length = (uint16_t)strlen(text);
    put(&length, sizeof length);
    put(text, length);
}

static void begin_block(uint32_t type)
{
    builder.block = builder.count;
    put_u32(type);
    builder.count += 12; /* set by end_block */
}

static void end_block(void)
{
    uint8_t *head = builder.bytes + builder.block;
    uint32_t size = (uint32_t)(builder.count - builder.block - 16), crc = crc32_bytes(head + 16, size);
    memcpy(head + 4, &size, 4);
    memcpy(head + 8, &crc, 4);
    crc = crc32_bytes(head, 12);
    memcpy(head + 12, &crc, 4);
}

static void begin_record(void)
{
    builder.count = 0;
    put("JOULEREC", 8);
    put_u32(1);
    put_u32(16);
    begin_block(1);
    put_i64(BEGIN_NS);
    put_i64(1790000000000000000);
    put_f64(0.001);
    put_text("test");
    end_block();
}

static void put_channel(uint32_t number, uint32_t scope, const char *name, const char *device)
{
    begin_block(2);
    uint32_t numbers[] = {number, 0, scope, 1, 0, 1, 2, 0, 0, 20};
    put(numbers, sizeof numbers);
    double figures[] = {0.001, 0.01, 0.001, 1e-6};
    put(figures, sizeof figures);
    const char *const texts[] = {name, "", device, "rapl", "rapl", "", "", "", "", name, ""};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        put_text(texts[i]);
    end_block();
}

static void put_point(int64_t time_ns, double joules, double covered_s)
{
    put_i64(BEGIN_NS + time_ns);
    put_f64(joules);
    put_f64(covered_s);
    put_f64(0);
    put_f64(0);
}

static void put_region(int64_t begin_ns, int64_t end_ns, uint32_t thread, uint32_t flags, const char *name)
{
    begin_block(5);
    put_i64(BEGIN_NS + begin_ns);
    put_i64(BEGIN_NS + end_ns);
    put_u32(thread);
    put_u32(flags);
    put_text(name);
    end_block();
}

static void end_record(int64_t length_ns, struct record *out)
{
    joule_error error;
    begin_block(6);
    put_i64(BEGIN_NS + length_ns);
    end_block();
    joule_status status = record_parse(builder.bytes, builder.count, out, &error);
    if (status != JOULE_OK)
        fail_msg("%s", error.message);
}

/* --- random records ------------------------------------------------------------------------------------- */

static uint64_t seed;

static double chance(void) /* in [0, 1) */
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) * 0x1p-53;
}

/* True figures of a random channel. */
struct truth {
    double joules;    /* within the record */
    double max_watts; /* of the covered steps */
    bool has_gap;
};

/* Adds a channel with steps of random length and power; some are not covered. */
static struct truth put_random_channel(uint32_t number, const char *name, bool is_gpu, int64_t length_ns,
                                       bool has_gaps)
{
    struct truth truth = {0};
    double joules = 0, covered_s = 0;
    put_channel(number, is_gpu ? JOULE_SCOPE_GPU : JOULE_SCOPE_PACKAGE, name, is_gpu ? "gpu:0" : "cpu:0");
    begin_block(3);
    put_u32(number);
    size_t count_at = builder.count;
    uint32_t count = 1;
    put_u32(0);
    put_point(0, 0, 0);
    for (int64_t at = 0; at < length_ns; count++) {
        int64_t step = 1 + (int64_t)(chance() * (chance() < 0.2 ? 3e7 : 2e6)), end = at + step;
        end = end > length_ns ? length_ns : end;
        double seconds = (double)(end - at) * 1e-9, watts = chance() < 0.1 ? 0 : 100 * chance();
        if (has_gaps && chance() < 0.1) {
            truth.has_gap = true;
        } else {
            joules += watts * seconds;
            covered_s += seconds;
            truth.max_watts = fmax(truth.max_watts, watts);
        }
        put_point(end, joules, covered_s);
        at = end;
    }
    memcpy(builder.bytes + count_at, &count, sizeof count);
    end_block();
    truth.joules = joules;
    return truth;
}

static void put_random_regions(int64_t length_ns)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
    static const uint32_t flags[] = {0, 0, JOULE_REGION_CPU, JOULE_REGION_GPU,
                                     JOULE_REGION_CPU | JOULE_REGION_GPU};
    int count = (int)(chance() * 60);
    for (int i = 0; i < count; i++) {
        int64_t begin = (int64_t)(chance() * (double)length_ns), end = begin + (int64_t)(chance() * 5e7);
        put_region(begin, end > length_ns ? length_ns : end, (uint32_t)(chance() * 4),
                   flags[(int)(chance() * 5)], names[(int)(chance() * 12)]);
    }
}

static struct skyline make(const struct record *record, enum skyline_by by, size_t columns)
{
    struct skyline skyline;
    joule_error error;
    struct skyline_part part = {NAN, NAN, by, columns};
    joule_status status = skyline_of_record(record, &part, &skyline, &error);
    if (status != JOULE_OK)
        fail_msg("%s", error.message);
    return skyline;
}

static double sum_of(const struct skyline *skyline)
{
    double sum = 0;
    for (size_t k = 0; k < skyline->layer_count; k++) {
        double layer = 0;
        for (size_t i = 0; i < skyline->column_count; i++)
            layer += skyline->layers[k].joules[i];
        assert_true(fabs(layer - skyline->layers[k].total_joules) <= 1e-9 * (1 + layer));
        sum += layer;
    }
    return sum;
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (1 + fabs(b));
}

/* --- tests ---------------------------------------------------------------------------------------------- */

static void test_energy_and_extremes_are_conserved(void **state)
{
    (void)state;
    for (uint64_t round = 1; round < ROUNDS; round++) {
        seed = round * 7919;
        bool has_gaps = round % 2, has_gpu = round % 3 == 0;
        int64_t length_ns = 1000000 + (int64_t)(chance() * 3e8);
        begin_record();
        struct truth cpu = put_random_channel(0, "package-0", false, length_ns, has_gaps), gpu = {0};
        if (has_gpu)
            gpu = put_random_channel(1, "gpu-0", true, length_ns, has_gaps);
        put_random_regions(length_ns);
        struct record record;
        end_record(length_ns, &record);
        size_t columns = 1 + (size_t)(chance() * 700);
        struct skyline regions = make(&record, SKYLINE_BY_REGION, columns);
        struct skyline devices = make(&record, SKYLINE_BY_DEVICE, columns);
        double expected = cpu.joules + gpu.joules;
        if (!(cpu.joules > 0) || (has_gpu && !(gpu.joules > 0)))
            expected = regions.total_joules.value; /* a channel that never moved is not part of the total */
        assert_true(is_near(regions.total_joules.value, expected));
        assert_true(is_near(sum_of(&regions), expected));
        assert_true(is_near(sum_of(&devices), expected));
        double most = 0;
        for (size_t i = 0; i < columns; i++) {
            const struct skyline_column *column = &regions.columns[i];
            double mean = skyline_watts(&regions, -1, i);
            most = fmax(most, column->max_watts);
            assert_true(isnan(column->min_watts) == isnan(column->max_watts));
            assert_false(column->min_watts > column->max_watts);
            if (column->covered_s > 0.999999 * regions.column_s) {
                assert_true(mean <= column->max_watts * (1 + 1e-6) + 1e-9);
                assert_true(mean >= column->min_watts * (1 - 1e-6) - 1e-9);
            }
            assert_true(is_near(mean, skyline_watts(&devices, -1, i)) || isnan(mean));
        }
        if (!has_gpu && cpu.joules > 0)
            assert_true(fabs(most - cpu.max_watts) <= 1e-6 * cpu.max_watts);
        skyline_free(&regions);
        skyline_free(&devices);
        record_free(&record);
    }
}

/* The report's figure `self` of a region is the energy in which it is the innermost region. */
static void test_regions_get_what_the_collector_attributes(void **state)
{
    (void)state;
    for (uint64_t round = 1; round < 20; round++) {
        seed = round * 977;
        int64_t length_ns = 300000000;
        begin_record();
        put_random_channel(0, "package-0", false, length_ns, false);
        /* Proper nesting: an outer and an inner region on each of two threads. */
        for (int i = 0; i < 5; i++) {
            int64_t at = i * 55000000LL;
            put_region(at, at + 40000000, 0, 0, "outer");
            put_region(at + 5000000 + (int64_t)(chance() * 5e6), at + 30000000, 0, 0, "inner");
            put_region(at + (int64_t)(chance() * 3e7), at + 50000000, 1, 0, "other thread");
        }
        struct record record;
        struct report report;
        end_record(length_ns, &record);
        struct skyline skyline = make(&record, SKYLINE_BY_REGION, 128);
        assert_int_equal(record_report(&record, &report), JOULE_OK);
        assert_int_equal(report.function_count, 3);
        for (size_t f = 0; f < report.function_count; f++) {
            bool is_found = false;
            for (size_t k = 0; k < skyline.layer_count; k++) {
                if (strcmp(skyline.layers[k].name, report.functions[f].name) != 0)
                    continue;
                is_found = true;
                double self = report.functions[f].result.self.value;
                assert_true(fabs(skyline.layers[k].total_joules - self) <= 1e-3 * self);
            }
            assert_true(is_found);
        }
        report_free(&report);
        skyline_free(&skyline);
        record_free(&record);
    }
}

static void test_gap_is_unknown_and_not_zero(void **state)
{
    (void)state;
    begin_record();
    put_channel(0, JOULE_SCOPE_PACKAGE, "package-0", "cpu:0");
    begin_block(3);
    put_u32(0);
    put_u32(4);
    put_point(0, 0, 0);
    put_point(100000000, 5, 0.1);
    put_point(200000000, 5, 0.1);
    put_point(300000000, 8, 0.2);
    end_block();
    struct record record;
    end_record(300000000, &record);
    struct skyline skyline = make(&record, SKYLINE_BY_DEVICE, 30);
    assert_true(fabs(skyline_watts(&skyline, -1, 3) - 50) < 1e-6);
    for (size_t i = 10; i < 20; i++)
        assert_true(isnan(skyline_watts(&skyline, -1, i)) && isnan(skyline.columns[i].max_watts) &&
                    !skyline_has_all(&skyline, i));
    assert_true(fabs(skyline_watts(&skyline, -1, 25) - 30) < 1e-6);
    assert_true(fabs(skyline.coverage - 2.0 / 3) < 1e-6);

    char page[8192];
    struct text text;
    text_init(&text, page, sizeof page);
    struct skyline_view view = {.title = "\x1b[31mname", .idle_watts = {.value = NAN}};
    skyline_print(&skyline, &view, &(struct skyline_terminal){.width = 40}, &text);
    assert_non_null(strstr(page, "?[31mname")); /* control characters are not printed */
    assert_non_null(strstr(page, "##########??????????##########"));
    assert_non_null(strstr(page, "sensors covered 67 %"));
    for (size_t i = 0; i < text.length; i++)
        assert_true((unsigned char)page[i] < 0x7f && (page[i] >= ' ' || page[i] == '\n'));

    struct drawing drawing;
    assert_int_equal(skyline_draw(&skyline, &view, &drawing), JOULE_OK);
    size_t areas = 0;
    for (size_t i = 0; i < drawing.shape_count; i++)
        areas += drawing.shapes[i].kind == SHAPE_AREA && drawing.shapes[i].paint.fill == COLOUR_SERIES;
    assert_int_equal(areas, 2); /* one on each side of the gap */
    drawing_free(&drawing);
    skyline_free(&skyline);
    record_free(&record);
}

static void test_phases_are_found(void **state)
{
    (void)state;
    static const double watts[] = {10, 30, 10};
    double joules = 0;
    seed = 3;
    begin_record();
    put_channel(0, JOULE_SCOPE_PACKAGE, "package-0", "cpu:0");
    begin_block(3);
    put_u32(0);
    put_u32(301);
    put_point(0, 0, 0);
    for (int i = 0; i < 300; i++) {
        joules += (watts[i / 100] + chance() - 0.5) * 0.01;
        put_point((i + 1) * 10000000LL, joules, (i + 1) * 0.01);
    }
    end_block();
    struct record record;
    end_record(3000000000, &record);
    struct arena arena = {0};
    struct skyline_phase *phases;
    size_t count;
    struct skyline_part part = {.from_s = NAN, .to_s = NAN};
    assert_int_equal(skyline_find_phases(&record, &part, &arena, &phases, &count, NULL), JOULE_OK);
    assert_int_equal(count, 3);
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        assert_true(fabs(phases[i].mean_watts - watts[i]) < 0.5);
        assert_true(fabs((double)(phases[i].begin_ns - BEGIN_NS) * 1e-9 - (double)i) < 0.03);
        sum += phases[i].joules;
    }
    assert_true(is_near(sum, joules));
    arena_free(&arena);
    record_free(&record);
}

static void test_invalid_parts_are_refused(void **state)
{
    (void)state;
    begin_record();
    put_random_channel(0, "package-0", false, 100000000, false);
    struct record record;
    end_record(100000000, &record);
    static const double parts[][2] = {{0.05, 0.05}, {0.06, 0.05}, {0.2, 0.3}, {-1, 0.05}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct skyline skyline;
        joule_error error;
        struct skyline_part part = {parts[i][0], parts[i][1], SKYLINE_BY_DEVICE, 100};
        assert_int_equal(skyline_of_record(&record, &part, &skyline, &error), JOULE_INVALID);
        assert_non_null(strstr(error.message, "0.1 s"));
        skyline_free(&skyline);
    }
    struct skyline whole = make(&record, SKYLINE_BY_DEVICE, 100), left, right;
    struct skyline_part first = {NAN, 0.0375, SKYLINE_BY_DEVICE, 77},
                        second = {0.0375, NAN, SKYLINE_BY_DEVICE, 33};
    assert_int_equal(skyline_of_record(&record, &first, &left, NULL), JOULE_OK);
    assert_int_equal(skyline_of_record(&record, &second, &right, NULL), JOULE_OK);
    assert_true(is_near(sum_of(&left) + sum_of(&right), sum_of(&whole)));
    skyline_free(&whole);
    skyline_free(&left);
    skyline_free(&right);
    record_free(&record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_energy_and_extremes_are_conserved),
        cmocka_unit_test(test_regions_get_what_the_collector_attributes),
        cmocka_unit_test(test_gap_is_unknown_and_not_zero),
        cmocka_unit_test(test_phases_are_found),
        cmocka_unit_test(test_invalid_parts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
