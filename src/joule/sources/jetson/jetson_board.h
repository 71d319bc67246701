/* joule/sources/jetson/jetson_board.h - the supply rails of a Jetson, and which of them make up the whole
 * module.
 *
 * This file recognises rails by name: the rail that feeds all others, the GPU's rail, shared rails. If no
 * rail feeds all others, the whole is a sum of rails. jetson.c reads rails from sysfs, tegrastats.c from a
 * program.
 * Note: on most boards the GPU shares a rail with the CPU or the rest of the chip. The GPU's energy is then
 * unknown. */
#ifndef JOULE_JETSON_BOARD_H
#define JOULE_JETSON_BOARD_H

#include "joule/sources/device.h"

#define JETSON_MAX_RAILS 24

struct jetson_rail {
    char name[32]; /* name on the board, such as "VDD_IN" */
    struct channel *channel;
    bool is_summed; /* jetson_board.sum includes it */
    /* Status of the last reading. Until jetson_add_channels is called, OK means that the rail can be read. */
    joule_status status;
    double watts; /* valid if status is OK */
};

struct jetson_board {
    struct jetson_rail rails[JETSON_MAX_RAILS];
    size_t count;
    struct channel *sum; /* the sum of rails; NULL: one rail feeds all others, or no sum is known */
};

/* Properties of the measurement of a board's rails. */
struct jetson_sensor {
    double period_s; /* the sensor's update period; assumed unless period_is_known */
    bool period_is_known;
    double coverage; /* fraction of the period over which a reading is averaged */
    double pace_s;   /* time between two readings */
};

/* Returns the GPU as a device, which the first call adds. The device's model is the name of the board.
 * Returns NULL if out of memory. */
struct device *jetson_gpu_device(struct source *source);
/* Returns true if a known Jetson board has a rail of this name. */
bool jetson_knows_rail(const char *name);
/* Adds a rail. Returns NULL for "NC" (not connected), or if there are too many. */
struct jetson_rail *jetson_add_rail(struct jetson_board *board, const char *name);
/* Adds a channel for each rail and for the sum. Call it after all rails are added. */
void jetson_add_channels(struct source *source, struct jetson_board *board,
                         const struct jetson_sensor *sensor);
/* Reports all channels. Call it after all rails are read. */
void jetson_report(const struct jetson_board *board, struct sink *sink);

#endif
