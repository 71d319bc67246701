/* infer/tokenizer/charsmap.h - SentencePiece's normalisation of characters ("precompiled_charsmap").
 *
 * The map consists of the size of a double-array trie (u32), the trie (u32 each), and the replacements,
 * which end with NUL. A trie's value is the offset of a replacement. Files choose the contents, so each
 * access is checked. /
 */
#ifndef FORGE_INFER_CHARSMAP_H
#define FORGE_INFER_CHARSMAP_H

#include <joule/base.h>
#include <stdbool.h>
#include "forge/infer/model/vocabulary.h"

enum {
    CHARSMAP_MAX_KEY = 256,   /* longer texts are not replaced */
    CHARSMAP_MAX_VALUE = 256, /* longer replacements are not used */
};

/* A map in the memory of the vocabulary. All 0: empty. */
struct charsmap {
    const char *units; /* without alignment */
    size_t unit_count;
    struct bytes texts; /* the replacements */
};

/* Reads the sizes of a map; `bytes` must outlive it. JOULE_INVALID: they exceed the map. */
joule_status charsmap_open(struct bytes bytes, struct charsmap *out_map, joule_error *out_error);
/* Finds the longest text of the map that text[0..size) begins with. Returns its size in bytes, and the
 * replacement in *out_value; 0: there is none. */
size_t charsmap_find(const struct charsmap *map, const char *text, size_t size, struct bytes *out_value);

#endif
