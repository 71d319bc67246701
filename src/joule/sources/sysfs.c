/* joule/sources/sysfs.c - see sysfs.h. */
#include "joule/sources/sysfs.h"

#include <string.h>
#include "base/error.h"
#include "base/string.h"

joule_status sysfs_read_i64(struct joule_host *host, int handle, int64_t *out_value)
{
    char text[64];
    ssize_t length = host->ops->read_handle(host, handle, text, sizeof text);
    if (length < 0)
        return status_of_errno((int)-length);
    if (strlen(text) == sizeof text - 1)
        return JOULE_FAILED;
    return string_to_i64(text, 10, out_value) ? JOULE_OK : JOULE_FAILED;
}

bool sysfs_read_text(struct source *source, const char *path, char *out_text, size_t size)
{
    if (!host_read_text(source->host, path, out_text, size))
        return false;
    for (char *c = out_text; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
    return out_text[0] != '\0';
}

/* Parses the number at the start of `text`, at most four digits. Returns the text after the number, or NULL
 * if there is no number. */
static const char *scan_number(const char *text, unsigned *out_number)
{
    unsigned number = 0, digits = 0;
    for (; *text >= '0' && *text <= '9' && digits < 4; text++, digits++)
        number = 10 * number + (unsigned)(*text - '0');
    *out_number = number;
    return digits ? text : NULL;
}

bool sysfs_parse_attribute(const char *file, const char *kind, unsigned *out_number, const char **out_suffix)
{
    if (!string_starts(file, kind))
        return false;
    const char *end = scan_number(file + strlen(kind), out_number);
    if (!end || *end != '_')
        return false;
    *out_suffix = end + 1;
    return true;
}

bool sysfs_parse_numbered(const char *text, const char *prefix, unsigned *out_number)
{
    if (!string_starts(text, prefix))
        return false;
    unsigned number;
    const char *end = scan_number(text + strlen(prefix), &number);
    if (!end || *end)
        return false;
    *out_number = number;
    return true;
}

bool sysfs_find_value(const char *lines, const char *key, char *out_value, size_t size)
{
    size_t key_length = strlen(key);
    *out_value = '\0';
    for (const char *line = lines; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        if (!string_starts(line, key) || line[key_length] != '=')
            continue;
        const char *value = line + key_length + 1;
        size_t length = strcspn(value, "\n");
        if (length >= size)
            return false;
        memcpy(out_value, value, length);
        out_value[length] = '\0';
        return length > 0;
    }
    return false;
}

static bool is_name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == ':';
}

void sysfs_slug(char *out_name, size_t size, const char *text)
{
    size_t length = 0;
    bool gap = false;
    for (; *text; text++) {
        char c = *text >= 'A' && *text <= 'Z' ? (char)(*text - 'A' + 'a') : *text;
        if (!is_name_character(c)) {
            gap = length > 0;
            continue;
        }
        if (length + gap + 1 >= size)
            break;
        if (gap)
            out_name[length++] = '-';
        out_name[length++] = c;
        gap = false;
    }
    out_name[length] = '\0';
}

/* --- PCI addresses -------------------------------------------------------------------------------------- */

static bool is_hex_digit(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Returns true for a text of the form "0000:03:00.0". */
static bool is_pci_address(const char *text, size_t length)
{
    static const char shape[] = "xxxx:xx:xx.x";
    if (length != sizeof shape - 1)
        return false;
    for (size_t i = 0; i < length; i++)
        if (shape[i] == 'x' ? !is_hex_digit(text[i]) : text[i] != shape[i])
            return false;
    return true;
}

void sysfs_find_pci(const char *link, char out_address[SYSFS_PCI_SIZE])
{
    for (const char *part = link; *part;) {
        size_t length = strcspn(part, "/");
        if (is_pci_address(part, length)) {
            memcpy(out_address, part, length);
            out_address[length] = '\0';
        }
        part += length + (part[length] == '/');
    }
}

static bool read_pci(struct source *source, const char *address, const char *file, char *out_word,
                     size_t size)
{
    char path[128];
    string_print(path, sizeof path, "/sys/bus/pci/devices/%s/%s", address, file);
    return host_read_text(source->host, path, out_word, size);
}

static bool is_gpu_of(struct source *source, const char *address, const char *vendor)
{
    char text[16], class[16];
    return read_pci(source, address, "vendor", text, sizeof text) && strcmp(text, vendor) == 0 &&
           read_pci(source, address, "class", class, sizeof class) && string_starts(class, "0x03");
}

bool sysfs_gpus_are_suspended(struct source *source, const char *vendor)
{
    struct arena arena = {0};
    char **addresses, status[32];
    ssize_t count = source->host->ops->list(source->host, "/sys/bus/pci/devices", &arena, &addresses);
    size_t gpus = 0, asleep = 0;
    for (ssize_t i = 0; i < count; i++) {
        if (!is_gpu_of(source, addresses[i], vendor))
            continue;
        gpus++;
        asleep += read_pci(source, addresses[i], "power/runtime_status", status, sizeof status) &&
                  strcmp(status, "suspended") == 0;
    }
    arena_free(&arena);
    return gpus > 0 && asleep == gpus;
}
