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

/* Returns the number before any unit, or NaN if there is no number or it is negative. */
static double number_of(const char *word)
{
    double value;
    const char *rest = string_scan_double(word, &value);
    if (!rest || value < 0 || (*rest != '\0' && *rest != ' '))
        return NAN;
    return value;
}

static void copy_word(char *out, size_t size, const char *word)
{
    if (strcmp(word, "N/A") != 0)
        string_copy(out, size, word);
    for (char *c = out; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
}

static bool read_board(char *line, struct hl_smi_board *out_board)
{
    char *words[FIELDS];
    size_t count = 0;
    uint64_t index;
    for (char *word; count < FIELDS && (word = strsep(&line, ",")) != NULL;)
        words[count++] = string_trim(word);
    if (count != FIELDS || line || !string_to_u64(words[INDEX], 10, &index) || index >= MAX_BOARDS)
        return false;
    *out_board = (struct hl_smi_board){.index = (int32_t)index,
                                       .memory_total_mib = number_of(words[MEMORY_TOTAL]),
                                       .memory_used_mib = number_of(words[MEMORY_USED]),
                                       .memory_free_mib = number_of(words[MEMORY_FREE]),
                                       .power_watts = number_of(words[POWER]),
                                       .max_watts = number_of(words[MAX_POWER]),
                                       .celsius = number_of(words[CELSIUS]),
                                       .busy_percent = number_of(words[BUSY])};
    for (char *c = words[BUS_ID]; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    sysfs_find_pci(words[BUS_ID], out_board->pci_address);
    copy_word(out_board->uuid, sizeof out_board->uuid, words[UUID]);
    copy_word(out_board->name, sizeof out_board->name, words[NAME]);
    copy_word(out_board->driver, sizeof out_board->driver, words[DRIVER]);
    return true;
}

size_t hl_smi_parse(char *text, struct hl_smi_board *out_boards, size_t max)
{
    size_t count = 0;
    for (char *line; count < max && (line = strsep(&text, "\n")) != NULL;)
        count += read_board(line, &out_boards[count]);
    return count;
}
