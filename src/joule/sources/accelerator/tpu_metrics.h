/* joule/sources/accelerator/tpu_metrics.h - requests and responses of libtpu's runtime metric service.
 *
 * The messages are those of tpu_metric_service.proto in Google's cloud-accelerator-diagnostics. grpc.h
 * transports them.
 * Note: a point's device number is unique within the slice, a group of TPUs that may span several machines.
 * One machine may, for example, have the devices 8, 9, 12 and 13. */
#ifndef JOULE_TPU_METRICS_H
#define JOULE_TPU_METRICS_H

#include "joule/host/host.h"

#define TPU_METRICS_PORT "8431"                                     /* default port of the service */
#define TPU_METRIC_DUTY  "tpu.runtime.tensorcore.dutycycle.percent" /* one value for each chip */
/* one value for each core that programs see */
#define TPU_METRIC_TOTAL  "tpu.runtime.hbm.memory.total.bytes"
#define TPU_METRIC_USED   "tpu.runtime.hbm.memory.usage.bytes"
#define TPU_MAX_POINTS    64
#define TPU_MESSAGE_BYTES 128

struct tpu_point {
    int64_t device; /* number within the slice */
    double value;   /* in per cent or bytes; the metric's name ends with the unit */
};

/* Writes the request for a metric. Returns its length in bytes, or 0 if the name is too long. */
size_t tpu_write_request(const char *metric, uint8_t out_message[TPU_MESSAGE_BYTES]);
/* Parses the points of a response that have a device number and a finite value, in the response's order. Sets
 * *out_count to their number, at most TPU_MAX_POINTS. Returns false if the message is damaged. */
bool tpu_parse_points(const uint8_t *message, size_t size, struct tpu_point out_points[TPU_MAX_POINTS],
                      size_t *out_count);

#endif
