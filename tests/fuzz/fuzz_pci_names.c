/* Fuzz target: lists of board names. Checks that nothing is read beyond the input, and that every name that
 * is found is terminated and printable. */
#include <string.h>
#include "joule/sources/pci_names.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bytes {
    const uint8_t *data;
    size_t size;
};

static ssize_t read_bytes(void *context, int64_t time_ns, char *buffer, size_t size)
{
    const struct bytes *bytes = context;
    size_t length = bytes->size < size - 1 ? bytes->size : size - 1;
    (void)time_ns;
    if (length)
        memcpy(buffer, bytes->data, length);
    buffer[length] = '\0';
    return (ssize_t)length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes bytes = {data, size};
    struct joule_host *host = host_script_open();
    require(host != NULL);
    require(host_script_file(host, "/usr/share/misc/pci.ids", read_bytes, &bytes));
    require(host_script_file(host, "/usr/share/libdrm/amdgpu.ids", read_bytes, &bytes));
    char name[24] = "";
    pci_find_name(host, 0x1002, 0x744c, 0xc8, name, sizeof name);
    size_t length = strnlen(name, sizeof name);
    require(length < sizeof name);
    for (size_t i = 0; i < length; i++)
        require(name[i] >= ' ' && name[i] <= '~');
    host->ops->close(host);
    return 0;
}
