/* infer/engine/kv_cache.c - creates paged caches, and copies elements to and from their pages; see
 * <forge/kv_cache.h>. */
#include "forge/infer/engine/kv_cache.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/abi.h"
#include "base/error.h"

enum { DEFAULT_PAGE_SIZE = 16, MAX_SIZE = 65536 };

/* --- creation ------------------------------------------------------------------------------------------- */

static joule_status check_size(const char *name, uint32_t size, joule_error *out_error)
{
    if (size == 0 || size > MAX_SIZE)
        return error_set(out_error, JOULE_INVALID, "cannot create a KV cache: %s is %" PRIu32 ", not 1 to %d",
                         name, size, MAX_SIZE);
    return JOULE_OK;
}

static bool is_supported(forge_dtype dtype)
{
    return dtype == FORGE_F32 || dtype == FORGE_F16 || dtype == FORGE_BF16 || dtype == FORGE_Q8_0;
}

static joule_status check_options(const forge_kv_cache_options *o, joule_error *out_error)
{
    joule_status status = check_size("num_layers", o->num_layers, out_error);
    if (status == JOULE_OK)
        status = check_size("num_heads", o->num_heads, out_error);
    if (status == JOULE_OK)
        status = check_size("head_dim", o->head_dim, out_error);
    if (status == JOULE_OK)
        status = check_size("page_size", o->page_size, out_error);
    if (status != JOULE_OK)
        return status;
    if (!is_supported(o->dtype))
        return error_set(out_error, JOULE_INVALID,
                         "cannot create a KV cache: dtype is %s, not f32, f16, bf16 or q8_0",
                         forge_dtype_name(o->dtype));
    size_t block = forge_dtype_block_elements(o->dtype);
    if (o->head_dim % block != 0)
        return error_set(out_error, JOULE_INVALID,
                         "cannot create a KV cache: head_dim is %" PRIu32 ", but %s needs a multiple of %zu",
                         o->head_dim, forge_dtype_name(o->dtype), block);
    uint64_t max_pages = INT32_MAX / o->page_size; /* the inputs of graphs number positions with i32 */
    if (o->pages == 0 || o->pages > max_pages)
        return error_set(out_error, JOULE_INVALID,
                         "cannot create a KV cache: pages is %" PRIu64 ", not 1 to %" PRIu64, o->pages,
                         max_pages);
    return JOULE_OK;
}

static joule_status add_tensors(forge_kv_cache *cache, joule_error *out_error)
{
    const forge_kv_cache_options *o = &cache->options;
    forge_shape shape = forge_shape_of((forge_dim)(o->pages * o->page_size), o->num_heads, o->head_dim);
    joule_status status = JOULE_OK;
    for (size_t i = 0; i < 2 * (size_t)o->num_layers && status == JOULE_OK; i++) {
        forge_tensor tensor;
        status = forge_tensor_new(o->dtype, &shape, &tensor, out_error);
        if (status == JOULE_OK)
            cache->tensors[i] = tensor;
    }
    return status;
}

joule_status forge_kv_cache_new(const forge_kv_cache_options *options, forge_kv_cache **out_cache,
                                joule_error *out_error)
{
    forge_kv_cache_options o;
    joule_status status =
        abi_read(&o, sizeof o, SIZE_UP_TO(forge_kv_cache_options, enables_prefix_cache), options);
    if (status != JOULE_OK)
        return error_set(out_error, status,
                         "forge_kv_cache_options: set struct_size to sizeof(forge_kv_cache_options)");
    if (!out_cache)
        return error_set(out_error, JOULE_INVALID, "forge_kv_cache_new: out_cache is NULL");
    if (o.page_size == 0)
        o.page_size = DEFAULT_PAGE_SIZE;
    status = check_options(&o, out_error);
    if (status != JOULE_OK)
        return status;

    forge_kv_cache *cache = calloc(1, sizeof *cache);
    if (cache)
        cache->tensors = calloc(2 * (size_t)o.num_layers, sizeof *cache->tensors);
    if (!cache || !cache->tensors) {
        free(cache);
        return error_set(out_error, JOULE_NO_MEMORY, "cannot create a KV cache: out of memory");
    }
    cache->options = o;
    cache->row_elements = (size_t)o.num_heads * o.head_dim;
    cache->row_bytes = forge_dtype_size_bytes(o.dtype, cache->row_elements);
    status = add_tensors(cache, out_error);
    if (status == JOULE_OK) /* the last step, because it uses memory for each page */
        status = page_pool_new(o.pages, o.page_size, NULL, &cache->pool, out_error);
    if (status != JOULE_OK) {
        forge_kv_cache_free(cache);
        return status;
    }
    *out_cache = cache;
    return JOULE_OK;
}

void forge_kv_cache_free(forge_kv_cache *cache)
{
    if (!cache)
        return;
    while (cache->sequences)
        forge_kv_cache_remove_sequence(cache->sequences);
    for (size_t i = 0; i < 2 * (size_t)cache->options.num_layers; i++)
        forge_buffer_release(cache->tensors[i].buffer);
    free(cache->tensors);
    page_pool_free(cache->pool);
    free(cache);
}

/* --- queries -------------------------------------------------------------------------------------------- */

joule_status forge_kv_cache_tensor(const forge_kv_cache *cache, uint32_t layer, bool is_value,
                                   forge_tensor *out_tensor)
{
    if (!cache || !out_tensor || layer >= cache->options.num_layers)
        return JOULE_INVALID;
    *out_tensor = cache->tensors[2 * (size_t)layer + is_value];
    return JOULE_OK;
}

joule_status forge_kv_cache_query(const forge_kv_cache *cache, forge_kv_cache_facts *out_facts)
{
    if (!cache || !abi_has_room(out_facts, SIZE_UP_TO(forge_kv_cache_facts, hit_tokens)))
        return JOULE_INVALID;
    size_t pages = page_pool_count(cache->pool);
    forge_kv_cache_facts facts = {
        .struct_size = sizeof facts,
        .page_size = cache->options.page_size,
        .bytes_per_token = (uint64_t)2 * cache->options.num_layers * cache->row_bytes,
        .pages = pages,
        .used_pages = pages - page_pool_free_count(cache->pool),
        .cached_pages = page_pool_cached_count(cache->pool),
        .sequences = cache->sequence_count,
        .query_tokens = cache->query_tokens,
        .hit_tokens = cache->hit_tokens,
    };
    abi_write(out_facts, &facts, sizeof facts);
    return JOULE_OK;
}

/* --- elements ------------------------------------------------------------------------------------------- */

/* Returns the address of a position of a page. */
static char *row_of(const forge_tensor *tensor, const forge_kv_cache *cache, uint32_t page, size_t offset)
{
    return (char *)forge_tensor_data(tensor) +
           ((size_t)page * cache->options.page_size + offset) * cache->row_bytes;
}

void kv_cache_copy_page(forge_kv_cache *cache, uint32_t from, uint32_t to, size_t count)
{
    for (size_t i = 0; i < 2 * (size_t)cache->options.num_layers; i++)
        memcpy(row_of(&cache->tensors[i], cache, to, 0), row_of(&cache->tensors[i], cache, from, 0),
               count * cache->row_bytes);
}

/* Returns JOULE_OK if the layer exists and the positions are between `first` and the length; else
 * JOULE_INVALID. */
static joule_status check_positions(const char *verb, const forge_kv_sequence *sequence, uint32_t layer,
                                    size_t position, size_t count, size_t first, joule_error *out_error)
{
    if (!sequence)
        return error_set(out_error, JOULE_INVALID, "cannot %s the KV cache: sequence is NULL", verb);
    uint32_t layers = sequence->cache->options.num_layers;
    if (layer >= layers)
        return error_set(out_error, JOULE_INVALID,
                         "cannot %s the KV cache: layer is %" PRIu32 ", but there are %" PRIu32 " layers",
                         verb, layer, layers);
    if (position > sequence->length || count > sequence->length - position)
        return error_set(out_error, JOULE_INVALID,
                         "cannot %s the KV cache: %zu positions from %zu on do not fit in a sequence of %zu "
                         "positions",
                         verb, count, position, sequence->length);
    if (count > 0 && position < first)
        return error_set(out_error, JOULE_INVALID,
                         "cannot %s the KV cache: position %zu is committed; truncate the sequence first",
                         verb, position);
    return JOULE_OK;
}

/* Returns the number of positions from `position` on that are contiguous in memory, at most `count`.
 * *out_row: the address of the first of them. */
static size_t find_run(const forge_kv_sequence *sequence, const forge_tensor *tensor, size_t position,
                       size_t count, char **out_row)
{
    size_t page_size = sequence->cache->options.page_size, offset = position % page_size;
    *out_row = row_of(tensor, sequence->cache, sequence->table.pages[position / page_size], offset);
    return count < page_size - offset ? count : page_size - offset;
}

static void write_rows(const forge_kv_sequence *sequence, const forge_tensor *tensor, size_t position,
                       size_t count, const float *rows)
{
    size_t row_elements = sequence->cache->row_elements;
    while (count > 0) {
        char *row;
        size_t run = find_run(sequence, tensor, position, count, &row);
        forge_convert(FORGE_F32, rows, tensor->dtype, row, run * row_elements);
        rows += run * row_elements;
        position += run;
        count -= run;
    }
}

static void read_rows(const forge_kv_sequence *sequence, const forge_tensor *tensor, size_t position,
                      size_t count, float *out_rows)
{
    size_t row_elements = sequence->cache->row_elements;
    while (count > 0) {
        char *row;
        size_t run = find_run(sequence, tensor, position, count, &row);
        forge_convert(tensor->dtype, row, FORGE_F32, out_rows, run * row_elements);
        out_rows += run * row_elements;
        position += run;
        count -= run;
    }
}

joule_status forge_kv_cache_write(forge_kv_sequence *sequence, uint32_t layer, size_t position, size_t count,
                                  const float *keys, const float *values, joule_error *out_error)
{
    joule_status status = check_positions("write to", sequence, layer, position, count,
                                          sequence ? sequence->committed : 0, out_error);
    if (status != JOULE_OK)
        return status;
    if (count > 0 && (!keys || !values))
        return error_set(out_error, JOULE_INVALID, "cannot write to the KV cache: %s is NULL",
                         keys ? "values" : "keys");
    const forge_tensor *tensors = &sequence->cache->tensors[2 * (size_t)layer];
    write_rows(sequence, &tensors[0], position, count, keys);
    write_rows(sequence, &tensors[1], position, count, values);
    return JOULE_OK;
}

joule_status forge_kv_cache_read(const forge_kv_sequence *sequence, uint32_t layer, size_t position,
                                 size_t count, float *out_keys, float *out_values, joule_error *out_error)
{
    joule_status status = check_positions("read from", sequence, layer, position, count, 0, out_error);
    if (status != JOULE_OK)
        return status;
    const forge_tensor *tensors = &sequence->cache->tensors[2 * (size_t)layer];
    if (out_keys)
        read_rows(sequence, &tensors[0], position, count, out_keys);
    if (out_values)
        read_rows(sequence, &tensors[1], position, count, out_values);
    return JOULE_OK;
}
