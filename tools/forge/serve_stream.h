/* tools/forge/serve_stream.h - sends a reply as server-sent events while it is computed. */
#ifndef SERVE_STREAM_H
#define SERVE_STREAM_H

#include <microhttpd.h>
#include "serve_reply.h"

/* Returns a response that sends the reply, which must have been submitted. The response owns the reply, and
 * frees it after it was sent or the client has left. Returns NULL if out of memory; in this case the caller
 * still owns the reply. */
struct MHD_Response *stream_new(struct reply *reply);

#endif
