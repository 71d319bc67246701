/* joule/sources/intel/level_zero.h - the source "level_zero": Intel's GPUs, read with Level Zero's system
 * management (Sysman).
 *
 * level_zero_library.c loads the library, level_zero_board.c finds what a board can report, and level_zero.c
 * reads the boards.
 * Note: if the source "hwmon" also reads a board's energy, "hwmon" has priority, because on some boards Level
 * Zero's counter drops by megajoules. The energy of a sub-device (a tile) is part of its device's energy and
 * is never added to it. */
#ifndef JOULE_LEVEL_ZERO_H
#define JOULE_LEVEL_ZERO_H

#include "joule/sources/device.h"
#include "joule/sources/intel/level_zero_abi.h"

#define LZ_MAX_BOARDS  32
#define LZ_MAX_PARTS   64 /* upper limit for engines, memories, sensors or power domains of one board */
#define LZ_MAX_SENSORS 16

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
    int power_state; /* handle of the board's runtime_status, for hwmon_is_suspended */

    lz_handle power;        /* NULL: no power domain covers the board */
    struct channel *energy; /* NULL: no energy counter */
    uint64_t energy_us;     /* timestamp of the last count, on the driver's clock */
    double default_limit_watts, min_limit_watts, max_limit_watts;

    struct lz_sensor sensors[LZ_MAX_SENSORS];
    size_t sensor_count;
    struct channel *busy;      /* busy ratio of the busiest engine; NULL: not available */
    bool has_searched_engines; /* lz_board_find_engines was called, at the first query of devices */
    struct lz_engine engines[LZ_MAX_PARTS];
    size_t engine_count;
    lz_handle memories[LZ_MAX_PARTS]; /* handles of the board's own memory; the sum of all is reported */
    size_t memory_count;
};

struct lz_source {
    struct lz_api api;
    struct lz_board boards[LZ_MAX_BOARDS];
    size_t board_count;
    int64_t gauges_ns; /* time of the next reading of gauges */
};

/* Loads Level Zero's library and initialises it in the mode that the environment selects.
 * JOULE_LEVEL_ZERO_LIB overrides the library's name. On failure sets the source's state and remedy, and
 * returns this state. */
joule_status lz_load(struct source *source, struct lz_api *out_api);
/* Writes at most `size` handles of one kind, which the library's function `list` returns for `owner`. Returns
 * the library's code, or ZE_RESULT_ERROR_UNSUPPORTED_FEATURE if `list` is NULL. */
typedef lz_code (*lz_list_fn)(lz_handle owner, uint32_t *count, lz_handle *list);
lz_code lz_list(lz_list_fn list, lz_handle owner, lz_handle *out_handles, size_t size, size_t *out_count);
/* Writes at most `size` devices of all drivers. Returns their number. On failure sets the source's state and
 * returns -1. */
ssize_t lz_list_devices(struct source *source, const struct lz_api *api, lz_handle *out_devices, size_t size);
/* Returns the status of a channel after a call that returned this code. */
joule_status lz_status(lz_code code);
/* Returns true if the call that returned this code may soon succeed. */
bool lz_is_transient(lz_code code);

/* Adds the device and the channels of a GPU. Ignores devices that are not GPUs or are already added. Returns
 * false if out of memory. */
bool lz_board_open(struct source *source, lz_handle handle);
/* Finds the engines whose activity can be read. Returns OK if there is at least one, else DENIED, UNSUPPORTED
 * or another status. The runtime may then open the driver's performance events, which keep the GPU awake. */
joule_status lz_board_find_engines(const struct lz_api *api, struct lz_board *board);
/* Returns the current power limit of the board in watts, or NaN if unknown. */
double lz_board_limit(const struct lz_api *api, const struct lz_board *board);

#endif
