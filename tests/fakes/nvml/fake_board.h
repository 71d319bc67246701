/* tests/fakes/nvml/fake_board.h - scripted NVIDIA boards.
 *
 * Models a board's physics: power is a square wave, and energy is its integral. Sensors update both values
 * with a period. The other files in this folder implement the vendor's interface. The script is text such as
 * "boards=2; watts=90; 1.denied=1". A number and a dot select one board: "1.denied=1" sets `denied` of board
 * 1 only. JOULE_FAKE_NVML contains the script, or '@' and the name of a file with it. script_keys lists all
 * keys. */
#ifndef FAKE_BOARD_H
#define FAKE_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#define FAKE_MAX_BOARDS 16
#define FAKE_MAX_PARTS  7 /* maximum number of MIG instances of a board */
#define FAKE_RING       120

struct fake_board {
    unsigned index;
    /* number of a MIG instance, from 0; -1 means the board itself */
    int part;
    double watts, peak_watts, period_ms, duty; /* power is peak_watts for duty * period_ms, then watts */
    double memory_watts;                       /* power of the memory scope; 0 means not supported */
    /* Power of the rest of the module, which the module scope includes in addition to the board's power. 0
     * means that the module is only the board. < 0 means that the module scope is not supported. */
    double module_watts;
    double counts_module; /* 1: the energy counter of the GPU scope includes module_watts */
    double module_energy; /* 1: the energy field supports the module scope */
    double update_ms;     /* period at which counter and power change */
    double ring_ms;       /* time between samples of the ring; 0 means no ring */
    double energy;        /* 1: the counter works; 0: not supported; -1: constant */
    double power;         /* 1: GetPowerUsage works; 0: not supported */
    /* 1: all fields work; 0: an old driver, whose call succeeds but sets an error status in each field from
     * id 185 on */
    double fields;
    double average_field, instant_field, scoped_energy_field; /* 1: works; 0: this field fails */
    /* type of the energy field's value: NVML_VALUE_TYPE_UNSIGNED_LONG_LONG, or an unknown type */
    double energy_field_type;
    double gpm; /* 1: GPM is supported */
    double architecture, major, minor;
    double mig;       /* number of MIG instances; 0 means that MIG is off */
    double superchip; /* 1: the board's name is that of a GPU on a module with a CPU */
    double denied;    /* 1: permission for the board's handle is denied */
    double limit_watts, celsius, memory_celsius, processes;
    /* Times of events, in milliseconds after the first Init_v2. < 0 means never. */
    double uninitialized_at_ms; /* every call returns UNINITIALIZED until Init_v2 is called again */
    double lost_at_ms;
    double reset_at_ms;      /* the counter restarts from 0 */
    double transient_at_ms;  /* for 300 ms calls return TIMEOUT */
    double encoder, decoder; /* percent; < 0 means not supported */
    double fans, fan_percent;
    /* If pcie_counts is 1, the driver counts bytes in 64 bits; if it is 2, in 32 bits; if it is 0, not at
     * all. Traffic is in megabytes per second. */
    double pcie_counts, transmit_mb, receive_mb;
    double replays;
    /* Errors since the driver was loaded. The count over the board's lifetime is 10 higher. < 0 means that
     * the board has no ECC. */
    double ecc, ecc_uncorrected;
    double xid_events; /* 1: Xid errors are reported as events */
    double xid_at_ms, xid;
    /* The first call after block_at_ms blocks for block_s seconds. All other calls wait for it. */
    double block_at_ms, block_s;
};

struct fake_script {
    unsigned board_count;
    double init_code;      /* result of Init_v2 */
    double ring_monotonic; /* 1: timestamps of the ring use CLOCK_MONOTONIC, not CLOCK_REALTIME */
    struct fake_board boards[FAKE_MAX_BOARDS];
    struct fake_board parts[FAKE_MAX_BOARDS][FAKE_MAX_PARTS];
};

/* Sets boards to their defaults, then parses the script. Returns false for an unknown key. */
bool fake_script_parse(struct fake_script *script, const char *text);

/* Return the true power in watts, and the joules since time 0, at a time in seconds. */
double fake_power(const struct fake_board *board, double time_s);
double fake_joules(const struct fake_board *board, double time_s);
/* Return what the sensors show at time_s: the values at their last update. Instant power is the mean over the
 * last quarter of the update period. Average power is the mean over the last second. */
double fake_counter_joules(const struct fake_board *board, double time_s);
double fake_instant_watts(const struct fake_board *board, double time_s);
double fake_average_watts(const struct fake_board *board, double time_s);

#endif
