/* ir/fused.c - see fused.h.
 *
 * A word has the bits 0 to 2 for the operation (0: the code ends), 3 to 9 for the kind, and 7 bits for each
 * of three operands. After the word of a conv follow FUSED_CONV_WORDS words: groups, stride, dilation and
 * both paddings. */
#include "forge/ir/fused.h"

#include <string.h>
#include "base/string.h"
#include "forge/ir/fields.h"

enum { OPERATION_BITS = 3, KIND_BITS = 7, OPERAND_BITS = 7 };

/* An operation: its number in a word is its position in the table plus 1. */
static const struct operation {
    enum op op;
    uint8_t operands;
    uint32_t kinds;
    uint32_t words;
    const char *composite; /* name of the composite that begins with it; NULL: it can be any step */
} operations[] = {
    {OP_UNARY, 1, FORGE_UNARY_KINDS, 1, NULL},
    {OP_BINARY, 2, FORGE_BINARY_KINDS, 1, NULL},
    {OP_SELECT, 3, 1, 1, NULL},
    {OP_CAST, 1, 1 << KIND_BITS, 1, NULL},
    {OP_MATMUL, 2, 4, 1, "fused_matmul"},
    {OP_CONV, 2, 1, 1 + FUSED_CONV_WORDS, "fused_conv"},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

static const struct operation *operation_of(enum op op)
{
    for (size_t i = 0; i < OPERATIONS; i++)
        if (operations[i].op == op)
            return &operations[i];
    return NULL;
}

uint32_t fused_words(enum op op)
{
    const struct operation *operation = operation_of(op);
    return operation ? operation->words : 0;
}

bool fused_is(const struct composite_attributes *attributes)
{
    return strcmp(attributes->name, "fused") == 0 || strcmp(attributes->name, "fused_matmul") == 0 ||
           strcmp(attributes->name, "fused_conv") == 0 || strcmp(attributes->name, "layout_conv") == 0;
}

/* --- words ---------------------------------------------------------------------------------------------- */

static uint32_t word_of(const struct fused_step *step)
{
    uint32_t word = (uint32_t)(operation_of((enum op)step->op) - operations) + 1;
    word += (uint32_t)step->kind << OPERATION_BITS;
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
    return word_of(out) == word;
}

/* --- the parameters of a conv --------------------------------------------------------------------------- */

static void write_conv(const struct conv_attributes *conv, uint32_t words[FUSED_CONV_WORDS])
{
    words[0] = conv->groups;
    memcpy(words + 1, conv->stride, sizeof conv->stride);
    memcpy(words + 4, conv->dilation, sizeof conv->dilation);
    memcpy(words + 7, conv->before, sizeof conv->before);
    memcpy(words + 10, conv->after, sizeof conv->after);
}

/* Returns false if a number is too large for a convolution. */
static bool read_conv(const uint32_t words[FUSED_CONV_WORDS], struct conv_attributes *conv)
{
    for (int i = 0; i < FUSED_CONV_WORDS; i++)
        if (words[i] > FIELDS_MAX_NUMBER)
            return false;
    conv->groups = words[0];
    memcpy(conv->stride, words + 1, sizeof conv->stride);
    memcpy(conv->dilation, words + 4, sizeof conv->dilation);
    memcpy(conv->before, words + 7, sizeof conv->before);
    memcpy(conv->after, words + 10, sizeof conv->after);
    return true;
}

/* Returns true if the attributes are those that forge_conv makes, so that read_conv restores them. */
static bool is_plain_conv(const struct conv_attributes *conv)
{
    struct conv_attributes plain = {.accumulate = conv->accumulate};
    uint32_t words[FUSED_CONV_WORDS];
    write_conv(conv, words);
    return read_conv(words, &plain) && memcmp(&plain, conv, sizeof plain) == 0;
}

/* --- all steps ------------------------------------------------------------------------------------------ */

/* Returns the name of the composite that begins with this operation. */
static const char *name_of(enum op first)
{
    const struct operation *operation = operation_of(first);
    return operation && operation->composite ? operation->composite : "fused";
}

/* Returns true if a composite with this name can begin with this operation. */
static bool begins(const char *name, enum op first)
{
    return strcmp(name, name_of(first)) == 0 || (first == OP_CONV && strcmp(name, "layout_conv") == 0);
}

bool fused_write(const struct fused *fused, struct composite_attributes *out)
{
    uint32_t at = 0;
    string_copy(out->name, sizeof out->name, name_of((enum op)fused->steps[0].op));
    for (uint32_t i = 0; i < fused->count; i++) {
        uint32_t words = fused_words((enum op)fused->steps[i].op);
        if (at + words > FUSED_MAX_STEPS)
            return false;
        out->code[at] = word_of(&fused->steps[i]);
        if (fused->steps[i].op == OP_CONV)
            write_conv(&fused->conv, &out->code[at + 1]);
        at += words;
    }
    return true;
}

bool fused_read(const struct composite_attributes *attributes, size_t input_count, struct fused *out)
{
    uint32_t at = 0;
    out->count = 0;
    out->conv = (struct conv_attributes){0};
    for (; at < FUSED_MAX_STEPS && attributes->code[at]; out->count++) {
        struct fused_step *step = &out->steps[out->count];
        if (!read_word(attributes->code[at], input_count, out->count, step))
            return false;
        bool is_product = step->op == OP_MATMUL || step->op == OP_CONV;
        if (out->count == 0 ? !begins(attributes->name, (enum op)step->op) : is_product)
            return false;
        if (step->op == OP_CONV && !read_conv(&attributes->code[at + 1], &out->conv))
            return false;
        at += fused_words((enum op)step->op);
    }
    for (; at < FUSED_MAX_STEPS; at++)
        if (attributes->code[at])
            return false;
    return out->count > 0;
}

bool fused_add(struct fused *fused, const struct node *node, const uint8_t *operands)
{
    const struct operation *operation = operation_of((enum op)node->op);
    if (!operation || (operation->composite && fused->count > 0) || fused->count == FUSED_MAX_STEPS)
        return false;
    struct fused_step step = {.op = node->op, .operand_count = node->input_count};
    if (node->op == OP_UNARY || node->op == OP_BINARY)
        step.kind = (uint8_t)node_kind(node);
    else if (node->op == OP_CAST)
        step.kind = (uint8_t)((const struct cast_attributes *)node->attributes)->dtype;
    else if (node->op == OP_MATMUL)
        step.kind = (uint8_t)((const struct matmul_attributes *)node->attributes)->flags;
    else if (node->op == OP_CONV) {
        if (!is_plain_conv(node->attributes))
            return false;
        fused->conv = *(const struct conv_attributes *)node->attributes;
    }
    for (size_t i = 0; i < node->input_count; i++)
        step.operands[i] = operands[i];
    fused->steps[fused->count++] = step;
    return true;
}
