/* Tests that a Mac's total power is read, through fakes of IOKit and of the controller's driver. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "support/machine.h"

/* State of the fake driver. */
static struct truth {
    float watts;
    const char *type;
    const char *names[3]; /* names of the services; NULL ends the list */
    unsigned char result; /* result of the call */
    int error;            /* error of the call */
    int objects, connections;
    size_t next;
} truth;

static void *matching(const char *class_name)
{
    assert_string_equal(class_name, "AppleSMC");
    return &truth;
}

static int get_matching(uint32_t main_port, void *dictionary, uint32_t *out_iterator)
{
    assert_int_equal(main_port, 0);
    assert_ptr_equal(dictionary, &truth);
    truth.next = 0;
    truth.objects++;
    *out_iterator = 77;
    return 0;
}

static uint32_t next(uint32_t iterator)
{
    assert_int_equal(iterator, 77);
    if (truth.next == 3 || !truth.names[truth.next])
        return 0;
    truth.objects++;
    return (uint32_t)(100 + truth.next++);
}

static int get_name(uint32_t entry, char out_name[128])
{
    strcpy(out_name, truth.names[entry - 100]);
    return 0;
}

static uint32_t task = 4711;

static int open_service(uint32_t service, uint32_t owner, uint32_t type, uint32_t *out_connection)
{
    assert_string_equal(truth.names[service - 100], "AppleSMCKeysEndpoint");
    assert_int_equal(owner, task);
    assert_int_equal(type, 0);
    truth.connections++;
    *out_connection = 9;
    return 0;
}

static int close_service(uint32_t connection)
{
    assert_int_equal(connection, 9);
    truth.connections--;
    return 0;
}

static int release(uint32_t object)
{
    assert_true(object == 77 || (object >= 100 && object < 103));
    truth.objects--;
    return 0;
}

/* Reads the message at the byte offsets of the driver's structure, so that wrong padding is detected. */
static int call(uint32_t connection, uint32_t selector, const void *input, size_t input_size, void *output,
                size_t *output_size)
{
    unsigned char message[80];
    uint32_t key, size = sizeof truth.watts, type;
    assert_int_equal(connection, 9);
    assert_int_equal(selector, 2);
    assert_int_equal(input_size, 80);
    assert_int_equal(*output_size, 80);
    memcpy(message, input, sizeof message);
    memcpy(&key, message, sizeof key);
    assert_int_equal(key, 0x50535452); /* the key's name, "PSTR" */
    type = (uint32_t)truth.type[0] << 24 | (uint32_t)truth.type[1] << 16 | (uint32_t)truth.type[2] << 8 |
           (uint32_t)truth.type[3];
    if (message[42] == 9) {
        memcpy(message + 28, &size, sizeof size);
        memcpy(message + 32, &type, sizeof type);
    } else {
        assert_int_equal(message[42], 5);
        /* the size of the value, which an earlier call for information about the key returned */
        assert_int_equal(message[28], 4);
        memcpy(message + 48, &truth.watts, sizeof truth.watts);
    }
    message[40] = truth.result;
    memcpy(output, message, sizeof message);
    return truth.error;
}

static const struct script_symbol symbols[] = {
    {"IOServiceMatching", (void *)matching},
    {"IOServiceGetMatchingServices", (void *)get_matching},
    {"IOIteratorNext", (void *)next},
    {"IORegistryEntryGetName", (void *)get_name},
    {"IOServiceOpen", (void *)open_service},
    {"IOServiceClose", (void *)close_service},
    {"IOObjectRelease", (void *)release},
    {"mach_task_self_", (void *)&task},
    {"IOConnectCallStructMethod", (void *)call},
};
#define SYMBOLS (sizeof symbols / sizeof symbols[0])

static void put_library(struct machine_bench *bench, size_t count)
{
    host_script_library(bench->host, "/System/Library/Frameworks/IOKit.framework/IOKit", symbols, count);
}

static int setup(void **state)
{
    machine_setup(state);
    truth = (struct truth){.watts = 23.5f, .type = "flt ", .names = {"AppleSMC", "AppleSMCKeysEndpoint"}};
    put_library(*state, SYMBOLS);
    return 0;
}

static int teardown(void **state)
{
    machine_teardown(state);
    assert_int_equal(truth.objects, 0);
    assert_int_equal(truth.connections, 0);
    return 0;
}

static void test_system_power_is_read(void **state)
{
    struct machine_bench *bench = *state;
    bench->meter = machine_open(bench->host, "smc");
    machine_run(bench->meter, 20, 1);
    assert_true(fabs(machine_mean_watts(bench->meter, JOULE_TOTAL) - 23.5) < 1e-6);
    const struct channel *ch = machine_channel(bench->meter, "node");
    assert_int_equal(ch->info.scope, JOULE_SCOPE_NODE);
    assert_int_equal(ch->info.cls, JOULE_CLASS_DERIVED);
    truth.error = 1;
    machine_run(bench->meter, 1, 1);
    assert_int_equal(ch->info.state, JOULE_FAILED);
    truth.error = 0;
    truth.watts = NAN;
    machine_run(bench->meter, 1, 1);
    assert_int_equal(ch->info.state, JOULE_FAILED);
}

static void test_impossible_power_is_unknown(void **state)
{
    static const struct truth cases[] = {
        {.watts = 23, .type = "flt ", .names = {"AppleSMC"}},
        {.watts = 23, .type = "sp78", .names = {"AppleSMCKeysEndpoint"}},
        {.watts = 23, .type = "flt ", .names = {"AppleSMCKeysEndpoint"}, .result = 132},
        {.watts = 23, .type = "flt ", .names = {"AppleSMCKeysEndpoint"}, .error = 1},
        {.watts = 0, .type = "flt ", .names = {"AppleSMCKeysEndpoint"}},
        {.watts = 1e9f, .type = "flt ", .names = {"AppleSMCKeysEndpoint"}},
    };
    struct machine_bench *bench = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        truth = cases[i];
        bench->meter = machine_open(bench->host, "smc");
        assert_int_equal(joule_domain_count(bench->meter), 0);
        joule_close(bench->meter);
        bench->meter = NULL;
        assert_int_equal(truth.connections, 0);
    }
}

static void test_a_function_is_missing(void **state)
{
    struct machine_bench *bench = *state;
    put_library(bench, SYMBOLS - 1);
    bench->meter = machine_open(bench->host, "smc");
    assert_int_equal(joule_domain_count(bench->meter), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_system_power_is_read),
                                       TEST(test_impossible_power_is_unknown),
                                       TEST(test_a_function_is_missing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
