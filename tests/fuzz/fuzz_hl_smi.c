/* Fuzz target: output of hl-smi. Checks that numbers are not negative, that texts are terminated and
 * printable, and that boards do not exceed their array. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "joule/sources/gaudi/hl_smi_text.h"
#include "require.h"

#define MAX_BOARDS 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require_number(double value)
{
    require(isnan(value) || value >= 0);
}

static void require_text(const char *text, size_t size)
{
    size_t length = strnlen(text, size);
    require(length < size);
    for (size_t i = 0; i < length; i++)
        require(text[i] >= ' ' && text[i] <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hl_smi_board boards[MAX_BOARDS];
    char *text = calloc(1, size + 1);
    require(text != NULL);
    if (size)
        memcpy(text, data, size);
    size_t count = hl_smi_parse(text, boards, MAX_BOARDS);
    require(count <= MAX_BOARDS);
    for (size_t i = 0; i < count; i++) {
        require_number(boards[i].power_watts);
        require_number(boards[i].max_watts);
        require_number(boards[i].memory_total_mib);
        require_number(boards[i].celsius);
        require_text(boards[i].uuid, sizeof boards[i].uuid);
        require_text(boards[i].name, sizeof boards[i].name);
        require_text(boards[i].pci_address, sizeof boards[i].pci_address);
    }
    free(text);
    return 0;
}
