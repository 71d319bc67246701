/* Fuzz target: text from clients and devices in the metrics page. Checks that the page is always UTF-8, and
 * that each line is a comment or a sample.
 *
 * The input is an Accept header and a device name, each ended by a zero byte. */
#include <stdlib.h>
#include <string.h>
#include "joule/report/metrics.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Checks a line NAME{LABEL="...",...} VALUE. Quotes and backslashes must be escaped within the quotes. */
static void check_sample(const char *line, const char *end)
{
    bool is_quoted = false;
    for (const char *c = line; c < end; c++) {
        if (is_quoted && *c == '\\') {
            require(c[1] == '\\' || c[1] == '"' || c[1] == 'n');
            c++;
        } else if (*c == '"') {
            is_quoted = !is_quoted;
        }
    }
    require(!is_quoted);
}

static void check_page(const char *page, size_t length)
{
    for (size_t at = 0, step; at < length; at += step)
        require((step = string_utf8_length(page + at, length - at)) > 0);
    for (const char *line = page; *line; line = strchr(line, '\n') + 1) {
        const char *end = strchr(line, '\n');
        require(end);
        if (*line != '#')
            check_sample(line, end);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char page[1 << 16];
    char *copy = calloc(1, size + 1);
    if (!copy)
        abort();
    memcpy(copy, data, size);
    const char *name = copy + strlen(copy) + (strlen(copy) < size);
    struct overview_device device = {.device.struct_size = sizeof device.device};
    string_copy(device.device.model, sizeof device.device.model, name);
    string_copy(device.device.name, sizeof device.device.name, "gpu:0");
    string_copy(device.device.pci_address, sizeof device.device.pci_address, name);
    struct overview overview = {.devices = &device, .device_count = 1};
    for (size_t i = 0; i < OVERVIEW_SUMS; i++)
        overview.sums[i].part = "";
    struct text text;
    text_init(&text, page, sizeof page);
    metrics_print(&overview, metrics_choose(copy), &text);
    require(text.length < sizeof page);
    check_page(page, text.length);
    free(copy);
    return 0;
}
