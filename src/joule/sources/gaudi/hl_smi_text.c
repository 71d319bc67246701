/* joule/sources/gaudi/hl_smi_text.c - see hl_smi_text.h. */
#include "joule/sources/gaudi/hl_smi_text.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include "base/string.h"
#include "joule/sources/sysfs.h"

enum field {
    INDEX,
    UUID,
    BUS_ID,
    NAME,
    DRIVER,
    MEMORY_TOTAL,
    MEMORY_USED,
    MEMORY_FREE,
    POWER,
    MAX_POWER,
    CELSIUS,
    BUSY,
    FIELDS
};

#define MAX_BOARDS 1024

/* Parses a number, with or without a unit after it. Returns NaN if there is none or it is negative. */
static double parse_number(const char *field)
{
    double value;
    const char *rest = string_scan_double(field, &value);
    if (!rest || value < 0 || (*rest != '\0' && *rest != ' '))
        return NAN;
    return value;
}

static void copy_field(char *out, size_t size, const char *field)
{
    if (strcmp(field, "N/A") != 0)
        string_copy(out, size, field);
    for (char *c = out; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
}

static bool read_board(char *line, struct hl_smi_board *out_board)
{
    char *fields[FIELDS];
    size_t count = 0;
    uint64_t index;
    for (char *field; count < FIELDS && (field = strsep(&line, ",")) != NULL;)
        fields[count++] = string_trim(field);
    if (count != FIELDS || line || !string_to_u64(fields[INDEX], 10, &index) || index >= MAX_BOARDS)
        return false;
    *out_board = (struct hl_smi_board){.index = (int32_t)index,
                                       .memory_total_mib = parse_number(fields[MEMORY_TOTAL]),
                                       .memory_used_mib = parse_number(fields[MEMORY_USED]),
                                       .memory_free_mib = parse_number(fields[MEMORY_FREE]),
                                       .power_watts = parse_number(fields[POWER]),
                                       .max_watts = parse_number(fields[MAX_POWER]),
                                       .celsius = parse_number(fields[CELSIUS]),
                                       .busy_percent = parse_number(fields[BUSY])};
    for (char *c = fields[BUS_ID]; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    sysfs_find_pci(fields[BUS_ID], out_board->pci_address);
    copy_field(out_board->uuid, sizeof out_board->uuid, fields[UUID]);
    copy_field(out_board->name, sizeof out_board->name, fields[NAME]);
    copy_field(out_board->driver, sizeof out_board->driver, fields[DRIVER]);
    return true;
}

size_t hl_smi_parse(char *text, struct hl_smi_board *out_boards, size_t max)
{
    size_t count = 0;
    for (char *line; count < max && (line = strsep(&text, "\n")) != NULL;)
        count += read_board(line, &out_boards[count]);
    return count;
}
