/* joule/picture/series_code.c - see series_code.h. */
#include "joule/picture/series_code.h"

#include "base/array.h"

#define MAX_NUMBER_BYTES 10

static void add_number(struct code_bytes *out, uint64_t value)
{
    for (; value >= 128; value >>= 7)
        out->items[out->count++] = (uint8_t)(value | 128);
    out->items[out->count++] = (uint8_t)value;
}

bool series_code_add(struct code_bytes *out, const int64_t *values, size_t count)
{
    int64_t before = 0;
    for (size_t i = 0; i < count;) {
        if (!array_reserve((void **)&out->items, &out->capacity, out->count + 2 * MAX_NUMBER_BYTES, 1))
            return false;
        int64_t difference = values[i] - before;
        before = values[i++];
        add_number(out, difference < 0 ? ~((uint64_t)difference << 1) : (uint64_t)difference << 1);
        if (difference == 0) {
            size_t first = i;
            while (i < count && values[i] == before)
                i++;
            add_number(out, i - first);
        }
    }
    return true;
}

static bool read_number(const uint8_t *bytes, size_t size, size_t *offset, uint64_t *out_value)
{
    *out_value = 0;
    for (unsigned shift = 0; shift < 64 && *offset < size; shift += 7) {
        uint8_t byte = bytes[(*offset)++];
        *out_value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

bool series_code_read(const uint8_t *bytes, size_t size, size_t *offset, int64_t *out_values, size_t count)
{
    uint64_t value = 0, code;
    for (size_t i = 0; i < count;) {
        if (!read_number(bytes, size, offset, &code))
            return false;
        value += code & 1 ? ~(code >> 1) : code >> 1;
        out_values[i++] = (int64_t)value;
        if (code != 0)
            continue;
        if (!read_number(bytes, size, offset, &code) || code > count - i)
            return false;
        for (; code > 0; code--)
            out_values[i++] = (int64_t)value;
    }
    return true;
}

bool series_code_add_base64(struct code_bytes *out, const uint8_t *bytes, size_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (count > SIZE_MAX / 4 ||
        !array_reserve((void **)&out->items, &out->capacity, out->count + (count + 2) / 3 * 4, 1))
        return false;
    for (size_t i = 0; i < count; i += 3) {
        size_t left = count - i;
        uint32_t group = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                         (left > 2 ? bytes[i + 2] : 0);
        out->items[out->count++] = (uint8_t)digits[group >> 18];
        out->items[out->count++] = (uint8_t)digits[group >> 12 & 63];
        out->items[out->count++] = left > 1 ? (uint8_t)digits[group >> 6 & 63] : '=';
        out->items[out->count++] = left > 2 ? (uint8_t)digits[group & 63] : '=';
    }
    return true;
}
