/* Tests that the output of several releases of rocm-smi and amd-smi is parsed, and that boards are measured
 * with these programs.
 *
 * The texts of rocm-smi follow captures of an MI250X, of an RX 7900 XTX, and of the program of 2019. Those of
 * amd-smi follow captures of an MI210, of Radeon boards before and after units were added, and of ROCm 7. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "joule/sources/amd/amd_smi_json.h"
#include "support/check.h"
#include "support/machine.h"

#define UNIT_J 0x1p-16

/* --- parsing -------------------------------------------------------------------------------------------- */

typedef bool (*words_fn)(struct arena *arena, char *text, size_t size, struct amd_cards *out_cards);

struct reading {
    struct arena arena;
    struct amd_cards cards;
};

static struct reading read_words(words_fn words, const char *text)
{
    struct reading reading = {{0}, {0}};
    size_t size = strlen(text);
    char *copy = malloc(size + 1); /* exact size, for the sanitizer */
    assert_non_null(copy);
    memcpy(copy, text, size);
    assert_true(words(&reading.arena, copy, size, &reading.cards));
    free(copy);
    return reading;
}

/* Returns the only card of a text. */
static struct amd_card only_card(words_fn words, const char *text)
{
    struct reading reading = read_words(words, text);
    if (reading.cards.count != 1)
        fail_msg("%zu cards in %s", reading.cards.count, text);
    struct amd_card card = reading.cards.list[0];
    arena_free(&reading.arena);
    return card;
}

static const char mi250x[] =
    "{\"card0\": {\"GPU ID\": \"0x7408\", \"Unique ID\": \"0xa32343daf897162a\", \"Card series\": "
    "\"\\t\\tAMD INSTINCT "
    "MI250X\", \"Temperature (Sensor edge) (C)\": \"56.0\", \"Temperature (Sensor junction) (C)\": \"61.0\", "
    "\"Temperature (Sensor memory) (C)\": \"65.0\", \"Temperature (Sensor HBM 0) (C)\": \"65.0\", "
    "\"Max Graphics Package Power (W)\": \"560.0\", \"Average Graphics Package Power (W)\": \"144.0\", "
    "\"GPU use (%)\": \"100\", \"GFX Activity\": \"324450778\", \"PCI Bus\": \"0000:C1:00.0\", "
    "\"VRAM Total Memory (B)\": \"68702699520\", \"VRAM Total Used Memory (B)\": \"10960896\", "
    "\"Energy counter\": \"14610425995231\", \"Accumulated Energy (uJ)\": \"223539520513751.9\"}, "
    "\"card1\": {\"PCI Bus\": \"0000:C6:00.0\", \"Max Graphics Package Power (W)\": \"0.0\", "
    "\"Average Graphics Package Power (W)\": \"N/A (Secondary die)\", \"Energy counter\": \"0\"}, "
    "\"system\": {\"Driver version\": \"5.16.9\"}}\n";

static void test_a_package_of_two_dies(void **state)
{
    (void)state;
    struct reading reading = read_words(rocm_smi_parse_json, mi250x);
    assert_int_equal(reading.cards.count, 2);
    const struct amd_card *first = &reading.cards.list[0], *second = &reading.cards.list[1];
    assert_true(first->counts == UINT64_C(14610425995231));
    assert_near(first->watts, 144, 0);
    assert_near(first->limit_watts, 560, 0);
    assert_near(first->edge_celsius, 56, 0);
    assert_near(first->junction_celsius, 61, 0);
    assert_near(first->memory_celsius, 65, 0);
    assert_near(first->busy, 1, 0);
    assert_true(first->memory_total_bytes == UINT64_C(68702699520));
    assert_true(first->memory_used_bytes == UINT64_C(10960896));
    assert_true(first->has_place && first->bus == 0xc1 && first->slot == 0);
    assert_string_equal(first->model, "AMD INSTINCT MI250X");
    assert_string_equal(first->uuid, "0xa32343daf897162a");
    assert_true(isnan(second->watts) && isnan(second->limit_watts) && isnan(second->busy));
    assert_true(second->counts == 0 && second->memory_total_bytes == UINT64_MAX);
    arena_free(&reading.arena);
}

static void test_rocm_smi_of_other_years(void **state)
{
    (void)state;
    struct amd_card card = only_card(
        rocm_smi_parse_json, "{\"card0\":{\"Temperature (Sensor edge) (C)\":\"49.0\",\"Average Graphics "
                             "Package Power (W)\":\"19.0\","
                             "\"GPU use (%)\":\"0\",\"VRAM Total Memory (B)\":\"25753026560\"}}");
    assert_near(card.watts, 19, 0);
    assert_near(card.busy, 0, 0);
    assert_true(!card.has_place && isnan(card.junction_celsius));
    card = only_card(rocm_smi_parse_json,
                     "{\"card0\":{\"Fan Speed (%)\":\"45\",\"Average Graphics Package Power (W)\":"
                     "\"222.0\",\"Temperature (Sensor mem) (c)\":\"79.0\"}}");
    assert_near(card.watts, 222, 0);
    assert_near(card.memory_celsius, 79, 0);
    /* the key of ROCm 6 */
    card = only_card(rocm_smi_parse_json,
                     "{\"card3\": {\"Current Socket Graphics Package Power (W)\": \"717.0\"}}");
    assert_int_equal(card.number, 3);
    assert_near(card.watts, 717, 0);
    /* The text has no power, because the program could not read it. */
    card = only_card(rocm_smi_parse_json, "{\"card0\": {\"GPU use (%)\": \"7\"}}");
    assert_true(isnan(card.watts));
}

static void test_lines_that_are_no_json(void **state)
{
    static const char card[] = "{\"card0\": {\"Average Graphics Package Power (W)\": \"19.0\"}}";
    char text[512];
    (void)state;
    snprintf(text, sizeof text,
             "WARNING: AMD GPU device(s) is/are in a low-power state {check power control}\n\n%s\n", card);
    assert_near(only_card(rocm_smi_parse_json, text).watts, 19, 0);
    snprintf(text, sizeof text, "[amdgpu] is new\n{half\n%s\nWARNING: One or more commands failed\n", card);
    assert_near(only_card(rocm_smi_parse_json, text).watts, 19, 0);
    static const char *const none[] = {"",
                                       "WARNING: No AMD GPUs specified\n",
                                       "{}",
                                       "[]",
                                       "{\"card0\": 1}",
                                       "{\"card\": {}}",
                                       "{\"card0\": {",
                                       "{\"system\": {}}",
                                       "{\"cardinal\": {}}"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        struct reading reading = read_words(rocm_smi_parse_json, none[i]);
        assert_int_equal(reading.cards.count, 0);
        arena_free(&reading.arena);
        reading = read_words(amd_smi_parse_json, none[i]);
        assert_int_equal(reading.cards.count, 0);
        arena_free(&reading.arena);
    }
}

#define GPU(power, energy) "{\"gpu\": 0, \"power\": " power ", \"energy\": " energy "}"

static void test_amd_smi_of_each_release(void **state)
{
    static const char *const texts[] = {
        "[" GPU("{\"average_socket_power\": 10, \"gfx_voltage\": 6}", "\"N/A\"") "]", /* version 5.7 */
        /* version 6.0 */
        "[" GPU("{\"current_power\": 10, \"power_limit\": 300}",
                "{\"total_energy_consumption\": 20909145.914}") "]",
        "[\n  " GPU("{\"socket_power\": {\"value\": 10, \"unit\": \"W\"}}",
                    "{\"total_energy_consumption\": {\"value\": 20909145.914, \"unit\": \"J\"}}") "\n]\n",
        "{\"gpu_data\": [" GPU(
            "{\"socket_power\": {\"value\": 10, \"unit\": \"W\"}}",
            "{\"total_energy_consumption\": {\"value\": 20909145.914, \"unit\": \"J\"}}") "]}",
        "'CTRL' + 'C' to stop watching output:\n[" GPU("{\"socket_power\": \"10\"}",
                                                       "{\"total_energy_consumption\": 20909145.914}") "]\n"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct amd_card card = only_card(amd_smi_parse_json, texts[i]);
        assert_near(card.watts, 10, 0);
        if (i == 0)
            assert_true(card.counts == 0);
        else /* amd-smi assumes 15.3 uJ per count */
            assert_near((double)card.counts * UNIT_J, 20909145.914 / 15.3e-6 * UNIT_J, 1e-3);
    }
}

static void test_amd_smi_words_are_unknown(void **state)
{
    (void)state;
    struct amd_card card = only_card(
        amd_smi_parse_json,
        "[{\"gpu\": 0, \"power\":{\"socket_power\":\"N/A\",\"gfx_voltage\":\"N/A\"}, \"usage\":\"N/A\", "
        "\"energy\": \"N/A\", \"temperature\": {\"edge\": \"N/A\"}, \"mem_usage\": {\"total_vram\": "
        "\"N/A\"}, "
        "\"timestamp\":1769014607}]");
    assert_true(isnan(card.watts) && isnan(card.busy) && isnan(card.edge_celsius) && card.counts == 0 &&
                card.memory_total_bytes == UINT64_MAX);
    /* an RDNA4 board always shows 0 J */
    card = only_card(amd_smi_parse_json,
                     "[{\"gpu\": 0, \"energy\": {\"total_energy_consumption\": {\"value\": 0.0, "
                     "\"unit\": \"J\"}}}]");
    assert_true(card.counts == 0);
    card =
        only_card(amd_smi_parse_json, "[{\"gpu\": 1, \"usage\": {\"gfx_activity\": {\"value\": 42, \"unit\": "
                                      "\"%\"}}, \"temperature\": {\"edge\": "
                                      "{\"value\": 41, \"unit\": \"C\"}, \"hotspot\": {\"value\": 45, "
                                      "\"unit\": \"C\"}, \"mem\": {\"value\": 50, "
                                      "\"unit\": \"C\"}}, \"mem_usage\": {\"total_vram\": {\"value\": 65520, "
                                      "\"unit\": \"MB\"}, \"used_vram\": "
                                      "{\"value\": 13, \"unit\": \"MB\"}}}]");
    assert_near(card.busy, 0.42, 1e-12);
    assert_near(card.edge_celsius, 41, 0);
    assert_near(card.junction_celsius, 45, 0);
    assert_near(card.memory_celsius, 50, 0);
    assert_true(card.memory_total_bytes == UINT64_C(65520) << 20 && card.memory_used_bytes == 13u << 20);
}

/* Readings of an MI210, one second apart: each shows 42.7 J more than the previous one. */
static void test_a_recorded_series(void **state)
{
    static const double joules[] = {20909145.914, 20909188.578, 20909231.286, 20909273.989};
    uint64_t counts[4];
    (void)state;
    for (int i = 0; i < 4; i++) {
        char text[128];
        snprintf(text, sizeof text, "[{\"gpu\": 0, \"energy\": {\"total_energy_consumption\": %.3f}}]",
                 joules[i]);
        counts[i] = only_card(amd_smi_parse_json, text).counts;
    }
    for (int i = 1; i < 4; i++)
        assert_near((double)(counts[i] - counts[i - 1]) * UNIT_J,
                    (joules[i] - joules[i - 1]) / 15.3 * (UNIT_J * 1e6), 1e-3);
}

/* --- programs ------------------------------------------------------------------------------------------- */

/* State of the scripted program. */
static struct truth {
    double watts;
    bool counts, is_listed_twice, knows_few_words, is_broken;
    int error;
    int64_t fail_ns;
    unsigned runs;
} truth;

static bool has_word(const char *const *argv, const char *word)
{
    for (; *argv; argv++)
        if (strcmp(*argv, word) == 0)
            return true;
    return false;
}

static ssize_t run_amd(void *context, int64_t time_ns, const char *const *argv, char *buffer, size_t size,
                       int *out_status)
{
    (void)context;
    truth.runs++;
    if (truth.error || (truth.fail_ns && time_ns > truth.fail_ns))
        return truth.error ? -truth.error : -ETIMEDOUT;
    if (truth.knows_few_words && has_word(argv, "--usage")) {
        *out_status = 2;
        return snprintf(buffer, size, "usage: amd-smi metric [-h]\n");
    }
    if (has_word(argv, "list"))
        return snprintf(buffer, size, "[{\"gpu\": 0, \"bdf\": \"0000:c1:00.0\", \"uuid\": \"ab\"}%s]\n",
                        truth.is_listed_twice ? ", {\"gpu\": 1, \"bdf\": \"0000:c1:00.1\"}" : "");
    double joules = truth.counts ? 1e6 + truth.watts * (double)time_ns * 1e-9 * (15.3e-6 / UNIT_J) : 0;
    char one[256];
    snprintf(one, sizeof one,
             "\"power\": {\"socket_power\": {\"value\": %.0f, \"unit\": \"W\"}}, \"energy\": "
             "{\"total_energy_consumption\": {\"value\": %.3f, \"unit\": \"J\"}}",
             truth.watts, joules);
    return truth.is_listed_twice ? snprintf(buffer, size, "[{\"gpu\": 0, %s}, {\"gpu\": 1, %s}]\n", one, one)
                                 : snprintf(buffer, size, "noise\n[{\"gpu\": 0, %s}]\n", one);
}

static ssize_t run_rocm(void *context, int64_t time_ns, const char *const *argv, char *buffer, size_t size,
                        int *out_status)
{
    (void)context;
    truth.runs++;
    if (truth.knows_few_words && has_word(argv, "--showenergycounter")) {
        *out_status = 2;
        return 0;
    }
    double counts = truth.counts ? 1e9 + truth.watts * (double)time_ns * 1e-9 / UNIT_J : 0;
    return snprintf(
        buffer, size,
        "{\"card0\": {\"PCI Bus\": \"0000:C1:00.0\", \"Average Graphics Package Power (W)\": \"%.1f\", "
        "\"Energy counter\": \"%.0f\"}}\n",
        truth.watts, counts);
}

static int setup(void **state)
{
    machine_setup(state);
    struct machine_bench *bench = *state;
    truth = (struct truth){.watts = 200, .counts = true};
    machine_put_amd_card(bench->host);
    return 0;
}

static void run(struct machine_bench *bench, const char *sources)
{
    bench->meter = machine_open(bench->host, sources);
    machine_run(bench->meter, 60, 5);
}

static void expect_watts(struct machine_bench *bench, const char *source)
{
    const struct channel *ch = machine_channel(bench->meter, "gpu-0");
    assert_non_null(ch);
    assert_string_equal(ch->info.source, source);
    assert_near(machine_mean_watts(bench->meter, JOULE_TOTAL), 200, 0.01);
}

#define ALL "-estimated" /* the list names no source; it only excludes one */

static void test_amd_smi_counts(void **state)
{
    host_script_program(((struct machine_bench *)*state)->host, "amd-smi", run_amd, NULL);
    run(*state, ALL);
    /* 2 runs open the source, and each of 13 rounds of readings needs at most one more */
    expect_watts(*state, "amd_smi_program");
    assert_true(truth.runs <= 2 + 13);
}

static void test_rocm_smi_counts(void **state)
{
    host_script_program(((struct machine_bench *)*state)->host, "rocm-smi", run_rocm, NULL);
    run(*state, ALL);
    expect_watts(*state, "rocm_smi_program");
}

static void test_power_stands_in_and_parts_count_once(void **state)
{
    truth.counts = false;
    truth.is_listed_twice = true;
    host_script_program(((struct machine_bench *)*state)->host, "amd-smi", run_amd, NULL);
    run(*state, ALL);
    expect_watts(*state, "amd_smi_program");
}

static void test_older_programs_know_fewer_words(void **state)
{
    struct machine_bench *bench = *state;
    truth.knows_few_words = true;
    host_script_program(bench->host, "/opt/rocm/bin/amd-smi", run_amd, NULL);
    run(bench, "amd_smi_program");
    expect_watts(bench, "amd_smi_program");
    joule_close(bench->meter);
    truth.counts = false;
    host_script_program(bench->host, "/opt/rocm/bin/rocm-smi", run_rocm, NULL);
    run(bench, "rocm_smi_program");
    expect_watts(bench, "rocm_smi_program");
}

static joule_status state_of(const struct machine_bench *bench)
{
    return bench->meter->lanes[1]->sources[0]->state;
}

static void test_a_program_that_fails(void **state)
{
    static const struct {
        int error;
        joule_status state;
    } cases[] = {{ENOENT, JOULE_ABSENT}, {EACCES, JOULE_DENIED}, {ETIMEDOUT, JOULE_FAILED}};
    struct machine_bench *bench = *state;
    host_script_program(bench->host, "amd-smi", run_amd, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        truth.error = cases[i].error;
        bench->meter = machine_open(bench->host, "amd_smi_program");
        assert_int_equal(state_of(bench), cases[i].state);
        joule_close(bench->meter);
    }
    truth.error = 0;
    bench->meter = machine_open(bench->host, "amd_smi_program");
    machine_run(bench->meter, 20, 5);
    assert_int_equal(machine_channel(bench->meter, "gpu-0")->info.state, JOULE_OK);
    truth.fail_ns = 1;
    machine_run(bench->meter, 15, 5);
    assert_int_equal(machine_channel(bench->meter, "gpu-0")->info.state, JOULE_FAILED);
}

static int loaded(void)
{
    return 0;
}

/* The program uses half a second of CPU time for each reading, so it is run only if no other source works. */
static void test_run_only_as_the_last_resort(void **state)
{
    static const struct script_symbol symbols[] = {{"rsmi_init", (void *)loaded}};
    struct machine_bench *bench = *state;
    host_script_program(bench->host, "amd-smi", run_amd, NULL);
    host_script_library(bench->host, "librocm_smi64.so.6", symbols, 1);
    bench->meter = machine_open(bench->host, ALL);
    assert_int_equal(truth.runs, 0);
    joule_close(bench->meter);
    host_script_library(bench->host, "librocm_smi64.so.6", NULL, 0);
    /* the program is run if the user names its source */
    bench->meter = machine_open(bench->host, "amd_smi_program");
    assert_int_not_equal(truth.runs, 0);
    joule_close(bench->meter);
    truth.runs = 0;
    host_script_text(bench->host, "/sys/class/drm/card1/device/hwmon/hwmon4/power1_average", "5000000\n");
    bench->meter = machine_open(bench->host, ALL);
    assert_int_equal(truth.runs, 0);
}

int main(void)
{
#define RUN(name) cmocka_unit_test_setup_teardown(name, setup, machine_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_package_of_two_dies),
        cmocka_unit_test(test_rocm_smi_of_other_years),
        cmocka_unit_test(test_lines_that_are_no_json),
        cmocka_unit_test(test_amd_smi_of_each_release),
        cmocka_unit_test(test_amd_smi_words_are_unknown),
        cmocka_unit_test(test_a_recorded_series),
        RUN(test_amd_smi_counts),
        RUN(test_rocm_smi_counts),
        RUN(test_power_stands_in_and_parts_count_once),
        RUN(test_older_programs_know_fewer_words),
        RUN(test_a_program_that_fails),
        RUN(test_run_only_as_the_last_resort),
    };
    return cmocka_run_group_tests_name("amd_programs", tests, NULL, NULL);
}
