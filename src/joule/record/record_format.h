/* joule/record/record_format.h - the constants of the record file, shared by its writer and its reader.
 *
 * docs/record-format.md describes the format, and base/crc32.h computes the checksums. All numbers are
 * little-endian. Doubles are IEEE 754 binary64. A text is a u16 length and bytes.
 * Note: old readers skip new types of blocks. A change to an existing type needs a new version.
 */
#ifndef JOULE_RECORD_FORMAT_H
#define JOULE_RECORD_FORMAT_H

#include <stdint.h>

#define RECORD_MAGIC       "JOULEREC"
#define RECORD_MAGIC_SIZE  8
#define RECORD_VERSION     1
#define RECORD_HEADER_SIZE 16 /* magic, u32 version, u32 size of this header */
#define RECORD_BLOCK_SIZE                                                                                    \
    16 /* u32 type, u32 payload bytes, u32 CRC-32 of the payload, u32 CRC-32 of these 12 */
#define RECORD_MAX_PAYLOAD (1u << 20)
#define RECORD_TAG_SIZE    182 /* bytes of a row of RECORD_TAGS without its name */

enum record_block {
    RECORD_META = 1,    /* i64 begin monotonic, i64 begin realtime, f64 period s, text program */
    RECORD_CHANNEL = 2, /* one description: see record-format.md */
    RECORD_POINTS =
        3, /* u32 channel, u32 count, then i64 time, f64 joules, covered s, variance, time sd each */
    RECORD_GAUGE = 4,   /* u32 channel, i64 time, f64 value, repeated */
    RECORD_REGION = 5,  /* u64 begin, u64 end, u32 thread, u32 flags, text name, repeated */
    RECORD_END = 6,     /* i64 end monotonic */
    RECORD_TAGS = 7,    /* the table of regions by name; if repeated, the last block is valid */
    RECORD_COMMAND = 8, /* facts about the command other than its energy */
    RECORD_RUNS = 9,    /* quantity total, quantity command, f64 seconds, repeated; only for several runs */
    RECORD_BLUR = 10,   /* u32 channel, f64 seconds that a reading averages over; only if readings overlap */
    /* u64 for each field of struct region_limits, then u64 folded of each row of RECORD_TAGS */
    RECORD_LIMITS = 11,
};

#endif
