/* joule/sources/amd/gpu_metrics.c - see gpu_metrics.h.
 *
 * Owns the table of layouts: those of struct gpu_metrics_v1_* in Linux 6.12 (drivers/gpu/drm/amd/include/kgd_pp_interface.h),
 * from 1.6 on those of rocm_smi.h of August 2025. Newcomers: revisions 2 and 3 are of processors with graphics inside, which
 * count no energy; 1.9 is a list of attributes, each behind a word that says what it is, and not a structure.
 */
#include "joule/sources/amd/gpu_metrics.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct header {
    uint16_t size; /* of the structure, this header included */
    uint8_t format, content;
};

static const struct layout {
    struct header header;
    uint16_t energy; /* its offset in bytes */
    bool is_narrow;  /* it has 32 bits */
} layouts[] = {
    {{80, 1, 0}, 36, true},    {{96, 1, 1}, 24, false},   {{104, 1, 2}, 24, false},
    {{120, 1, 3}, 24, false},  {{288, 1, 4}, 24, false},  {{360, 1, 5}, 88, false},
    {{1664, 1, 6}, 16, false}, {{2208, 1, 7}, 24, false}, {{3872, 1, 8}, 24, false},
};

static const struct layout *layout_of(struct header header)
{
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (memcmp(&layouts[i].header, &header, sizeof header) == 0)
            return &layouts[i];
    return NULL;
}

/* Little-endian, as all machines are into which these boards are put. */
static uint64_t field(const unsigned char *at, size_t size)
{
    uint64_t value = 0;
    while (size-- > 0)
        value = value << 8 | at[size];
    return value;
}

/* --- revision 1.9: a count of attributes, then for each a word of 64 bits and its packed values ------------------- */

#define LIST_BEGIN      8
#define WORD_BYTES      8
#define VALUES_OF(word) ((word)&0x3ff)
#define ID_OF(word)     ((word) >> 10 & 0x3ff)
#define TYPE_OF(word)   ((word) >> 20 & 0xf) /* u8, s8, u16, s16, u32, s32, u64, s64 */
#define TYPES           8
#define TYPE_U64        6
#define ID_ENERGY       7

/* Nobody has seen much of this revision: its energy is taken only where the list is one to its last byte. */
static joule_status find_in_list(const unsigned char *table, size_t size, uint64_t *out_counts,
                                 uint64_t *out_modulus)
{
    uint64_t counts = UINT64_MAX;
    size_t at = LIST_BEGIN;
    for (uint64_t left = size < LIST_BEGIN ? 0 : field(table + 4, 4); left > 0; left--) {
        if (size - at < WORD_BYTES)
            return JOULE_UNSUPPORTED;
        uint64_t word = field(table + at, WORD_BYTES);
        at += WORD_BYTES;
        size_t bytes = VALUES_OF(word) << TYPE_OF(word) / 2;
        if (TYPE_OF(word) >= TYPES || bytes == 0 || size - at < bytes)
            return JOULE_UNSUPPORTED;
        if (ID_OF(word) == ID_ENERGY && TYPE_OF(word) == TYPE_U64 && VALUES_OF(word) == 1)
            counts = field(table + at, 8);
        at += bytes;
    }
    if (at != size || counts == UINT64_MAX)
        return JOULE_UNSUPPORTED;
    *out_counts = counts;
    *out_modulus = 0;
    return JOULE_OK;
}

/* --- any revision ------------------------------------------------------------------------------------------------- */

joule_status gpu_metrics_energy(const void *bytes, size_t length, uint64_t *out_counts, uint64_t *out_modulus)
{
    const unsigned char *table = bytes;
    if (length < sizeof(struct header) || length < field(table, 2))
        return JOULE_FAILED;
    struct header header = {(uint16_t)field(table, 2), table[2], table[3]};
    const struct layout *layout = layout_of(header);
    if (header.format == 1 && header.content == 9)
        return find_in_list(table, header.size, out_counts, out_modulus);
    if (!layout)
        return JOULE_UNSUPPORTED;
    uint64_t counts = field(table + layout->energy, layout->is_narrow ? 4 : 8);
    if (counts == (layout->is_narrow ? UINT32_MAX : UINT64_MAX))
        return JOULE_UNSUPPORTED;
    *out_counts = counts;
    *out_modulus = layout->is_narrow ? UINT64_C(1) << 32 : 0;
    return JOULE_OK;
}
