/* tests/support/tpu_service.h - libtpu's runtime metric service as a program that holds TPUs offers it.
 *
 * Owns the server's half of HTTP/2 and gRPC, as much of it as answers one call, and the messages of three metrics.
 * Newcomers: its bytes are made here by hand and not with the code under test.
 */
#ifndef TEST_TPU_SERVICE_H
#define TEST_TPU_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TPU_SERVICE_MOST 16

struct tpu_service {
    size_t chips, cores;             /* points of the duty cycle, and of memory */
    int64_t ids[TPU_SERVICE_MOST];   /* of the points, as the slice numbers them */
    double duty[TPU_SERVICE_MOST];   /* percent, of each chip */
    int64_t total_bytes, used_bytes; /* of each core */
    bool refuses;                    /* every call ends without a message */
    bool is_silent;                  /* nothing is answered */
    bool cuts;                       /* the answer breaks off */
    bool waits;                      /* it answers when settings and ping have been acknowledged */
    unsigned calls, acknowledged;    /* calls so far; settings and pings that the client acknowledged */
    uint8_t held[8192];              /* what waits */
    size_t held_size;
};

/* script_answer_fn with a struct tpu_service. */
ssize_t tpu_service_answer(void *context, const void *request, size_t length, void *reply, size_t size);

/* A MetricResponse of these points; its length. */
size_t tpu_service_message(const char *metric, const int64_t *ids, const double *doubles,
                           const int64_t *integers, size_t count, uint8_t *out_bytes);
/* A frame of HTTP/2 on a stream; its length. */
size_t tpu_service_frame(unsigned type, unsigned flags, unsigned stream, const void *payload, size_t length,
                         uint8_t *out_bytes);

#endif
