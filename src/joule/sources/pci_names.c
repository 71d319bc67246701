/* joule/sources/pci_names.c - see pci_names.h.
 *
 * libdrm's file amdgpu.ids contains lines such as "7550,	C0,	AMD Radeon RX 9070 XT". The second number
 * is the revision, which distinguishes boards with the same chip. In pci.ids, a vendor is at the start of a
 * line, its devices follow after one tab, and subsystems after two tabs:
 *   1002  Advanced Micro Devices, Inc. [AMD/ATI]
 *   	744c  Navi 31 [Radeon RX 7900 XT/7900 XTX/7900 GRE/7900M]
 */
#include "joule/sources/pci_names.h"

#include <stdlib.h>
#include <string.h>
#include "base/string.h"

#define MAX_LIST_BYTES (4u << 20) /* pci.ids is 1.5 MB long in 2025 */
#define VENDOR_AMD     0x1002

static const char *const pci_lists[] = {"/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids", NULL};
static const char *const amd_lists[] = {"/usr/share/libdrm/amdgpu.ids", NULL};

/* Returns the content of the first readable file, or NULL if there is none. The caller frees the content. */
static char *read_list(struct joule_host *host, const char *const *paths)
{
    char *text = malloc(MAX_LIST_BYTES);
    for (; text && *paths; paths++)
        if (host->ops->read_file(host, *paths, text, MAX_LIST_BYTES) > 0)
            return text;
    free(text);
    return NULL;
}

/* Returns true if the line begins with `number` as `digits` hexadecimal digits. Sets *out_rest to the text
 * after the digits. */
static bool begins_with(const char *line, uint32_t number, int digits, const char **out_rest)
{
    char found[9], wanted[9];
    if (strnlen(line, (size_t)digits) < (size_t)digits)
        return false;
    string_print(wanted, sizeof wanted, "%0*x", digits, number);
    for (int i = 0; i < digits; i++)
        found[i] = line[i] >= 'A' && line[i] <= 'F' ? (char)(line[i] - 'A' + 'a') : line[i];
    *out_rest = line + digits;
    return memcmp(found, wanted, (size_t)digits) == 0;
}

static const char *next_line(const char *line)
{
    line += strcspn(line, "\n");
    return line + (*line == '\n');
}

/* Writes `before`, then at most `length` bytes of `text`, with unprintable characters replaced. */
static void write_name(char *out_name, size_t size, const char *before, const char *text, size_t length)
{
    struct text name;
    text_init(&name, out_name, size);
    text_add(&name, before);
    text_add_bytes(&name, text, length);
    for (char *c = out_name; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
}

/* --- amdgpu.ids ----------------------------------------------------------------------------------------- */

static bool find_amd_name(const char *list, uint32_t device, uint32_t revision, char *out_name, size_t size)
{
    for (const char *line = list; *line; line = next_line(line)) {
        const char *rest;
        if (!begins_with(line, device, 4, &rest) || *rest != ',')
            continue;
        rest += 1 + strspn(rest + 1, " \t");
        if (!begins_with(rest, revision, 2, &rest) || *rest != ',')
            continue;
        rest += 1 + strspn(rest + 1, " \t");
        size_t length = strcspn(rest, "\r\n");
        bool has_vendor = string_starts(rest, "AMD ") || string_starts(rest, "ATI ");
        write_name(out_name, size, has_vendor ? "" : "AMD ", rest, length);
        return length > 0;
    }
    return false;
}

/* --- pci.ids -------------------------------------------------------------------------------------------- */

static const char *vendor_prefix(uint32_t vendor)
{
    switch (vendor) {
    case VENDOR_AMD:
        return "AMD ";
    case 0x10de:
        return "NVIDIA ";
    case 0x8086:
        return "Intel ";
    default:
        return "";
    }
}

/* Writes the product name from a text such as "Navi 31 [Radeon RX 7900 XTX]". The name is the text in
 * brackets (the name on the box), or the whole text (the chip) if there are no brackets. */
static void write_product(uint32_t vendor, const char *text, char *out_name, size_t size)
{
    size_t length = strcspn(text, "\r\n");
    const char *open = memchr(text, '[', length);
    const char *close = open ? memchr(open, ']', length - (size_t)(open - text)) : NULL;
    if (close && close > open + 1) {
        text = open + 1;
        length = (size_t)(close - text);
    }
    write_name(out_name, size, string_starts(text, vendor_prefix(vendor)) ? "" : vendor_prefix(vendor), text,
               length);
}

static bool find_device(const char *list, uint32_t vendor, uint32_t device, char *out_name, size_t size)
{
    bool is_vendor = false;
    const char *rest;
    for (const char *line = list; *line; line = next_line(line)) {
        if (*line == '#' || *line == '\n')
            continue;
        if (*line != '\t') {
            if (is_vendor)
                return false;
            is_vendor = begins_with(line, vendor, 4, &rest) && string_starts(rest, "  ");
        } else if (is_vendor && begins_with(line + 1, device, 4, &rest) && string_starts(rest, "  ")) {
            write_product(vendor, rest + 2, out_name, size);
            return true;
        }
    }
    return false;
}

bool pci_find_name(struct joule_host *host, uint32_t vendor, uint32_t device, int32_t revision,
                   char *out_name, size_t size)
{
    bool is_found = false;
    if (vendor == VENDOR_AMD && revision >= 0) {
        char *list = read_list(host, amd_lists);
        is_found = list && find_amd_name(list, device, (uint32_t)revision, out_name, size);
        free(list);
    }
    if (!is_found) {
        char *list = read_list(host, pci_lists);
        is_found = list && find_device(list, vendor, device, out_name, size);
        free(list);
    }
    return is_found;
}
