/* Fuzz target: output of neuron-ls. Checks that accepted devices have memory, and that their number does not
 * exceed the array. */
#include <stdlib.h>
#include <string.h>
#include "joule/sources/accelerator/neuron_list.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct neuron_listed devices[4];
    char *text = calloc(1, size + 1);
    require(text != NULL);
    if (size)
        memcpy(text, data, size);
    size_t count = neuron_list_parse(text, size, devices, 4);
    require(count <= 4);
    for (size_t i = 0; i < count; i++)
        require(devices[i].memory_bytes > 0);
    free(text);
    return 0;
}
