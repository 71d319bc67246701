/* joule/sources/intel/level_zero.h - Intel's GPUs through Level Zero's system management.
 *
 * Owns what the parts of the level_zero source share: the library once loaded, and a board with its channels.
 * level_zero_library.c loads, level_zero_board.c finds out what a board can tell, level_zero.c reads.
 * Newcomers: the kernel's hwmon is preferred where both count a board's joules: on some boards the counter here falls
 * back by megajoules. What a sub-device (a tile) counts is part of what its device counts and never added to it.
 */
#ifndef JOULE_LEVEL_ZERO_H
#define JOULE_LEVEL_ZERO_H

#include "joule/sources/device.h"
#include "joule/sources/intel/level_zero_abi.h"

#define LZ_MOST_BOARDS  32
#define LZ_MOST_PARTS   64 /* of one kind that a board may list: engines, memories, sensors, power domains */
#define LZ_MOST_SENSORS 16

struct lz_engine {
    lz_handle handle;
    struct lz_engine_stats last;
};

struct lz_sensor {
    lz_handle handle;
    struct channel *channel;
};

struct lz_board {
    lz_handle handle;
    struct device *device;
    char zone[48];
    int power_state; /* handle of its runtime_status, for hwmon_is_asleep */

    lz_handle power;        /* NULL: no domain stands for the board */
    struct channel *energy; /* NULL: it counts none */
    uint64_t energy_us;     /* the driver's stamp of the last count */
    double default_limit_watts, least_limit_watts, most_limit_watts;

    struct lz_sensor sensors[LZ_MOST_SENSORS];
    size_t sensor_count;
    struct channel *busy;    /* of the busiest engine; NULL: cannot be known */
    bool has_sought_engines; /* which is done at the first look at devices */
    struct lz_engine engines[LZ_MOST_PARTS];
    size_t engine_count;
    lz_handle memories[LZ_MOST_PARTS]; /* the board's own: it has their sum */
    size_t memory_count;
};

struct lz_source {
    struct lz_api api;
    struct lz_board boards[LZ_MOST_BOARDS];
    size_t board_count;
    int64_t gauges_ns; /* when gauges were last read */
};

/* Loads the library (JOULE_LEVEL_ZERO_LIB names another one) and initialises it in the mode that the environment asks
 * for. OK, or why not, with source->remedy. */
joule_status lz_load(struct source *source, struct lz_api *out_api);
/* Asks how many handles of a kind there are, then for at most `size` of them. UNSUPPORTED_FEATURE where `list` is NULL. */
typedef lz_code (*lz_list_fn)(lz_handle owner, uint32_t *count, lz_handle *list);
lz_code lz_list(lz_list_fn list, lz_handle owner, lz_handle *out_handles, size_t size, size_t *out_count);
/* At most `size` devices of all drivers; negative: the source's state has been set. */
ssize_t lz_list_devices(struct source *source, const struct lz_api *api, lz_handle *out_devices, size_t size);
/* What a code means for a channel. */
joule_status lz_status(lz_code code);
/* Whether the same call may well answer a moment later. */
bool lz_is_transient(lz_code code);

/* Adds the device and the channels of a GPU that was not seen before; what is none is passed over. False when memory is
 * used up. */
bool lz_board_open(struct source *source, lz_handle handle);
/* Finds the engines whose activity can be read: OK with one at least, DENIED or UNSUPPORTED. The runtime may open the
 * driver's performance events for that, and these keep the GPU awake. */
joule_status lz_board_seek_engines(const struct lz_api *api, struct lz_board *board);
/* The limit that is set, in watts; NaN: unknown. */
double lz_board_limit(const struct lz_api *api, const struct lz_board *board);

#endif
