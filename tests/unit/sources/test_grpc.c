/* Tests a call over HTTP/2: the exact bytes of the request, and answers that are complete, in pieces, padded,
 * refused, damaged or endless. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "joule/sources/accelerator/grpc.h"
#include "joule/sources/accelerator/tpu_metrics.h"
#include "support/machine.h"
#include "support/tpu_service.h"

#define ADDRESS "tcp:127.0.0.1:8431"
#define PATH    "/tpu.monitoring.runtime.RuntimeMetricService/GetRuntimeMetric"

static struct grpc_response answer;

/* --- messages ------------------------------------------------------------------------------------------- */

static void test_request_has_the_bytes_of_the_standard(void **state)
{
    static const uint8_t fields[] = {0x83, 0x86, 4,   2,   '/',  'm',  1,   9,   'l', 'o', 'c', 'a', 'l',
                                     'h',  'o',  's', 't', 0x0f, 0x10, 16,  'a', 'p', 'p', 'l', 'i', 'c',
                                     'a',  't',  'i', 'o', 'n',  '/',  'g', 'r', 'p', 'c', 0,   2,   't',
                                     'e',  8,    't', 'r', 'a',  'i',  'l', 'e', 'r', 's'};
    uint8_t wanted[GRPC_REQUEST_BYTES], got[GRPC_REQUEST_BYTES];
    size_t size = 24;
    (void)state;
    memcpy(wanted, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24);
    size += tpu_service_frame(4, 0, 0, "\0\2\0\0\0\0", 6, wanted + size);
    size += tpu_service_frame(1, 4, 1, fields, sizeof fields, wanted + size);
    size += tpu_service_frame(0, 1, 1, "\0\0\0\0\2hi", 7, wanted + size);
    assert_int_equal(grpc_write_request("/m", (const uint8_t *)"hi", 2, got), size);
    assert_memory_equal(got, wanted, size);
}

static void test_oversized_requests_are_not_sent(void **state)
{
    uint8_t bytes[GRPC_REQUEST_BYTES], message[GRPC_REQUEST_BYTES] = {0};
    char path[200] = "/";
    (void)state;
    assert_int_equal(grpc_write_request("/m", message, sizeof message, bytes), 0);
    memset(path + 1, 'a', 130);
    assert_int_equal(grpc_write_request(path, message, 1, bytes), 0);
}

/* --- received data -------------------------------------------------------------------------------------- */

/* Passes all bytes at once, then byte by byte. Both ways must have the same result. */
static int receive(const uint8_t *bytes, size_t size)
{
    struct grpc_reply reply;
    answer = (struct grpc_response){0};
    int at_once = grpc_receive(&answer, bytes, size, &reply);
    size_t message_size = answer.message_size;
    answer = (struct grpc_response){0};
    int result = -EAGAIN;
    for (size_t i = 0; i < size && result == -EAGAIN; i++)
        result = grpc_receive(&answer, bytes + i, 1, &reply);
    assert_int_equal(result, at_once);
    assert_int_equal(answer.message_size, message_size);
    return result;
}

static void test_answers_are_read_or_refused(void **state)
{
    static const struct {
        unsigned type, flags;
        const char *payload;
        size_t length;
        int result;
        bool has_message;
    } wanted[] = {
        {0, 1, "\0\0\0\0\2hi", 7, 0, true},
        {0, 0, "\0\0\0\0\2hi", 7, -EAGAIN, true},
        {0, 1, "\0\0\0\0\3hi", 7, 0, false},    /* the message is truncated */
        {0, 1, "\1\0\0\0\2hi", 7, 0, false},    /* the message is compressed, which was not negotiated */
        {0, 9, "\1\0\0\0\0\2hi\0", 9, 0, true}, /* the frame is padded */
        {0, 9, "\11\0\0\0\0\2hi\0", 9, -EPROTO, false}, /* the padding is longer than the frame */
        {0, 9, "", 0, -EPROTO, false},
        {1, 5, "\210", 1, 0, false},           /* trailers without a message: the call failed */
        {3, 0, "\0\0\0\7", 4, -ENOSYS, false}, /* the server refuses the stream */
        {6, 0, "1234567", 7, -EPROTO, false},
        /* the server accepts no new calls, but finishes this one */
        {7, 0, "\0\0\0\1\0\0\0\0", 8, -EAGAIN, false},
    };
    uint8_t frame[64];
    const uint8_t *message;
    size_t size;
    (void)state;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        size_t length =
            tpu_service_frame(wanted[i].type, wanted[i].flags, 1, wanted[i].payload, wanted[i].length, frame);
        assert_int_equal(receive(frame, length), wanted[i].result);
        assert_int_equal(grpc_get_message(&answer, &message, &size), wanted[i].has_message);
        if (wanted[i].has_message)
            assert_true(size == 2 && memcmp(message, "hi", 2) == 0);
    }
}

static void test_other_streams_are_ignored(void **state)
{
    uint8_t frame[64];
    (void)state;
    assert_int_equal(receive(frame, tpu_service_frame(0, 1, 3, "\0\0\0\0\2hi", 7, frame)), -EAGAIN);
    assert_int_equal(answer.message_size, 0);
}

/* The client refuses a frame that is longer than negotiated, a message that is longer than its buffer, and
 * endless pings. */
static void test_oversized_frames_and_messages_are_refused(void **state)
{
    static uint8_t frames[64 * 1024];
    uint8_t header[9] = {0, 0x40, 1, 0, 0, 0, 0, 0, 1}, payload[16384] = {0};
    struct grpc_reply reply;
    size_t size = 0;
    (void)state;
    assert_int_equal(receive(header, sizeof header), -EAGAIN);
    answer = (struct grpc_response){0};
    assert_int_equal(grpc_receive(&answer, header, sizeof header, &reply), -EAGAIN);
    assert_int_equal(grpc_receive(&answer, payload, 1, &reply), -EPROTO);
    for (int i = 0; i < 3; i++)
        size += tpu_service_frame(0, 0, 1, payload, sizeof payload, frames + size);
    answer = (struct grpc_response){0};
    assert_int_equal(grpc_receive(&answer, frames, size, &reply), -EMSGSIZE);
    size = 0;
    for (int i = 0; i < 100; i++)
        size += tpu_service_frame(6, 0, 0, payload, 8, frames + size);
    answer = (struct grpc_response){0};
    assert_int_equal(grpc_receive(&answer, frames, size, &reply), -EPROTO);
}

/* --- calls ---------------------------------------------------------------------------------------------- */

static int call(struct joule_host *host, size_t *out_size)
{
    uint8_t question[TPU_MESSAGE_BYTES];
    const uint8_t *message;
    size_t length = tpu_write_request(TPU_METRIC_DUTY, question);
    int64_t deadline_ns = host->ops->clock_ns(host, CLOCK_MONOTONIC) + 500000000;
    return grpc_call(host, ADDRESS, PATH, question, length, deadline_ns, &answer, &message, out_size);
}

static void test_call_returns_the_message(void **state)
{
    struct machine_bench *bench = *state;
    struct tpu_service service = {.chips = 1, .ids = {8}, .duty = {100}};
    size_t size = 0;
    assert_int_equal(call(bench->host, &size), -ECONNREFUSED);
    assert_true(host_script_service(bench->host, ADDRESS, tpu_service_answer, &service));
    assert_int_equal(call(bench->host, &size), 0);
    assert_int_equal(size, 74);
    service.waits = true;
    assert_int_equal(call(bench->host, &size), 0);
    /* the client acknowledges the settings and the ping, but does not acknowledge an acknowledgement */
    assert_int_equal(service.acknowledged, 2);
    service.waits = false;
    service.refuses = true;
    assert_int_equal(call(bench->host, &size), -ENOSYS);
    service = (struct tpu_service){.is_silent = true};
    assert_int_equal(call(bench->host, &size), -ETIMEDOUT);
    service = (struct tpu_service){.chips = 1, .cuts = true};
    assert_int_equal(call(bench->host, &size), -ETIMEDOUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_request_has_the_bytes_of_the_standard),
        cmocka_unit_test(test_oversized_requests_are_not_sent),
        cmocka_unit_test(test_answers_are_read_or_refused),
        cmocka_unit_test(test_other_streams_are_ignored),
        cmocka_unit_test(test_oversized_frames_and_messages_are_refused),
        cmocka_unit_test_setup_teardown(test_call_returns_the_message, machine_setup, machine_teardown),
    };
    return cmocka_run_group_tests_name("grpc", tests, NULL, NULL);
}
