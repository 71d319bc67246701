/* infer/tokenizer/characters.h - properties of characters. */
#ifndef FORGE_INFER_CHARACTERS_H
#define FORGE_INFER_CHARACTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns true for the characters of words: letters, marks, decimal digits, letter numbers, connectors such
 * as '_', and U+200C and U+200D. These characters match \w in regular expressions of Unicode. */
bool character_is_word(uint32_t character);
/* Returns true for the characters with Unicode's property White_Space. */
bool character_is_white(uint32_t character);

/* Reads the last character of a text, as string_utf8_read reads the first. UINT32_MAX has no property. */
size_t character_read_last(const char *text, size_t size, uint32_t *out_character);

#endif
