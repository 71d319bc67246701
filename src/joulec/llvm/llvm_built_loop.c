/* joulec/llvm/llvm_built_loop.c - see llvm_module.h: the loops as the user's build compiles them.
 *
 * The passes that the count build omits run on a copy of its module. They unroll short loops and vectorise
 * other loops, for the target and the features of each function. Running these passes takes less time than a
 * second build.
 * Note: clang disables unrolling in the metadata of loops, which also prevents the vectoriser from
 * interleaving. This metadata is removed first.
 */
#include "joulec/llvm/llvm_module.h"

#include <llvm-c/DebugInfo.h>
#include <llvm-c/Error.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <llvm/Config/llvm-config.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/string.h"
#include "joulec/source/place.h"

#define MAX_OPERANDS      32
#define MAX_BLOCKS_BEFORE 4

/* Without this option, LLVM 18 and later abort if another iteration of the pass would change more. */
#if LLVM_VERSION_MAJOR >= 18
#define COMBINE "instcombine<no-verify-fixpoint>,"
#else
#define COMBINE "instcombine,"
#endif
/* The passes, in the order of clang's pipeline. */
#define UNROLL    "loop-simplify,lcssa,loop(indvars,loop-unroll-full),sroa," COMBINE "simplifycfg,"
#define VECTORISE "loop-simplify,lcssa,loop(loop-rotate),loop-vectorize,"
#define PACK      "slp-vectorizer,"
#define CLEAN     COMBINE "simplifycfg"

/* --- width of registers --------------------------------------------------------------------------------- */

static bool has_feature(LLVMValueRef function, const char *feature)
{
    static const char key[] = "target-features";
    unsigned length = 0;
    LLVMAttributeRef features = LLVMGetStringAttributeAtIndex(
        function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, key, (unsigned)strlen(key));
    return features && strstr(LLVMGetStringAttributeValue(features, &length), feature);
}

double llvm_register_bits(LLVMValueRef instruction)
{
    LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(instruction));
    return has_feature(function, "+avx512f") ? 512 : has_feature(function, "+avx2") ? 256 : 128;
}

static bool is_x86(LLVMValueRef function)
{
    const char *target = LLVMGetTarget(LLVMGetGlobalParent(function));
    return string_starts(target, "x86_64") || string_starts(target, "i686") || string_starts(target, "i386");
}

bool llvm_lacks_feature(LLVMValueRef instruction, const char *feature)
{
    LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(instruction));
    return is_x86(function) && !has_feature(function, feature);
}

static bool is_unsigned_order(LLVMValueRef comparison)
{
    LLVMIntPredicate kind = LLVMGetICmpPredicate(comparison);
    return kind == LLVMIntUGT || kind == LLVMIntUGE || kind == LLVMIntULT || kind == LLVMIntULE;
}

static unsigned element_bits(LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    if (LLVMGetTypeKind(type) == LLVMVectorTypeKind)
        type = LLVMGetElementType(type);
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(type) : 32;
}

static LLVMValueRef element_of(LLVMValueRef vector, unsigned i)
{
#if LLVM_VERSION_MAJOR >= 15
    return LLVMGetAggregateElement(vector, i);
#else
    return LLVMGetElementAsConstant(vector, i);
#endif
}

static bool is_constant_within(LLVMValueRef value, int64_t low, int64_t high)
{
    for (unsigned i = 0; LLVMIsAConstantDataVector(value) && i < LLVMGetVectorSize(LLVMTypeOf(value)); i++) {
        int64_t element = LLVMConstIntGetSExtValue(element_of(value, i));
        if (element < low || element > high)
            return false;
    }
    return LLVMIsAConstantDataVector(value) != NULL;
}

/* Returns true if each element fits into 16 bits. */
static bool fits_16_bits(LLVMValueRef value, bool is_signed)
{
    if (LLVMIsAZExtInst(value))
        return element_bits(LLVMGetOperand(value, 0)) <= (is_signed ? 15 : 16);
    if (LLVMIsASExtInst(value))
        return is_signed && element_bits(LLVMGetOperand(value, 0)) <= 16;
    return is_constant_within(value, is_signed ? INT16_MIN : 0, is_signed ? INT16_MAX : UINT16_MAX);
}

static bool is_narrow_product(LLVMValueRef value)
{
    if (LLVMGetInstructionOpcode(value) != LLVMMul)
        /* a division by a constant becomes a product with the constant's inverse, which is wide */
        return false;
    LLVMValueRef a = LLVMGetOperand(value, 0), b = LLVMGetOperand(value, 1);
    return (fits_16_bits(a, true) && fits_16_bits(b, true)) ||
           (fits_16_bits(a, false) && fits_16_bits(b, false));
}

/* Returns the micro-operations of a product on one register. Sets *out_products to the multiplications among
 * them. Narrow values are multiplied as 16-bit integers: two multiplications compute the lower and upper
 * halves of two registers of products, and two more micro-operations combine the halves. */
static double product_uops(LLVMValueRef value, bool is_old, double *out_products)
{
    static const double uops_of_64 = 8, uops_of_8 = 9;
    unsigned bits = element_bits(value);
    *out_products = bits == 16 ? 1 : bits == 64 ? 3 : 2;
    if (bits != 32)
        return bits == 16 ? 1 : bits == 64 ? uops_of_64 : uops_of_8;
    if (!is_old)
        return 2;
    if (!is_narrow_product(value))
        return 6;
    *out_products = 1;
    return 2;
}

double llvm_vector_multiplies(LLVMValueRef value)
{
    LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(value));
    double products = 1;
    if (is_x86(function))
        product_uops(value, !has_feature(function, "+sse4.1"), &products);
    return products;
}

/* Returns more than 1 if several micro-operations replace a missing vector instruction. x86 lacks some
 * integer vector instructions, and processors without SSE4.1 lack more of them (Intel's Intrinsics Guide). */
double llvm_vector_uops(LLVMValueRef value)
{
    LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(value));
    if (!is_x86(function))
        return 1;
    bool is_old = !has_feature(function, "+sse4.1"), has_512 = has_feature(function, "+avx512f");
    unsigned bits = element_bits(value);
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem: /* a division by a constant is a multiplication */
    case LLVMMul:
        return product_uops(value, is_old, &(double){0});
    case LLVMUIToFP:
        return has_512 ? 1 : 4;
    case LLVMFPToUI:
        return has_512 ? 1 : 6;
    case LLVMSelect:
        return is_old ? 3 : 1;
    case LLVMICmp:
        return !has_512 && is_unsigned_order(value) ? 3 : 1;
    case LLVMShl:
    case LLVMLShr:
    case LLVMAShr: /* shifts each element by a different amount */
        return LLVMIsAConstant(LLVMGetOperand(value, 1)) || has_feature(function, "+avx2") ? 1 : 6;
    case LLVMTrunc:
        return bits == 8 ? 3 : 2;
    case LLVMZExt:
    case LLVMSExt:
        return is_old ? 2 : 1;
    default:
        return 1;
    }
}

/* --- passes --------------------------------------------------------------------------------------------- */

static bool forbids_unrolling(LLVMValueRef operand)
{
    LLVMValueRef first[MAX_OPERANDS];
    unsigned length;
    LLVMMetadataRef node = operand ? LLVMValueAsMetadata(operand) : NULL;
    if (!node || LLVMGetMetadataKind(node) != LLVMMDTupleMetadataKind ||
        LLVMGetMDNodeNumOperands(operand) != 1)
        return false;
    LLVMGetMDNodeOperands(operand, first);
    const char *text = first[0] ? LLVMGetMDString(first[0], &length) : NULL;
    return text && string_starts(text, "llvm.loop.unroll.disable");
}

/* Removes the entries that forbid unrolling from the loop's metadata. The first operand of a loop's node is
 * the node itself. */
static void allow_unrolling(LLVMContextRef context, LLVMValueRef last, unsigned kind)
{
    LLVMValueRef node = LLVMGetMetadata(last, kind), operands[MAX_OPERANDS];
    LLVMMetadataRef list[MAX_OPERANDS];
    size_t count = 1;
    unsigned all = node ? LLVMGetMDNodeNumOperands(node) : 0;
    if (all < 1 || all > MAX_OPERANDS)
        return;
    LLVMGetMDNodeOperands(node, operands);
    for (unsigned i = 1; i < all; i++)
        if (operands[i] && !forbids_unrolling(operands[i]))
            list[count++] = LLVMValueAsMetadata(operands[i]);
    list[0] = LLVMTemporaryMDNode(context, NULL, 0);
    LLVMMetadataRef new_node = LLVMMDNodeInContext2(context, list, count);
    LLVMMetadataReplaceAllUsesWith(list[0], new_node);
    LLVMSetMetadata(last, kind, LLVMMetadataAsValue(context, new_node));
}

static void allow_all(LLVMModuleRef module)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    unsigned kind = LLVMGetMDKindIDInContext(context, "llvm.loop", 9);
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b)) {
            LLVMValueRef last = LLVMGetBasicBlockTerminator(b);
            if (last && LLVMHasMetadata(last))
                allow_unrolling(context, last, kind);
        }
}

/* Returns NULL if this LLVM cannot generate code for the module's target. */
static LLVMTargetMachineRef open_machine(LLVMModuleRef module)
{
    LLVMTargetRef target;
    char *message = NULL;
    if (LLVMInitializeNativeTarget() || LLVMGetTargetFromTriple(LLVMGetTarget(module), &target, &message)) {
        LLVMDisposeMessage(message);
        return NULL;
    }
    return LLVMCreateTargetMachine(target, LLVMGetTarget(module), "", "", LLVMCodeGenLevelDefault,
                                   LLVMRelocPIC, LLVMCodeModelDefault);
}

bool llvm_build_loops(LLVMModuleRef module, const struct module_build *build)
{
    char passes[600];
    LLVMTargetMachineRef machine = open_machine(module);
    if (!machine)
        return false;
    if (build->unrolls)
        allow_all(module);
    const char *unroll =
        build->unrolls ? UNROLL UNROLL : ""; /* once per function, and again after inlining */
    string_print(passes, sizeof passes, "function(%s%s%s" CLEAN ")", unroll,
                 build->vectorises ? VECTORISE : "", build->packs ? PACK : "");
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef problem = LLVMRunPasses(module, passes, machine, options);
    LLVMDisposePassBuilderOptions(options);
    LLVMDisposeTargetMachine(machine);
    if (problem)
        LLVMConsumeError(problem);
    return !problem;
}

/* --- loops ---------------------------------------------------------------------------------------------- */

/* Returns the iterations of the source loop per iteration of the vectorised loop; 0: the loop is not
 * vectorised. */
static double step_of(LLVMBasicBlockRef header)
{
    size_t length;
    if (!string_starts(LLVMGetBasicBlockName(header), "vector.body"))
        return 0;
    for (LLVMValueRef v = LLVMGetFirstInstruction(header); v && LLVMIsAPHINode(v);
         v = LLVMGetNextInstruction(v)) {
        if (!string_starts(LLVMGetValueName2(v, &length), "index"))
            continue;
        for (unsigned i = 0; i < LLVMCountIncoming(v); i++) {
            LLVMValueRef next = LLVMGetIncomingValue(v, i);
            if (LLVMIsABinaryOperator(next) && LLVMGetInstructionOpcode(next) == LLVMAdd &&
                LLVMGetOperand(next, 0) == v && LLVMIsAConstantInt(LLVMGetOperand(next, 1)))
                return (double)LLVMConstIntGetZExtValue(LLVMGetOperand(next, 1));
        }
    }
    return 0;
}

/* Runtime checks that the vectoriser adds at the end of a block. They compare address ranges, or (since LLVM
 * 15) distances between addresses. compares() recognises them by the names of their results. */
enum comparing { COMPARES_NOTHING, COMPARES_RANGES, COMPARES_DISTANCES };

static enum comparing compares(LLVMBasicBlockRef block)
{
    LLVMValueRef last = LLVMGetBasicBlockTerminator(block);
    if (!last || !LLVMIsABranchInst(last) || !LLVMIsConditional(last))
        return COMPARES_NOTHING;
    const char *name = LLVMGetValueName2(LLVMGetCondition(last), &(size_t){0});
    if (string_starts(name, "found.conflict") || string_starts(name, "conflict.rdx"))
        return COMPARES_RANGES;
    return string_starts(name, "diff.check") ? COMPARES_DISTANCES : COMPARES_NOTHING;
}

/* Returns the kind of runtime check in the last MAX_BLOCKS_BEFORE blocks before the loop. */
static enum comparing compared_before(LLVMBasicBlockRef *blocks, const struct loops *loops, size_t loop)
{
    const struct flow *flow = &loops->flow;
    uint32_t at = loops->list[loop].header;
    enum comparing found = COMPARES_NOTHING;
    for (int steps = 0; steps < MAX_BLOCKS_BEFORE && found == COMPARES_NOTHING; steps++) {
        uint32_t next = FLOW_NONE;
        for (uint32_t i = flow->predecessor_begin[at]; i < flow->predecessor_begin[at + 1]; i++)
            if (!loop_has(loops, (int32_t)loop, flow->predecessors[i]))
                next = next == FLOW_NONE ? flow->predecessors[i] : at;
        if (next == FLOW_NONE || next == at)
            break;
        found = compares(blocks[next]);
        at = next;
    }
    return found;
}

/* Adds the work of a block. A block whose name begins with "pred." runs only for some elements of a vector.
 * It is assumed to run in half of the iterations. */
static void add_block(struct block *iteration, const struct block *block)
{
    double part = string_starts(block->name, "pred.") ? 0.5 : 1;
    for (int k = 0; k < WORK_KINDS; k++) {
        iteration->work[k] += part * block->work[k];
        iteration->chain[k] += block->chain[k];
    }
    iteration->simd_256 += part * block->simd_256;
    iteration->simd_512 += part * block->simd_512;
    iteration->has_chain = block->has_chain;
    iteration->is_chain_stored = block->is_chain_stored;
    iteration->call_count += block->call_count;
}

static int by_place(const void *a, const void *b)
{
    const struct built_loop *x = a, *y = b;
    int order = source_place_order(&x->place, &y->place);
    return order ? order : (x->factor < y->factor) - (x->factor > y->factor);
}

bool llvm_read_built_loops(struct arena *arena, LLVMBasicBlockRef *blocks, const struct function *built,
                           const struct loops *loops, struct function *out)
{
    out->built_loops = arena_alloc(arena, (loops->count + 1) * sizeof *out->built_loops);
    if (!out->built_loops)
        return false;
    for (size_t i = 0; i < loops->count; i++) {
        if (loops->list[i].is_outer || !loops->list[i].place.file)
            continue;
        double step = step_of(blocks[loops->list[i].header]);
        enum comparing comparing = step > 0 ? compared_before(blocks, loops, i) : COMPARES_NOTHING;
        uint32_t begin = loops->node_begin[i + 1], end = loops->node_begin[i + 2];
        struct built_loop *loop = &out->built_loops[out->built_loop_count++];
        *loop = (struct built_loop){.place = loops->list[i].place,
                                    .factor = fmax(step, 1),
                                    .is_complete = step > 0 || end - begin == 1,
                                    .is_vector = step > 0,
                                    .is_checked = comparing != COMPARES_NOTHING,
                                    .compares_ranges = comparing == COMPARES_RANGES};
        for (uint32_t k = begin; k < end; k++)
            add_block(&loop->iteration, &built->blocks[loops->nodes[k]]);
    }
    qsort(out->built_loops, out->built_loop_count, sizeof *out->built_loops, by_place);
    return true;
}
