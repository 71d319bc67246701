/* Fuzz target: output of sntilestat. Checks that fractions are between 0 and 1, that paths are printable, and
 * that devices and processes do not exceed their arrays. */
#include <stdlib.h>
#include <string.h>
#include "joule/sources/rack/sambanova_text.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sambanova_tiles tiles;
    char *text = calloc(1, size + 1);
    require(text != NULL);
    if (size)
        memcpy(text, data, size);
    bool is_known = sambanova_parse(text, &tiles);
    require(tiles.count <= SAMBANOVA_MAX_RDUS);
    for (size_t i = 0; is_known && i < tiles.count; i++) {
        const struct sambanova_rdu *rdu = &tiles.rdus[i];
        require(rdu->busy >= 0 && rdu->busy <= 1);
        require(rdu->tiles > 0 && rdu->process_count <= SAMBANOVA_MAX_PROCESSES);
        size_t length = strnlen(rdu->path, sizeof rdu->path);
        require(length > 0 && length < sizeof rdu->path);
        for (size_t k = 0; k < length; k++)
            require(rdu->path[k] > ' ' && rdu->path[k] <= '~');
    }
    free(text);
    return 0;
}
