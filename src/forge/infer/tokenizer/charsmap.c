/* infer/tokenizer/charsmap.c - see charsmap.h. */
#include "forge/infer/tokenizer/charsmap.h"

#include <string.h>
#include "base/error.h"

static uint32_t unit_at(const char *units, size_t i)
{
    uint32_t unit;
    memcpy(&unit, units + i * sizeof unit, sizeof unit);
    return unit;
}

joule_status charsmap_open(struct bytes bytes, struct charsmap *out_map, joule_error *out_error)
{
    *out_map = (struct charsmap){0};
    if (bytes.size == 0)
        return JOULE_OK;
    size_t size = bytes.size >= sizeof(uint32_t) ? unit_at(bytes.data, 0) : SIZE_MAX;
    if (size > bytes.size - sizeof(uint32_t) || size % sizeof(uint32_t) != 0)
        return error_set(
            out_error, JOULE_INVALID,
            "cannot open a tokenizer: precompiled_charsmap of %zu bytes states a wrong size of its "
            "trie",
            bytes.size);
    *out_map = (struct charsmap){
        .units = bytes.data + sizeof(uint32_t),
        .unit_count = size / sizeof(uint32_t),
        .texts = {bytes.data + sizeof(uint32_t) + size, bytes.size - sizeof(uint32_t) - size}};
    return JOULE_OK;
}

/* Return the fields of a unit of the double-array trie: the offset to the node's children, whether the node
 * has a value, and the byte of the edge to the node. */
static size_t offset_of(uint32_t unit)
{
    return (size_t)(unit >> 10) << ((unit & 1u << 9) >> 6);
}

static bool has_value(uint32_t unit)
{
    return unit >> 8 & 1;
}

static uint32_t label_of(uint32_t unit)
{
    return unit & (1u << 31 | 0xff);
}

/* Finds the replacement at an offset. Returns false if it is outside the map or too long. */
static bool value_at(const struct charsmap *map, size_t offset, struct bytes *out_value)
{
    if (offset >= map->texts.size)
        return false;
    size_t left = map->texts.size - offset;
    size_t max = left < CHARSMAP_MAX_VALUE + 1 ? left : CHARSMAP_MAX_VALUE + 1;
    out_value->data = map->texts.data + offset;
    out_value->size = strnlen(out_value->data, max);
    return out_value->size < max;
}

size_t charsmap_find(const struct charsmap *map, const char *text, size_t size, struct bytes *out_value)
{
    size_t longest = 0;
    if (map->unit_count == 0)
        return 0;
    size_t node = offset_of(unit_at(map->units, 0));
    for (size_t i = 0; i < size && i < CHARSMAP_MAX_KEY; i++) {
        node ^= (uint8_t)text[i];
        if (node >= map->unit_count)
            break;
        uint32_t unit = unit_at(map->units, node);
        if (label_of(unit) != (uint8_t)text[i])
            break;
        node ^= offset_of(unit);
        if (node >= map->unit_count)
            break;
        struct bytes value;
        if (has_value(unit) && value_at(map, unit_at(map->units, node) & ~(1u << 31), &value)) {
            longest = i + 1;
            *out_value = value;
        }
    }
    return longest;
}
