/* Fuzz target: a gRPC server's answer in pieces of any size, and its TPU metrics. Checks that nothing is read
 * or written out of bounds, that an answer stays refused after it was refused once, and that the value of
 * every point is a number.
 *
 * The first byte is the size of the pieces. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "joule/sources/accelerator/grpc.h"
#include "joule/sources/accelerator/tpu_metrics.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require_points(const uint8_t *message, size_t size)
{
    struct tpu_point points[TPU_MAX_POINTS];
    size_t count;
    bool is_whole = tpu_parse_points(message, size, points, &count);
    require(count <= TPU_MAX_POINTS);
    for (size_t i = 0; is_whole && i < count; i++)
        require(isfinite(points[i].value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct grpc_response *answer = calloc(1, sizeof *answer);
    struct grpc_reply reply;
    const uint8_t *message;
    size_t piece = data[0] ? data[0] : size, message_size;
    int result = -EAGAIN;
    require(answer != NULL);
    require_points(data + 1, size - 1);
    for (size_t at = 1; at < size && result == -EAGAIN; at += piece) {
        result = grpc_receive(answer, data + at, size - at < piece ? size - at : piece, &reply);
        require(reply.size <= sizeof reply.bytes || result == -EPROTO);
    }
    require(result == 0 || result == -EAGAIN || result == -EPROTO || result == -EMSGSIZE ||
            result == -ENOSYS);
    require(answer->message_size <= sizeof answer->message);
    if (grpc_get_message(answer, &message, &message_size))
        require_points(message, message_size);
    free(answer);
    return 0;
}
