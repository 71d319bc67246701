/* tests/fakes/nvml/fake_board.h - boards that exist only in a script.
 *
 * Owns what a fake board is made of and its physics: power as a square wave in time, energy as its integral, both
 * seen through sensors that update every so often. The files beside dress them in the vendor's interface.
 * Newcomers: the script is text, "boards=2; watts=90; 1.denied=1": a number and a dot speak of one board. It comes
 * from JOULE_FAKE_NVML, or from the file that is named there after an @. All keys stand in script_keys.
 */
#ifndef FAKE_BOARD_H
#define FAKE_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#define FAKE_MOST_BOARDS 16
#define FAKE_MOST_PARTS  7 /* MIG instances of a board */
#define FAKE_RING        120

struct fake_board {
    unsigned index;
    int part;                                  /* of a MIG instance: 0 ..; -1: the board itself */
    double watts, peak_watts, period_ms, duty; /* peak_watts for duty * period_ms, then watts */
    double memory_watts;                       /* in the memory scope; 0: not supported */
    /* in the module scope, on top of the board's; 0: the board's own; < 0: not supported */
    double module_watts;
    double counts_module; /* 1: the energy counter of the GPU scope counts module_watts, too */
    double module_energy; /* 1: the energy field answers in the module scope */
    double update_ms;     /* how often counter and power update */
    double ring_ms;       /* spacing of the ring's samples; 0: no ring */
    double energy;        /* 1: counter works; 0: not supported; -1: it stands still */
    double power;         /* 1: GetPowerUsage works; 0: not supported */
    double fields;        /* 1: all; 0: unknown to this driver (185 and up fail one by one) */
    double average_field, instant_field, scoped_energy_field; /* 1: works; 0: that field fails */
    double energy_field_type; /* of the value: NVML_VALUE_TYPE_UNSIGNED_LONG_LONG, or one that nobody knows */
    double gpm;               /* 1: supported */
    double architecture, major, minor;
    double mig;       /* number of instances; 0: MIG is off */
    double superchip; /* 1: named like a GPU on a module with a CPU */
    double denied;    /* 1: its handle is refused */
    double limit_watts, celsius, memory_celsius, processes;
    /* Events, in milliseconds after the first Init_v2; < 0: never. */
    double uninitialized_at_ms; /* every call fails so until Init_v2 is called again */
    double lost_at_ms;
    double reset_at_ms;      /* the counter starts again from 0 */
    double transient_at_ms;  /* for 300 ms calls answer TIMEOUT */
    double encoder, decoder; /* percent; < 0: not supported */
    double fans, fan_percent;
    /* 1: the driver counts bytes in 64 bits; 2: in 32; 0: it does not. Megabytes per second of traffic. */
    double pcie_counts, transmit_mb, receive_mb;
    double replays;
    double ecc,
        ecc_uncorrected; /* errors since the driver was loaded, 10 less than over the lifetime; < 0: no ECC */
    double xid_events;   /* 1: Xid errors come as events */
    double xid_at_ms, xid;
    double block_at_ms, block_s; /* the first call after this takes so long; and others wait for it */
};

struct fake_script {
    unsigned board_count;
    double init_code;      /* what Init_v2 answers */
    double ring_monotonic; /* 1: ring stamps on CLOCK_MONOTONIC instead of CLOCK_REALTIME */
    struct fake_board boards[FAKE_MOST_BOARDS];
    struct fake_board parts[FAKE_MOST_BOARDS][FAKE_MOST_PARTS];
};

/* Boards at their defaults, then the script's text; false for a key that does not exist. */
bool fake_script_parse(struct fake_script *script, const char *text);

/* True power in watts, and joules used since time 0, at a time in seconds. */
double fake_power(const struct fake_board *board, double time_s);
double fake_joules(const struct fake_board *board, double time_s);
/* As the sensors show them: at the last update before time_s. Instant power is the mean of the last quarter of the
 * update period, average power that of the last second. */
double fake_counter_joules(const struct fake_board *board, double time_s);
double fake_instant_watts(const struct fake_board *board, double time_s);
double fake_average_watts(const struct fake_board *board, double time_s);

#endif
