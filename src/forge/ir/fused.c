/* ir/fused.c - see fused.h.
 *
 * A word has the bits 0 to 2 for the operation (0: the code ends), 3 to 9 for the kind, and 7 bits for each
 * of three operands. More words follow for two operations:
 * - after a conv FUSED_CONV_WORDS words: groups, stride, dilation and both paddings. If its kind, which is
 *   its flags, is not 0, also FLAGGED_WORDS words: the members `extra` and `size`
 * - after a row operation two words. The first has 3 bits for the number of operands and 7 bits for each of
 *   the operands 3 and 4. The second has the wanted gradients of a gradient; or the axes of a reduction and,
 *   in bit 8, whether it keeps them. The other parameters of a row operation are those of the whole
 *   composite: `reals` and `numbers`. */
#include "forge/ir/fused.h"

#include <string.h>
#include "base/string.h"
#include "forge/ir/fields.h"

enum {
    OPERATION_BITS = 3,
    KIND_BITS = 7,
    OPERAND_BITS = 7,
    WORD_OPERANDS = 3,
    ROW_WORDS = 2,
    FLAGGED_WORDS = 6
};
/* The kind of a reduction in a word is its forge_reduce_kind plus REDUCE_KINDS. */
enum { REDUCE_KINDS = 64 };

/* An operation: its number in a word is its position in the table plus 1. */
static const struct operation {
    enum op op;
    uint8_t operands;
    uint32_t kinds;
    uint32_t words;        /* at most */
    const char *composite; /* name of the composites that contain it once; NULL: it can be any step */
} operations[] = {
    {OP_UNARY, 1, FORGE_UNARY_KINDS, 1, NULL},
    {OP_BINARY, 2, FORGE_BINARY_KINDS, 1, NULL},
    {OP_SELECT, 3, 1, 1, NULL},
    {OP_CAST, 1, 1 << KIND_BITS, 1, NULL},
    {OP_MATMUL, 2, 4, 1, "fused_matmul"},
    {OP_CONV, 2, 4, 1 + FUSED_CONV_WORDS + FLAGGED_WORDS, "fused_conv"},
    {OP_COMPOSITE, WORD_OPERANDS, 1 << KIND_BITS, 1 + ROW_WORDS, "fused_rows"}, /* also reductions */
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

static const char *const row_names[FUSED_ROWS] = {
    [FUSED_SOFTMAX] = "softmax",
    [FUSED_LOG_SOFTMAX] = "log_softmax",
    [FUSED_LAYER_NORM] = "layer_norm",
    [FUSED_RMS_NORM] = "rms_norm",
    [FUSED_BATCH_NORM_TRAINING] = "batch_norm_training",
    [FUSED_SOFTMAX_GRADIENT] = "softmax.gradient",
    [FUSED_LOG_SOFTMAX_GRADIENT] = "log_softmax.gradient",
    [FUSED_LAYER_NORM_GRADIENT] = "layer_norm.gradient",
    [FUSED_RMS_NORM_GRADIENT] = "rms_norm.gradient",
    [FUSED_BATCH_NORM_GRADIENT] = "batch_norm_training.gradient",
};

enum fused_row fused_row_of(const char *name)
{
    int row = 0;
    while (row < FUSED_ROWS && strcmp(row_names[row], name) != 0)
        row++;
    return (enum fused_row)row;
}

static const struct operation *operation_of(enum op op)
{
    for (size_t i = 0; i < OPERATIONS; i++)
        if (operations[i].op == op || (op == OP_REDUCE && operations[i].op == OP_COMPOSITE))
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
    if (strcmp(attributes->name, "fused") == 0 || strcmp(attributes->name, "layout_conv") == 0)
        return true;
    for (size_t i = 0; i < OPERATIONS; i++)
        if (operations[i].composite && strcmp(attributes->name, operations[i].composite) == 0)
            return true;
    return false;
}

/* --- words ---------------------------------------------------------------------------------------------- */

static uint32_t word_of(const struct fused_step *step)
{
    uint32_t word = (uint32_t)(operation_of((enum op)step->op) - operations) + 1;
    word += (uint32_t)(step->kind + (step->op == OP_REDUCE ? REDUCE_KINDS : 0)) << OPERATION_BITS;
    for (int i = 0; i < step->operand_count && i < WORD_OPERANDS; i++)
        word += (uint32_t)step->operands[i] << (OPERATION_BITS + KIND_BITS + OPERAND_BITS * i);
    return word;
}

/* Returns the bits [first, first + count) of a word. */
static uint32_t bits_of(uint32_t word, int first, int count)
{
    return word >> first & ((1u << count) - 1);
}

static bool has_operands(const struct fused_step *step, size_t input_count, size_t step_count)
{
    for (int i = 0; i < step->operand_count; i++) {
        uint8_t operand = step->operands[i];
        size_t limit = operand < FUSED_MAX_INPUTS ? input_count : FUSED_MAX_INPUTS + step_count;
        if (operand >= limit)
            return false;
    }
    return true;
}

/* Reads the operation, the kind and the first operands of a step. */
static bool read_word(uint32_t word, struct fused_step *out)
{
    uint32_t number = bits_of(word, 0, OPERATION_BITS), kind = bits_of(word, OPERATION_BITS, KIND_BITS);
    if (number < 1 || number > OPERATIONS || kind >= operations[number - 1].kinds)
        return false;
    const struct operation *operation = &operations[number - 1];
    *out = (struct fused_step){(uint8_t)operation->op, (uint8_t)kind, operation->operands, {0}};
    if (operation->op == OP_CAST && forge_dtype_block_elements((forge_dtype)kind) != 1)
        return false;
    if (operation->op == OP_COMPOSITE && kind >= REDUCE_KINDS) {
        out->op = OP_REDUCE;
        out->kind = (uint8_t)(kind - REDUCE_KINDS);
    }
    for (int i = 0; i < operation->operands; i++)
        out->operands[i] =
            (uint8_t)bits_of(word, OPERATION_BITS + KIND_BITS + OPERAND_BITS * i, OPERAND_BITS);
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

static void write_flagged(const struct conv_attributes *conv, uint32_t words[FLAGGED_WORDS])
{
    for (int i = 0; i < 3; i++) {
        words[i] = conv->extra[i];
        words[3 + i] = (uint32_t)conv->size[i];
    }
}

/* Returns the number of words of a step. */
static uint32_t words_of(const struct fused_step *step)
{
    uint32_t words = fused_words((enum op)step->op);
    return step->op == OP_CONV && step->kind == 0 ? words - FLAGGED_WORDS : words;
}

/* Returns false if a number is too large for a convolution. */
static bool read_conv(uint32_t flags, const uint32_t *words, struct conv_attributes *conv)
{
    for (int i = 0; i < FUSED_CONV_WORDS + (flags ? FLAGGED_WORDS : 0); i++)
        if (words[i] > FIELDS_MAX_NUMBER)
            return false;
    conv->flags = flags;
    for (int i = 0; flags && i < 3; i++) {
        conv->extra[i] = words[FUSED_CONV_WORDS + i];
        conv->size[i] = (forge_dim)words[FUSED_CONV_WORDS + 3 + i];
    }
    conv->groups = words[0];
    memcpy(conv->stride, words + 1, sizeof conv->stride);
    memcpy(conv->dilation, words + 4, sizeof conv->dilation);
    memcpy(conv->before, words + 7, sizeof conv->before);
    memcpy(conv->after, words + 10, sizeof conv->after);
    return true;
}

/* Returns true if read_conv restores the attributes: there are no symbols. */
static bool is_plain_conv(const struct conv_attributes *conv)
{
    struct conv_attributes plain = {.accumulate = conv->accumulate};
    uint32_t words[FUSED_CONV_WORDS + FLAGGED_WORDS];
    write_conv(conv, words);
    write_flagged(conv, words + FUSED_CONV_WORDS);
    return conv->flags < 4 && read_conv(conv->flags, words, &plain) &&
           memcmp(&plain, conv, sizeof plain) == 0;
}

/* --- the parameters of a row operation ------------------------------------------------------------------ */

static void write_row(const struct fused *fused, const struct fused_step *step, uint32_t words[ROW_WORDS],
                      struct composite_attributes *out)
{
    words[0] = step->operand_count;
    for (int i = WORD_OPERANDS; i < step->operand_count; i++)
        words[0] += (uint32_t)step->operands[i] << (3 + OPERAND_BITS * (i - WORD_OPERANDS));
    words[1] = step->op == OP_REDUCE ? fused->reduce.axes + (fused->reduce.keep_dims << FORGE_MAX_RANK)
                                     : fused->row.wanted;
    if (step->op == OP_REDUCE)
        return;
    memcpy(out->reals, fused->row.reals, sizeof out->reals);
    memcpy(out->numbers, fused->row.numbers, sizeof out->numbers);
}

static bool read_reduction(const struct fused_step *step, uint32_t word, struct reduce_attributes *out)
{
    *out = (struct reduce_attributes){.kind = step->kind,
                                      .axes = bits_of(word, 0, FORGE_MAX_RANK),
                                      .keep_dims = bits_of(word, FORGE_MAX_RANK, 1)};
    return step->kind < FORGE_REDUCE_KINDS && step->operand_count == 1 && word >> (FORGE_MAX_RANK + 1) == 0;
}

static bool read_row(const struct composite_attributes *attributes, const uint32_t words[ROW_WORDS],
                     struct fused_step *step, struct fused *out)
{
    step->operand_count = (uint8_t)bits_of(words[0], 0, 3);
    if (step->operand_count < 1 || step->operand_count > FUSED_MAX_OPERANDS)
        return false;
    for (int i = WORD_OPERANDS; i < FUSED_MAX_OPERANDS; i++)
        step->operands[i] = (uint8_t)bits_of(words[0], 3 + OPERAND_BITS * (i - WORD_OPERANDS), OPERAND_BITS);
    for (int i = step->operand_count; i < FUSED_MAX_OPERANDS; i++)
        if (step->operands[i])
            return false;
    if (step->op == OP_REDUCE)
        return read_reduction(step, words[1], &out->reduce) && words[0] == 1;
    if (step->kind >= FUSED_ROWS || words[0] >> (3 + 2 * OPERAND_BITS))
        return false;
    bool is_gradient = fused_is_gradient((enum fused_row)step->kind);
    if (is_gradient ? words[1] < 1 || words[1] >> (step->operand_count - 1) : words[1] > 0)
        return false;
    string_copy(out->row.name, sizeof out->row.name, row_names[step->kind]);
    out->row.wanted = words[1];
    out->row.given = is_gradient;
    memcpy(out->row.reals, attributes->reals, sizeof out->row.reals);
    memcpy(out->row.numbers, attributes->numbers, sizeof out->row.numbers);
    return true;
}

/* --- all steps ------------------------------------------------------------------------------------------ */

uint32_t fused_product(const struct fused *fused)
{
    uint32_t i = 0;
    while (i < fused->count && !operation_of((enum op)fused->steps[i].op)->composite)
        i++;
    return i;
}

uint32_t fused_outputs(const struct fused *fused)
{
    uint32_t product = fused_product(fused);
    if (product == fused->count || fused->steps[product].op != OP_COMPOSITE)
        return 1;
    if (fused_is_gradient((enum fused_row)fused->steps[product].kind))
        return (uint32_t)__builtin_popcount(fused->row.wanted);
    return fused->steps[product].kind == FUSED_BATCH_NORM_TRAINING ? 3 : 1;
}

/* Returns the name of a composite with these steps. */
static const char *name_of(const struct fused *fused)
{
    uint32_t product = fused_product(fused);
    return product < fused->count ? operation_of((enum op)fused->steps[product].op)->composite : "fused";
}

/* Returns true if an operation may be the next step: at most one step is a product or a row operation, and a
 * product is the first step. */
static bool may_follow(const struct fused *fused, enum op op)
{
    bool is_row = fused_is_row(op);
    return !operation_of(op)->composite ||
           (fused_product(fused) == fused->count && (is_row || fused->count == 0));
}

/* Returns true if a composite with this name can have these steps. */
static bool fits_name(const char *name, const struct fused *fused)
{
    return strcmp(name, name_of(fused)) == 0 ||
           (fused->steps[0].op == OP_CONV && strcmp(name, "layout_conv") == 0);
}

bool fused_write(const struct fused *fused, struct composite_attributes *out)
{
    uint32_t at = 0;
    string_copy(out->name, sizeof out->name, name_of(fused));
    for (uint32_t i = 0; i < fused->count; i++) {
        uint32_t words = words_of(&fused->steps[i]);
        if (at + words > FUSED_MAX_STEPS)
            return false;
        out->code[at] = word_of(&fused->steps[i]);
        if (fused->steps[i].op == OP_CONV)
            write_conv(&fused->conv, &out->code[at + 1]);
        if (fused->steps[i].op == OP_CONV && fused->steps[i].kind)
            write_flagged(&fused->conv, &out->code[at + 1 + FUSED_CONV_WORDS]);
        if (fused_is_row((enum op)fused->steps[i].op))
            write_row(fused, &fused->steps[i], &out->code[at + 1], out);
        at += words;
    }
    return true;
}

/* Reads the step at code[at]. Returns false if it is invalid, or has no place. */
static bool read_step(const struct composite_attributes *attributes, uint32_t at, size_t input_count,
                      struct fused *out)
{
    struct fused_step *step = &out->steps[out->count];
    if (!read_word(attributes->code[at], step) || at + words_of(step) > FUSED_MAX_STEPS)
        return false;
    if (!may_follow(out, (enum op)step->op))
        return false;
    if (step->op == OP_CONV && !read_conv(step->kind, &attributes->code[at + 1], &out->conv))
        return false;
    if (fused_is_row((enum op)step->op) && !read_row(attributes, &attributes->code[at + 1], step, out))
        return false;
    return has_operands(step, input_count, out->count);
}

bool fused_read(const struct composite_attributes *attributes, size_t input_count, struct fused *out)
{
    uint32_t at = 0;
    out->count = 0;
    out->conv = (struct conv_attributes){0};
    out->reduce = (struct reduce_attributes){0};
    out->row = (struct composite_attributes){0};
    for (; at < FUSED_MAX_STEPS && attributes->code[at]; out->count++) {
        if (!read_step(attributes, at, input_count, out))
            return false;
        at += words_of(&out->steps[out->count]);
    }
    for (; at < FUSED_MAX_STEPS; at++)
        if (attributes->code[at])
            return false;
    return out->count > 0 && fits_name(attributes->name, out);
}

/* Sets the kind of a step, and the parameters of a product or row operation. */
static bool set_kind(struct fused *fused, const struct node *node, struct fused_step *step)
{
    switch (node->op) {
    case OP_UNARY:
    case OP_BINARY:
        step->kind = (uint8_t)node_kind(node);
        return true;
    case OP_CAST:
        step->kind = (uint8_t)((const struct cast_attributes *)node->attributes)->dtype;
        return true;
    case OP_MATMUL:
        step->kind = (uint8_t)((const struct matmul_attributes *)node->attributes)->flags;
        return true;
    case OP_CONV:
        fused->conv = *(const struct conv_attributes *)node->attributes;
        step->kind = (uint8_t)fused->conv.flags;
        return is_plain_conv(node->attributes);
    case OP_REDUCE:
        fused->reduce = *(const struct reduce_attributes *)node->attributes;
        step->kind = (uint8_t)fused->reduce.kind;
        return true;
    case OP_COMPOSITE:
        fused->row = *(const struct composite_attributes *)node->attributes;
        step->kind = (uint8_t)fused_row_of(fused->row.name);
        return step->kind < FUSED_ROWS && fused->row.given == fused_is_gradient((enum fused_row)step->kind);
    default:
        return true;
    }
}

bool fused_add(struct fused *fused, const struct node *node, const uint8_t *operands)
{
    const struct operation *operation = operation_of((enum op)node->op);
    struct fused_step step = {.op = node->op, .operand_count = node->input_count};
    if (!operation || fused->count == FUSED_MAX_STEPS || node->input_count > FUSED_MAX_OPERANDS)
        return false;
    if (!may_follow(fused, (enum op)node->op) || !set_kind(fused, node, &step))
        return false;
    for (size_t i = 0; i < node->input_count; i++)
        step.operands[i] = operands[i];
    fused->steps[fused->count++] = step;
    return true;
}

forge_dtype fused_dtype(const struct fused_step *step, const forge_dtype *dtypes)
{
    switch (step->op) {
    case OP_UNARY:
        return step->kind == FORGE_IS_NAN ? FORGE_BOOL : dtypes[step->operands[0]];
    case OP_BINARY:
        return step->kind >= FORGE_EQ ? FORGE_BOOL : dtypes[step->operands[0]];
    case OP_SELECT:
        return dtypes[step->operands[1]];
    case OP_CAST:
        return (forge_dtype)step->kind;
    default:
        return dtypes[step->operands[0]];
    }
}
