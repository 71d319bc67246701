/* ir/fused.c - see fused.h.
 *
 * A word has the bits 0 to 2 for the operation (0: the code ends), 3 to 9 for the kind, and 7 bits for each
 * of three operands.
 */
#include "forge/ir/fused.h"

#include <string.h>

enum { OPERATION_BITS = 3, KIND_BITS = 7, OPERAND_BITS = 7 };

/* An operation: its number in a word is its position in the table plus 1. */
static const struct operation {
    enum op op;
    uint8_t operands;
    uint32_t kinds; /* number of kinds; 0: the operation has none */
} operations[] = {
    {OP_UNARY, 1, FORGE_UNARY_KINDS},
    {OP_BINARY, 2, FORGE_BINARY_KINDS},
    {OP_SELECT, 3, 1},
    {OP_CAST, 1, 1 << KIND_BITS},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

uint32_t fused_word(const struct fused_step *step)
{
    uint32_t number = 0;
    while (operations[number].op != step->op)
        number++;
    uint32_t word = number + 1 + ((uint32_t)step->kind << OPERATION_BITS);
    for (int i = 0; i < step->operand_count; i++)
        word += (uint32_t)step->operands[i] << (OPERATION_BITS + KIND_BITS + OPERAND_BITS * i);
    return word;
}

/* Returns the bits [first, first + count) of a word. */
static uint32_t bits_of(uint32_t word, int first, int count)
{
    return word >> first & ((1u << count) - 1);
}

static bool read_word(uint32_t word, size_t input_count, size_t step_count, struct fused_step *out)
{
    uint32_t number = bits_of(word, 0, OPERATION_BITS), kind = bits_of(word, OPERATION_BITS, KIND_BITS);
    if (number < 1 || number > OPERATIONS || kind >= operations[number - 1].kinds)
        return false;
    const struct operation *operation = &operations[number - 1];
    *out = (struct fused_step){(uint8_t)operation->op, (uint8_t)kind, operation->operands, {0}};
    if (operation->op == OP_CAST && forge_dtype_block_elements((forge_dtype)kind) != 1)
        return false;
    for (int i = 0; i < operation->operands; i++) {
        uint32_t operand = bits_of(word, OPERATION_BITS + KIND_BITS + OPERAND_BITS * i, OPERAND_BITS);
        bool is_known =
            operand < FUSED_MAX_INPUTS ? operand < input_count : operand - FUSED_MAX_INPUTS < step_count;
        if (!is_known)
            return false;
        out->operands[i] = (uint8_t)operand;
    }
    return fused_word(out) == word;
}

bool fused_read(const struct composite_attributes *attributes, size_t input_count, struct fused *out)
{
    out->count = 0;
    while (out->count < FUSED_MAX_STEPS && attributes->code[out->count]) {
        if (!read_word(attributes->code[out->count], input_count, out->count, &out->steps[out->count]))
            return false;
        out->count++;
    }
    for (uint32_t i = out->count; i < FUSED_MAX_STEPS; i++)
        if (attributes->code[i])
            return false;
    return out->count > 0;
}

bool fused_is(const struct composite_attributes *attributes)
{
    return strcmp(attributes->name, "fused") == 0;
}

bool fused_step_of(const struct node *node, const uint8_t *operands, struct fused_step *out)
{
    bool has_kind = node->op == OP_UNARY || node->op == OP_BINARY;
    if (!has_kind && node->op != OP_SELECT && node->op != OP_CAST)
        return false;
    const struct cast_attributes *cast = node->attributes;
    *out = (struct fused_step){.op = node->op,
                               .kind = (uint8_t)(has_kind              ? node_kind(node)
                                                 : node->op == OP_CAST ? cast->dtype
                                                                       : 0),
                               .operand_count = node->input_count};
    memcpy(out->operands, operands, node->input_count);
    return true;
}
