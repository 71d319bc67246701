/* joule/sources/jetson/jetson_board.h - the supply rails of a Jetson, and which of them are the whole module.
 *
 * Owns what is known of rails by their names: the one that feeds all, the GPU's own, those that share; and the sum of a
 * board on which no rail feeds all. How rails are read is the sources': jetson.c from sysfs, tegrastats.c from a program.
 * Newcomers: on most boards the GPU shares a rail with the CPU or the rest of the chip, and then nothing here is the
 * GPU's energy.
 */
#ifndef JOULE_JETSON_BOARD_H
#define JOULE_JETSON_BOARD_H

#include "joule/sources/device.h"

#define JETSON_MOST_RAILS 24

struct jetson_rail {
    char name[32]; /* the board's word for it: "VDD_IN" */
    struct channel *channel;
    bool is_summed;
    joule_status status; /* of the last reading; before jetson_describe: whether it may be read */
    double watts;        /* where status is OK */
};

struct jetson_board {
    struct jetson_rail rails[JETSON_MOST_RAILS];
    size_t count;
    struct channel *sum; /* NULL: a rail feeds all, or nobody knows which rails are all */
};

/* How the rails of a board are measured. */
struct jetson_sensor {
    double period_s; /* the sensor's own, or a stated guess */
    bool period_is_known;
    double seen;   /* part of its period of which a reading is the mean */
    double pace_s; /* between two readings */
};

/* The GPU as a device, made when first asked for; its model is the board's. NULL when memory is used up. */
struct device *jetson_gpu_device(struct source *source);
/* Whether a Jetson has a rail of this name. */
bool jetson_knows_rail(const char *name);
/* The next rail; NULL for "NC", which is not connected, and where there are too many. */
struct jetson_rail *jetson_add_rail(struct jetson_board *board, const char *name);
/* When all rails are there: a channel for each and for the sum. */
void jetson_describe(struct source *source, struct jetson_board *board, const struct jetson_sensor *sensor);
/* When all rails have been read. */
void jetson_report(const struct jetson_board *board, struct sink *sink);

#endif
