/* joule/sources/gaudi/hl_smi_text.h - the query for Habana's hl-smi, and the parser of its output.
 *
 * The output contains one line for each board, with fields in the order of the query.
 * Note: older versions of hl-smi print units in spite of "nounits". They print "N/A" for unknown values. */
#ifndef JOULE_HL_SMI_TEXT_H
#define JOULE_HL_SMI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HL_SMI_QUERY                                                                                         \
    "index,uuid,bus_id,name,driver_version,memory.total,memory.used,memory.free,power.draw,power.max,"       \
    "temperature.aip,utilization.aip"

/* One board. Unknown numbers are NaN, unknown texts are empty. */
struct hl_smi_board {
    int32_t index;
    char uuid[64], pci_address[16], name[64], driver[48];
    double memory_total_mib, memory_used_mib, memory_free_mib;
    double power_watts, max_watts, celsius, busy_percent;
};

/* Writes the boards in hl-smi's output to out_boards and returns their number, at most `max`. Ignores other
 * lines. Modifies `text`. */
size_t hl_smi_parse(char *text, struct hl_smi_board *out_boards, size_t max);

#endif
