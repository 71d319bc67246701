/* joule/sources/nvidia/nvml.h - NVIDIA boards through the driver's own library.
 *
 * Owns what the parts of the nvml source share: the library once loaded, and a board with its channels
 * and its device. nvml_library.c loads, nvml_board.c finds out what a board can tell, nvml.c reads, nvml_describe.c
 * describes.
 * Newcomers: a call may take milliseconds and in bad times minutes; nothing here is called on a prompt lane.
 */
#ifndef JOULE_NVML_H
#define JOULE_NVML_H

#include "joule/sources/nvidia/nvml_abi.h"
#include "joule/sources/device.h"

#define NVML_MOST_BOARDS   64
#define NVML_PERIOD_S      0.1 /* between two readings, whatever the meter's: sampled power bridges no long gaps */
#define NVML_MOST_CHANNELS 12
#define NVML_RING_SIZE     1024 /* samples taken from the driver at once; it keeps fewer */

/* Where this system has the driver's library; NULL ends them. */
extern const char *const nvml_names[];
/* Whether the driver's library is there, be it that it does not start. */
bool nvml_is_there(struct joule_host *host);
/* Loads and initialises the library (JOULE_NVML_LIB names another one). OK, or why not, with a remedy for a person. */
joule_status nvml_load(struct joule_host *host, struct nvml_api *out_api, char *out_remedy, size_t size);
/* What a return code means for a channel. */
joule_status nvml_status(nvml_return code);
/* Whether the same call may well answer a moment later. */
bool nvml_is_transient(nvml_return code);
/* One field as a double; its own return code where the call as a whole succeeded. */
nvml_return nvml_read_field(const struct nvml_api *api, nvml_device device, uint32_t id, uint32_t scope,
                            double *out_value);

/* What a board is. Unknown texts are empty; compute capability 0.0: unknown. */
struct nvml_identity {
    char name[NVML_NAME_SIZE], uuid[NVML_NAME_SIZE];
    char bus_id[16];  /* "0000:65:00.0", as sysfs names the device */
    int major, minor; /* compute capability */
};
void nvml_identify(const struct nvml_api *api, nvml_device device, struct nvml_identity *out_identity);

/* "NVIDIA GH200 480GB", "NVIDIA GB300": a GPU and an Arm CPU on one module. */
bool nvml_is_superchip(const char *name);
/* Writes the zone of the module that contains a superchip's GPU: "module0", numbered by its CPU socket, the
 * same in every source. */
void nvml_module_zone(struct joule_host *host, const char *name, const char *pci_address, unsigned index,
                      char out_zone[48]);
/* The driver's bits for low clocks as JOULE_CLOCKS_... */
uint32_t nvml_clock_reasons(uint64_t reasons);

/* --- boards as the source sees them --------------------------------------------------------------------------- */

enum nvml_energy_view { NVML_ENERGY_NONE, NVML_ENERGY_SCOPED, NVML_ENERGY_FIELD, NVML_ENERGY_CALL };
enum nvml_power_view { NVML_POWER_NONE, NVML_POWER_RING, NVML_POWER_INSTANT, NVML_POWER_USAGE };

struct nvml_board {
    unsigned index;
    nvml_device handle;
    struct device *device; /* what people are told of it */
    struct nvml_identity id;
    unsigned architecture; /* 0: unknown */
    double limit_watts;    /* NaN: unknown */
    joule_scope scope,
        counter_scope; /* scopes of its power and of its counter: the GPU, or a superchip's module */
    char zone[48], counter_zone[48];
    bool is_lost;

    enum nvml_energy_view energy_view;
    enum nvml_power_view power_view;
    struct channel *energy, *power, *memory; /* NULL: the board does not tell */
    struct standstill still;                 /* of the counter */
    clockid_t ring_clock;                    /* on which the ring's samples are stamped */
    uint64_t ring_last_us;

    struct channel *temperature, *memory_temperature, *sm_clock, *memory_clock, *busy, *memory_busy;
    struct channel *sm_activity, *tensor_activity, *dram_activity;
    nvml_gpm_sample gpm_samples[2]; /* NULL: no GPM */
    int gpm_turn;                   /* which of the two comes next */

    struct nvml_traffic {
        uint64_t bytes[2]; /* as counted at time_ns; by direction: NVML_PCIE_TRANSMIT, NVML_PCIE_RECEIVE */
        int64_t time_ns;   /* 0: never */
        double rates[2];   /* bytes per second */
        bool is_sampled;   /* it has no byte counts: the driver samples for 20 ms */
    } traffic;
    double xid_count, last_xid; /* NaN: it does not report Xid errors */

    uint64_t process_us; /* stamp of the latest sample of what processes did */
    int64_t trouble_ns;  /* since when passing failures come; 0: all is well */
};

struct nvml_source {
    struct nvml_api api;
    struct nvml_board boards[NVML_MOST_BOARDS];
    size_t board_count;
    int64_t gauges_ns;     /* when gauges were last read */
    nvml_event_set events; /* events of Xid errors; NULL: none */
    bool has_begun;        /* nvml_condition_begin was called */
    unsigned turn;         /* whose traffic is sampled next, and in which direction */
    /* Room for answers. */
    struct nvml_gpm_metrics gpm;
    struct nvml_sample ring[NVML_RING_SIZE];
};

/* Adds the channels of the board with this index; false when memory is used up. */
bool nvml_board_open(struct source *source, struct nvml_board *board, unsigned index);

/* Returns true if the board's power or energy of the GPU scope is that of a superchip's whole module: the
 * module scope has the same value, or the GPU scope is the only one that answers. */
bool nvml_power_covers_module(const struct nvml_api *api, const struct nvml_board *board);
bool nvml_counter_covers_module(const struct nvml_api *api, const struct nvml_board *board);

/* Gives back what the library allocated for it. */
void nvml_board_release(const struct nvml_api *api, struct nvml_board *board);

/* The counter in millijoules, and the chip's temperature. */
nvml_return nvml_board_energy(const struct nvml_api *api, const struct nvml_board *board,
                              uint64_t *out_millijoules);
nvml_return nvml_board_celsius(const struct nvml_api *api, const struct nvml_board *board,
                               double *out_celsius);

/* --- boards as devices ---------------------------------------------------------------------------------------- */

/* What a board says of itself once, put into its device. */
void nvml_board_introduce(const struct nvml_api *api, struct nvml_board *board);
/* What it says of itself now: memory, limits, reasons for low clocks, processes, MIG instances. */
struct device_facts nvml_board_facts(const struct nvml_api *api, struct nvml_board *board);

/* --- condition of boards: fans, engines for video, the PCIe link, errors -------------------------------- */

/* Registers for Xid errors of all boards. */
void nvml_condition_begin(struct nvml_source *nvml);
/* Collects Xid errors, and samples the traffic of one board. Blocks 20 ms if a board has no counts of
 * bytes. */
void nvml_condition_refresh(struct nvml_source *nvml);
/* Adds what is known about a board to `facts`. now_ns: CLOCK_MONOTONIC. */
void nvml_condition_add(const struct nvml_api *api, struct nvml_board *board, int64_t now_ns,
                        struct device_facts *facts);
void nvml_condition_end(struct nvml_source *nvml);

#endif
