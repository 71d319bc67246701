/* tools/forge/serve_fields.h - reads the fields of a request in JSON, and describes errors as OpenAI does. */
#ifndef SERVE_FIELDS_H
#define SERVE_FIELDS_H

#include "base/json.h"
#include "base/string.h"

/* An error answer. status 0: no error. */
struct failure {
    unsigned status;  /* HTTP status */
    const char *type; /* "invalid_request_error", static storage */
    const char *code; /* "queue_full", static storage; NULL: none */
    char param[64];   /* name of the field; "": none */
    char message[512];
    unsigned retry_after_s; /* value of the header Retry-After in seconds; 0: none */
    const char *allow;      /* the allowed method, for status 405 */
};

/* Sets a failure with status 400, unless a failure is set already. param NULL: the failure is about no field.
 * Returns false. */
bool failure_set(struct failure *failure, const char *param, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Sets a failure with another status, type and code, unless a failure is set already. Returns false. */
bool failure_set_status(struct failure *failure, unsigned status, const char *type, const char *code,
                        const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Sets the failure "out of memory" with status 500, unless a failure is set already. Returns false. */
bool failure_set_no_memory(struct failure *failure);
/* Writes {"error": {...}} with the keys message, type, param and code. context: struct failure. */
void failure_print(const void *context, struct text *out);

/* The JSON object of a request, and the failure that the functions below set. */
struct fields {
    const struct json_value *object;
    struct failure *failure;
};

/* Returns the value of a field, or NULL if the field is absent or null. */
const struct json_value *field_find(const struct fields *fields, const char *name);
/* The following functions read one field. If the field is absent or null, they return true and do not change
 * *out. If it has another type or is out of range, they set the failure and return false. Texts stay in the
 * memory of the JSON tree. */
bool field_bool(const struct fields *fields, const char *name, bool *out);
bool field_text(const struct fields *fields, const char *name, const char **out);
bool field_number(const struct fields *fields, const char *name, double min, double max, double *out);
bool field_integer(const struct fields *fields, const char *name, int64_t min, int64_t max, int64_t *out);
bool field_u32(const struct fields *fields, const char *name, uint32_t min, uint32_t max, uint32_t *out);
/* Returns true, and writes the value, if `value` is a whole number from min to max. */
bool json_integer_of(const struct json_value *value, int64_t min, int64_t max, int64_t *out);

#endif
