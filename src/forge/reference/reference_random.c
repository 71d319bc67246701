/* reference/reference_random.c - random numbers in graphs, by <forge/random.h>.
 *
 * Note: the random number of an element depends on its position in the packed output. So rows can be computed
 * in any order.
 */
#include <forge/random.h>
#include "forge/reference/reference.h"
#include "forge/reference/reference_walk.h"

/* Inputs: key, u64[], and step, u32[]. Output: any shape. */
void reference_random(const struct launch *launch, size_t first, size_t end)
{
    const struct random_attributes *attributes = launch->attributes;
    const forge_random random = {.key = *(const uint64_t *)launch->inputs[0].data,
                                 .step = *(const uint32_t *)launch->inputs[1].data,
                                 .stream = attributes->stream};
    void *data = launch->outputs[0].data;
    struct tile rows = tile_of_rows(launch, first, end);
    size_t count = rows.end > rows.first ? rows.end - rows.first : 0;
    if (attributes->kind == FORGE_RANDOM_UNIFORM)
        forge_random_uniform(&random, rows.first, count, (float *)data + rows.first);
    else if (attributes->kind == FORGE_RANDOM_NORMAL)
        forge_random_normal(&random, rows.first, count, (float *)data + rows.first);
    else
        forge_random_bits(&random, rows.first, count, (uint32_t *)data + rows.first);
}
