/* joulec/llvm/llvm_monotonic_phi.c - see llvm_module.h: phis of loop headers that change in one direction
 * only, by bounded steps that depend on data, such as the output index of a filter.
 *
 * Scalar evolution describes only steps that are the same in each iteration. A phi of a loop header is
 * monotonic if every value that enters it along a back edge is the phi itself plus increments of one sign.
 * Note: integers are assumed not to wrap. A phi is not monotonic if it is set to another value, is loaded
 * from memory, or is changed in an inner loop.
 */
#include "joulec/llvm/llvm_module.h"

#include <math.h>
#include "base/string.h"

/* maximum number of values between a phi and its back edges; phis with more values are ignored */
#define MAX_STEPS  64
#define MAX_VISITS 256 /* maximum number of operations that are visited in the increments of one phi */
#define MAX_DEPTH  16  /* maximum nesting of operations in an increment */
/* maximum number of bits of an increment after a mask or a shift; larger increments count as arbitrary
 * jumps */
#define MAX_BITS 8

struct range {
    double low, high;
};

/* A visited value, and the range of its difference from the phi. */
struct step {
    LLVMValueRef value;
    struct range range;
    bool is_known;
};

struct search {
    struct arena *arena;
    LLVMTargetDataRef layout;
    const struct numbering *blocks;
    const struct loops *loops;
    int32_t loop;
    LLVMValueRef phi; /* of the loop's header */
    struct step steps[MAX_STEPS];
    size_t count, visits;
};

static struct range join(struct range a, struct range b)
{
    return (struct range){fmin(a.low, b.low), fmax(a.high, b.high)};
}

/* Returns a + b * scale. */
static struct range add_scaled(struct range a, struct range b, double scale)
{
    double low = fmin(scale * b.low, scale * b.high), high = fmax(scale * b.low, scale * b.high);
    return (struct range){a.low + low, a.high + high};
}

/* Returns the index of a block; -1: the block is unreachable. */
static int32_t number_of(const struct search *w, LLVMBasicBlockRef block)
{
    int32_t number = llvm_number_of(w->blocks, block);
    return number >= 0 && w->loops->flow.rank[number] != FLOW_NONE ? number : -1;
}

static bool is_inside(const struct search *w, LLVMBasicBlockRef block)
{
    int32_t number = number_of(w, block);
    return number >= 0 && loop_has(w->loops, w->loop, (uint32_t)number);
}

/* Returns true for a phi in the header of any loop, because its value depends on the iteration. */
static bool is_of_header(const struct search *w, LLVMValueRef phi)
{
    int32_t block = number_of(w, LLVMGetInstructionParent(phi));
    int32_t loop = block < 0 ? -1 : w->loops->innermost[block];
    return block < 0 || (loop >= 0 && w->loops->list[loop].header == (uint32_t)block);
}

/* --- increments ----------------------------------------------------------------------------------------- */

static bool constant_of(LLVMValueRef value, double *out)
{
    int64_t number;
    bool is = llvm_constant(value, &number);
    if (is)
        *out = (double)number;
    return is;
}

static bool increment_of(struct search *w, LLVMValueRef value, unsigned depth, struct range *out);

/* Sets *out to the union of the ranges of the incoming values. Returns false if one of them is unknown. */
static bool increment_of_phi(struct search *w, LLVMValueRef phi, unsigned depth, struct range *out)
{
    struct range all = {INFINITY, -INFINITY}, one;
    if (is_of_header(w, phi))
        return false;
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        if (!increment_of(w, LLVMGetIncomingValue(phi, i), depth, &one))
            return false;
        all = join(all, one);
    }
    *out = all;
    return true;
}

static bool increments_of_two(struct search *w, LLVMValueRef value, unsigned first, unsigned depth,
                              struct range out[2])
{
    return increment_of(w, LLVMGetOperand(value, first), depth, &out[0]) &&
           increment_of(w, LLVMGetOperand(value, first + 1), depth, &out[1]);
}

/* Bounds the result of a mask or of a shift to the right. */
static bool increment_of_bits(LLVMValueRef value, struct range *out)
{
    double by;
    if (!constant_of(LLVMGetOperand(value, 1), &by) || by < 0)
        return false;
    bool is_mask = LLVMGetInstructionOpcode(value) == LLVMAnd;
    *out = (struct range){0, is_mask ? by : exp2(llvm_integer_bits(value) - by) - 1};
    return out->high < exp2(MAX_BITS);
}

/* Bounds the result of a population count. */
static bool increment_of_call(LLVMValueRef value, struct range *out)
{
    LLVMValueRef callee = llvm_called_function(value);
    *out = (struct range){0, llvm_integer_bits(value)};
    return callee && out->high > 0 && string_starts(LLVMGetValueName2(callee, &(size_t){0}), "llvm.ctpop.");
}

static bool is_bit(LLVMValueRef value)
{
    return llvm_integer_bits(value) == 1;
}

/* Sets *out to the range of an integer. Returns false if the range is unknown. */
static bool increment_of(struct search *w, LLVMValueRef value, unsigned depth, struct range *out)
{
    struct range two[2];
    if (depth == MAX_DEPTH || ++w->visits > MAX_VISITS)
        return false;
    if (constant_of(value, &out->low)) {
        out->high = out->low;
        return true;
    }
    if (!LLVMIsAInstruction(value))
        return false;
    LLVMValueRef first = LLVMGetNumOperands(value) ? LLVMGetOperand(value, 0) : NULL;
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMZExt:
        *out = (struct range){0, 1};
        return is_bit(first) || (increment_of(w, first, depth + 1, out) && out->low >= 0);
    case LLVMSExt:
        *out = (struct range){-1, 0};
        return is_bit(first) || increment_of(w, first, depth + 1, out);
    case LLVMTrunc:
        return increment_of(w, first, depth + 1, out);
    case LLVMAnd:
    case LLVMLShr:
        return increment_of_bits(value, out);
    case LLVMCall:
        return increment_of_call(value, out);
    case LLVMAdd:
    case LLVMSub:
        if (!increments_of_two(w, value, 0, depth + 1, two))
            return false;
        *out = add_scaled(two[0], two[1], LLVMGetInstructionOpcode(value) == LLVMAdd ? 1 : -1);
        return true;
    case LLVMSelect:
        if (!increments_of_two(w, value, 1, depth + 1, two))
            return false;
        *out = join(two[0], two[1]);
        return true;
    case LLVMPHI:
        return increment_of_phi(w, value, depth + 1, out);
    default:
        return false;
    }
}

/* --- values of back edges ------------------------------------------------------------------------------- */

static bool change_of_value(struct search *w, LLVMValueRef value, struct range *out);

static bool change_of_sum(struct search *w, LLVMValueRef value, struct range *out)
{
    struct range increment;
    bool is_sub = LLVMGetInstructionOpcode(value) == LLVMSub;
    LLVMValueRef left = LLVMGetOperand(value, 0), right = LLVMGetOperand(value, 1);
    if (!increment_of(w, right, 0, &increment)) {
        LLVMValueRef other = left;
        left = right;
        if (is_sub || !increment_of(w, other, 0, &increment))
            return false;
    }
    if (!change_of_value(w, left, out))
        return false;
    *out = add_scaled(*out, increment, is_sub ? -1 : 1);
    return true;
}

/* Handles an address with one index. */
static bool change_of_address(struct search *w, LLVMValueRef value, struct range *out)
{
    struct range increment;
    LLVMTypeRef type = LLVMGetGEPSourceElementType(value);
    double size = llvm_size_of(w->layout, type);
    if (LLVMGetNumOperands(value) != 2 || isnan(size) ||
        !increment_of(w, LLVMGetOperand(value, 1), 0, &increment) ||
        !change_of_value(w, LLVMGetOperand(value, 0), out))
        return false;
    *out = add_scaled(*out, increment, size);
    return true;
}

/* Sets *out to the union of the changes of the values that enter the phi from inside the loop. */
static bool change_of_incoming(struct search *w, LLVMValueRef phi, struct range *out)
{
    struct range all = {INFINITY, -INFINITY}, one;
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        if (!is_inside(w, LLVMGetIncomingBlock(phi, i)))
            continue;
        if (!change_of_value(w, LLVMGetIncomingValue(phi, i), &one))
            return false;
        all = join(all, one);
    }
    *out = all;
    return true;
}

static bool change_of_choice(struct search *w, LLVMValueRef value, struct range *out)
{
    struct range other;
    if (!change_of_value(w, LLVMGetOperand(value, 1), out) ||
        !change_of_value(w, LLVMGetOperand(value, 2), &other))
        return false;
    *out = join(*out, other);
    return true;
}

static bool change_of_operation(struct search *w, LLVMValueRef value, struct range *out)
{
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMAdd:
    case LLVMSub:
        return change_of_sum(w, value, out);
    case LLVMGetElementPtr:
        return change_of_address(w, value, out);
    case LLVMSelect:
        return change_of_choice(w, value, out);
    case LLVMPHI:
        return !is_of_header(w, value) && change_of_incoming(w, value, out);
    case LLVMZExt:
    case LLVMSExt:
    case LLVMTrunc:
    case LLVMBitCast:
    case LLVMFreeze:
        return change_of_value(w, LLVMGetOperand(value, 0), out);
    default:
        return false;
    }
}

/* Sets *out to the range of `value` minus the phi in the same iteration. Each value is visited once. Returns
 * false if the range is unknown. */
static bool change_of_value(struct search *w, LLVMValueRef value, struct range *out)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->steps[i].value == value) {
            *out = w->steps[i].range;
            return w->steps[i].is_known;
        }
    if (!LLVMIsAInstruction(value) || !is_inside(w, LLVMGetInstructionParent(value)) || w->count == MAX_STEPS)
        return false;
    size_t here = w->count++;
    w->steps[here] = (struct step){.value = value};
    if (!change_of_operation(w, value, out))
        return false;
    w->steps[here].range = *out;
    w->steps[here].is_known = true;
    return true;
}

/* --- monotonic phis ------------------------------------------------------------------------------------- */

/* Sets *out to the change of the phi per iteration. Returns false if the change is unknown, constant, or may
 * have both signs. */
static bool change_of_phi(struct search *w, struct range *out)
{
    w->steps[0] = (struct step){.value = w->phi, .is_known = true};
    w->count = 1;
    w->visits = 0;
    return change_of_incoming(w, w->phi, out) && out->low < out->high && (out->low >= 0 || out->high <= 0);
}

/* Returns the initial value; NULL: there are several. */
static LLVMValueRef initial_value_of(const struct search *w)
{
    LLVMValueRef start = NULL;
    for (unsigned i = 0; i < LLVMCountIncoming(w->phi); i++) {
        LLVMValueRef value = LLVMGetIncomingValue(w->phi, i);
        if (is_inside(w, LLVMGetIncomingBlock(w->phi, i)))
            continue;
        if (start && start != value)
            return NULL;
        start = value;
    }
    return start;
}

static bool add(struct search *w, struct block *header, LLVMValueRef value, struct range range,
                LLVMValueRef from)
{
    struct monotonic_phi *monotonic_phi = arena_alloc(w->arena, sizeof *monotonic_phi);
    if (!monotonic_phi)
        return false;
    *monotonic_phi = (struct monotonic_phi){
        .name = llvm_address_name(w->arena, value), .low = range.low, .high = range.high, .from = ""};
    if (!constant_of(from, &monotonic_phi->constant))
        monotonic_phi->from = llvm_address_name(w->arena, from);
    struct monotonic_phi **list =
        arena_push(w->arena, header->monotonic_phis, header->monotonic_phi_count, monotonic_phi);
    if (!list || !monotonic_phi->name || !monotonic_phi->from)
        return false;
    header->monotonic_phis = list;
    header->monotonic_phi_count++;
    return true;
}

/* Returns true for values that equal the phi or lie slightly beyond the phi, although scalar evolution gives
 * them names of their own. */
static bool is_equal_or_beyond(const struct step *step)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(step->value);
    return step->is_known && (opcode == LLVMPHI || opcode == LLVMSelect || opcode == LLVMFreeze);
}

static bool read_phi(struct search *w, struct block *header)
{
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(w->phi));
    LLVMValueRef start = initial_value_of(w);
    struct range change;
    if ((kind != LLVMIntegerTypeKind && kind != LLVMPointerTypeKind) || !start || !change_of_phi(w, &change))
        return true;
    bool is_good = add(w, header, w->phi, change, start);
    for (size_t i = 1; i < w->count && is_good; i++)
        if (is_equal_or_beyond(&w->steps[i]))
            is_good = add(w, header, w->steps[i].value, (struct range){0, 0}, w->phi);
    return is_good;
}

bool llvm_find_monotonic_phis(struct arena *arena, LLVMTargetDataRef layout, LLVMBasicBlockRef *from,
                              const struct numbering *blocks, struct function *function,
                              const struct loops *loops)
{
    struct search w = {.arena = arena, .layout = layout, .blocks = blocks, .loops = loops};
    bool is_good = true;
    for (size_t i = 0; i < loops->count && !loops->is_irregular; i++) {
        uint32_t header = loops->list[i].header;
        w.loop = (int32_t)i;
        w.phi = LLVMGetFirstInstruction(from[header]);
        for (; is_good && w.phi && LLVMIsAPHINode(w.phi); w.phi = LLVMGetNextInstruction(w.phi))
            is_good = read_phi(&w, &function->blocks[header]);
    }
    return is_good;
}
