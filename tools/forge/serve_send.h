/* tools/forge/serve_send.h - sends answers over HTTP. */
#ifndef SERVE_SEND_H
#define SERVE_SEND_H

#include <microhttpd.h>
#include "http/page_files.h"
#include "serve_fields.h"
#include "serve_text.h"

/* Queues a response and releases it. response NULL: closes the connection. media_type NULL: the response
 * already has this header. */
enum MHD_Result send_response(struct MHD_Connection *connection, unsigned status,
                              struct MHD_Response *response, const char *media_type);
/* Sends bytes. The response takes ownership of them. */
enum MHD_Result send_bytes(struct MHD_Connection *connection, unsigned status, struct bytes *bytes,
                           const char *media_type);
/* Sends an error with its status and headers. */
enum MHD_Result send_failure(struct MHD_Connection *connection, const struct failure *failure);
/* Sends a file of the page. */
enum MHD_Result send_file(struct MHD_Connection *connection, const struct page_file *file,
                          const char *media_type);
/* Prints a text and sends it. */
enum MHD_Result send_print(struct MHD_Connection *connection, page_print_fn print, const void *context,
                           const char *media_type);

#endif
