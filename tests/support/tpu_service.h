/* support/tpu_service.h - a fake of libtpu's runtime metric service, which runs in a program that uses TPUs.
 *
 * Implements the server side of HTTP/2 and gRPC for one call, and the messages of three metrics. Note: it
 * builds all bytes itself, without the code under test. */
#ifndef TEST_TPU_SERVICE_H
#define TEST_TPU_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TPU_SERVICE_MAX_POINTS 16

struct tpu_service {
    /* Number of points of a metric: `chips` for the duty cycle, `cores` for memory. */
    size_t chips, cores;
    int64_t ids[TPU_SERVICE_MAX_POINTS]; /* numbers of the points within the slice */
    double duty[TPU_SERVICE_MAX_POINTS]; /* percent, for each chip */
    int64_t total_bytes, used_bytes;     /* of each core */
    bool refuses;                        /* every call ends without a message */
    bool is_silent;                      /* no answer is sent */
    bool cuts;                           /* the answer is truncated */
    bool waits;                          /* answers only after settings and ping are acknowledged */
    unsigned calls, acknowledged;        /* calls so far; settings and pings that the client acknowledged */
    uint8_t held[8192];                  /* the part of the answer that is sent later */
    size_t held_size;
};

/* script_answer_fn; `context`: a struct tpu_service. */
ssize_t tpu_service_answer(void *context, const void *request, size_t length, void *reply, size_t size);

/* Writes a MetricResponse with `count` points. The values are `doubles` or `integers`; the other array is
 * NULL. Returns the length in bytes. */
size_t tpu_service_message(const char *metric, const int64_t *ids, const double *doubles,
                           const int64_t *integers, size_t count, uint8_t *out_bytes);
/* Writes an HTTP/2 frame on a stream; returns its length in bytes. */
size_t tpu_service_frame(unsigned type, unsigned flags, unsigned stream, const void *payload, size_t length,
                         uint8_t *out_bytes);

#endif
