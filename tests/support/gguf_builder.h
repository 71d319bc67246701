/* support/gguf_builder.h - builds GGUF files for tests, independent of the library's writer.
 *
 * Note: keys come first, then tensors. A key of the small model is left out by its name, so that a test can
 * add its own. */
#ifndef SUPPORT_GGUF_BUILDER_H
#define SUPPORT_GGUF_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GGUF_SMALL_TENSORS = 11 }; /* tensors of the small llama */

/* A file in memory. Initialise with gguf_build. */
struct gguf_builder {
    uint8_t *bytes;
    size_t size, capacity;
    uint64_t keys, tensors;
    uint64_t data_size;   /* bytes of tensors so far, with padding */
    uint64_t alignment;   /* of tensors; 32 */
    const char *left_out; /* name of the key or tensor that is not written; NULL: none */
};

void gguf_build(struct gguf_builder *builder, uint32_t version, const char *left_out);
void gguf_add_bytes(struct gguf_builder *builder, const void *bytes, size_t size);
void gguf_add_u32(struct gguf_builder *builder, uint32_t value);
void gguf_add_u64(struct gguf_builder *builder, uint64_t value);
void gguf_add_string(struct gguf_builder *builder, const char *string);

/* Add a key. Integers have the given type: 0 u8, 1 i8, 2 u16, 3 i16, 4 u32, 5 i32, 10 u64, 11 i64, 7
 * bool. */
void gguf_add_integer(struct gguf_builder *builder, const char *key, uint32_t type, int64_t value);
void gguf_add_float(struct gguf_builder *builder, const char *key, float value);
void gguf_add_double(struct gguf_builder *builder, const char *key, double value);
void gguf_add_text(struct gguf_builder *builder, const char *key, const char *text);
/* Adds a key whose value is an array; the caller adds its items. */
void gguf_add_array(struct gguf_builder *builder, const char *key, uint32_t item_type, uint64_t count);

/* Adds the description of a tensor of `size` bytes. columns: the fastest dimension; rows 0: one
 * dimension. */
void gguf_add_tensor(struct gguf_builder *builder, const char *name, uint32_t type, uint64_t columns,
                     uint64_t rows, uint64_t size);

/* Adds the keys or the tensors (f32) of a small llama: width 4, hidden width 6, 1 layer, 2 heads, 1 key
 * head, 3 tokens, context 8. */
void gguf_add_small_keys(struct gguf_builder *builder);
void gguf_add_small_tensors(struct gguf_builder *builder);
/* Adds the tensors `begin` to `end` - 1 of the small llama. */
void gguf_add_some_tensors(struct gguf_builder *builder, size_t begin, size_t end);

/* Adds the data, in which every byte is 0, writes the file and frees the builder's memory. Returns false if
 * the file cannot be written. */
bool gguf_finish(struct gguf_builder *builder, const char *path);

#endif
