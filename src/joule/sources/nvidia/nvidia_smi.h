/* joule/sources/nvidia/nvidia_smi.h - NVIDIA boards through the driver's program, where its library cannot be loaded.
 *
 * Owns what the parts of the nvidia_smi source share: what nvidia-smi said of one board, as words. nvidia_smi_csv.c asks for
 * a table of fields, nvidia_smi_xml.c reads the full description, nvidia_smi_words.c knows what the words mean, nvidia_smi_board.c
 * makes channels and devices of them, nvidia_smi.c asks.
 * JOULE_NVIDIA_SMI names another program. Newcomers: both forms fill the same words, and a word may be missing, or say in one of many ways that it is not known.
 */
#ifndef JOULE_NVIDIA_SMI_H
#define JOULE_NVIDIA_SMI_H

#include "joule/sources/device.h"

#define SMI_MOST_BOARDS 32
#define SMI_TIMEOUT_NS                                                                                       \
    (INT64_C(10) * 1000000000)  /* without persistence mode the driver starts a board for each call */
#define SMI_TEXT_SIZE (1 << 20) /* the full description of a board takes up to 100 KB */

/* In the order in which they are asked for. */
enum smi_field {
    SMI_INDEX,
    SMI_UUID,
    SMI_PCI,
    SMI_NAME,
    SMI_DRIVER,
    SMI_CAPABILITY,
    SMI_POWER,         /* W; what it is the mean of differs by generation */
    SMI_POWER_AVERAGE, /* W, mean of 1 s */
    SMI_POWER_INSTANT, /* W */
    SMI_MODULE_POWER,  /* W, of a module with CPU cores */
    SMI_LIMIT,         /* W, as are the next four */
    SMI_LIMIT_ENFORCED,
    SMI_LIMIT_DEFAULT,
    SMI_LIMIT_LEAST,
    SMI_LIMIT_MOST,
    SMI_TEMPERATURE, /* degrees Celsius */
    SMI_MEMORY_TEMPERATURE,
    SMI_BUSY, /* %, like the next member */
    SMI_MEMORY_BUSY,
    SMI_MEMORY_TOTAL, /* MiB, as are the next two */
    SMI_MEMORY_USED,
    SMI_MEMORY_FREE,
    SMI_CLOCK, /* MHz, as is the next */
    SMI_MEMORY_CLOCK,
    SMI_REASONS, /* NVML's bits as a hexadecimal number */
    SMI_FAN,     /* %, may exceed 100 */
    SMI_ENCODER, /* %, like the next member */
    SMI_DECODER,
    SMI_ECC_CORRECTED, /* errors since the driver was loaded */
    SMI_ECC_UNCORRECTED,
    SMI_ECC_CORRECTED_LIFETIME,
    SMI_ECC_UNCORRECTED_LIFETIME,
    SMI_FIELDS,
    /* Only in the full description. */
    SMI_REPLAYS = SMI_FIELDS,
    SMI_TRANSMIT, /* KB/s, like the next member */
    SMI_RECEIVE,
    SMI_WORDS
};
#define SMI_ECC_COUNTS 4

struct smi_board {
    const char *words[SMI_WORDS]; /* point into the text that was read; NULL: missing */
    /* Only in the full description. */
    bool knows_reasons, knows_processes;
    bool knows_ecc[SMI_ECC_COUNTS]; /* from SMI_ECC_CORRECTED on; sums over kinds of memory */
    double ecc[SMI_ECC_COUNTS];
    uint64_t reasons; /* NVML's bits */
    size_t process_count, partition_count;
    joule_device_process processes[DEVICE_MOST_PROCESSES];
    joule_device_partition partitions[DEVICE_MOST_PARTITIONS];
};

/* --- what words mean -------------------------------------------------------------------------------------------- */

/* OK: a number, or another word that says something; UNSUPPORTED: "N/A" in all its spellings, or not told; DENIED; FAILED. */
joule_status smi_word_status(const char *word);
/* The number before any unit; NaN for what is none. */
double smi_number(const struct smi_board *board, enum smi_field field);
/* The word; empty where it is not known. */
const char *smi_text(const struct smi_board *board, enum smi_field field);
/* The board's PCI address as sysfs names it; empty: unknown. */
void smi_pci_address(const struct smi_board *board, char out_address[16]);
/* Memory, limits, reasons for low clocks, fan, video engines and ECC errors. */
void smi_take_facts(const struct smi_board *board, struct device_facts *facts);
/* Processes, partitions and the PCIe link: only in the full description. */
void smi_take_users(const struct smi_board *board, struct device_facts *facts);
/* "Hopper", of a compute capability "9.0"; empty where it is none that is known. */
const char *smi_architecture(const char *capability);

/* --- a table of fields ------------------------------------------------------------------------------------------ */

/* Which fields are asked for: drivers refuse the whole question for one that they do not know. */
struct smi_query {
    bool asks[SMI_FIELDS];
    bool uses_old_names;
};

struct smi_query smi_query_all(void);
/* The argument that asks: "--query-gpu=index,uuid...". */
void smi_query_argument(const struct smi_query *query, char *out_argument, size_t size);
/* After a refusal, whose text may name the field: asks for less, or by an older name. False: nothing is left to give up. */
bool smi_query_reduce(struct smi_query *query, const char *refusal);
/* The boards in a table without heading, or with one that then decides which column is what. Changes the text; lines that are
 * not of the table are passed over. */
size_t smi_read_table(char *text, const struct smi_query *query, struct smi_board *out_boards, size_t most);
/* Names of partitions from the list of `nvidia-smi -L`, for boards that have the same number of them. Changes the text. */
void smi_read_list(char *text, struct smi_board *boards, size_t count);

/* --- the full description --------------------------------------------------------------------------------------- */

/* The boards in what `nvidia-smi -q -x` prints, of old and new drivers. Changes the text. 0: it is no such description, or
 * broken. */
size_t smi_read_description(char *text, struct smi_board *out_boards, size_t most);

/* --- the source -------------------------------------------------------------------------------------------------- */

#define NVIDIA_SMI_GAUGES 6

struct nvidia_smi_board {
    int32_t index;
    char pci_address[16];
    struct device *device;
    char zone[48];
    joule_scope scope;
    enum smi_field power_field;
    struct channel *power, *gauges[NVIDIA_SMI_GAUGES]; /* NULL: it tells none */
    joule_status state;                                /* of the last reading */
    struct device_facts facts;                         /* as last told */
};

struct nvidia_smi {
    struct smi_query query;
    bool describes; /* it knows no tables */
    struct nvidia_smi_board boards[SMI_MOST_BOARDS];
    size_t count;
    int64_t described_ns; /* 0: never */
    /* Of the last answer. */
    char *text, *list; /* list: of names of partitions; NULL until there are some */
    struct smi_board *said;
    size_t said_count;
};

/* Adds the device and the channels of a board; false when memory is used up. */
bool nvidia_smi_board_open(struct source *source, const struct smi_board *said);
/* Puts what was said of it into its channels; or its state, where nothing was. */
void nvidia_smi_board_read(const struct nvidia_smi_board *board, struct sink *sink,
                           const struct smi_board *said);
void nvidia_smi_board_fail(const struct nvidia_smi_board *board, struct sink *sink);

#endif
