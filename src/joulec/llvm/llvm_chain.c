/* joulec/llvm/llvm_chain.c - see llvm_module.h: the longest loop-carried dependence chain of each innermost
 * loop.
 *
 * A chain begins at a phi of the header and passes through operations that depend on one another. It ends
 * where its result enters the same phi again. If there are several paths, the path with the highest latency
 * is used, whichever branches are taken. A chain may also pass through memory, if an iteration stores to a
 * location that the next iteration loads. If the location varies, it must lie in the same variable and depend
 * on the loaded value. Cores predict dependences through memory and delay the loads. For each block outside
 * of innermost loops, the critical path of the block is found.
 * Note: chains include the computation of load addresses. A chain through memory uses only accesses that run
 * in each iteration. Their addresses must not follow an induction variable, because later iterations would
 * access other locations.
 */
#include "joulec/llvm/llvm_dependence.h"

/* maximum of a loop's instructions times its phis; larger loops are not searched */
#define MAX_STEPS (1 << 22)
/* maximum of a loop's instructions times its stores; further stores are ignored */
#define MAX_STORE_STEPS (1 << 19)

struct search {
    struct dependence_graph graph; /* of one loop */
    const struct loops *loops;
    size_t loop; /* index of the loop */
    size_t phis; /* number of phis in the loop's header; they are the first nodes */
};

/* Makes *end the end of the path through `operand`, if this path is longer than the current one. *end is not
 * a node of the graph. */
static void extend_end(const struct search *w, struct dependence_node *end, LLVMValueRef operand)
{
    dependence_extend_path(&w->graph, end,
                           (struct dependence){llvm_number_of(&w->graph.numbers, operand), 0});
}

/* Returns the end of the longest chain through the values that enter the phi. */
static struct dependence_node end_at_phi(const struct search *w, size_t first)
{
    struct dependence_node back = dependence_empty_path();
    LLVMValueRef phi = w->graph.list[first].value;
    for (unsigned k = 0; k < LLVMCountIncoming(phi); k++)
        extend_end(w, &back, LLVMGetIncomingValue(phi, k));
    return back;
}

/* --- through memory ------------------------------------------------------------------------------------- */

static void mark_induction_users(struct search *w)
{
    for (size_t i = 0; i < w->graph.count; i++) {
        struct dependence_node *node = &w->graph.list[i];
        node->follows_induction = i < w->phis && llvm_is_induction(node->value);
        bool is_computed = i >= w->phis && !LLVMIsALoadInst(node->value);
        for (uint32_t k = 0; k < node->dependence_count && is_computed; k++)
            node->follows_induction =
                node->follows_induction ||
                w->graph.list[w->graph.dependences[node->first_dependence + k].on].follows_induction;
    }
}

/* Returns true if the load may read what the store wrote in the previous iteration. Then both access the same
 * location, or both access varying locations of one variable. */
static bool may_read_from(const struct search *w, size_t store, size_t load)
{
    LLVMValueRef to = llvm_address_of(w->graph.list[store].value),
                 from = llvm_address_of(w->graph.list[load].value);
    int32_t at = dependence_address_node(&w->graph, load);
    if (dependence_address_node(&w->graph, store) < 0)
        return to == from;
    return llvm_may_alias(w->graph.layout, to, from) && (at < 0 || !w->graph.list[at].follows_induction);
}

/* Returns true for a store whose value the next iteration may read. The address of such a store is computed
 * outside of the loop, or follows no induction variable. */
static bool is_writer(const struct search *w, size_t i)
{
    if (!LLVMIsAStoreInst(w->graph.list[i].value))
        return false;
    int32_t at = dependence_address_node(&w->graph, i);
    return at < 0 || (!w->graph.list[at].follows_induction &&
                      llvm_number_of(&w->graph.numbers,
                                     llvm_underlying_object(llvm_address_of(w->graph.list[i].value))) < 0);
}

/* Returns true if node `i` stores to the same constant address as the writer. */
static bool overwrites(const struct search *w, size_t i, size_t writer)
{
    LLVMValueRef own = LLVMIsAStoreInst(w->graph.list[i].value);
    return own && dependence_address_node(&w->graph, writer) < 0 &&
           llvm_address_of(own) == llvm_address_of(w->graph.list[writer].value);
}

/* Starts chains at the loads that may read what the writer stored in the previous iteration. Returns false if
 * there are none. */
static bool start_at_readers(struct search *w, size_t writer)
{
    /* true: an earlier store of this iteration overwrites the writer's location */
    bool is_overwritten = false;
    bool is_any = false;
    if (!loop_always_runs(w->loops, (int32_t)w->loop, w->graph.list[writer].block))
        return false;
    for (size_t i = 0; i < w->graph.count; i++) {
        struct dependence_node *node = &w->graph.list[i];
        bool is_loaded = LLVMIsALoadInst(node->value) && may_read_from(w, writer, i);
        node->is_begin =
            !is_overwritten && is_loaded && loop_always_runs(w->loops, (int32_t)w->loop, node->block);
        is_any = is_any || node->is_begin;
        is_overwritten = is_overwritten || (overwrites(w, i, writer) &&
                                            loop_always_runs(w->loops, (int32_t)w->loop, node->block));
    }
    return is_any;
}

/* Returns the end of the longest chain through the operands of a store. If the store's address varies, there
 * is a chain only if the address depends on the chain, too. */
static struct dependence_node end_at_store(const struct search *w, size_t writer)
{
    struct dependence_node back = dependence_empty_path();
    int32_t at = dependence_address_node(&w->graph, writer);
    for (unsigned k = 0; k < 2 && (at < 0 || w->graph.list[at].cycles >= 0); k++)
        extend_end(w, &back, LLVMGetOperand(w->graph.list[writer].value, k));
    return back;
}

/* --- one chain ------------------------------------------------------------------------------------------ */

/* Finds the longest chain that returns to node `i`, a phi of the header or a store. Returns the end of the
 * chain; its member `from` is the last node. If its member `cycles` is negative, there is no chain. */
static struct dependence_node find_chain_from(struct search *w, size_t i)
{
    bool is_phi = i < w->phis;
    if (!is_phi && !start_at_readers(w, i))
        return dependence_empty_path();
    for (size_t k = 0; is_phi && k < w->graph.count; k++)
        w->graph.list[k].is_begin = k == i;
    dependence_find_paths(&w->graph, w->phis);
    return is_phi ? end_at_phi(w, i) : end_at_store(w, i);
}

static void mark_load(struct search *w, const struct dependence_node *node)
{
    struct block *block = &w->graph.function->blocks[node->block];
    size_t number = 0;
    for (LLVMValueRef v = LLVMGetPreviousInstruction(node->value); v; v = LLVMGetPreviousInstruction(v))
        number += llvm_address_of(v) != NULL;
    if (number < block->access_count)
        block->accesses[number].is_in_chain = true;
}

/* Marks the loads on a chain that ends at `last`. */
static void mark_loads(struct search *w, int32_t last)
{
    for (int32_t i = last; i >= 0; i = w->graph.list[i].from)
        if (LLVMGetInstructionOpcode(w->graph.list[i].value) == LLVMLoad)
            mark_load(w, &w->graph.list[i]);
}

/* --- blocks --------------------------------------------------------------------------------------------- */

static bool find_critical_path(struct search *w, uint32_t block)
{
    if (!dependence_build(&w->graph, &block, 1))
        return false;
    for (int32_t i = dependence_find_critical_path(&w->graph); i >= 0; i = w->graph.list[i].from)
        dependence_add_work(&w->graph.list[i], w->graph.function->blocks[block].chain);
    return true;
}

/* --- loops ---------------------------------------------------------------------------------------------- */

/* Finds the longest chain of the loop and adds its work to the blocks. Sets *out_is_stored to true if the
 * chain passes through memory. Returns false if the loop is too large. */
static bool find_longest_chain(struct search *w, bool *out_is_stored)
{
    double longest = 0;
    size_t longest_end = 0, visits = 0;
    if (w->phis * w->graph.count > MAX_STEPS)
        return false;
    for (size_t i = 0; i < w->graph.count; i++) {
        bool is_candidate = i < w->phis || is_writer(w, i);
        visits += is_candidate && i >= w->phis ? w->graph.count : 0;
        if (!is_candidate || (i >= w->phis && visits > MAX_STORE_STEPS))
            continue;
        struct dependence_node back = find_chain_from(w, i);
        mark_loads(w, back.from);
        if (back.cycles > longest) {
            longest = back.cycles;
            longest_end = i;
        }
    }
    if (longest > 0) {
        struct dependence_node back = find_chain_from(w, longest_end);
        dependence_add_path(&w->graph, &back);
    }
    *out_is_stored = longest > 0 && longest_end >= w->phis;
    return true;
}

/* Finds the chain of an innermost loop, whose first block is its header. Returns false if out of memory. */
static bool find_chain(struct search *w, size_t loop)
{
    const struct loops *loops = w->loops;
    const uint32_t *blocks = loops->nodes + loops->node_begin[loop + 1];
    size_t block_count = loops->node_begin[loop + 2] - loops->node_begin[loop + 1];
    if (!dependence_build(&w->graph, blocks, block_count))
        return false;
    w->loop = loop;
    for (w->phis = 0; w->phis < w->graph.count && LLVMIsAPHINode(w->graph.list[w->phis].value);)
        w->phis++;
    mark_induction_users(w);
    bool is_stored;
    if (!find_longest_chain(w, &is_stored))
        return true;
    for (size_t i = 0; i < block_count; i++) {
        w->graph.function->blocks[blocks[i]].has_chain = true;
        w->graph.function->blocks[blocks[i]].is_chain_stored = is_stored;
    }
    w->graph.function->blocks[blocks[0]].is_entry_independent =
        llvm_is_entry_independent(w->graph.from, loops, loop, &w->graph.numbers);
    return true;
}

/* Sets has_chain in those blocks of an outer loop that are in no inner loop, if all phis of the outer header
 * are induction variables. The work of these blocks then does not depend on the previous iteration. */
static void find_outer_chain(const struct search *w, const struct loops *loops, size_t loop)
{
    const uint32_t *nodes = loops->nodes + loops->node_begin[loop + 1];
    size_t count = loops->node_begin[loop + 2] - loops->node_begin[loop + 1];
    LLVMValueRef value = LLVMGetFirstInstruction(w->graph.from[nodes[0]]);
    for (; value && LLVMIsAPHINode(value); value = LLVMGetNextInstruction(value))
        if (!llvm_is_induction(value))
            return;
    for (size_t i = 0; i < count; i++)
        if (loops->innermost[nodes[i]] == (int32_t)loop)
            w->graph.function->blocks[nodes[i]].has_chain = true;
}

bool llvm_find_chains(LLVMTargetDataRef layout, LLVMBasicBlockRef *from, struct function *function,
                      const struct loops *loops)
{
    struct arena scratch = {0};
    struct search w = {{.arena = &scratch, .layout = layout, .from = from, .function = function}, loops};
    bool is_good = true;
    for (size_t i = 0; i < loops->count && is_good; i++)
        if (loops->list[i].is_outer)
            find_outer_chain(&w, loops, i);
        else
            is_good = find_chain(&w, i);
    for (uint32_t b = 0; b < function->block_count && is_good; b++) {
        int32_t loop = loops->innermost[b];
        if (!function->blocks[b].has_chain && (loop < 0 || loops->list[loop].is_outer))
            is_good = find_critical_path(&w, b);
    }
    arena_free(&scratch);
    return is_good;
}
