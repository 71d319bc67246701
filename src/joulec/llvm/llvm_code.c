/* joulec/llvm/llvm_code.c - see llvm_module.h: the module's code, as the build makes it, kept for who wants to look at what a compiler
 * makes of its loops.
 *
 * Newcomers: functions that nobody asks for stay in it as "available externally", for which no code is made; and so do variables,
 * whose contents may be long.
 */
#include <llvm-c/DebugInfo.h>
#include <llvm-c/TargetMachine.h>
#include <string.h>
#include "joulec/llvm/llvm_module.h"
#include "joulec/module/annotation.h"
#include "joulec/module/recursion.h"

/* Who calls stands behind who is called. False: no memory. */
static bool find_budgeted(struct arena *arena, const struct module *module, bool *is_asked)
{
    struct groups groups;
    if (groups_find(arena, module, &groups) != JOULE_OK)
        return false;
    for (size_t i = 0; i < module->function_count; i++)
        is_asked[i] = annotation_of(&module->functions[i], ANNOTATION_BUDGET);
    for (size_t g = groups.count; g-- > 0;) {
        bool any = false;
        for (uint32_t m = groups.begin[g]; m < groups.begin[g + 1]; m++)
            any = any || is_asked[groups.members[m]];
        for (uint32_t m = groups.begin[g]; m < groups.begin[g + 1] && any; m++) {
            const struct function *f = &module->functions[groups.members[m]];
            const int32_t *targets;
            is_asked[groups.members[m]] = true;
            for (size_t b = 0; b < f->block_count; b++)
                for (size_t c = 0; c < f->blocks[b].call_count; c++)
                    for (size_t t = call_targets(&f->blocks[b].calls[c], &targets); t-- > 0;)
                        is_asked[targets[t]] = true;
        }
    }
    return true;
}

static void leave_out(LLVMValueRef global)
{
    if (LLVMGetLinkage(global) != LLVMAppendingLinkage)
        LLVMSetLinkage(global, LLVMAvailableExternallyLinkage);
}

/* What LLVM has to say of the code is clang's to say, when it makes the same for the user. */
static void say_nothing(LLVMDiagnosticInfoRef about, void *context)
{
    (void)about;
    (void)context;
}

/* Changes `built`. False: no memory. */
static bool assemble(struct arena *arena, LLVMModuleRef built, struct module *out)
{
    char *words = NULL;
    LLVMMemoryBufferRef text;
    LLVMTargetMachineRef machine = llvm_machine(built);
    if (!machine || LLVMInitializeNativeAsmPrinter() || LLVMInitializeNativeAsmParser())
        return true;
    LLVMContextSetDiagnosticHandler(LLVMGetModuleContext(built), say_nothing, NULL);
    LLVMSetTargetMachineAsmVerbosity(machine, true); /* blocks have their names in comments */
    bool is_made = !LLVMTargetMachineEmitToMemoryBuffer(machine, built, LLVMAssemblyFile, &words, &text);
    LLVMDisposeTargetMachine(machine);
    if (!is_made) {
        LLVMDisposeMessage(words);
        return true;
    }
    out->assembly = arena_copy(arena, LLVMGetBufferStart(text), LLVMGetBufferSize(text));
    out->triple = arena_copy(arena, LLVMGetTarget(built), strlen(LLVMGetTarget(built)));
    LLVMDisposeMemoryBuffer(text);
    return out->assembly && out->triple;
}

bool llvm_keep_code(struct arena *arena, LLVMModuleRef built, enum module_code keeps, struct module *out)
{
    bool *is_asked = arena_alloc(arena, out->function_count + 1), is_any = false;
    size_t i = 0;
    if (!is_asked || (keeps == MODULE_CODE_OF_BUDGETS && !find_budgeted(arena, out, is_asked)))
        return false;
    for (LLVMValueRef f = LLVMGetFirstFunction(built); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f))
            continue;
        bool is_kept = (keeps == MODULE_CODE_ALL || is_asked[i]) && out->functions[i].wide_count;
        is_any = is_any || is_kept;
        if (!is_kept)
            leave_out(f);
        i++;
    }
    if (!is_any)
        return true;
    for (LLVMValueRef g = LLVMGetFirstGlobal(built); g; g = LLVMGetNextGlobal(g))
        if (!LLVMIsDeclaration(g))
            leave_out(g);
    LLVMStripModuleDebugInfo(built);
    return assemble(arena, built, out);
}
