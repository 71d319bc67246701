/* tools/forge/serve_fields.c - see serve_fields.h. */
#include "serve_fields.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include "base/json_writer.h"

/* --- failures ------------------------------------------------------------------------------------------- */

bool failure_set(struct failure *failure, const char *param, const char *format, ...)
{
    va_list values;
    if (failure->status)
        return false;
    *failure = (struct failure){.status = 400, .type = "invalid_request_error"};
    string_copy(failure->param, sizeof failure->param, param ? param : "");
    va_start(values, format);
    vsnprintf(failure->message, sizeof failure->message, format, values);
    va_end(values);
    return false;
}

bool failure_set_status(struct failure *failure, unsigned status, const char *type, const char *code,
                        const char *format, ...)
{
    va_list values;
    if (failure->status)
        return false;
    *failure = (struct failure){.status = status, .type = type, .code = code};
    va_start(values, format);
    vsnprintf(failure->message, sizeof failure->message, format, values);
    va_end(values);
    return false;
}

bool failure_set_no_memory(struct failure *failure)
{
    return failure_set_status(failure, 500, "server_error", NULL, "out of memory");
}

void failure_print(const void *context, struct text *out)
{
    const struct failure *failure = context;
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_open(&json, "error", '{');
    json_string(&json, "message", failure->message);
    json_string(&json, "type", failure->type);
    json_text(&json, "param", failure->param);
    json_string(&json, "code", failure->code);
    json_close(&json, '}');
    json_close(&json, '}');
}

/* --- fields --------------------------------------------------------------------------------------------- */

const struct json_value *field_find(const struct fields *fields, const char *name)
{
    const struct json_value *value = json_member(fields->object, name);
    return value && value->kind != JSON_NULL ? value : NULL;
}

bool field_bool(const struct fields *fields, const char *name, bool *out)
{
    const struct json_value *value = field_find(fields, name);
    if (!value)
        return true;
    if (value->kind != JSON_TRUE && value->kind != JSON_FALSE)
        return failure_set(fields->failure, name, "'%s' must be true or false", name);
    *out = value->kind == JSON_TRUE;
    return true;
}

bool field_text(const struct fields *fields, const char *name, const char **out)
{
    const struct json_value *value = field_find(fields, name);
    if (!value)
        return true;
    if (value->kind != JSON_STRING)
        return failure_set(fields->failure, name, "'%s' must be a string", name);
    *out = value->text;
    return true;
}

bool field_number(const struct fields *fields, const char *name, double min, double max, double *out)
{
    const struct json_value *value = field_find(fields, name);
    if (!value)
        return true;
    double number = value->kind == JSON_NUMBER ? json_double_of(value) : NAN;
    if (!(number >= min && number <= max))
        return failure_set(fields->failure, name, "'%s' must be a number from %g to %g", name, min, max);
    *out = number;
    return true;
}

bool json_integer_of(const struct json_value *value, int64_t min, int64_t max, int64_t *out)
{
    int64_t exact;
    if (!value || value->kind != JSON_NUMBER)
        return false;
    if (!string_to_i64(value->text, 10, &exact)) { /* whole numbers in another form, such as 1e3 or 5.0 */
        double number = json_double_of(value);
        if (!(fabs(number) <= 0x1p53) || number != floor(number))
            return false;
        exact = (int64_t)number;
    }
    if (exact < min || exact > max)
        return false;
    *out = exact;
    return true;
}

bool field_integer(const struct fields *fields, const char *name, int64_t min, int64_t max, int64_t *out)
{
    const struct json_value *value = field_find(fields, name);
    if (!value || json_integer_of(value, min, max, out))
        return true;
    return failure_set(fields->failure, name, "'%s' must be a whole number from %lld to %lld", name,
                       (long long)min, (long long)max);
}

bool field_u32(const struct fields *fields, const char *name, uint32_t min, uint32_t max, uint32_t *out)
{
    int64_t number = *out;
    if (!field_integer(fields, name, min, max, &number))
        return false;
    *out = (uint32_t)number;
    return true;
}
