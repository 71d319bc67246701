/* joule/sources/accelerator/tpu_metrics.h - what a program that holds TPUs tells of them.
 *
 * Owns the question for one metric of libtpu's runtime metric service and the reading of its answer, as
 * tpu_metric_service.proto of Google's cloud-accelerator-diagnostics describes them. How the two travel is grpc.h's.
 * Newcomers: a point's device number is the slice's, not this machine's: a machine may show 8, 9, 12 and 13.
 */
#ifndef JOULE_TPU_METRICS_H
#define JOULE_TPU_METRICS_H

#include "joule/host/host.h"

#define TPU_METRICS_PORT  "8431" /* of the service where nothing says another one */
#define TPU_METRIC_DUTY   "tpu.runtime.tensorcore.dutycycle.percent" /* of each chip */
#define TPU_METRIC_TOTAL  "tpu.runtime.hbm.memory.total.bytes"       /* of each core that programs see */
#define TPU_METRIC_USED   "tpu.runtime.hbm.memory.usage.bytes"
#define TPU_MOST_POINTS   64
#define TPU_MESSAGE_BYTES 128

struct tpu_point {
    int64_t device;
    double value;
};

/* The question's message; its length, 0 where the name is too long. */
size_t tpu_question(const char *metric, uint8_t out_message[TPU_MESSAGE_BYTES]);
/* The points in an answer's message, in its order, at most TPU_MOST_POINTS: those with a device number and a value that
 * is a number. *out_count: how many. False where the message is damaged. */
bool tpu_points(const uint8_t *message, size_t size, struct tpu_point out_points[TPU_MOST_POINTS],
                size_t *out_count);

#endif
