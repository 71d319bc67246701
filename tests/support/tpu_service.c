/* tests/support/tpu_service.c - see tpu_service.h. */
#include "support/tpu_service.h"

#include <string.h>

#define PREFACE_BYTES 24

/* --- messages ------------------------------------------------------------------------------------------- */

static size_t put_varint(uint8_t *out, uint64_t value)
{
    size_t count = 0;
    for (; value >= 0x80; value >>= 7)
        out[count++] = (uint8_t)(value | 0x80);
    out[count++] = (uint8_t)value;
    return count;
}

/* Writes field `number` with these bytes. */
static size_t put_bytes(uint8_t *out, unsigned number, const void *bytes, size_t length)
{
    size_t count = put_varint(out, number << 3 | 2);
    count += put_varint(out + count, length);
    memcpy(out + count, bytes, length);
    return count + length;
}

static size_t put_integer(uint8_t *out, unsigned number, int64_t value)
{
    size_t count = put_varint(out, number << 3);
    return count + put_varint(out + count, (uint64_t)value);
}

static size_t put_double(uint8_t *out, unsigned number, double value)
{
    uint64_t bits;
    size_t count = put_varint(out, number << 3 | 1);
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 8; i++)
        out[count++] = (uint8_t)(bits >> 8 * i);
    return count;
}

static size_t put_point(uint8_t *out, int64_t id, const double *number, const int64_t *integer)
{
    uint8_t value[32], attribute[64], gauge[32], metric[128];
    size_t value_size = put_integer(value, 3, id);
    size_t attribute_size = put_bytes(attribute, 1, "device-id", 9);
    attribute_size += put_bytes(attribute + attribute_size, 2, value, value_size);
    size_t gauge_size = number ? put_double(gauge, 1, *number) : put_integer(gauge, 2, *integer);
    size_t size = put_bytes(metric, 1, attribute, attribute_size);
    size += put_bytes(metric + size, 3, gauge, gauge_size);
    return put_bytes(out, 3, metric, size);
}

size_t tpu_service_message(const char *metric, const int64_t *ids, const double *doubles,
                           const int64_t *integers, size_t count, uint8_t *out_bytes)
{
    uint8_t body[2048];
    size_t size = put_bytes(body, 1, metric, strlen(metric));
    for (size_t i = 0; i < count; i++)
        size += put_point(body + size, ids[i], doubles ? &doubles[i] : NULL, integers ? &integers[i] : NULL);
    return put_bytes(out_bytes, 1, body, size);
}

/* --- frames --------------------------------------------------------------------------------------------- */

size_t tpu_service_frame(unsigned type, unsigned flags, unsigned stream, const void *payload, size_t length,
                         uint8_t *out_bytes)
{
    const uint8_t header[] = {(uint8_t)(length >> 16),
                              (uint8_t)(length >> 8),
                              (uint8_t)length,
                              (uint8_t)type,
                              (uint8_t)flags,
                              0,
                              0,
                              0,
                              (uint8_t)stream};
    memcpy(out_bytes, header, sizeof header);
    if (length)
        memcpy(out_bytes + sizeof header, payload, length);
    return sizeof header + length;
}

/* Returns true if the request asks for this metric. The metric's name is at the end of the client's first
 * message. */
static bool asks_for(const uint8_t *request, size_t length, const char *metric)
{
    size_t name = strlen(metric);
    return length > name && memcmp(request + length - name, metric, name) == 0;
}

static size_t answer_message(const struct tpu_service *service, const uint8_t *request, size_t length,
                             uint8_t *out)
{
    static const char duty[] = "tpu.runtime.tensorcore.dutycycle.percent",
                      total[] = "tpu.runtime.hbm.memory.total.bytes",
                      used[] = "tpu.runtime.hbm.memory.usage.bytes";
    int64_t integers[TPU_SERVICE_MAX_POINTS];
    bool is_total = asks_for(request, length, total);
    if (asks_for(request, length, duty))
        return tpu_service_message(duty, service->ids, service->duty, NULL, service->chips, out);
    if (!is_total && !asks_for(request, length, used))
        return 0;
    for (size_t i = 0; i < service->cores; i++)
        integers[i] = is_total ? service->total_bytes : service->used_bytes;
    return tpu_service_message(is_total ? total : used, service->ids, NULL, integers, service->cores, out);
}

/* Writes settings, a ping, headers, the message as a padded and a plain frame, and trailers. gRPC servers
 * send a ping to estimate the bandwidth. */
static size_t answer_call(const struct tpu_service *service, const uint8_t *request, size_t length,
                          uint8_t *out)
{
    static const uint8_t settings[] = {0, 3, 0, 0, 0, 100}, ping[] = {1, 2, 3, 4, 5, 6, 7, 8},
                         status_200[] = {0x88},
                         trailers[] = {0, 11, 'g', 'r', 'p', 'c', '-', 's', 't', 'a', 't', 'u', 's', 1, '0'};
    uint8_t message[4096] = {0}, padded[16] = {3};
    size_t size = answer_message(service, request, length, message + 5), count = 0;
    count += tpu_service_frame(4, 0, 0, settings, sizeof settings, out + count);
    count += tpu_service_frame(4, 1, 0, NULL, 0, out + count);
    count += tpu_service_frame(6, 0, 0, ping, sizeof ping, out + count);
    count += tpu_service_frame(8, 0, 0, "\0\0\1\0", 4, out + count);
    count += tpu_service_frame(1, 4, 1, status_200, sizeof status_200, out + count);
    if (size && !service->refuses) {
        message[3] = (uint8_t)(size >> 8);
        message[4] = (uint8_t)size;
        memcpy(padded + 1, message, 8);
        count += tpu_service_frame(0, 8, 1, padded, 1 + 8 + 3, out + count);
        count += tpu_service_frame(0, 0, 1, message + 8, size + 5 - 8, out + count);
    }
    if (service->cuts)
        return count - 20;
    return count + tpu_service_frame(1, 4 | 1, 1, trailers, sizeof trailers, out + count);
}

/* Returns how many settings and pings the client's frames acknowledge. After its first message, a client
 * sends only acknowledgements. */
static unsigned count_acknowledged(const uint8_t *frames, size_t length)
{
    unsigned count = 0;
    for (size_t at = 0; at + 9 <= length; at += 9 + frames[at + 2])
        count += (frames[at + 3] == 4 || frames[at + 3] == 6) && frames[at + 4] == 1;
    return count;
}

#define FIRST_BYTES (9 + 6 + 9 + 9 + 8) /* settings, an acknowledgement and a ping */

/* Returns only the first frames of the answer and stores the rest for later. */
static ssize_t hold(struct tpu_service *service, const uint8_t *answer, size_t length)
{
    service->acknowledged = 0;
    service->held_size = length - FIRST_BYTES;
    memcpy(service->held, answer + FIRST_BYTES, service->held_size);
    return FIRST_BYTES;
}

static ssize_t let_go(struct tpu_service *service, void *reply)
{
    size_t size = service->acknowledged == 2 ? service->held_size : 0;
    memcpy(reply, service->held, size);
    return (ssize_t)size;
}

ssize_t tpu_service_answer(void *context, const void *request, size_t length, void *reply, size_t size)
{
    struct tpu_service *service = context;
    if (length == 0 || size < 8192)
        return 0;
    if (length < PREFACE_BYTES || memcmp(request, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", PREFACE_BYTES) != 0) {
        service->acknowledged += count_acknowledged(request, length);
        return let_go(service, reply);
    }
    service->calls++;
    if (service->is_silent)
        return 0;
    size_t answer = answer_call(service, request, length, reply);
    return service->waits ? hold(service, reply, answer) : (ssize_t)answer;
}
