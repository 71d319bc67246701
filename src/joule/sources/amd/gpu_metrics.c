/* joule/sources/amd/gpu_metrics.c - see gpu_metrics.h.
 *
 * The layouts are those of struct gpu_metrics_v1_*, v2_* and v3_* in Linux 6.12
 * (drivers/gpu/drm/amd/include/kgd_pp_interface.h), and from 1.6 on those of rocm_smi.h of August 2025.
 * Note: revisions 2 and 3 are for processors with graphics and contain no energy. Revision 1.9 is a list of
 * attributes. A 64-bit word before each attribute describes its id, its type and its number of values. */
#include "joule/sources/amd/gpu_metrics.h"

#include <joule/devices.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

struct header {
    uint16_t size;           /* structure_size: bytes of the table, including this header */
    uint8_t format, content; /* 1 and 4 for revision 1.4 */
};

static const struct layout {
    struct header header;
    /* Offsets in bytes; 0: the value is not in this revision or not used. */
    uint16_t energy;
    bool is_narrow;             /* the energy counter has 32 bits, not 64 */
    uint16_t busy, memory_busy; /* per cent; not used in revision 2, where the unit may be 0.01 % */
    uint16_t clock, clocks;     /* offset of the first shader clock, MHz; number of shader clocks */
    uint16_t memory_clock;      /* MHz */
    uint16_t mean_clock, mean_memory_clock; /* average clock, for boards without a current one */
    uint16_t fan;      /* rpm; not used in revision 2, which reports a duty of unknown range */
    uint16_t throttle; /* indep_throttle_status: 64 bits with one meaning for all boards */
} layouts[] = {
    {{80, 1, 0}, 36, true, 28, 30, 54, 1, 58, 40, 44, 72, 0},
    {{96, 1, 1}, 24, false, 16, 18, 54, 1, 58, 40, 44, 72, 0},
    {{104, 1, 2}, 24, false, 16, 18, 54, 1, 58, 40, 44, 72, 0},
    {{120, 1, 3}, 24, false, 16, 18, 54, 1, 58, 40, 44, 72, 112},
    {{288, 1, 4}, 24, false, 12, 14, 240, 8, 280, 0, 0, 0, 0},
    {{360, 1, 5}, 88, false, 12, 14, 312, 8, 352, 0, 0, 0, 0},
    {{1664, 1, 6}, 16, false, 12, 14, 264, 8, 304, 0, 0, 0, 0},
    {{2208, 1, 7}, 24, false, 12, 14, 296, 8, 336, 0, 0, 0, 0},
    {{3872, 1, 8}, 24, false, 12, 14, 296, 8, 336, 0, 0, 0, 0},
    {{120, 2, 0}, 0, false, 0, 0, 80, 1, 84, 68, 72, 0, 0},
    {{120, 2, 1}, 0, false, 0, 0, 76, 1, 80, 64, 68, 0, 0},
    {{128, 2, 2}, 0, false, 0, 0, 76, 1, 80, 64, 68, 0, 120},
    {{152, 2, 3}, 0, false, 0, 0, 76, 1, 80, 64, 68, 0, 120},
    {{168, 2, 4}, 0, false, 0, 0, 76, 1, 80, 64, 68, 0, 120},
    {{264, 3, 0}, 0, false, 0, 0, 174, 1, 186, 0, 0, 0, 0},
};

static const struct layout *layout_of(struct header header)
{
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (memcmp(&layouts[i].header, &header, sizeof header) == 0)
            return &layouts[i];
    return NULL;
}

/* Reads a little-endian number of `size` bytes. All machines with these boards are little-endian. */
static uint64_t field(const unsigned char *at, size_t size)
{
    uint64_t value = 0;
    while (size-- > 0)
        value = value << 8 | at[size];
    return value;
}

/* --- revision 1.9: the number of attributes, then for each a 64-bit word and its packed values ---------- */

#define LIST_BEGIN      8
#define WORD_BYTES      8
#define VALUES_OF(word) ((word)&0x3ff)
#define ID_OF(word)     ((word) >> 10 & 0x3ff)
#define TYPE_OF(word)   ((word) >> 20 & 0xf) /* u8, s8, u16, s16, u32, s32, u64, s64 */
#define TYPES           8
#define TYPE_U64        6
#define ID_ENERGY       7

/* Finds the energy in a table of revision 1.9. There is little experience with this revision, so the energy
 * is used only if the list is valid to the last byte. */
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

/* --- any revision --------------------------------------------------------------------------------------- */

joule_status gpu_metrics_read_energy(const void *bytes, size_t length, uint64_t *out_counts,
                                     uint64_t *out_modulus)
{
    const unsigned char *table = bytes;
    if (length < sizeof(struct header) || length < field(table, 2))
        return JOULE_FAILED;
    struct header header = {(uint16_t)field(table, 2), table[2], table[3]};
    const struct layout *layout = layout_of(header);
    if (header.format == 1 && header.content == 9)
        return find_in_list(table, header.size, out_counts, out_modulus);
    if (!layout || !layout->energy)
        return JOULE_UNSUPPORTED;
    uint64_t counts = field(table + layout->energy, layout->is_narrow ? 4 : 8);
    if (counts == (layout->is_narrow ? UINT32_MAX : UINT64_MAX))
        return JOULE_UNSUPPORTED;
    *out_counts = counts;
    *out_modulus = layout->is_narrow ? UINT64_C(1) << 32 : 0;
    return JOULE_OK;
}

/* --- values other than energy --------------------------------------------------------------------------- */

#define MAX_MEGAHERTZ 20000
#define MAX_RPM       30000

struct gpu_metrics gpu_metrics_unknown(void)
{
    return (struct gpu_metrics){.busy = NAN,
                                .memory_busy = NAN,
                                .clock_megahertz = NAN,
                                .memory_clock_megahertz = NAN,
                                .fan_rpm = NAN,
                                .clock_reasons = JOULE_CLOCKS_UNKNOWN};
}

/* Reads two bytes. Returns NaN if `offset` is 0 or the value is over `max`. */
static double read_value(const unsigned char *table, uint16_t offset, double max)
{
    double value = offset ? (double)field(table + offset, 2) : NAN;
    return value <= max ? value : NAN;
}

static double highest_clock(const unsigned char *table, const struct layout *layout)
{
    double highest = NAN;
    for (uint16_t i = 0; i < layout->clocks; i++)
        highest = fmax(highest, read_value(table, (uint16_t)(layout->clock + 2 * i), MAX_MEGAHERTZ));
    return isnan(highest) ? read_value(table, layout->mean_clock, MAX_MEGAHERTZ) : highest;
}

/* Translates bits of indep_throttle_status, which are numbered in amdgpu_smu.h (SMU_THROTTLER_..._BIT):
 * power 0 to 7, currents 16 to 23, temperatures 32 to 43, hot regulators and processors 44 to 47. */
static uint32_t reasons_of(uint64_t bits)
{
    static const struct {
        unsigned first, last;
        uint32_t reason;
    } ranges[] = {{0, 7, JOULE_CLOCKS_POWER},
                  {16, 23, JOULE_CLOCKS_SLOWDOWN},
                  {32, 43, JOULE_CLOCKS_TEMPERATURE},
                  {44, 47, JOULE_CLOCKS_HOT_HARDWARE}};
    uint32_t reasons = 0;
    if (bits == UINT64_MAX)
        return JOULE_CLOCKS_UNKNOWN;
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        uint64_t mask = (UINT64_C(2) << ranges[i].last) - (UINT64_C(1) << ranges[i].first);
        reasons |= bits & mask ? ranges[i].reason : 0;
        bits &= ~mask;
    }
    return bits ? reasons | JOULE_CLOCKS_OTHER : reasons;
}

joule_status gpu_metrics_read(const void *bytes, size_t length, struct gpu_metrics *out_metrics)
{
    const unsigned char *table = bytes;
    *out_metrics = gpu_metrics_unknown();
    if (length < sizeof(struct header) || length < field(table, 2))
        return JOULE_FAILED;
    const struct layout *layout = layout_of((struct header){(uint16_t)field(table, 2), table[2], table[3]});
    if (!layout)
        return JOULE_UNSUPPORTED;
    out_metrics->busy = read_value(table, layout->busy, 100);
    out_metrics->memory_busy = read_value(table, layout->memory_busy, 100);
    out_metrics->clock_megahertz = highest_clock(table, layout);
    out_metrics->memory_clock_megahertz = read_value(table, layout->memory_clock, MAX_MEGAHERTZ);
    if (isnan(out_metrics->memory_clock_megahertz))
        out_metrics->memory_clock_megahertz = read_value(table, layout->mean_memory_clock, MAX_MEGAHERTZ);
    out_metrics->fan_rpm = read_value(table, layout->fan, MAX_RPM);
    if (layout->throttle)
        out_metrics->clock_reasons = reasons_of(field(table + layout->throttle, 8));
    return JOULE_OK;
}
