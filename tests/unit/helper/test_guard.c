/* Tests a guard of joule-helper: a worker process reads a source and sends messages to the helper. Cases are
 * values, silence, invalid messages, and the end of the worker.
 *
 * The test acts as the worker. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/clock.h"
#include "base/string.h"
#include "helper/guard.h"

#define PACE_NS (NS_PER_S / 10)

static struct guard guard;
static int worker; /* the worker's end of the socket */
static int64_t now_ns;

static struct channel board(enum channel_mode mode)
{
    struct channel ch = {.mode = mode,
                         .gain_sd = 0.03,
                         .rank = RANK_DRIVER,
                         .counter = {.unit_joules = 1e-3, .max_watts = 1000, .tick_s = 0.1},
                         .integrator = {.period_s = 0.1, .averaged_part = 1, .max_watts = 1000}};
    ch.info = (joule_domain){.scope = JOULE_SCOPE_GPU,
                             .cls = JOULE_CLASS_MEASURED,
                             .tier = 3,
                             .update_period_s = 0.1,
                             .name = "gpu-0",
                             .device = "gpu:0",
                             .source = "nvml",
                             .measurement = "nvml"};
    string_copy(ch.zone, sizeof ch.zone, "gpu0/board");
    return ch;
}

static void send_message(enum helper_kind kind, uint32_t count, const uint8_t *entries, size_t size)
{
    uint8_t bytes[4096];
    struct helper_header header = {HELPER_VERSION, (uint16_t)kind, 0, count, now_ns, PACE_NS};
    helper_write_header(&header, bytes);
    memcpy(bytes + HELPER_HEADER_BYTES, entries, size);
    assert_true(send(worker, bytes, HELPER_HEADER_BYTES + size, 0) > 0);
}

static void send_list(void)
{
    uint8_t entries[2 * HELPER_CHANNEL_BYTES];
    struct channel energy = board(CHANNEL_COUNTER), power = board(CHANNEL_POWER);
    helper_write_channel(&energy, entries);
    helper_write_channel(&power, entries + HELPER_CHANNEL_BYTES);
    send_message(HELPER_HELLO, 2, entries, sizeof entries);
}

static void send_values(struct helper_value energy, struct helper_value power)
{
    uint8_t entries[2 * HELPER_VALUE_BYTES];
    helper_write_value(&energy, entries);
    helper_write_value(&power, entries + HELPER_VALUE_BYTES);
    send_message(HELPER_READ, 2, entries, sizeof entries);
}

static struct helper_value at(int64_t time_ns, uint64_t raw)
{
    return (struct helper_value){time_ns, time_ns, raw, JOULE_OK};
}

static int set_up(void **state)
{
    (void)state;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0)
        return -1;
    worker = pair[1];
    now_ns = clock_now_ns();
    guard_begin(&guard, "nvml", pair[0], 0);
    send_list();
    send_values(at(now_ns, 5000), at(now_ns, helper_raw_of(90)));
    return guard_wait_ready(&guard, now_ns + NS_PER_S) == JOULE_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    guard_end(&guard);
    return close(worker);
}

static void receive(void)
{
    now_ns += PACE_NS;
    guard_receive(&guard, now_ns);
}

static void test_values_are_received(void **state)
{
    (void)state;
    assert_int_equal(guard.count, 2);
    assert_string_equal(guard.channels[1].info.device, "gpu:0");
    assert_int_equal(guard_value(&guard, 0, now_ns).raw, 5000);
    send_values(at(now_ns + 1, 6000), at(now_ns + 1, helper_raw_of(100)));
    receive();
    assert_int_equal(guard_value(&guard, 0, now_ns).raw, 6000);
    assert_true(helper_watts_of(guard_value(&guard, 1, now_ns).raw) == 100);
    receive(); /* no message has arrived, and the call does not wait */
    assert_int_equal(guard_value(&guard, 0, now_ns).status, JOULE_OK);
}

static void test_silence_is_stale(void **state)
{
    (void)state;
    now_ns = guard_stale_ns(&guard);
    assert_int_equal(guard_state(&guard, now_ns), JOULE_OK);
    assert_int_equal(guard_state(&guard, now_ns + 1), JOULE_STALE);
    assert_int_equal(guard_value(&guard, 1, now_ns + 1).status, JOULE_STALE);
    send_values(at(now_ns, 7000), at(now_ns, helper_raw_of(90)));
    receive();
    assert_int_equal(guard_value(&guard, 0, now_ns).raw, 7000);
    assert_int_equal(guard_value(&guard, 0, now_ns).status, JOULE_OK);
}

/* If one sensor fails, its status is the failure. The other sensor and later values are not affected. */
static void test_a_sensor_fails(void **state)
{
    (void)state;
    send_values((struct helper_value){0, 0, 0, JOULE_DENIED}, at(now_ns + 1, helper_raw_of(90)));
    receive();
    assert_int_equal(guard_value(&guard, 0, now_ns).status, JOULE_DENIED);
    assert_int_equal(guard_value(&guard, 1, now_ns).status, JOULE_OK);
    send_values(at(now_ns, 7000), at(now_ns, helper_raw_of(90)));
    receive();
    assert_int_equal(guard_value(&guard, 0, now_ns).raw, 7000);
}

static void test_ended_worker_is_a_failure(void **state)
{
    (void)state;
    shutdown(worker, SHUT_RDWR);
    receive();
    assert_int_equal(guard_state(&guard, now_ns), JOULE_FAILED);
    assert_int_equal(guard_value(&guard, 0, now_ns).status, JOULE_FAILED);
}

/* The guard fails after each message for which a client of the helper would close the connection. Clients
 * therefore never receive such a message. */
static void test_invalid_messages_are_failures(void **state)
{
    uint8_t none[HELPER_VALUE_BYTES] = {0};
    for (int i = 0; i < 9; i++) {
        int64_t later = now_ns + 1;
        switch (i) {
        case 0: /* the timestamp is in the future */
            send_values(at(now_ns + NS_PER_S, 1), at(later, helper_raw_of(90)));
            break;
        case 1:
            send_values(at(now_ns - NS_PER_S, 1), at(later, helper_raw_of(90)));
            break;
        case 2: /* the watts are missing */
            send_values(at(later, 1), at(later, helper_raw_of(NAN)));
            break;
        case 3:
            send_values(at(later, 1), at(later, helper_raw_of(-1)));
            break;
        case 4: /* the status is missing */
            send_values((struct helper_value){1, 1, 1, (joule_status)77}, at(later, helper_raw_of(90)));
            break;
        case 5: /* the number of values differs */
            send_message(HELPER_READ, 1, none, sizeof none);
            break;
        case 6: /* the message is truncated */
            send_message(HELPER_READ, 2, none, sizeof none);
            break;
        case 7: /* the list of channels differs */
            send_list();
            break;
        default:
            assert_int_equal(send(worker, "JOUL", 4, 0), 4);
        }
        receive();
        if (guard_state(&guard, now_ns) != JOULE_FAILED)
            fail_msg("message %d was taken", i);
        assert_int_equal(guard_value(&guard, 0, now_ns).status, JOULE_FAILED);
        tear_down(state);
        assert_int_equal(set_up(state), 0);
    }
}

static void test_missing_values_end_the_wait(void **state)
{
    (void)state;
    guard.has_values = false;
    assert_int_equal(guard_wait_ready(&guard, clock_now_ns() + NS_PER_S / 100), JOULE_STALE);
    /* the guard had its time to start, and the helper does not wait for it again */
    assert_int_equal(guard_state(&guard, now_ns), JOULE_FAILED);
}

#define GUARD_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        GUARD_TEST(test_values_are_received),
        GUARD_TEST(test_silence_is_stale),
        GUARD_TEST(test_a_sensor_fails),
        GUARD_TEST(test_ended_worker_is_a_failure),
        GUARD_TEST(test_invalid_messages_are_failures),
        GUARD_TEST(test_missing_values_end_the_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
