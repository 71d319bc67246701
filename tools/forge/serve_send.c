/* tools/forge/serve_send.c - see serve_send.h. */
#include "serve_send.h"

#include <stdlib.h>

#define CONTENT_POLICY                                                                                       \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "           \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

enum MHD_Result send_response(struct MHD_Connection *connection, unsigned status,
                              struct MHD_Response *response, const char *media_type)
{
    if (!response)
        return MHD_NO;
    if (media_type)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, media_type);
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

enum MHD_Result send_bytes(struct MHD_Connection *connection, unsigned status, struct bytes *bytes,
                           const char *media_type)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(bytes->length, bytes->list, MHD_RESPMEM_MUST_FREE);
    if (!response)
        free(bytes->list);
    *bytes = (struct bytes){0};
    return send_response(connection, status, response, media_type);
}

enum MHD_Result send_failure(struct MHD_Connection *connection, const struct failure *failure)
{
    struct bytes text = {0};
    if (!bytes_print(&text, failure_print, failure)) {
        free(text.list);
        return MHD_NO;
    }
    struct MHD_Response *response =
        MHD_create_response_from_buffer(text.length, text.list, MHD_RESPMEM_MUST_FREE);
    if (response && failure->retry_after_s) {
        char seconds[16];
        string_print(seconds, sizeof seconds, "%u", failure->retry_after_s);
        MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
    }
    if (response && failure->status == MHD_HTTP_UNAUTHORIZED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer realm=\"forge\"");
    if (response && failure->status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, failure->allow);
    if (!response)
        free(text.list);
    return send_response(connection, failure->status, response, "application/json");
}

enum MHD_Result send_file(struct MHD_Connection *connection, const struct page_file *file,
                          const char *media_type)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(file->size, (void *)(uintptr_t)file->bytes, MHD_RESPMEM_PERSISTENT);
    if (response) {
        MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
        MHD_add_response_header(response, "Content-Security-Policy", CONTENT_POLICY);
        MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    }
    return send_response(connection, MHD_HTTP_OK, response, media_type);
}

enum MHD_Result send_print(struct MHD_Connection *connection, page_print_fn print, const void *context,
                           const char *media_type)
{
    struct bytes text = {0};
    if (bytes_print(&text, print, context))
        return send_bytes(connection, MHD_HTTP_OK, &text, media_type);
    free(text.list);
    return MHD_NO;
}
