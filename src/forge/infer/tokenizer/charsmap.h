/* infer/tokenizer/charsmap.h - SentencePiece's normalisation of characters ("precompiled_charsmap").
 *
 * The map consists of the size of a double-array trie (u32), the trie (u32 each), and the replacements, which
 * end with NUL. A value of the trie is the offset of a replacement. The contents come from a file that is not
 * trusted, so each access is checked. */
#ifndef FORGE_INFER_CHARSMAP_H
#define FORGE_INFER_CHARSMAP_H

#include <joule/base.h>
#include <stdbool.h>
#include "forge/infer/model/vocabulary.h"

enum {
    CHARSMAP_MAX_KEY = 256,   /* longer texts are not replaced */
    CHARSMAP_MAX_VALUE = 256, /* longer replacements are not used */
};

/* A map in the memory of the vocabulary. An object with all members 0 is an empty map. */
struct charsmap {
    const char *units; /* without alignment */
    size_t unit_count;
    struct bytes texts; /* the replacements */
};

/* Opens the map in `bytes`, which must outlive it. JOULE_INVALID: a size in the map exceeds `bytes`. */
joule_status charsmap_open(struct bytes bytes, struct charsmap *out_map, joule_error *out_error);
/* Finds the longest text of the map with which text[0..size) begins. Returns the size of this text in bytes,
 * and writes the replacement to *out_value. Returns 0 if there is no such text. */
size_t charsmap_find(const struct charsmap *map, const char *text, size_t size, struct bytes *out_value);

#endif
