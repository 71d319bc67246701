/* joule/sources/nvidia/nvml.h - the source "nvml": NVIDIA boards, read with the driver's library.
 *
 * nvml_library.c loads the library, nvml_board.c finds what a board can report, nvml.c reads the boards,
 * nvml_describe.c and nvml_condition.c describe the device.
 * Note: a call usually takes milliseconds, but can take minutes. Nothing here may be called on lane 0, which
 * must not block. */
#ifndef JOULE_NVML_H
#define JOULE_NVML_H

#include "joule/sources/nvidia/nvml_abi.h"
#include "joule/sources/device.h"

#define NVML_MAX_BOARDS 64
/* Interval between two readings. The interval does not follow the meter's period, because power samples must
 * not be integrated over long gaps. */
#define NVML_PERIOD_S     0.1
#define NVML_MAX_CHANNELS 12
#define NVML_RING_SIZE    1024 /* maximum samples in one call; the driver stores fewer */

/* File names of the driver's library on this system, ended by NULL. */
extern const char *const nvml_names[];
/* Returns true if the driver's library can be loaded, even if it does not initialise. */
bool nvml_is_available(struct joule_host *host);
/* Loads and initialises the library; JOULE_NVML_LIB overrides its name. If the result is not OK, writes to
 * out_remedy what the user can do. */
joule_status nvml_load(struct joule_host *host, struct nvml_api *out_api, char *out_remedy, size_t size);
/* Returns the status of a channel whose call returned this code. */
joule_status nvml_status(nvml_return code);
/* Returns true if the same call may succeed a moment later. */
bool nvml_is_transient(nvml_return code);
/* Reads one field as a double with nvmlDeviceGetFieldValues. Returns the code of the call, or of the field if
 * the call succeeded. Returns NVML_ERROR_NOT_SUPPORTED if the value is not a finite number. */
nvml_return nvml_read_field(const struct nvml_api *api, nvml_device device, uint32_t id, uint32_t scope,
                            double *out_value);

/* The identity of a board. Unknown texts are empty. Compute capability 0.0 means unknown. */
struct nvml_identity {
    char name[NVML_NAME_SIZE], uuid[NVML_NAME_SIZE];
    char bus_id[16];  /* "0000:65:00.0", sysfs's name of the device */
    int major, minor; /* compute capability */
};
void nvml_identify(const struct nvml_api *api, nvml_device device, struct nvml_identity *out_identity);

/* Returns true for the name of a superchip, which has a GPU and an Arm CPU on one module, such as "NVIDIA
 * GH200 480GB" or "NVIDIA GB300". */
bool nvml_is_superchip(const char *name);
/* Writes the zone of the module that contains a superchip's GPU, such as "module0". The number is that of the
 * module's CPU socket, so all sources use the same zone. */
void nvml_module_zone(struct joule_host *host, const char *name, const char *pci_address, unsigned index,
                      char out_zone[48]);
/* Translates nvmlClocksEventReason... bits into JOULE_CLOCKS_.... */
uint32_t nvml_clock_reasons(uint64_t reasons);

/* --- boards and their channels -------------------------------------------------------------------------- */

enum nvml_energy_view { NVML_ENERGY_NONE, NVML_ENERGY_SCOPED, NVML_ENERGY_FIELD, NVML_ENERGY_CALL };
enum nvml_power_view { NVML_POWER_NONE, NVML_POWER_RING, NVML_POWER_INSTANT, NVML_POWER_USAGE };

struct nvml_board {
    unsigned index;
    nvml_device handle;
    struct device *device; /* the board's entry in the device list */
    struct nvml_identity id;
    unsigned architecture; /* NVML_DEVICE_ARCH_...; 0: unknown */
    double limit_watts;    /* NaN: unknown */
    /* Scopes of the board's power and of its energy counter: the GPU, or a superchip's module. */
    joule_scope scope, counter_scope;
    char zone[48], counter_zone[48];
    bool is_lost;

    enum nvml_energy_view energy_view;
    enum nvml_power_view power_view;
    struct channel *energy, *power, *memory; /* NULL: not reported */
    struct standstill still;                 /* detects an energy counter that does not move */
    clockid_t ring_clock;                    /* clock of the samples' timestamps */
    uint64_t ring_last_us;

    struct channel *temperature, *memory_temperature, *sm_clock, *memory_clock, *busy, *memory_busy;
    struct channel *sm_activity, *tensor_activity, *dram_activity;
    nvml_gpm_sample gpm_samples[2]; /* NULL: no GPM (GPU performance monitoring) */
    int gpm_turn;                   /* index of the next sample to take */

    struct nvml_traffic {
        /* counts at time_ns by direction: NVML_PCIE_UTIL_TX_BYTES, NVML_PCIE_UTIL_RX_BYTES */
        uint64_t bytes[2];
        int64_t time_ns; /* 0: never */
        double rates[2]; /* bytes per second */
        bool is_sampled; /* the board has no byte counts, so the driver measures the rate for 20 ms */
    } traffic;
    double xid_count, last_xid; /* NaN: the board does not report Xid errors */

    uint64_t process_us;      /* timestamp of the latest sample of processes' activity */
    int64_t failing_since_ns; /* time of the first of several transient failures; 0: none */
};

struct nvml_source {
    struct nvml_api api;
    struct nvml_board boards[NVML_MAX_BOARDS];
    size_t board_count;
    int64_t gauges_ns;     /* time of the last reading of gauges */
    nvml_event_set events; /* receives Xid errors; NULL: none */
    bool has_begun;        /* nvml_condition_begin was called */
    unsigned turn;         /* the board and direction whose traffic is measured next */
    /* Buffers for answers. */
    struct nvml_gpm_metrics gpm;
    struct nvml_sample ring[NVML_RING_SIZE];
};

/* Adds the channels of the board with this index. Returns false if out of memory. */
bool nvml_board_open(struct source *source, struct nvml_board *board, unsigned index);

/* Return true if the power or the energy counter that NVML reports for the GPU is in fact that of a
 * superchip's whole module. NVML reports values for two scopes, the GPU and the module. Power covers the
 * module if only the module scope answers, or if both scopes have the same value. The counter covers the
 * module if one of its scopes does not answer, or if both have the same value. */
bool nvml_power_covers_module(const struct nvml_api *api, const struct nvml_board *board);
bool nvml_counter_covers_module(const struct nvml_api *api, const struct nvml_board *board);

/* Frees what the library allocated for the board. */
void nvml_board_release(const struct nvml_api *api, struct nvml_board *board);

/* Read the energy counter in millijoules, or the chip's temperature in degrees Celsius. Return the library's
 * code. */
nvml_return nvml_board_energy(const struct nvml_api *api, const struct nvml_board *board,
                              uint64_t *out_millijoules);
nvml_return nvml_board_celsius(const struct nvml_api *api, const struct nvml_board *board,
                               double *out_celsius);

/* --- boards as devices ---------------------------------------------------------------------------------- */

/* Writes the board's identity into its device. */
void nvml_board_set_identity(const struct nvml_api *api, struct nvml_board *board);
/* Returns the board's current memory, limits, reasons for low clocks, processes and MIG instances. */
struct device_facts nvml_board_facts(const struct nvml_api *api, struct nvml_board *board);

/* --- condition of boards: fans, video engines, PCIe link, errors ---------------------------------------- */

/* Registers for the Xid errors of all boards. Without a registration, xid_count and last_xid remain NaN. */
void nvml_condition_begin(struct nvml_source *nvml);
/* Collects Xid errors, and measures the traffic of one board. Blocks for 20 ms if that board has no byte
 * counts. */
void nvml_condition_refresh(struct nvml_source *nvml);
/* Adds the board's condition to `facts`. now_ns: CLOCK_MONOTONIC. */
void nvml_condition_add(const struct nvml_api *api, struct nvml_board *board, int64_t now_ns,
                        struct device_facts *facts);
void nvml_condition_end(struct nvml_source *nvml);

#endif
