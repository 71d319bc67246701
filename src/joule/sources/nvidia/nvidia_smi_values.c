/* joule/sources/nvidia/nvidia_smi_values.c - interprets nvidia-smi's values: units, texts for "unknown",
 * facts of devices. See nvidia_smi.h.
 *
 * Note: future drivers may print other texts for "unknown". So every text that does not begin with a number
 * is read as NaN. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/string.h"
#include "joule/sources/nvidia/nvidia_smi.h"
#include "joule/sources/nvidia/nvml.h"

#define MIB 1048576.0

/* Returns true if the text begins with `meaning`, with or without a bracket before it. */
static bool begins_with(const char *value, const char *meaning)
{
    value += *value == '[';
    return string_starts(value, meaning);
}

joule_status smi_value_status(const char *value)
{
    static const struct {
        const char *meaning;
        joule_status status;
    } values[] = {
        {"N/A", JOULE_UNSUPPORTED},
        {"Not Supported", JOULE_UNSUPPORTED},
        {"Not Available", JOULE_UNSUPPORTED},
        {"Not Found", JOULE_UNSUPPORTED},
        {"Function Not Found", JOULE_UNSUPPORTED},
        {"Requested functionality has been deprecated", JOULE_UNSUPPORTED},
        {"Insufficient Permissions", JOULE_DENIED},
        {"No Permission", JOULE_DENIED},
        {"Unknown Error", JOULE_FAILED},
        {"GPU is lost", JOULE_FAILED},
        {"GPU requires reset", JOULE_FAILED},
        {"Reset Required", JOULE_FAILED},
        {"Timeout", JOULE_FAILED},
        {"ERR!", JOULE_FAILED},
    };
    if (!value || !*value)
        return JOULE_UNSUPPORTED;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (begins_with(value, values[i].meaning))
            return values[i].status;
    return *value == '[' ? JOULE_FAILED : JOULE_OK; /* only errors are in brackets */
}

double smi_get_number(const struct smi_board *board, enum smi_field field)
{
    double number;
    const char *value = board->values[field];
    const char *end = value ? string_scan_double(value, &number) : NULL;
    return end && (*end == '\0' || *end == ' ' || *end == '%') ? number : NAN;
}

const char *smi_get_text(const struct smi_board *board, enum smi_field field)
{
    return smi_value_status(board->values[field]) == JOULE_OK ? board->values[field] : "";
}

void smi_pci_address(const struct smi_board *board, char out_address[16])
{
    unsigned domain, bus, device, function;
    out_address[0] = '\0';
    if (sscanf(smi_get_text(board, SMI_PCI), "%8x:%2x:%2x.%1x", &domain, &bus, &device, &function) == 4)
        string_print(out_address, 16, "%04x:%02x:%02x.%x", domain, bus, device, function);
}

/* --- facts ---------------------------------------------------------------------------------------------- */

static uint64_t bytes_of(const struct smi_board *board, enum smi_field field)
{
    double mib = smi_get_number(board, field);
    return mib >= 0 && mib < 0x1p40 ? (uint64_t)(mib * MIB) : JOULE_BYTES_UNKNOWN;
}

static void set_reasons(const struct smi_board *board, struct device_facts *facts)
{
    uint64_t bits;
    const char *value = board->values[SMI_REASONS];
    facts->clock_reasons = JOULE_CLOCKS_UNKNOWN;
    if (board->knows_reasons)
        facts->clock_reasons = nvml_clock_reasons(board->reasons);
    else if (value && string_starts(value, "0x") && string_to_u64(value, 16, &bits))
        facts->clock_reasons = nvml_clock_reasons(bits);
}

/* Returns a percentage as a ratio, or NaN if it is missing or if the ratio is above `max`. */
static double ratio_of(const struct smi_board *board, enum smi_field field, double max)
{
    double share = smi_get_number(board, field) * 0.01;
    return share >= 0 && share <= max ? share : NAN;
}

/* Returns the field as a count, or NaN if it is missing, negative, or has all 32 bits set. */
static double count_of(const struct smi_board *board, enum smi_field field)
{
    double count = smi_get_number(board, field);
    return count >= 0 && count < UINT32_MAX ? count : NAN;
}

static double ecc_errors(const struct smi_board *board, enum smi_field field)
{
    size_t i = field - SMI_ECC_CORRECTED;
    return board->knows_ecc[i] ? board->ecc[i] : count_of(board, field);
}

void smi_set_facts(const struct smi_board *board, struct device_facts *facts)
{
    facts->memory_total_bytes = bytes_of(board, SMI_MEMORY_TOTAL);
    facts->memory_used_bytes = bytes_of(board, SMI_MEMORY_USED);
    facts->memory_free_bytes = bytes_of(board, SMI_MEMORY_FREE);
    facts->limit_watts = smi_get_number(board, SMI_LIMIT);
    facts->enforced_limit_watts = smi_get_number(board, SMI_LIMIT_ENFORCED);
    facts->default_limit_watts = smi_get_number(board, SMI_LIMIT_DEFAULT);
    facts->min_limit_watts = smi_get_number(board, SMI_LIMIT_MIN);
    facts->max_limit_watts = smi_get_number(board, SMI_LIMIT_MAX);
    set_reasons(board, facts);
    facts->fan_ratio = ratio_of(board, SMI_FAN, 10);
    facts->encoder_busy = ratio_of(board, SMI_ENCODER, 1);
    facts->decoder_busy = ratio_of(board, SMI_DECODER, 1);
    facts->ecc_corrected = ecc_errors(board, SMI_ECC_CORRECTED);
    facts->ecc_uncorrected = ecc_errors(board, SMI_ECC_UNCORRECTED);
    facts->ecc_corrected_lifetime = ecc_errors(board, SMI_ECC_CORRECTED_LIFETIME);
    facts->ecc_uncorrected_lifetime = ecc_errors(board, SMI_ECC_UNCORRECTED_LIFETIME);
}

void smi_set_users(const struct smi_board *board, struct device_facts *facts)
{
    facts->has_process_list = board->has_process_list;
    facts->process_count = board->process_count;
    facts->partition_count = board->partition_count;
    facts->pcie_replays = count_of(board, SMI_REPLAYS);
    facts->pcie_transmit_bytes_per_second = count_of(board, SMI_TRANSMIT) * 1e3;
    facts->pcie_receive_bytes_per_second = count_of(board, SMI_RECEIVE) * 1e3;
    memcpy(facts->processes, board->processes, sizeof facts->processes);
    memcpy(facts->partitions, board->partitions, sizeof facts->partitions);
}

/* Source: NVIDIA's table of compute capabilities. */
const char *smi_architecture(const char *capability)
{
    static const struct {
        const char *capability, *name;
    } table[] = {{"3.", "Kepler"},     {"5.", "Maxwell"},       {"6.", "Pascal"},    {"7.5", "Turing"},
                 {"7.", "Volta"},      {"8.9", "Ada Lovelace"}, {"8.", "Ampere"},    {"9.", "Hopper"},
                 {"10.", "Blackwell"}, {"11.", "Blackwell"},    {"12.", "Blackwell"}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (string_starts(capability, table[i].capability))
            return table[i].name;
    return "";
}
