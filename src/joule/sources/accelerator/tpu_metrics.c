/* joule/sources/accelerator/tpu_metrics.c - see tpu_metrics.h.
 *
 * Note: a protocol buffer may contain unknown fields, in any order. Unknown fields are skipped. */
#include "joule/sources/accelerator/tpu_metrics.h"

#include <math.h>
#include <string.h>

/* --- protocol buffers ----------------------------------------------------------------------------------- */

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

struct fields {
    const uint8_t *at, *end;
    bool is_damaged;
};

struct field {
    unsigned number;
    enum wire wire;
    uint64_t number_value;      /* WIRE_VARINT, and the bits of WIRE_64 and WIRE_32 */
    const uint8_t *bytes, *end; /* WIRE_BYTES */
};

static struct fields fields_of(const struct field *field)
{
    return (struct fields){.at = field->bytes, .end = field->end};
}

static bool damaged(struct fields *fields)
{
    fields->is_damaged = true;
    return false;
}

static bool read_varint(struct fields *fields, uint64_t *out_value)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (fields->at == fields->end)
            return damaged(fields);
        uint8_t byte = *fields->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out_value = value;
            return true;
        }
    }
    return damaged(fields);
}

static bool read_fixed(struct fields *fields, size_t bytes, uint64_t *out_value)
{
    if ((size_t)(fields->end - fields->at) < bytes)
        return damaged(fields);
    *out_value = 0;
    for (size_t i = 0; i < bytes; i++)
        *out_value |= (uint64_t)*fields->at++ << 8 * i;
    return true;
}

/* Reads the next field. Returns false at the end. If no complete field follows, sets is_damaged and returns
 * false. */
static bool next_field(struct fields *fields, struct field *out_field)
{
    uint64_t key, length;
    *out_field = (struct field){0};
    if (fields->at == fields->end || !read_varint(fields, &key))
        return false;
    out_field->number = (unsigned)(key >> 3);
    out_field->wire = (enum wire)(key & 7);
    switch (out_field->wire) {
    case WIRE_VARINT:
        return read_varint(fields, &out_field->number_value);
    case WIRE_64:
        return read_fixed(fields, 8, &out_field->number_value);
    case WIRE_32:
        return read_fixed(fields, 4, &out_field->number_value);
    case WIRE_BYTES:
        if (!read_varint(fields, &length) || length > (size_t)(fields->end - fields->at))
            return damaged(fields);
        out_field->bytes = fields->at;
        fields->at += length;
        out_field->end = fields->at;
        return true;
    }
    return damaged(fields); /* another type: groups, which are obsolete */
}

/* Writes the last field of that number and type to *out_field. Returns false if no such field exists or the
 * message is damaged. */
static bool find_field(struct fields fields, unsigned number, enum wire wire, struct field *out_field)
{
    struct field field;
    bool found = false;
    *out_field = (struct field){0};
    while (next_field(&fields, &field))
        if (field.number == number && field.wire == wire) {
            *out_field = field;
            found = true;
        }
    return found && !fields.is_damaged;
}

/* --- the request ---------------------------------------------------------------------------------------- */

size_t tpu_write_request(const char *metric, uint8_t out_message[TPU_MESSAGE_BYTES])
{
    size_t length = strlen(metric);
    if (length > 127 || length + 2 > TPU_MESSAGE_BYTES)
        return 0;
    out_message[0] = 1 << 3 | WIRE_BYTES; /* MetricRequest.metric_name */
    out_message[1] = (uint8_t)length;
    for (size_t i = 0; i < length; i++)
        out_message[2 + i] = (uint8_t)metric[i];
    return length + 2;
}

/* --- the response --------------------------------------------------------------------------------------- */

static double double_of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Reads the value of a message Gauge { 1 double; 2 int64 }. Returns false if it contains no
 * finite value. */
static bool gauge_value(struct fields gauge, double *out_value)
{
    struct field field;
    if (find_field(gauge, 1, WIRE_64, &field))
        *out_value = double_of_bits(field.number_value);
    else if (find_field(gauge, 2, WIRE_VARINT, &field))
        *out_value = (double)(int64_t)field.number_value;
    else
        return false;
    return isfinite(*out_value);
}

/* Reads a point from a message Metric { 1 Attribute { 2 AttrValue { 3 int64 } }; 3 Gauge }. Returns false if
 * a part is missing. */
static bool point_of(struct fields metric, struct tpu_point *out_point)
{
    struct field attribute, value, number, gauge;
    if (!find_field(metric, 1, WIRE_BYTES, &attribute) || !find_field(metric, 3, WIRE_BYTES, &gauge) ||
        !find_field(fields_of(&attribute), 2, WIRE_BYTES, &value) ||
        !find_field(fields_of(&value), 3, WIRE_VARINT, &number))
        return false;
    out_point->device = (int64_t)number.number_value;
    return gauge_value(fields_of(&gauge), &out_point->value);
}

bool tpu_parse_points(const uint8_t *message, size_t size, struct tpu_point out_points[TPU_MAX_POINTS],
                      size_t *out_count)
{
    struct fields response = {.at = message, .end = message + size};
    struct field metric, field;
    *out_count = 0;
    if (!find_field(response, 1, WIRE_BYTES, &metric)) /* MetricResponse.metric */
        return false;
    struct fields points = fields_of(&metric);
    while (*out_count < TPU_MAX_POINTS && next_field(&points, &field))
        if (field.number == 3 && field.wire == WIRE_BYTES &&
            point_of(fields_of(&field), &out_points[*out_count]))
            ++*out_count;
    return !points.is_damaged;
}
