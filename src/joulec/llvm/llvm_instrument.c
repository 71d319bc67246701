/* joulec/llvm/llvm_instrument.c - see instrument.h: inserts calls of libjoule into LLVM IR.
 *
 * This file repeats the declarations of <joule/budget.h> in IR, namely joule_region, the sites and five
 * functions. Both files must change together. tests/programs/test_joulec_run.py runs programs with the
 * inserted calls.
 * Note: a file that only calls setjmp must not need libjoule. So the functions that end scopes at setjmp are
 * declared weak. If libjoule is not linked, functions that do nothing are called instead.
 */
#include "joulec/verdict/instrument.h"

#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <string.h>
#include "base/error.h"
#include "joulec/llvm/llvm_module.h"

struct writer {
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMTypeRef none, i32, i64, real, pointer;
    LLVMTypeRef region, site; /* joule_region and joule_budget_site */
    unsigned noreturn, returns_twice;
};

/* --- types and names ------------------------------------------------------------------------------------ */

static void find_types(struct writer *w)
{
    w->none = LLVMVoidTypeInContext(w->context);
    w->i32 = LLVMInt32TypeInContext(w->context);
    w->i64 = LLVMInt64TypeInContext(w->context);
    w->real = LLVMDoubleTypeInContext(w->context);
    w->pointer = LLVMPointerType(LLVMInt8TypeInContext(w->context), 0);
    LLVMTypeRef region[] = {w->i64, w->i64, w->i32, w->i32, w->i32, w->i32};
    w->region = LLVMStructCreateNamed(w->context, "joule_region");
    LLVMStructSetBody(w->region, region, 6, false);
    LLVMTypeRef site[] = {w->pointer, w->pointer, w->i32, w->i32, LLVMArrayType(w->i32, 4)};
    w->site = LLVMStructCreateNamed(w->context, "joule_budget_site");
    LLVMStructSetBody(w->site, site, 5, false);
}

/* Casts a constant to a generic pointer. From LLVM 15 on, all pointers are generic. */
static LLVMValueRef as_pointer(const struct writer *w, LLVMValueRef constant)
{
    return LLVMConstBitCast(constant, w->pointer);
}

/* Returns the function's declaration in the module; adds one if there is none. If the source declares the
 * function with another type, LLVM reports the error. */
static LLVMValueRef function_named(struct writer *w, const char *name, LLVMTypeRef type)
{
    LLVMValueRef known = LLVMGetNamedFunction(w->module, name);
    return LLVMConstBitCast(known ? known : LLVMAddFunction(w->module, name, type), LLVMPointerType(type, 0));
}

static LLVMValueRef string_constant(struct writer *w, const char *text)
{
    LLVMValueRef string = LLVMConstStringInContext(w->context, text, (unsigned)strlen(text), false);
    LLVMValueRef global = LLVMAddGlobal(w->module, LLVMTypeOf(string), "joule.words");
    LLVMSetInitializer(global, string);
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    LLVMSetGlobalConstant(global, true);
    LLVMSetUnnamedAddress(global, LLVMGlobalUnnamedAddr);
    return as_pointer(w, global);
}

/* --- sites ---------------------------------------------------------------------------------------------- */

/* Returns the site of a function. Line 0 means that the region has the name of the function. */
static LLVMValueRef site_value(struct writer *w, const struct instrument_function *f)
{
    LLVMValueRef zero = LLVMConstInt(w->i32, 0, false);
    LLVMValueRef members[] = {string_constant(w, f->budget), string_constant(w, f->name), zero, zero,
                              LLVMConstNull(LLVMArrayType(w->i32, 4))};
    return LLVMConstNamedStruct(w->site, members, 5);
}

static LLVMValueRef counted_value(struct writer *w, const struct instrument_function *f)
{
    const joule_quantity *q = &f->joules_per_call;
    LLVMValueRef members[] = {site_value(w, f),
                              LLVMConstReal(w->real, q->value),
                              LLVMConstReal(w->real, q->low),
                              LLVMConstReal(w->real, q->high),
                              LLVMConstInt(w->i32, q->cls, false),
                              LLVMConstInt(w->i32, 0, false)};
    return LLVMConstStructInContext(w->context, members, 6, false);
}

static LLVMValueRef add_site(struct writer *w, LLVMValueRef value)
{
    LLVMValueRef global = LLVMAddGlobal(w->module, LLVMTypeOf(value), "joule.site");
    LLVMSetInitializer(global, value);
    LLVMSetLinkage(global, LLVMInternalLinkage);
    return as_pointer(w, global);
}

/* --- calls ---------------------------------------------------------------------------------------------- */

static LLVMValueRef build_call(struct writer *w, LLVMTypeRef type, LLVMValueRef function,
                               LLVMValueRef argument)
{
    return LLVMBuildCall2(w->builder, type, function, &argument, argument ? 1 : 0, "");
}

static LLVMTypeRef type_of(LLVMTypeRef returned, LLVMTypeRef parameter)
{
    return LLVMFunctionType(returned, &parameter, parameter ? 1 : 0, false);
}

/* On all machines that libjoule supports, a structure of this size is returned through a pointer argument. */
static void build_begin(struct writer *w, LLVMValueRef region, LLVMValueRef site)
{
    LLVMTypeRef parameters[] = {LLVMPointerType(w->region, 0), w->pointer};
    LLVMTypeRef type = LLVMFunctionType(w->none, parameters, 2, false);
    LLVMAttributeRef returned = LLVMCreateTypeAttribute(w->context, llvm_attribute_kind("sret"), w->region);
    LLVMValueRef begin = function_named(w, "joule_budget_scope_begin", type), arguments[] = {region, site};
    LLVMValueRef call = LLVMBuildCall2(w->builder, type, begin, arguments, 2, "");
    LLVMAddCallSiteAttribute(call, 1, returned);
    LLVMValueRef declared = LLVMGetNamedFunction(w->module, "joule_budget_scope_begin");
    if (LLVMIsDeclaration(declared))
        LLVMAddAttributeAtIndex(declared, 1, returned);
}

static void build_end(struct writer *w, LLVMValueRef before, LLVMValueRef region)
{
    LLVMTypeRef type = type_of(w->i32, LLVMPointerType(w->region, 0));
    LLVMPositionBuilderBefore(w->builder, before);
    build_call(w, type, function_named(w, "joule_end", type), region);
}

/* --- exits of a function -------------------------------------------------------------------------------- */

/* Returns the instruction before which code can be inserted: the return, or a tail call directly before it.
 * No instruction may be inserted between a tail call and its return. */
static LLVMValueRef before_return(LLVMValueRef last)
{
    LLVMValueRef call = LLVMGetPreviousInstruction(last);
    if (call && LLVMIsABitCastInst(call))
        call = LLVMGetPreviousInstruction(call);
    return call && LLVMIsACallInst(call) && LLVMIsTailCall(call) ? call : last;
}

/* Returns the last call before `last` if this call never returns; else NULL. */
static LLVMValueRef last_call(const struct writer *w, LLVMValueRef last)
{
    for (LLVMValueRef v = LLVMGetPreviousInstruction(last); v; v = LLVMGetPreviousInstruction(v))
        if (LLVMIsACallInst(v))
            return llvm_attribute(v, w->noreturn) ? v : NULL;
    return NULL;
}

/* Returns the instruction before which a region must end; NULL: the block does not leave the function. */
static LLVMValueRef exit_of(const struct writer *w, LLVMBasicBlockRef block)
{
    LLVMValueRef last = LLVMGetBasicBlockTerminator(block);
    switch (last ? LLVMGetInstructionOpcode(last) : LLVMBr) {
    case LLVMRet:
        return before_return(last);
    case LLVMResume:
        return last;
    case LLVMUnreachable:
        return last_call(w, last);
    default:
        return NULL;
    }
}

/* Removes attributes by which LLVM may remove, merge or repeat calls of the function. The inserted calls make
 * these attributes invalid. */
static void remove_memory_attributes(LLVMValueRef function)
{
    static const char *const attributes[] = {"readnone",   "readonly", "writeonly",
                                             "argmemonly", "memory",   "speculatable"};
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        unsigned kind = llvm_attribute_kind(attributes[i]);
        if (kind)
            LLVMRemoveEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex, kind);
    }
}

static void instrument(struct writer *w, LLVMValueRef function, const struct instrument_function *f)
{
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(function);
    LLVMPositionBuilderBefore(w->builder, LLVMGetFirstInstruction(entry));
    if (f->is_counted) {
        LLVMTypeRef type = type_of(w->none, w->pointer);
        build_call(w, type, function_named(w, "joule_budget_count", type), add_site(w, counted_value(w, f)));
        return;
    }
    LLVMValueRef region = LLVMBuildAlloca(w->builder, w->region, "joule.region");
    build_begin(w, region, add_site(w, site_value(w, f)));
    for (LLVMBasicBlockRef b = entry; b; b = LLVMGetNextBasicBlock(b)) {
        LLVMValueRef before = exit_of(w, b);
        if (before)
            build_end(w, before, region);
    }
}

/* --- setjmp --------------------------------------------------------------------------------------------- */

/* Returns a value that points at run time to the function `name` if it is linked into the program. Otherwise
 * it points to `stand_in`, a function that does nothing. */
static LLVMValueRef if_linked(struct writer *w, const char *name, const char *stand_in, LLVMTypeRef type)
{
    LLVMValueRef wanted = LLVMGetNamedFunction(w->module, name);
    if (!wanted) {
        wanted = LLVMAddFunction(w->module, name, type);
        LLVMSetLinkage(wanted, LLVMExternalWeakLinkage);
    }
    LLVMValueRef instead = LLVMGetNamedFunction(w->module, stand_in);
    if (!instead) {
        LLVMBuilderRef builder = LLVMCreateBuilderInContext(w->context);
        instead = LLVMAddFunction(w->module, stand_in, type);
        LLVMSetLinkage(instead, LLVMInternalLinkage);
        LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(w->context, instead, ""));
        if (LLVMGetReturnType(type) == w->none)
            LLVMBuildRetVoid(builder);
        else
            LLVMBuildRet(builder, LLVMConstNull(LLVMGetReturnType(type)));
        LLVMDisposeBuilder(builder);
    }
    LLVMTypeRef pointer = LLVMPointerType(type, 0);
    wanted = LLVMConstBitCast(wanted, pointer);
    LLVMValueRef is_linked = LLVMBuildICmp(w->builder, LLVMIntNE, wanted, LLVMConstNull(pointer), "");
    return LLVMBuildSelect(w->builder, is_linked, wanted, instead, "");
}

/* Inserts code that ends regions when setjmp returns again: longjmp has left the regions that began after the
 * first return. */
static void instrument_setjmp(struct writer *w, LLVMValueRef function, LLVMValueRef call)
{
    LLVMTypeRef mark = type_of(w->i64, NULL), unwind = type_of(w->none, w->i64);
    LLVMPositionBuilderBefore(w->builder, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function)));
    LLVMValueRef saved_mark = LLVMBuildAlloca(w->builder, w->i64, "joule.mark");
    LLVMPositionBuilderBefore(w->builder, call);
    LLVMValueRef now =
        build_call(w, mark, if_linked(w, "joule_budget_scope_mark", "joule.no_mark", mark), NULL);
    LLVMSetVolatile(LLVMBuildStore(w->builder, now, saved_mark), true);
    LLVMPositionBuilderBefore(w->builder, LLVMGetNextInstruction(call));
    LLVMValueRef since = LLVMBuildLoad2(w->builder, w->i64, saved_mark, "");
    LLVMSetVolatile(since, true);
    build_call(w, unwind, if_linked(w, "joule_budget_scope_unwind", "joule.no_unwind", unwind), since);
}

static bool is_setjmp(const struct writer *w, LLVMValueRef instruction)
{
    size_t length;
    LLVMValueRef callee = LLVMIsACallInst(instruction) ? llvm_called_function(instruction) : NULL;
    return callee && llvm_attribute(instruction, w->returns_twice) &&
           strstr(LLVMGetValueName2(callee, &length), "setjmp");
}

static void instrument_setjmps(struct writer *w, LLVMValueRef function)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef v = LLVMGetFirstInstruction(b), next; v; v = next) {
            next = LLVMGetNextInstruction(v);
            if (is_setjmp(w, v))
                instrument_setjmp(w, function, v);
        }
}

/* --- a module ------------------------------------------------------------------------------------------- */

static void instrument_all(struct writer *w, const struct instrument_plan *plan)
{
    find_types(w);
    w->noreturn = llvm_attribute_kind("noreturn");
    w->returns_twice = llvm_attribute_kind("returns_twice");
    for (LLVMValueRef f = LLVMGetFirstFunction(w->module); plan->has_setjmp && f; f = LLVMGetNextFunction(f))
        instrument_setjmps(w, f);
    unsigned naked = llvm_attribute_kind("naked");
    for (size_t i = 0; i < plan->function_count; i++) {
        LLVMValueRef f = LLVMGetNamedFunction(w->module, plan->functions[i].name);
        if (!f || LLVMIsDeclaration(f) || LLVMGetEnumAttributeAtIndex(f, LLVMAttributeFunctionIndex, naked))
            continue;
        remove_memory_attributes(f);
        instrument(w, f, &plan->functions[i]);
    }
}

joule_status module_instrument(const char *path, const char *output, const struct instrument_plan *plan,
                               joule_error *out_error)
{
    struct writer w = {.context = LLVMContextCreate()};
    joule_status status = llvm_parse(w.context, path, &w.module, out_error);
    if (status == JOULE_OK) {
        w.builder = LLVMCreateBuilderInContext(w.context);
        instrument_all(&w, plan);
        if (LLVMWriteBitcodeToFile(w.module, output))
            status = error_set(out_error, JOULE_FAILED,
                               "cannot write %s; check the free space and the permissions", output);
        LLVMDisposeBuilder(w.builder);
        LLVMDisposeModule(w.module);
    }
    LLVMContextDispose(w.context);
    return status;
}
