/* joulec/llvm/llvm_fork.c - see llvm_module.h: two branches of which LLVM has made one, as they were.
 *
 * From 19 on LLVM asks `if (i != 8 || changed)` at the end of two loops that it made one, and lets i be a choice of i + 1 and 0. With a branch
 * for each question the ways back are two again, one of them with i + 1 and one with 0, which llvm_part.c looks for.
 * Newcomers: a question is `first or second` where it holds by the first alone, `first and second` where it fails by it alone.
 */
#include "joulec/llvm/llvm_module.h"

#include <llvm-c/DebugInfo.h>

struct fork {
    LLVMContextRef context;
    LLVMBuilderRef builder;
    unsigned loop_kind;
    LLVMBasicBlockRef block, header, end;
    LLVMValueRef first, second;
    bool holds; /* what the first is where it decides, which leads to the header */
};

static bool is_truth(LLVMValueRef value, int64_t truth)
{
    return LLVMIsAConstantInt(value) && (int64_t)LLVMConstIntGetZExtValue(value) == truth;
}

/* Takes a question apart. False: it is one. */
static bool split(struct fork *f, LLVMValueRef question)
{
    if (LLVMIsASelectInst(question)) {
        f->first = LLVMGetOperand(question, 0);
        f->holds = is_truth(LLVMGetOperand(question, 1), 1);
        f->second = LLVMGetOperand(question, f->holds ? 2 : 1);
        return f->holds || is_truth(LLVMGetOperand(question, 2), 0);
    }
    LLVMOpcode opcode = LLVMIsAInstruction(question) ? LLVMGetInstructionOpcode(question) : LLVMRet;
    if (opcode != LLVMOr && opcode != LLVMAnd)
        return false;
    f->first = LLVMGetOperand(question, 0);
    f->second = LLVMGetOperand(question, 1);
    f->holds = opcode == LLVMOr;
    return true;
}

/* What a value is where the first question decides, or does not. */
static LLVMValueRef value_where(const struct fork *f, LLVMValueRef value, bool decides)
{
    bool is_choice = LLVMIsASelectInst(value) && LLVMGetOperand(value, 0) == f->first;
    return is_choice ? LLVMGetOperand(value, decides == f->holds ? 1 : 2) : value;
}

/* Whether a count goes on where the first question decides, and is another where it does not. */
static bool chooses_count(const struct fork *f)
{
    for (LLVMValueRef phi = LLVMGetFirstInstruction(f->header); LLVMIsAPHINode(phi);
         phi = LLVMGetNextInstruction(phi)) {
        LLVMValueRef next = llvm_incoming(phi, f->block);
        if (next && llvm_is_step_from(value_where(f, next, true), phi) && value_where(f, next, false) != next)
            return true;
    }
    return false;
}

static void erase_unused(LLVMValueRef value)
{
    if (LLVMIsAInstruction(value) && !LLVMIsAPHINode(value) && !LLVMGetFirstUse(value))
        LLVMInstructionEraseFromParent(value);
}

/* A phi of the header, to which both blocks lead, or of what is behind the loop, to which only the new one does. */
static void lead_phi(const struct fork *f, LLVMValueRef phi, LLVMBasicBlockRef other, bool is_of_header)
{
    LLVMPositionBuilderBefore(f->builder, phi);
    LLVMValueRef wide = LLVMBuildPhi(f->builder, LLVMTypeOf(phi), ""), old = llvm_incoming(phi, f->block);
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi, i);
        LLVMValueRef value = LLVMGetIncomingValue(phi, i);
        if (from == f->block)
            value = value_where(f, value, true);
        if (from != f->block || is_of_header)
            llvm_add_incoming(wide, value, from);
    }
    llvm_add_incoming(wide, value_where(f, old, false), other);
    LLVMReplaceAllUsesWith(phi, wide);
    LLVMInstructionEraseFromParent(phi);
    erase_unused(old);
}

static void lead_phis(const struct fork *f, LLVMBasicBlockRef to, LLVMBasicBlockRef other)
{
    LLVMValueRef next;
    for (LLVMValueRef phi = LLVMGetFirstInstruction(to); LLVMIsAPHINode(phi); phi = next) {
        next = LLVMGetNextInstruction(phi);
        lead_phi(f, phi, other, to == f->header);
    }
}

static void fork_branch(const struct fork *f, LLVMValueRef last)
{
    LLVMValueRef question = LLVMGetCondition(last), node = LLVMGetMetadata(last, f->loop_kind);
    LLVMMetadataRef place = LLVMInstructionGetDebugLoc(last);
    LLVMBasicBlockRef sides[] = {LLVMGetSuccessor(last, 0), LLVMGetSuccessor(last, 1)};
    LLVMBasicBlockRef other = LLVMInsertBasicBlockInContext(f->context, f->end, "");
    lead_phis(f, f->header, other);
    lead_phis(f, f->end, other);
    LLVMInstructionEraseFromParent(last);
    erase_unused(question);
    LLVMPositionBuilderAtEnd(f->builder, f->block);
    last = LLVMBuildCondBr(f->builder, f->first, f->holds ? f->header : other, f->holds ? other : f->header);
    LLVMInstructionSetDebugLoc(last, place);
    LLVMSetMetadata(last, f->loop_kind, node);
    LLVMPositionBuilderAtEnd(f->builder, other);
    last = LLVMBuildCondBr(f->builder, f->second, sides[0], sides[1]);
    LLVMInstructionSetDebugLoc(last, place);
    LLVMSetMetadata(last, f->loop_kind, node);
}

static void fork_block(struct fork *f, LLVMBasicBlockRef block)
{
    LLVMValueRef last = LLVMGetBasicBlockTerminator(block);
    if (!LLVMIsABranchInst(last) || !LLVMIsConditional(last) || !LLVMGetMetadata(last, f->loop_kind) ||
        !split(f, LLVMGetCondition(last)))
        return;
    f->block = block;
    f->header = LLVMGetSuccessor(last, f->holds ? 0 : 1);
    f->end = LLVMGetSuccessor(last, f->holds ? 1 : 0);
    bool is_fork = f->header != f->end && chooses_count(f);
    if (!is_fork && !LLVMIsASelectInst(LLVMGetCondition(last))) {
        LLVMValueRef second = f->first;
        f->first = f->second;
        f->second = second;
        is_fork = f->header != f->end && chooses_count(f);
    }
    if (is_fork)
        fork_branch(f, last);
}

void llvm_fork_branches(LLVMModuleRef module)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    struct fork fork = {.context = context,
                        .builder = LLVMCreateBuilderInContext(context),
                        .loop_kind = LLVMGetMDKindIDInContext(context, "llvm.loop", 9)};
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            fork_block(&fork, b);
    LLVMDisposeBuilder(fork.builder);
}
