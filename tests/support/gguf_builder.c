/* support/gguf_builder.c - see gguf_builder.h. */
#include "support/gguf_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gguf_add_bytes(struct gguf_builder *b, const void *bytes, size_t size)
{
    if (b->size + size > b->capacity) {
        b->capacity = 2 * (b->size + size);
        b->bytes = realloc(b->bytes, b->capacity);
        if (!b->bytes)
            abort();
    }
    if (bytes)
        memcpy(b->bytes + b->size, bytes, size);
    else
        memset(b->bytes + b->size, 0, size);
    b->size += size;
}

void gguf_add_u32(struct gguf_builder *b, uint32_t value)
{
    gguf_add_bytes(b, &value, sizeof value);
}

void gguf_add_u64(struct gguf_builder *b, uint64_t value)
{
    gguf_add_bytes(b, &value, sizeof value);
}

void gguf_add_string(struct gguf_builder *b, const char *string)
{
    gguf_add_u64(b, strlen(string));
    gguf_add_bytes(b, string, strlen(string));
}

void gguf_build(struct gguf_builder *b, uint32_t version, const char *left_out)
{
    *b = (struct gguf_builder){.alignment = 32, .left_out = left_out};
    gguf_add_bytes(b, "GGUF", 4);
    gguf_add_u32(b, version);
    gguf_add_bytes(b, NULL, 16);
}

static bool begin_key(struct gguf_builder *b, const char *key, uint32_t type)
{
    if (b->left_out && strcmp(b->left_out, key) == 0)
        return false;
    b->keys++;
    gguf_add_string(b, key);
    gguf_add_u32(b, type);
    return true;
}

void gguf_add_integer(struct gguf_builder *b, const char *key, uint32_t type, int64_t value)
{
    static const uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 0, 1, 0, 0, 8, 8};
    if (begin_key(b, key, type))
        gguf_add_bytes(b, &value, sizes[type]);
}

void gguf_add_float(struct gguf_builder *b, const char *key, float value)
{
    if (begin_key(b, key, 6))
        gguf_add_bytes(b, &value, sizeof value);
}

void gguf_add_double(struct gguf_builder *b, const char *key, double value)
{
    if (begin_key(b, key, 12))
        gguf_add_bytes(b, &value, sizeof value);
}

void gguf_add_text(struct gguf_builder *b, const char *key, const char *text)
{
    if (begin_key(b, key, 8))
        gguf_add_string(b, text);
}

void gguf_add_array(struct gguf_builder *b, const char *key, uint32_t item_type, uint64_t count)
{
    if (!begin_key(b, key, 9))
        return;
    gguf_add_u32(b, item_type);
    gguf_add_u64(b, count);
}

void gguf_add_tensor(struct gguf_builder *b, const char *name, uint32_t type, uint64_t columns, uint64_t rows,
                     uint64_t size)
{
    if (b->left_out && strcmp(b->left_out, name) == 0)
        return;
    b->tensors++;
    gguf_add_string(b, name);
    gguf_add_u32(b, rows ? 2 : 1);
    gguf_add_u64(b, columns);
    if (rows)
        gguf_add_u64(b, rows);
    gguf_add_u32(b, type);
    gguf_add_u64(b, b->data_size);
    b->data_size = (b->data_size + size + b->alignment - 1) / b->alignment * b->alignment;
}

void gguf_add_small_keys(struct gguf_builder *b)
{
    gguf_add_text(b, "general.architecture", "llama");
    gguf_add_integer(b, "llama.block_count", 4, 1);
    gguf_add_integer(b, "llama.context_length", 4, 8);
    gguf_add_integer(b, "llama.embedding_length", 4, 4);
    gguf_add_integer(b, "llama.feed_forward_length", 4, 6);
    gguf_add_integer(b, "llama.attention.head_count", 4, 2);
    gguf_add_integer(b, "llama.attention.head_count_kv", 4, 1);
    gguf_add_float(b, "llama.attention.layer_norm_rms_epsilon", 1e-6f);
}

void gguf_add_some_tensors(struct gguf_builder *b, size_t begin, size_t end)
{
    static const struct {
        const char *name;
        uint64_t columns, rows;
    } tensors[GGUF_SMALL_TENSORS] = {
        {"token_embd.weight", 4, 3},        {"output_norm.weight", 4, 0},    {"blk.0.attn_norm.weight", 4, 0},
        {"blk.0.attn_q.weight", 4, 4},      {"blk.0.attn_k.weight", 4, 2},   {"blk.0.attn_v.weight", 4, 2},
        {"blk.0.attn_output.weight", 4, 4}, {"blk.0.ffn_norm.weight", 4, 0}, {"blk.0.ffn_gate.weight", 4, 6},
        {"blk.0.ffn_up.weight", 4, 6},      {"blk.0.ffn_down.weight", 6, 4},
    };
    for (size_t i = begin; i < end; i++)
        gguf_add_tensor(b, tensors[i].name, 0, tensors[i].columns, tensors[i].rows,
                        4 * tensors[i].columns * (tensors[i].rows ? tensors[i].rows : 1));
}

void gguf_add_small_tensors(struct gguf_builder *b)
{
    gguf_add_some_tensors(b, 0, GGUF_SMALL_TENSORS);
}

bool gguf_finish(struct gguf_builder *b, const char *path)
{
    if (b->tensors)
        gguf_add_bytes(b, NULL, (size_t)(-b->size % b->alignment + b->data_size));
    memcpy(b->bytes + 8, &b->tensors, 8);
    memcpy(b->bytes + 16, &b->keys, 8);
    FILE *out = fopen(path, "wb");
    bool is_written = out && fwrite(b->bytes, 1, b->size, out) == b->size;
    if (out)
        is_written = fclose(out) == 0 && is_written;
    free(b->bytes);
    b->bytes = NULL;
    return is_written;
}
