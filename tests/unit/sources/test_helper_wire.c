/* Tests the protocol between joule-helper and its clients: messages as in docs/helper.md are read as written,
 * others are refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/string.h"
#include "joule/sources/helper/helper_wire.h"

static struct channel package(void)
{
    struct channel ch = {.mode = CHANNEL_COUNTER,
                         .zone = "cpu1/package",
                         .parent_zone = "psys",
                         .gain_sd = 0.02,
                         .cause = 257,
                         .rank = RANK_MSR,
                         .counter = {.modulus = UINT64_C(1) << 32,
                                     .unit_joules = 0x1p-14,
                                     .grain_joules = 1,
                                     .max_watts = 2000,
                                     .tick_s = 0.001}};
    ch.info = (joule_domain){.scope = JOULE_SCOPE_PACKAGE,
                             .reading = JOULE_READING_ENERGY,
                             .cls = JOULE_CLASS_MEASURED,
                             .tier = 2,
                             .device_index = 1,
                             .update_period_s = 0.001,
                             .name = "package-1",
                             .label = "MSR_PKG_ENERGY_STATUS",
                             .device = "cpu:1",
                             .source = "rapl_msr",
                             .measurement = "rapl",
                             .vendor = "intel",
                             .model = "Xeon w9-3595X"};
    return ch;
}

static struct channel sensor(void)
{
    struct channel ch = package();
    ch.mode = CHANNEL_POWER;
    ch.info.reading = JOULE_READING_POWER;
    ch.info.cls = JOULE_CLASS_DERIVED;
    ch.info.update_period_s = NAN;
    ch.integrator = (struct integrator){
        .period_s = 0.1, .averaged_part = 0.5, .age_s = 0.05, .lag_s = 0.01, .max_watts = 750};
    ch.counter = (struct counter){0};
    return ch;
}

static bool passes(struct channel ch)
{
    uint8_t bytes[HELPER_CHANNEL_BYTES];
    struct channel out = {0};
    helper_write_channel(&ch, bytes);
    return helper_read_channel(bytes, &out);
}

static void test_messages_have_their_layout(void **state)
{
    (void)state;
    uint8_t bytes[HELPER_CHANNEL_BYTES], request[HELPER_REQUEST_BYTES], header[HELPER_HEADER_BYTES];
    static const uint8_t read_7[] = {'J', 'O', 'U', 'L', 1, 0, 2, 0, 7, 0, 0, 0, 0, 0, 0, 0};
    helper_write_request(&(struct helper_request){1, HELPER_READ, 7}, request);
    assert_memory_equal(request, read_7, sizeof read_7);
    helper_write_header(&(struct helper_header){1, HELPER_HELLO, 0x01020304, 3, 0x1122334455667788, 1000000},
                        header);
    assert_memory_equal(header + 4, "\1\0\1\0\4\3\2\1\3\0\0\0\x88\x77\x66\x55\x44\x33\x22\x11\x40\x42\x0f",
                        23);
    struct channel ch = package();
    helper_write_channel(&ch, bytes);
    /* the last double is 2^-14 J */
    assert_memory_equal(bytes, "\0\0\0\0\1\0\0\0\1\0\0\0\2\0\0\0\1\0\0\0\x1e\0\0\0\1\1\0\0\0\0\0\0", 32);
    assert_memory_equal(bytes + 48, "\0\0\0\0\0\0\x10\x3f", 8);
    assert_string_equal((char *)bytes + 128, "package-1");
    assert_string_equal((char *)bytes + 176, "cpu1/package");
    assert_string_equal((char *)bytes + 424, "Xeon w9-3595X");
}

static void test_written_channel_reads_back(void **state)
{
    (void)state;
    uint8_t bytes[HELPER_CHANNEL_BYTES];
    struct channel ch = package(), out = {0};
    helper_write_channel(&ch, bytes);
    assert_true(helper_read_channel(bytes, &out));
    out.integrator = ch.integrator; /* the message has no integrator limit, because both sides know it */
    assert_memory_equal(&out.counter, &ch.counter, sizeof ch.counter);
    assert_string_equal(out.parent_zone, ch.parent_zone);
    assert_string_equal(out.info.label, ch.info.label);
    assert_int_equal(out.info.reading, JOULE_READING_ENERGY);
    ch = sensor();
    helper_write_channel(&ch, bytes);
    assert_true(helper_read_channel(bytes, &out));
    assert_memory_equal(&out.integrator, &ch.integrator, sizeof ch.integrator);
    assert_true(isnan(out.info.update_period_s));
    assert_int_equal(out.info.reading, JOULE_READING_POWER);
    struct helper_value value = {5, 6, helper_raw_of(1.5), JOULE_STALE}, back;
    helper_write_value(&value, bytes);
    assert_true(helper_read_value(bytes, &back));
    assert_true(helper_watts_of(back.raw) == 1.5 && back.before_ns == 5 && back.after_ns == 6 &&
                back.status == JOULE_STALE);
}

static void test_requests_and_headers_are_checked(void **state)
{
    (void)state;
    uint8_t bytes[HELPER_HEADER_BYTES];
    struct helper_request request;
    struct helper_header header;
    helper_write_request(&(struct helper_request){1, HELPER_READ, 7}, bytes);
    for (size_t i = 0; i < HELPER_REQUEST_BYTES; i++) {
        bytes[i] ^= 0x40;
        assert_int_equal(helper_read_request(bytes, &request), i >= 4 && i < 12);
        bytes[i] ^= 0x40;
    }
    struct helper_header good = {1, HELPER_READ, 7, 3, 1, 1};
    helper_write_header(&good, bytes);
    assert_true(helper_read_header(bytes, &header));
    struct helper_header bad[] = {good, good, good, good};
    bad[0].count = HELPER_MAX_CHANNELS + 1;
    bad[1].now_ns = 0;
    bad[2].pace_ns = -1;
    bad[3].pace_ns = INT64_MAX;
    for (size_t i = 0; i < 4; i++) {
        helper_write_header(&bad[i], bytes);
        assert_false(helper_read_header(bytes, &header));
    }
    struct helper_value values[] = {{-1, 2, 0, JOULE_OK}, {3, 2, 0, JOULE_OK}, {1, 2, 0, (joule_status)99}},
                        value;
    for (size_t i = 0; i < 3; i++) {
        helper_write_value(&values[i], bytes);
        assert_false(helper_read_value(bytes, &value));
    }
}

static void test_channels_are_checked(void **state)
{
    (void)state;
    assert_true(passes(package()) && passes(sensor()));
    static const double wrong[] = {NAN, INFINITY, -1, 1e300};
    for (size_t i = 0; i < 4; i++) {
        struct channel c[] = {package(), package(), package(), package(), package(),
                              sensor(),  sensor(),  sensor(),  sensor()};
        c[0].gain_sd = c[1].counter.unit_joules = c[2].counter.grain_joules = c[3].counter.max_watts =
            wrong[i];
        c[4].counter.tick_s = c[5].integrator.period_s = c[6].integrator.averaged_part =
            c[7].integrator.age_s = wrong[i];
        c[8].integrator.lag_s = wrong[i];
        for (size_t k = 0; k < sizeof c / sizeof *c; k++)
            assert_false(passes(c[k]));
    }
    struct channel c[] = {package(), package(), package(), package(),
                          package(), package(), package(), package()};
    c[0].mode = CHANNEL_GAUGE;
    c[1].mode = CHANNEL_ENERGY;
    c[2].info.scope = JOULE_SCOPE_UNKNOWN;
    c[3].info.cls = JOULE_CLASS_ASSUMED;
    c[4].info.name[0] = '\0';
    c[5].zone[0] = '\0';
    c[6].info.model[3] = '\033';
    c[7].info.device_index = -2;
    for (size_t k = 0; k < sizeof c / sizeof *c; k++)
        assert_false(passes(c[k]));
}

/* A text that fills its field has no terminator in the message; it is terminated when read. */
static void test_texts_are_terminated(void **state)
{
    (void)state;
    uint8_t bytes[HELPER_CHANNEL_BYTES];
    struct channel ch = package(), out = {0};
    helper_write_channel(&ch, bytes);
    memset(bytes + 128, 'x', HELPER_CHANNEL_BYTES - 128);
    assert_true(helper_read_channel(bytes, &out));
    assert_int_equal(strlen(out.info.name), sizeof out.info.name - 1);
    assert_int_equal(strlen(out.info.model), sizeof out.info.model - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_have_their_layout),
        cmocka_unit_test(test_written_channel_reads_back),
        cmocka_unit_test(test_requests_and_headers_are_checked),
        cmocka_unit_test(test_channels_are_checked),
        cmocka_unit_test(test_texts_are_terminated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
