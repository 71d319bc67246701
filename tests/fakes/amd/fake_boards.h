/* tests/fakes/amd/fake_boards.h - scripted AMD boards behind fakes of both of AMD's libraries.
 *
 * Describes a fake board, its physics and its faults. The folders rocm_smi and amd_smi implement the
 * interfaces of the libraries. The script is text such as "boards=2; watts=90; 1.energy=0". A number and a
 * dot select one board: "1.energy=0" sets `energy` of board 1 only. The script comes from JOULE_FAKE_AMD or
 * from fake_amd_script. Times of events are in milliseconds after the library's start. */
#ifndef FAKE_AMD_BOARDS_H
#define FAKE_AMD_BOARDS_H

#include <stdbool.h>
#include <stdint.h>

#define FAKE_MAX_BOARDS  8
#define FAKE_STUCK_COUNT UINT64_C(8152136)  /* an MI100's counter showed this value for weeks */
#define FAKE_STEP_COUNTS UINT64_C(13952475) /* a counter was observed to go back by this many counts */

#define EXPORT __attribute__((visibility("default")))

/* The result of a call. Each library returns its own code for each of these results. */
enum fake_fate { FATE_FINE, FATE_UNSUPPORTED, FATE_DENIED, FATE_BUSY, FATE_FAILS, FATE_NOT_FOUND };

struct fake_board {
    unsigned index;
    double watts;
    double
        energy;   /* 1: works; 0: no such call; -1: constantly FAKE_STUCK_COUNT; -2: reads 0; -3: not found */
    double start; /* joules at time 0 */
    double bits;  /* bits of the counter: 64, or 32 as in the oldest tables */
    double power; /* 1: average; 2: current; 0: no such call; -2: reads 0 W */
    /* junction temperature; the edge sensor shows 10 less, the memory sensor 5 more; 0 means no sensor */
    double celsius;
    double busy; /* percent */
    /* number of devices that the library lists for the board; each has the board's energy and power */
    double partitions;
    double denied;     /* 1 means that calls on the board are denied */
    double back_at_ms; /* at this time the counter goes back by FAKE_STEP_COUNTS; < 0 means never */
    double stand_at_ms, fail_at_ms;
    double busy_at_ms, busy_for_ms; /* from busy_at_ms on, another process holds the lock for busy_for_ms */
    double block_at_ms, block_s;    /* the first call after this time blocks for block_s */
    double gone_at_ms;              /* at this time other code shuts the library down */
};

struct fake_script {
    unsigned board_count;
    double init_code;
    struct fake_board boards[FAKE_MAX_BOARDS];
};
extern struct fake_script fake_script;

/* For tests. fake_amd_script replaces the script, as if the library had just been loaded. fake_amd_set_time
 * stops the clock at a time; -1 makes the clock run. fake_amd_starts returns the number of starts of the
 * library minus the number of stops. */
EXPORT void fake_amd_script(const char *text);
EXPORT void fake_amd_set_time(int64_t monotonic_ns);
EXPORT unsigned fake_amd_starts(void);

/* Start and end of the library. */
int fake_start(void);
void fake_stop(void);
bool fake_is_started(void);

/* Returns the board of the device with this number, or NULL if there are fewer devices. Each partition of a
 * board counts as a device. Sets *out_partition to the number of the partition. */
const struct fake_board *fake_device(unsigned number, unsigned *out_partition);
unsigned fake_device_count(void);
/* Return the result of a call on the board. Every call on a device begins with fake_enter. The results of
 * fake_counts and fake_watts also depend on the script's values of energy and power. */
enum fake_fate fake_enter(const struct fake_board *board);
enum fake_fate fake_counts(const struct fake_board *board, uint64_t *out_counts);
enum fake_fate fake_watts(const struct fake_board *board, double *out_watts);
/* Returns the board's PCI bus: 0xc1, 0xc2 ... */
unsigned fake_bus(const struct fake_board *board);
int64_t fake_now_ns(void);
bool fake_has_come(double at_ms);

#endif
