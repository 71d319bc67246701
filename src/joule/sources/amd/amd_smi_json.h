/* joule/sources/amd/amd_smi_json.h - parses the JSON that AMD's programs rocm-smi and amd-smi print.
 *
 * Note: names of values differ between releases. Numbers may be strings, with or without a unit, and other
 * text may surround the JSON. A text such as "N/A" or "N/A (Secondary die)" means unknown. So does an energy
 * of 0, because boards without a counter report 0. */
#ifndef JOULE_AMD_SMI_JSON_H
#define JOULE_AMD_SMI_JSON_H

#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"

/* Unknown numbers are NaN or UINT64_MAX, unknown texts are empty, and unknown counts are 0. */
struct amd_card {
    unsigned number; /* the program's number of the card: 0 for "card0" or "gpu": 0 */
    unsigned domain, bus, slot;
    bool has_place; /* domain, bus and slot are known */
    char model[96], uuid[64];
    uint64_t counts; /* in units of 2^-16 J */
    double watts, limit_watts, edge_celsius, junction_celsius, memory_celsius, busy;
    uint64_t memory_total_bytes, memory_used_bytes;
};

struct amd_cards {
    struct amd_card *list; /* in the arena */
    size_t count;
};

/* Writes the cards in the output of `rocm-smi --json`, text[0..size), to *out_cards; other text contains no
 * cards. The arena owns the list. Modifies the text. Returns false if out of memory. */
bool rocm_smi_parse_json(struct arena *arena, char *text, size_t size, struct amd_cards *out_cards);
/* Does the same for the output of `amd-smi metric --json` and `amd-smi list --json`. */
bool amd_smi_parse_json(struct arena *arena, char *text, size_t size, struct amd_cards *out_cards);

#endif
