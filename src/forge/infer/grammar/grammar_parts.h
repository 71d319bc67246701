/* infer/grammar/grammar_parts.h - parts of automata that do not depend on a schema: strings, numbers, white
 * space. */
#ifndef FORGE_INFER_GRAMMAR_PARTS_H
#define FORGE_INFER_GRAMMAR_PARTS_H

#include "forge/infer/grammar/grammar_automaton.h"

/* Each adds edges from `source`, and returns the node after the part. */
uint32_t part_string(struct draft *draft, uint32_t source, uint64_t min,
                     uint64_t max); /* max: UINT64_MAX means no limit */
uint32_t part_number(struct draft *draft, uint32_t source, bool is_integer);
/* Adds optional white space. newline: the start of part_newline. */
uint32_t part_space(struct draft *draft, uint32_t source, uint32_t newline);
/* Adds a part for one newline and its indentation, which other parts call. Returns the start of the part. */
uint32_t part_newline(struct draft *draft);
/* Adds edges from `source` to `target` for one character of a string, with or without an escape. */
void part_character(struct draft *draft, uint32_t source, uint32_t target);
/* Adds the edges of `model` to `source`, except for the backslash and for bytes for which `source` already
 * has an edge. */
void part_complement(struct draft *draft, uint32_t source, uint32_t model);
/* Returns the target of the first edge of `node` for this byte; NO_NODE: there is none. */
uint32_t part_target(const struct draft *draft, uint32_t node, uint8_t byte);

#endif
