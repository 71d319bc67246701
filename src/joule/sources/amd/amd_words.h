/* joule/sources/amd/amd_words.h - what AMD's programs rocm-smi and amd-smi write, read.
 *
 * Owns the forms of their JSON in all releases, and of one board's figures therein. It runs nothing.
 * Newcomers: names of figures changed with releases, numbers stand in strings, alone or with their unit, and lines that are
 * no JSON come before and after. A word ("N/A", "N/A (Secondary die)") is unknown, and so is an energy of 0, which boards
 * have that count none.
 */
#ifndef JOULE_AMD_WORDS_H
#define JOULE_AMD_WORDS_H

#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"

/* Unknown: NaN, UINT64_MAX, an empty text; counts 0. */
struct amd_card {
    unsigned number; /* the program's own: "card0", "gpu": 0 */
    unsigned domain, bus, slot;
    bool has_place; /* its place on the PCI bus is known */
    char model[96], uuid[64];
    uint64_t counts; /* of 2^-16 J */
    double watts, limit_watts, edge_celsius, junction_celsius, memory_celsius, busy;
    uint64_t memory_total_bytes, memory_used_bytes;
};

struct amd_cards {
    struct amd_card *list; /* in the arena */
    size_t count;
};

/* Reads what `rocm-smi --json` with any of its options wrote, text[0..size), which is changed. Without any card: it is no
 * such text. False when memory is used up. */
bool amd_words_rocm(struct arena *arena, char *text, size_t size, struct amd_cards *out_cards);
/* The same for `amd-smi metric --json` and `amd-smi list --json`. */
bool amd_words_amd(struct arena *arena, char *text, size_t size, struct amd_cards *out_cards);

#endif
