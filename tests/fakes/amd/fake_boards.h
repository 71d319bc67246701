/* tests/fakes/amd/fake_boards.h - AMD boards that exist only in a script, under both of the vendor's libraries.
 *
 * Owns what a fake board is made of, its physics and its misfortunes. rocm_smi/ and amd_smi/ beside dress it in the
 * libraries' interfaces.
 * Newcomers: the script is text, "boards=2; watts=90; 1.energy=0": a number and a dot speak of one board. It comes from
 * JOULE_FAKE_AMD, or from fake_amd_script. Events are in milliseconds after the library was started.
 */
#ifndef FAKE_AMD_BOARDS_H
#define FAKE_AMD_BOARDS_H

#include <stdbool.h>
#include <stdint.h>

#define FAKE_MOST_BOARDS 8
#define FAKE_STUCK_COUNT UINT64_C(8152136)  /* as an MI100's counter stood for weeks */
#define FAKE_STEP_COUNTS UINT64_C(13952475) /* so far back a counter was seen to go */

#define EXPORT __attribute__((visibility("default")))

/* What a call meets, whatever the library calls it. */
enum fake_fate { FATE_FINE, FATE_UNSUPPORTED, FATE_DENIED, FATE_BUSY, FATE_FAILS, FATE_NOT_FOUND };

struct fake_board {
    unsigned index;
    double watts;
    double
        energy; /* 1: it counts; 0: no such call; -1: stands at FAKE_STUCK_COUNT; -2: reads 0; -3: not found */
    double start;      /* joules at time 0 */
    double bits;       /* of the counter: 64, or 32 as in the oldest tables */
    double power;      /* 1: average; 2: current; 0: no such call; -2: reads 0 W */
    double celsius;    /* of the junction; the edge is 10 less, memory 5 more; 0: none */
    double busy;       /* per cent */
    double partitions; /* how often it is listed: each repeats energy and power */
    double denied;     /* 1: its calls are refused */
    double back_at_ms; /* the counter goes FAKE_STEP_COUNTS back; < 0: never */
    double stand_at_ms, fail_at_ms;
    double busy_at_ms, busy_for_ms; /* another process has the lock */
    double block_at_ms, block_s;    /* the first call after this takes so long */
    double gone_at_ms;              /* somebody shuts the library down */
};

struct fake_script {
    unsigned board_count;
    double init_code;
    struct fake_board boards[FAKE_MOST_BOARDS];
};
extern struct fake_script fake_script;

/* For tests: sets the script anew, as if the library had just been loaded; and stops the clock at a time (-1: it goes
 * on). */
EXPORT void fake_amd_script(const char *text);
EXPORT void fake_amd_set_time(int64_t monotonic_ns);
EXPORT unsigned fake_amd_starts(void); /* less stops */

/* The library's start and end. */
int fake_start(void);
void fake_stop(void);
bool fake_is_started(void);

/* The device with this number among all that are listed, partitions counted; NULL: there are fewer. */
const struct fake_board *fake_device(unsigned number, unsigned *out_partition);
unsigned fake_device_count(void);
/* What every call on a device goes through; the fate of energy and power is decided by their own values too. */
enum fake_fate fake_enter(const struct fake_board *board);
enum fake_fate fake_counts(const struct fake_board *board, uint64_t *out_counts);
enum fake_fate fake_watts(const struct fake_board *board, double *out_watts);
/* The PCI bus of a board: 0xc1, 0xc2 ... */
unsigned fake_bus(const struct fake_board *board);
int64_t fake_now_ns(void);
bool fake_has_come(double at_ms);

#endif
