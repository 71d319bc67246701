/* Tests Apple's energies through a fake of IOReport: which channels are parts of other channels, which units
 * channels have, and that the source releases all objects. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dlfcn.h>
#include <cmocka.h>
#include "fakes/ioreport/fake_ioreport.h"
#include "support/check.h"
#include "support/machine.h"

#define LIBRARY TEST_BINARY_DIR "/fakes/ioreport/libIOReport.so"

static struct fake_ioreport *fake;

/* Adds the library to a scripted machine under its usual name, without the function `missing`. NULL means
 * that no function is missing. */
static void put_library(struct joule_host *host, const char *missing)
{
    static const char *const names[] = {"IOReportCopyChannelsInGroup",
                                        "IOReportCreateSubscription",
                                        "IOReportCreateSamples",
                                        "IOReportCreateSamplesDelta",
                                        "IOReportChannelGetChannelName",
                                        "IOReportChannelGetUnitLabel",
                                        "IOReportSimpleGetIntegerValue",
                                        "CFStringCreateWithCString",
                                        "CFStringGetCString",
                                        "CFDictionaryCreateMutableCopy",
                                        "CFDictionaryGetValue",
                                        "CFArrayGetCount",
                                        "CFArrayGetValueAtIndex",
                                        "CFRelease"};
    static struct script_symbol symbols[sizeof names / sizeof names[0]];
    void *library = dlopen(LIBRARY, RTLD_NOW);
    size_t count = 0;
    if (!library)
        fail_msg("%s", dlerror());
    fake = dlsym(library, "fake_ioreport");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!missing || strcmp(names[i], missing) != 0)
            symbols[count++] = (struct script_symbol){names[i], dlsym(library, names[i])};
    host_script_library(host, "/usr/lib/libIOReport.dylib", symbols, count);
}

static int setup(void **state)
{
    machine_setup(state);
    struct machine_bench *bench = *state;
    put_library(bench->host, NULL);
    *fake = (struct fake_ioreport){.channels = {{"CPU Energy", "mJ  ", 8, 1e-3},
                                                {"PCPU0", "mJ", 2, 1e-3},
                                                {"ECPU", "mJ", 1, 1e-3},
                                                {"GPU Energy", "  nJ", 5, 1e-9},
                                                {"ANE0", "uJ", 0.5, 1e-6},
                                                {"DRAM0", "mJ", 1.5, 1e-3},
                                                {"GPU SRAM0", "mJ", 0.25, 1e-3}}};
    host_script_text(bench->host, "/System/Library/x", "");
    return 0;
}

static int teardown(void **state)
{
    machine_teardown(state);
    assert_int_equal(fake->objects, 0); /* all objects were released */
    assert_int_equal(fake->faults, 0);
    return 0;
}

static void run(struct machine_bench *bench, double seconds)
{
    if (!bench->meter)
        bench->meter = machine_open(bench->host, "ioreport");
    for (int i = 0; i < (int)lround(seconds / 0.1); i++) {
        fake->now_ns += 100000000;
        machine_run(bench->meter, 0.1, 0.1);
    }
}

static void assert_watts(struct machine_bench *bench, const char *name, double wanted)
{
    double watts = machine_watts(bench->meter, name);
    if (!(fabs(watts - wanted) <= 0.02 * wanted))
        fail_msg("%s: %.12g instead of %.12g", name, watts, wanted);
}

static joule_status state_of(struct machine_bench *bench, const char *name)
{
    const struct channel *ch = machine_channel(bench->meter, name);
    assert_non_null(ch);
    return ch->info.state;
}

static void test_parts_and_units(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, 20);
    assert_int_equal(joule_domain_count(bench->meter), 5);
    assert_watts(bench, "package-0", 8);
    assert_watts(bench, "gpu-0", 5);
    assert_watts(bench, "npu-0", 0.5);
    assert_watts(bench, "dram-0", 1.5);
    assert_watts(bench, "gpu-sram", 0.25);
    assert_true(fabs(machine_mean_watts(bench->meter, JOULE_TOTAL) - 15) < 0.3);
    assert_int_equal(machine_channel(bench->meter, "package-0")->info.cls, JOULE_CLASS_MODELLED);
}

static void test_two_dies_add_up(void **state)
{
    struct machine_bench *bench = *state;
    fake->channels[0].name = "DIE_0_CPU Energy";
    fake->channels[1].name = "DIE_1_CPU Energy";
    run(bench, 20);
    assert_watts(bench, "package-0", 10);
}

static void test_an_unknown_unit_is_refused(void **state)
{
    struct machine_bench *bench = *state;
    fake->channels[3].unit = "J";
    fake->channels[4].unit = NULL;
    run(bench, 5);
    assert_null(machine_channel(bench->meter, "gpu-0"));
    assert_null(machine_channel(bench->meter, "npu-0"));
    fake->faults = 0;              /* the source read no text of an invalid string */
    fake->channels[0].unit = "pJ"; /* the unit changes while the source is open */
    run(bench, 1);
    assert_int_equal(state_of(bench, "package-0"), JOULE_FAILED);
    assert_int_equal(state_of(bench, "dram-0"), JOULE_OK);
}

static void test_counts_that_fall_back(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, 5);
    fake->falls_back = true;
    run(bench, 1);
    assert_int_equal(state_of(bench, "package-0"), JOULE_FAILED);
    fake->falls_back = false;
    run(bench, 5);
    assert_int_equal(state_of(bench, "package-0"), JOULE_OK);
}

static void test_counts_that_stand_still(void **state)
{
    struct machine_bench *bench = *state;
    fake->is_frozen = true;
    run(bench, 5);
    assert_true(isnan(machine_mean_watts(bench->meter, JOULE_TOTAL))); /* the counts are never trusted */
}

static void test_missing_samples_are_failures(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, 2);
    fake->gives_no_sample = true;
    run(bench, 1);
    assert_int_equal(state_of(bench, "package-0"), JOULE_FAILED);
    fake->gives_no_sample = false;
    fake->gives_no_delta = true;
    run(bench, 1);
    assert_int_equal(state_of(bench, "package-0"), JOULE_FAILED);
}

static void test_missing_group_is_a_failure(void **state)
{
    fake->has_no_group = true;
    machine_expect_absent(*state, "ioreport", JOULE_FAILED, "Energy Model");
}

static void test_a_function_is_missing(void **state)
{
    struct machine_bench *bench = *state;
    put_library(bench->host, "IOReportCreateSamplesDelta");
    machine_expect_absent(bench, "ioreport", JOULE_UNSUPPORTED, "IOReportCreateSamplesDelta");
}

static void test_with_the_real_host(void **state)
{
    joule_options options = {
        .struct_size = sizeof options, .flags = JOULE_OPEN_NO_SESSION, .sources = "ioreport"};
    joule_meter *meter;
    (void)state;
    fake->now_ns = -1;
    setenv("JOULE_IOREPORT_LIB", LIBRARY, 1);
    assert_int_equal(joule_open(&options, &meter, NULL), JOULE_OK);
    assert_int_equal(joule_domain_count(meter), 5);
    joule_close(meter);
    unsetenv("JOULE_IOREPORT_LIB");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_parts_and_units),
        TEST(test_two_dies_add_up),
        TEST(test_an_unknown_unit_is_refused),
        TEST(test_counts_that_fall_back),
        TEST(test_counts_that_stand_still),
        TEST(test_missing_samples_are_failures),
        TEST(test_missing_group_is_a_failure),
        TEST(test_a_function_is_missing),
        TEST(test_with_the_real_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
