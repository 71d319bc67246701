/* joulec/llvm/llvm_scev.cpp - see llvm_scev.h: converts LLVM's formulas into those of trips/expr.h.
 *
 * Note: this is C++ because scalar evolution has no C interface. Only conversion belongs here.
 */
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
extern "C" {
#include "joulec/llvm/llvm_scev.h"
}

using namespace llvm;

namespace
{

constexpr size_t max_operands = 64;

class Reader
{
  public:
    Reader(scev_function *function, ScalarEvolution &from)
        : out(function), pool(&function->pool), evolution(from)
    {
    }

    bool read_value(Instruction &instruction);
    bool read_loop(const Loop &loop);

  private:
    const expr *convert(const SCEV *scev);
    const expr *convert_kind(const SCEV *scev);
    const expr *convert_cast(const SCEVCastExpr *cast, expr_kind kind);
    const expr *convert_operands(const SCEVNAryExpr *scev, expr_kind kind);
    const expr *convert_symbol(const Value *value);
    uint32_t name_of(StringRef name)
    {
        return expr_name(pool, name.data(), name.size());
    }
    expr_range signed_range(const SCEV *scev);
    const expr *convert_constant(const SCEVConstant *constant);

    scev_function *out;
    expr_pool *pool;
    ScalarEvolution &evolution;
};

const expr *Reader::convert_cast(const SCEVCastExpr *cast, expr_kind kind)
{
    const SCEV *operand = cast->getOperand(0);
    uint32_t from = operand->getType()->getIntegerBitWidth(), to = cast->getType()->getIntegerBitWidth();
    return expr_cast(pool, kind, convert(operand), std::min(from, to), to);
}

/* Converts a formula with a list of operands: a sum, product, minimum, maximum or recurrence. */
const expr *Reader::convert_operands(const SCEVNAryExpr *scev, expr_kind kind)
{
    const expr *operands[max_operands];
    size_t count = scev->getNumOperands();
    if (count > max_operands)
        return expr_unknown();
    for (size_t i = 0; i < count; i++)
        operands[i] = convert(scev->getOperand(i));
    if (kind != EXPR_RECURRENCE)
        return expr_nary(pool, kind, operands, count);
    const BasicBlock *header = cast<SCEVAddRecExpr>(scev)->getLoop()->getHeader();
    return expr_recurrence(pool, operands, count, name_of(header->getName()));
}

const expr *Reader::convert_symbol(const Value *value)
{
    if (isa<Instruction>(value) || isa<Argument>(value))
        return expr_symbol(pool, name_of(value->getName()));
    if (isa<GlobalValue>(value))
        return expr_symbol(pool, name_of(("@" + value->getName()).str()));
    return NULL;
}

/* Converts a constant, read as a signed integer. Returns NULL for a constant of one bit (a truth value) or of
 * more than 64 bits. */
const expr *Reader::convert_constant(const SCEVConstant *constant)
{
    const APInt &value = constant->getAPInt();
    bool is_number = value.getBitWidth() > 1 && value.isSignedIntN(64);
    return is_number ? expr_integer(pool, value.getSExtValue()) : NULL;
}

const expr *Reader::convert_kind(const SCEV *scev)
{
    switch (scev->getSCEVType()) {
    case scConstant:
        return convert_constant(cast<SCEVConstant>(scev));
    case scTruncate:
        return convert_cast(cast<SCEVCastExpr>(scev), EXPR_TRUNC);
    case scZeroExtend:
        return convert_cast(cast<SCEVCastExpr>(scev), EXPR_ZEXT);
    case scSignExtend:
        return convert_cast(cast<SCEVCastExpr>(scev), EXPR_SEXT);
    case scAddExpr:
        return convert_operands(cast<SCEVNAryExpr>(scev), EXPR_ADD);
    case scMulExpr:
        return convert_operands(cast<SCEVNAryExpr>(scev), EXPR_MUL);
    case scUMaxExpr:
        return convert_operands(cast<SCEVNAryExpr>(scev), EXPR_UMAX);
    case scSMaxExpr:
        return convert_operands(cast<SCEVNAryExpr>(scev), EXPR_SMAX);
    case scUMinExpr:
    case scSequentialUMinExpr:
        return convert_operands(cast<SCEVNAryExpr>(scev), EXPR_UMIN);
    case scSMinExpr:
        return convert_operands(cast<SCEVNAryExpr>(scev), EXPR_SMIN);
    case scAddRecExpr:
        return convert_operands(cast<SCEVNAryExpr>(scev), EXPR_RECURRENCE);
    case scUDivExpr: {
        const SCEVUDivExpr *quotient = cast<SCEVUDivExpr>(scev);
        const expr *operands[] = {convert(quotient->getLHS()), convert(quotient->getRHS())};
        return expr_nary(pool, EXPR_UDIV, operands, 2);
    }
    case scUnknown:
        return convert_symbol(cast<SCEVUnknown>(scev)->getValue());
    default:
        return NULL;
    }
}

/* Returns the unknown expression for a formula that is too large or of an unsupported kind. The size is
 * tested first, because it limits the depth of the recursion. */
const expr *Reader::convert(const SCEV *scev)
{
    const expr *converted = scev->getExpressionSize() > EXPR_MAX_NODES ? NULL : convert_kind(scev);
    return converted ? converted : expr_unknown();
}

/* Returns the range of a value as a signed integer. The range is unknown if it is no narrower than the type,
 * or if it wraps around. */
expr_range Reader::signed_range(const SCEV *scev)
{
    ConstantRange range = evolution.getSignedRange(scev);
    const APInt &low = range.getLower(), &end = range.getUpper();
    if (range.isFullSet() || range.isEmptySet() || !low.isSignedIntN(64) || !end.isSignedIntN(64) ||
        low.sge(end))
        return {};
    return {low.getSExtValue(), (expr_int)end.getSExtValue() - 1, true, false, 0};
}

bool Reader::read_value(Instruction &instruction)
{
    if (!evolution.isSCEVable(instruction.getType()) || isa<CmpInst>(instruction))
        return true;
    const SCEV *scev = evolution.getSCEV(&instruction);
    StringRef name = instruction.getName();
    if (isa<SCEVCouldNotCompute>(scev))
        return true;
    return scev_add_value(out, name.data(), name.size(), convert(scev), signed_range(scev));
}

bool Reader::read_loop(const Loop &loop)
{
    for (const Loop *inner : loop)
        if (!read_loop(*inner))
            return false;
    StringRef header = loop.getHeader()->getName();
    scev_loop *facts = scev_add_loop(out, header.data(), header.size());
    if (!facts)
        return false;
    SmallVector<BasicBlock *, 8> exiting;
    loop.getExitingBlocks(exiting);
    facts->has_several_exits = exiting.size() != 1;
    if (evolution.hasLoopInvariantBackedgeTakenCount(&loop)) {
        facts->taken = convert(evolution.getBackedgeTakenCount(&loop));
        facts->multiple = std::max(evolution.getSmallConstantTripMultiple(&loop), 1u);
    }
    const expr *max = convert(evolution.getConstantMaxBackedgeTakenCount(&loop));
    if (max->kind == EXPR_INTEGER && max->integer >= 0 && max->integer <= SCEV_MAX_TAKEN)
        facts->max_taken = max->integer;
    if (exiting.size() > 1)
        for (BasicBlock *block : exiting)
            if (!scev_add_exit(out, facts, block->getName().data(), block->getName().size(),
                               convert(evolution.getExitCount(&loop, block))))
                return false;
    return true;
}

bool read_function(Function &function, FunctionAnalysisManager &analyses, scev_facts *facts)
{
    StringRef name = function.getName();
    scev_function *out = scev_add_function(facts, name.data(), name.size());
    if (!out)
        return false;
    Reader reader(out, analyses.getResult<ScalarEvolutionAnalysis>(function));
    for (Instruction &instruction : instructions(function))
        if (!reader.read_value(instruction))
            return false;
    for (const Loop *loop : analyses.getResult<LoopAnalysis>(function))
        if (!reader.read_loop(*loop))
            return false;
    return true;
}

} // namespace

bool llvm_read_scev(LLVMModuleRef module, struct scev_facts *facts)
{
    LoopAnalysisManager loops;
    FunctionAnalysisManager functions;
    CGSCCAnalysisManager components;
    ModuleAnalysisManager modules;
    PassBuilder builder;
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
    for (Function &function : *unwrap(module)) {
        if (function.isDeclaration())
            continue;
        if (!read_function(function, functions, facts))
            return false;
        functions.clear(function, function.getName());
    }
    return scev_facts_finish(facts);
}
