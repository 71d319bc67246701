/* joule/sources/gpu_metrics.c - see gpu_metrics.h.
 *
 * Owns the table of layouts: those of struct gpu_metrics_v1_* in Linux 6.12 (drivers/gpu/drm/amd/include/kgd_pp_interface.h),
 * from 1.6 on those of rocm_smi.h of August 2025. Newcomers: revisions 2 and 3 are of processors with graphics inside, which
 * count no energy; 1.9 is a list of attributes and not a structure.
 */
#include "joule/sources/gpu_metrics.h"

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

joule_status gpu_metrics_energy(const void *bytes, size_t length, uint64_t *out_counts, uint64_t *out_modulus)
{
    const unsigned char *table = bytes;
    if (length < sizeof(struct header) || length < field(table, 2))
        return JOULE_FAILED;
    const struct layout *layout = layout_of((struct header){(uint16_t)field(table, 2), table[2], table[3]});
    if (!layout)
        return JOULE_UNSUPPORTED;
    uint64_t counts = field(table + layout->energy, layout->is_narrow ? 4 : 8);
    if (counts == (layout->is_narrow ? UINT32_MAX : UINT64_MAX))
        return JOULE_UNSUPPORTED;
    *out_counts = counts;
    *out_modulus = layout->is_narrow ? UINT64_C(1) << 32 : 0;
    return JOULE_OK;
}
