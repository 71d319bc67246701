/* joule/sources/gaudi/hl_smi_text.h - what Habana's hl-smi prints of Gaudi boards.
 *
 * Owns the question for a table, and the reading of it: one line for each board, its fields in the order in which they were
 * asked for. It runs nothing. Newcomers: older programs print units although they were asked not to, and "N/A" for what
 * they do not know.
 */
#ifndef JOULE_HL_SMI_TEXT_H
#define JOULE_HL_SMI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HL_SMI_QUERY                                                                                         \
    "index,uuid,bus_id,name,driver_version,memory.total,memory.used,memory.free,power.draw,power.max,"       \
    "temperature.aip,utilization.aip"

/* Unknown numbers are NaN, unknown texts empty. */
struct hl_smi_board {
    int32_t index;
    char uuid[64], pci_address[16], name[64], driver[48];
    double memory_total_mib, memory_used_mib, memory_free_mib;
    double power_watts, most_watts, celsius, busy_percent;
};

/* The boards in the program's output, at most `most`; changes the text. Lines that are no board's are passed over. */
size_t hl_smi_parse(char *text, struct hl_smi_board *out_boards, size_t most);

#endif
