/* core/convert.c - converts arrays between any two element types.
 *
 * Note: elements are converted to 64-bit integers if both types are integers, and to doubles otherwise. A
 * double cannot represent every 64-bit integer, so load_sticky ensures that such a conversion rounds only
 * once.
 */
#include "forge/core/dtype.h"

#include <string.h>

enum { CHUNK = 256 }; /* elements per step: a multiple of the elements of each block format */

/* Reads integers as doubles that round to the same narrower float as the integers themselves. If the
 * magnitude has more than 53 bits, its lowest 11 bits are replaced by one sticky bit: 1 if any of them is
 * set. Without the sticky bit, 2^60 + 2^36 + 1 would be rounded twice: first to the double 2^60 + 2^36, which
 * is a tie between two f32. */
static void load_sticky(const struct dtype_row *from, const void *source, size_t first, size_t count,
                        double *out)
{
    uint64_t bits[CHUNK];
    from->load_bits(source, first, count, bits);
    for (size_t i = 0; i < count; i++) {
        bool is_negative = from->kind == DTYPE_SIGNED && bits[i] >> 63;
        uint64_t magnitude = is_negative ? -bits[i] : bits[i];
        if (magnitude >> 53)
            magnitude = (magnitude >> 11 | ((magnitude & 0x7ff) != 0)) << 11;
        out[i] = is_negative ? -(double)magnitude : (double)magnitude;
    }
}

static void convert_integers(const struct dtype_row *from, const void *source, const struct dtype_row *to,
                             void *target, size_t first, size_t count)
{
    uint64_t bits[CHUNK];
    from->load_bits(source, first, count, bits);
    to->store_bits(target, first, count, bits);
}

static void convert_doubles(const struct dtype_row *from, const void *source, const struct dtype_row *to,
                            void *target, size_t first, size_t count)
{
    double values[CHUNK];
    if (from->load_bits && to != dtype_row(FORGE_F64))
        load_sticky(from, source, first, count, values);
    else
        from->load(source, first, count, values);
    to->store(target, first, count, values);
}

/* Returns true if `count` elements end inside a block. A byte with two elements does not count as a block,
 * because store can write one half of the byte. */
static bool is_cut(const struct dtype_row *row, size_t count)
{
    return row->block_elements > 2 && count % row->block_elements != 0;
}

joule_status forge_convert(forge_dtype from, const void *source, forge_dtype to, void *target, size_t count)
{
    const struct dtype_row *from_row = dtype_row(from), *to_row = dtype_row(to);
    if (!from_row || !to_row || is_cut(from_row, count) || is_cut(to_row, count))
        return JOULE_INVALID;
    if (count == 0 || (source == target && from == to))
        return JOULE_OK;
    if (!source || !target)
        return JOULE_INVALID;
    if (from == to && !from_row->load_bits) {
        /* Block formats are copied, because decoding and encoding a block again could change its bytes. */
        memcpy(target, source, forge_dtype_size_bytes(from, count));
        return JOULE_OK;
    }
    bool is_exact = from_row->load_bits && to_row->load_bits;
    for (size_t first = 0; first < count; first += CHUNK) {
        size_t part = count - first < CHUNK ? count - first : CHUNK;
        (is_exact ? convert_integers : convert_doubles)(from_row, source, to_row, target, first, part);
    }
    return JOULE_OK;
}
