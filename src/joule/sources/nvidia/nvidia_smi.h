/* joule/sources/nvidia/nvidia_smi.h - the source "nvidia_smi": NVIDIA boards, read with the program
 * nvidia-smi if NVML cannot be loaded.
 *
 * nvidia_smi.c runs the program. nvidia_smi_csv.c requests and parses a table of fields; nvidia_smi_xml.c
 * parses the XML description. nvidia_smi_values.c interprets the texts of values; nvidia_smi_board.c turns
 * the values into channels and devices. JOULE_NVIDIA_SMI overrides the program's name.
 * Note: table and description fill the same struct smi_board. A value may be missing, or be one of many texts
 * for "unknown". */
#ifndef JOULE_NVIDIA_SMI_H
#define JOULE_NVIDIA_SMI_H

#include "joule/sources/device.h"

#define SMI_MAX_BOARDS 32
/* This timeout is long, because without persistence mode the driver initialises each board for each call. */
#define SMI_TIMEOUT_NS (INT64_C(10) * 1000000000)
#define SMI_TEXT_SIZE  (1 << 20) /* the description of one board takes up to 100 KB */

/* The fields, in the order of the query. nvidia_smi_csv.c and nvidia_smi_xml.c contain their names. */
enum smi_field {
    SMI_INDEX,
    SMI_UUID,
    SMI_PCI,
    SMI_NAME,
    SMI_DRIVER,
    SMI_CAPABILITY,
    SMI_POWER,         /* W; an instant or a mean, depending on the generation */
    SMI_POWER_AVERAGE, /* W, mean of 1 s */
    SMI_POWER_INSTANT, /* W */
    SMI_MODULE_POWER,  /* W, of a module with CPU cores */
    SMI_LIMIT,         /* W, like the next four */
    SMI_LIMIT_ENFORCED,
    SMI_LIMIT_DEFAULT,
    SMI_LIMIT_MIN,
    SMI_LIMIT_MAX,
    SMI_TEMPERATURE, /* degrees Celsius */
    SMI_MEMORY_TEMPERATURE,
    SMI_BUSY, /* %, like the next member */
    SMI_MEMORY_BUSY,
    SMI_MEMORY_TOTAL, /* MiB, like the next two */
    SMI_MEMORY_USED,
    SMI_MEMORY_FREE,
    SMI_CLOCK, /* MHz, like the next member */
    SMI_MEMORY_CLOCK,
    SMI_REASONS, /* nvmlClocksEventReason... bits as a hexadecimal number */
    SMI_FAN,     /* %, may exceed 100 */
    SMI_ENCODER, /* %, like the next member */
    SMI_DECODER,
    SMI_ECC_CORRECTED, /* errors since the driver was loaded */
    SMI_ECC_UNCORRECTED,
    SMI_ECC_CORRECTED_LIFETIME,
    SMI_ECC_UNCORRECTED_LIFETIME,
    SMI_FIELDS,
    /* The fields below are only in the XML description. */
    SMI_REPLAYS = SMI_FIELDS,
    SMI_TRANSMIT, /* KB/s, like the next member */
    SMI_RECEIVE,
    SMI_VALUES
};
#define SMI_ECC_COUNTS 4

struct smi_board {
    const char *values[SMI_VALUES]; /* point into the program's output; NULL: missing */
    /* The members below are set only from the XML description. */
    bool knows_reasons, has_process_list;
    /* knows_ecc and ecc are indexed by (field - SMI_ECC_CORRECTED). ecc contains sums over all kinds of
     * memory. */
    bool knows_ecc[SMI_ECC_COUNTS];
    double ecc[SMI_ECC_COUNTS];
    uint64_t reasons; /* nvmlClocksEventReason... bits */
    size_t process_count, partition_count;
    joule_device_process processes[DEVICE_MAX_PROCESSES];
    joule_device_partition partitions[DEVICE_MAX_PARTITIONS];
};

/* --- the meaning of values ------------------------------------------------------------------------------ */

/* Returns UNSUPPORTED for a missing value and for all spellings of "N/A". Returns DENIED or FAILED for an
 * error text. Returns OK for any other text, even if it is not a number. */
joule_status smi_value_status(const char *value);
/* Returns the number at the start of the field, without its unit, or NaN if there is no number. */
double smi_get_number(const struct smi_board *board, enum smi_field field);
/* Returns the field's text in the program's output, or "" if it is unknown. */
const char *smi_get_text(const struct smi_board *board, enum smi_field field);
/* Writes the board's PCI address as sysfs names it, or an empty text if it is unknown. */
void smi_pci_address(const struct smi_board *board, char out_address[16]);
/* Sets memory, limits, reasons for low clocks, fan, video engines and ECC errors. */
void smi_set_facts(const struct smi_board *board, struct device_facts *facts);
/* Sets processes, partitions and PCIe values, which only the XML description contains. */
void smi_set_users(const struct smi_board *board, struct device_facts *facts);
/* Returns the architecture of a compute capability, such as "Hopper" for "9.0", or "" if it is unknown. */
const char *smi_architecture(const char *capability);

/* --- the table of fields -------------------------------------------------------------------------------- */

/* The requested fields. A driver rejects the whole query if it does not know one of them. */
struct smi_query {
    bool asks[SMI_FIELDS];
    bool uses_old_names;
};

struct smi_query smi_query_all(void);
/* Writes the argument "--query-gpu=index,uuid...". */
void smi_query_argument(const struct smi_query *query, char *out_argument, size_t size);
/* Changes a query that the driver has rejected: removes fields, or uses older names. refusal: the output of
 * the program, which may name the rejected field. Returns false if nothing can be removed. */
bool smi_query_reduce(struct smi_query *query, const char *refusal);
/* Parses the boards of a table with the columns of `query`. A heading is optional; if present, it sets the
 * order of columns. Other lines are ignored. Modifies the text, to which the boards point. Returns the number
 * of boards. */
size_t smi_read_table(char *text, const struct smi_query *query, struct smi_board *out_boards, size_t max);
/* Sets uuid and profile of the partitions in `boards` from the output of `nvidia-smi -L`. This output lists
 * partitions in the same order as the description. Modifies the text. */
void smi_read_list(char *text, struct smi_board *boards, size_t count);

/* --- the XML description -------------------------------------------------------------------------------- */

/* Parses the boards in the output of `nvidia-smi -q -x`, of old and new drivers. Modifies the text, to which
 * the boards point. Returns the number of boards, or 0 if the text is damaged or is not a description. */
size_t smi_read_description(char *text, struct smi_board *out_boards, size_t max);

/* --- the source ----------------------------------------------------------------------------------------- */

#define NVIDIA_SMI_GAUGES 6

struct nvidia_smi_board {
    int32_t index;
    char pci_address[16];
    struct device *device;
    char zone[48];
    joule_scope scope;
    enum smi_field power_field;
    struct channel *power, *gauges[NVIDIA_SMI_GAUGES]; /* NULL: not reported */
    joule_status state;                                /* status of the last reading */
    struct device_facts facts;                         /* last reported values */
};

struct nvidia_smi {
    struct smi_query query;
    bool describes; /* the driver does not support tables, so values are read from the XML description */
    struct nvidia_smi_board boards[SMI_MAX_BOARDS];
    size_t count;
    int64_t described_ns; /* time of the last description; 0: never */
    /* From the last run of the program. */
    char *text, *list; /* list: output of `nvidia-smi -L`; NULL until there are partitions */
    struct smi_board *reported;
    size_t reported_count;
};

/* Adds the device and the channels of a board. Returns false if out of memory. */
bool nvidia_smi_board_open(struct source *source, const struct smi_board *reported);
/* Reports the values in `reported` to the board's channels. */
void nvidia_smi_board_read(const struct nvidia_smi_board *board, struct sink *sink,
                           const struct smi_board *reported);
/* Reports board->state as the failure of all channels of the board. */
void nvidia_smi_board_fail(const struct nvidia_smi_board *board, struct sink *sink);

#endif
