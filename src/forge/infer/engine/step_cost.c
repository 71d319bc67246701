/* infer/engine/step_cost.c - see step_cost.h. */
#include "forge/infer/engine/step_cost.h"

#include <string.h>
#include "forge/ir/operation_cost.h"

struct step_cost step_cost_of(const struct model_file *file, forge_dtype cache_dtype)
{
    const struct model_config *c = &file->config;
    struct step_cost cost = {.position_flop = 4 * (double)(c->layers * c->heads * c->head_dim),
                             .position_bytes =
                                 2 * (double)(c->layers * c->kv_heads) *
                                 (double)forge_dtype_size_bytes(cache_dtype, (size_t)c->head_dim)};
    bool is_tied = !model_file_find(file, "output.weight");
    for (size_t i = 0; i < file->tensor_count; i++) {
        const struct model_tensor *tensor = &file->tensors[i];
        bool is_table = strcmp(tensor->name, "position_embd.weight") == 0 ||
                        (strcmp(tensor->name, "token_embd.weight") == 0 && !is_tied);
        if (is_table) { /* the program reads only single rows of this tensor */
            cost.row_bytes += (double)tensor->size_bytes / (double)tensor->shape.dims[0];
            continue;
        }
        cost.weight_bytes += (double)tensor->size_bytes;
        if (tensor->shape.rank == 2)
            cost.row_flop += 2 * (double)forge_shape_elements(&tensor->shape);
    }
    return cost;
}

struct row_cost step_cost_rows(const struct step_cost *cost, size_t first, size_t count, size_t rows)
{
    double n = (double)count, end = (double)(first + count), part = n / (double)(rows ? rows : 1);
    /* Sum, over the rows, of the number of positions to which a row attends. */
    double positions = n * ((double)first + (n + 1) / 2);
    double flop = n * cost->row_flop + positions * cost->position_flop;
    double weight_bytes = part * cost->weight_bytes + n * cost->row_bytes;
    double cache_bytes = (end + n) * cost->position_bytes; /* read up to the end, and n written */
    return (struct row_cost){{[COST_OF_FLOP] = COST_FLOP_JOULES * flop,
                              [COST_OF_WEIGHTS] = COST_BYTE_JOULES * weight_bytes,
                              [COST_OF_CACHE] = COST_BYTE_JOULES * cache_bytes}};
}
