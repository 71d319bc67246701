/* joulec/llvm/llvm_dependence.c - see llvm_dependence.h. */
#include "joulec/llvm/llvm_dependence.h"

/* Assumed latency of a call, in cycles, when chains are compared. The work of the call is added elsewhere. */
#define CALL_CYCLES 10

/* --- building the graph --------------------------------------------------------------------------------- */

static size_t max_dependences(const struct dependence_graph *s)
{
    size_t max = 0;
    for (size_t i = 0; i < s->count; i++)
        max += (size_t)LLVMGetNumOperands(s->list[i].value);
    return max;
}

static void describe(struct dependence_node *node)
{
    bool is_call = node->call;
    node->latency = is_call ? CALL_CYCLES : llvm_latency(llvm_work(node->value));
    node->ready_factor = is_call                           ? 1
                         : LLVMGetNumOperands(node->value) ? llvm_latency_factor(node->value, 0)
                                                           : 0;
}

/* Lists the dependences of each node. All searches use this list. */
static bool list_dependences(struct dependence_graph *s)
{
    uint32_t count = 0;
    s->dependences = arena_alloc(s->arena, (max_dependences(s) + 1) * sizeof *s->dependences);
    for (size_t i = 0; i < s->count && s->dependences; i++) {
        struct dependence_node *node = &s->list[i];
        describe(node);
        node->first_dependence = count;
        for (int k = 0; k < LLVMGetNumOperands(node->value); k++) {
            int32_t on = llvm_number_of(&s->numbers, LLVMGetOperand(node->value, (unsigned)k));
            if (on >= 0)
                s->dependences[count++] =
                    (struct dependence){on, node->call ? 1 : llvm_latency_factor(node->value, (unsigned)k)};
        }
        node->dependence_count = count - node->first_dependence;
    }
    return s->dependences != NULL;
}

static void add_block(struct dependence_graph *s, uint32_t number)
{
    struct block *block = &s->function->blocks[number];
    size_t calls = 0;
    for (LLVMValueRef v = LLVMGetFirstInstruction(s->from[number]); v; v = LLVMGetNextInstruction(v)) {
        bool is_call = llvm_is_real_call(v) && calls < block->call_count;
        s->list[s->count++] = (struct dependence_node){
            .value = v, .block = number, .call = is_call ? &block->calls[calls++] : NULL};
    }
}

bool dependence_build(struct dependence_graph *s, const uint32_t *blocks, size_t block_count)
{
    size_t count = 0;
    for (size_t i = 0; i < block_count; i++)
        for (LLVMValueRef v = LLVMGetFirstInstruction(s->from[blocks[i]]); v; v = LLVMGetNextInstruction(v))
            count++;
    s->list = arena_alloc(s->arena, (count + 1) * sizeof *s->list);
    LLVMValueRef *values = arena_alloc(s->arena, (count + 1) * sizeof *values);
    if (!s->list || !values)
        return false;
    s->count = 0;
    for (size_t i = 0; i < block_count; i++)
        add_block(s, blocks[i]);
    for (size_t i = 0; i < count; i++)
        values[i] = s->list[i].value;
    return llvm_number_all(s->arena, (void *const *)values, count, &s->numbers) && list_dependences(s);
}

int32_t dependence_address_node(const struct dependence_graph *s, size_t access)
{
    return llvm_number_of(&s->numbers, llvm_address_of(s->list[access].value));
}

/* --- paths ---------------------------------------------------------------------------------------------- */

struct dependence_node dependence_empty_path(void)
{
    return (struct dependence_node){.cycles = -1, .from = -1};
}

void dependence_extend_path(const struct dependence_graph *s, struct dependence_node *node,
                            struct dependence dependence)
{
    double operand_cycles = dependence.on >= 0 ? s->list[dependence.on].cycles : -1;
    if (operand_cycles >= 0 && operand_cycles + dependence.times * node->latency > node->cycles) {
        node->cycles = operand_cycles + dependence.times * node->latency;
        node->from = dependence.on;
        node->path_factor = dependence.times;
    }
}

/* Finds the longest path to a node. The path begins at the node, or leads through an operand. In irreducible
 * cycles, an operand may be later in the list than the node; it is then ignored. */
static void find_path_to(const struct dependence_graph *s, size_t number, bool is_begin, bool has_dependences)
{
    struct dependence_node *node = &s->list[number];
    node->from = -1;
    node->path_factor = is_begin && has_dependences ? node->ready_factor : 0;
    node->cycles = is_begin ? node->path_factor * node->latency : -1;
    for (uint32_t i = node->first_dependence;
         i < node->first_dependence + node->dependence_count && has_dependences; i++)
        if (s->dependences[i].on < (int32_t)number)
            dependence_extend_path(s, node, s->dependences[i]);
}

void dependence_find_paths(struct dependence_graph *s, size_t phis)
{
    for (size_t i = 0; i < s->count; i++)
        find_path_to(s, i, s->list[i].is_begin, i >= phis);
}

int32_t dependence_find_critical_path(struct dependence_graph *s)
{
    int32_t last = -1;
    for (size_t i = 0; i < s->count; i++) {
        find_path_to(s, i, true, true);
        if (last < 0 || s->list[i].cycles > s->list[last].cycles)
            last = (int32_t)i;
    }
    return last;
}

void dependence_add_work(const struct dependence_node *node, double out_chain[WORK_KINDS])
{
    enum work work = llvm_work(node->value);
    if (!node->call && work < WORK_KINDS)
        out_chain[work] += node->path_factor;
}

void dependence_add_path(struct dependence_graph *s, const struct dependence_node *end)
{
    for (int32_t i = end->from; i >= 0; i = s->list[i].from)
        dependence_add_work(&s->list[i], s->function->blocks[s->list[i].block].chain);
}
