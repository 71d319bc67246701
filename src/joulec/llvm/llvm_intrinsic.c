/* joulec/llvm/llvm_intrinsic.c - see llvm_module.h: calls of LLVM's intrinsics, and inline assembly.
 *
 * The list `known` contains intrinsics that become instructions, that need no code, or that call functions of
 * the C library. All other intrinsics, and assembly that contains instructions, count as calls of unknown
 * functions.
 */
#include <math.h>
#include <string.h>
#include "base/string.h"
#include "joulec/llvm/llvm_module.h"

/* Prefix of operations with a specified rounding mode and specified floating-point exceptions. */
#define CONSTRAINED  "experimental.constrained."
#define MAX_ASSEMBLY 40         /* maximum characters of assembly in messages */
#define MAX_ELEMENTS 64         /* assumed number of elements of a scalable vector */
#define NOTHING      WORK_KINDS /* the intrinsic needs no instruction */

/* Known intrinsics. begin: first characters of the name after "llvm."; the first match is used. library: the
 * C library's function for double; NULL: none. If `needs` is NULL, the library function is always called.
 * Otherwise it is called for scalars if the processor lacks the feature `needs`. */
static const struct intrinsic {
    const char *begin;
    enum work work;
    const char *library, *needs;
} known[] = {
    /* information for the compiler */
    {"addressofreturnaddress", NOTHING, NULL, NULL},
    {"allow.", NOTHING, NULL, NULL},
    {"annotation.", NOTHING, NULL, NULL},
    {"arithmetic.fence.", NOTHING, NULL, NULL},
    {"assume", NOTHING, NULL, NULL},
    {"callbr.landingpad.", NOTHING, NULL, NULL},
    {"codeview.annotation", NOTHING, NULL, NULL},
    {"dbg.", NOTHING, NULL, NULL},
    {"donothing", NOTHING, NULL, NULL},
    {"eh.typeid.for", NOTHING, NULL, NULL},
    {"expect.", NOTHING, NULL, NULL},
    {"experimental.noalias.scope.decl", NOTHING, NULL, NULL},
    {"fake.use", NOTHING, NULL, NULL},
    {"frameaddress", NOTHING, NULL, NULL},
    {"invariant.", NOTHING, NULL, NULL},
    {"is.constant.", NOTHING, NULL, NULL},
    {"launder.invariant.group.", NOTHING, NULL, NULL},
    {"lifetime.", NOTHING, NULL, NULL},
    {"localescape", NOTHING, NULL, NULL},
    {"objectsize.", NOTHING, NULL, NULL},
    {"pseudoprobe", NOTHING, NULL, NULL},
    {"ptr.annotation.", NOTHING, NULL, NULL},
    {"public.type.test", NOTHING, NULL, NULL},
    {"sideeffect", NOTHING, NULL, NULL},
    {"ssa.copy.", NOTHING, NULL, NULL},
    {"strip.invariant.group.", NOTHING, NULL, NULL},
    {"type.test", NOTHING, NULL, NULL},
    {"va_end", NOTHING, NULL, NULL},
    {"var.annotation", NOTHING, NULL, NULL},
    /* integers and addresses */
    {"abs.", WORK_INT, NULL, NULL},
    {"bitreverse.", WORK_INT, NULL, NULL},
    {"bswap.", WORK_INT, NULL, NULL},
    {"ctlz.", WORK_INT, NULL, NULL},
    {"ctpop.", WORK_INT, NULL, NULL},
    {"cttz.", WORK_INT, NULL, NULL},
    {"fsh", WORK_INT, NULL, NULL},
    {"get.active.lane.mask.", WORK_INT, NULL, NULL},
    {"get.dynamic.area.offset.", WORK_INT, NULL, NULL},
    {"ptrmask.", WORK_INT, NULL, NULL},
    {"returnaddress", WORK_INT, NULL, NULL},
    {"sadd.", WORK_INT, NULL, NULL},
    {"scmp.", WORK_INT, NULL, NULL},
    {"smax.", WORK_INT, NULL, NULL},
    {"smin.", WORK_INT, NULL, NULL},
    {"smul.with.overflow.", WORK_INT_MUL, NULL, NULL},
    {"sponentry", WORK_INT, NULL, NULL},
    {"sshl.sat.", WORK_INT, NULL, NULL},
    {"ssub.", WORK_INT, NULL, NULL},
    {"stackrestore", WORK_INT, NULL, NULL},
    {"stacksave", WORK_INT, NULL, NULL},
    {"thread.pointer", WORK_INT, NULL, NULL},
    {"threadlocal.address", WORK_INT, NULL, NULL},
    {"trap", WORK_INT, NULL, NULL},
    {"uadd.", WORK_INT, NULL, NULL},
    {"ubsantrap", WORK_INT, NULL, NULL},
    {"ucmp.", WORK_INT, NULL, NULL},
    {"umax.", WORK_INT, NULL, NULL},
    {"umin.", WORK_INT, NULL, NULL},
    {"umul.with.overflow.", WORK_INT_MUL, NULL, NULL},
    {"ushl.sat.", WORK_INT, NULL, NULL},
    {"usub.", WORK_INT, NULL, NULL},
    {"vscale.", WORK_INT, NULL, NULL},
    /* floating point */
    {"canonicalize.", WORK_FLOAT, NULL, NULL},
    {"ceil.", WORK_FLOAT, "ceil", "+sse4.1"},
    {"copysign.", WORK_FLOAT, NULL, NULL},
    {"fabs.", WORK_FLOAT, NULL, NULL},
    {"fadd.", WORK_FLOAT, NULL, NULL},
    {"fcmp", WORK_FLOAT, NULL, NULL},
    {"fdiv.", WORK_FLOAT_DIV, NULL, NULL},
    {"floor.", WORK_FLOAT, "floor", "+sse4.1"},
    {"fma.", WORK_FMA, "fma", "+fma"},
    {"fmul.", WORK_FLOAT, NULL, NULL},
    {"fmuladd.", WORK_FMA, NULL, NULL},
    {"fpext.", WORK_FLOAT, NULL, NULL},
    {"fptosi.", WORK_FLOAT, NULL, NULL},
    {"fptoui.", WORK_FLOAT, NULL, NULL},
    {"fptrunc.", WORK_FLOAT, NULL, NULL},
    {"fsub.", WORK_FLOAT, NULL, NULL},
    {"is.fpclass.", WORK_FLOAT, NULL, NULL},
    {"maximum.", WORK_FLOAT, NULL, NULL},
    {"maxnum.", WORK_FLOAT, NULL, NULL},
    {"minimum.", WORK_FLOAT, NULL, NULL},
    {"minnum.", WORK_FLOAT, NULL, NULL},
    {"nearbyint.", WORK_FLOAT, "nearbyint", "+sse4.1"},
    {"rint.", WORK_FLOAT, "rint", "+sse4.1"},
    {"roundeven.", WORK_FLOAT, "roundeven", "+sse4.1"},
    {"sitofp.", WORK_FLOAT, NULL, NULL},
    {"sqrt.", WORK_FLOAT_DIV, NULL, NULL},
    {"trunc.", WORK_FLOAT, "trunc", "+sse4.1"},
    {"uitofp.", WORK_FLOAT, NULL, NULL},
    /* functions of the C library */
    {"acos.", NOTHING, "acos", NULL},
    {"asin.", NOTHING, "asin", NULL},
    {"atan.", NOTHING, "atan", NULL},
    {"atan2.", NOTHING, "atan2", NULL},
    {"cos.", NOTHING, "cos", NULL},
    {"cosh.", NOTHING, "cosh", NULL},
    {"exp.", NOTHING, "exp", NULL},
    {"exp10.", NOTHING, "exp10", NULL},
    {"exp2.", NOTHING, "exp2", NULL},
    {"frem.", NOTHING, "fmod", NULL},
    {"log.", NOTHING, "log", NULL},
    {"log10.", NOTHING, "log10", NULL},
    {"log2.", NOTHING, "log2", NULL},
    {"pow.", NOTHING, "pow", NULL},
    {"round.", NOTHING, "round", NULL},
    {"sin.", NOTHING, "sin", NULL},
    {"sinh.", NOTHING, "sinh", NULL},
    {"tan.", NOTHING, "tan", NULL},
    {"tanh.", NOTHING, "tanh", NULL},
    /* vectors and memory */
    {"experimental.stepvector.", WORK_INT, NULL, NULL},
    {"experimental.vector.deinterleave2.", WORK_INT, NULL, NULL},
    {"experimental.vector.extract.", WORK_INT, NULL, NULL},
    {"experimental.vector.insert.", WORK_INT, NULL, NULL},
    {"experimental.vector.interleave2.", WORK_INT, NULL, NULL},
    {"experimental.vector.reverse.", WORK_INT, NULL, NULL},
    {"experimental.vector.splice.", WORK_INT, NULL, NULL},
    {"load.relative.", WORK_LOAD, NULL, NULL},
    {"masked.gather.", WORK_LOAD, NULL, NULL},
    {"masked.load.", WORK_LOAD, NULL, NULL},
    {"masked.scatter.", WORK_STORE, NULL, NULL},
    {"masked.store.", WORK_STORE, NULL, NULL},
    {"prefetch", WORK_LOAD, NULL, NULL},
    {"stepvector.", WORK_INT, NULL, NULL},
    {"va_copy", WORK_STORE, NULL, NULL},
    {"va_start", WORK_STORE, NULL, NULL},
    {"vector.deinterleave2.", WORK_INT, NULL, NULL},
    {"vector.extract.", WORK_INT, NULL, NULL},
    {"vector.insert.", WORK_INT, NULL, NULL},
    {"vector.interleave2.", WORK_INT, NULL, NULL},
    {"vector.reduce.f", WORK_FLOAT, NULL, NULL},
    {"vector.reduce.mul.", WORK_INT_MUL, NULL, NULL},
    {"vector.reduce.", WORK_INT, NULL, NULL},
    {"vector.reverse.", WORK_INT, NULL, NULL},
    {"vector.splice.", WORK_INT, NULL, NULL},
};

/* Prefixes of the processors' own intrinsics for vectors and bits. Such an intrinsic is one instruction if it
 * does not access memory. */
static const char *const own_names[] = {"x86.avx",    "x86.bmi",       "x86.f16c",        "x86.fma",
                                        "x86.mmx",    "x86.sse.",      "x86.sse2.",       "x86.sse3.",
                                        "x86.sse41.", "x86.ssse3.",    "x86.sse42.crc32", "x86.pclmulqdq",
                                        "x86.aesni.", "aarch64.neon.", "aarch64.crc32"};

/* --- kinds of calls ------------------------------------------------------------------------------------- */

/* Returns the name after "llvm."; NULL: not an intrinsic. */
static const char *name_of(LLVMValueRef call)
{
    LLVMValueRef callee =
        LLVMIsACallInst(call) || LLVMIsAInvokeInst(call) ? llvm_called_function(call) : NULL;
    const char *name = callee ? LLVMGetValueName2(callee, &(size_t){0}) : "";
    return string_starts(name, "llvm.") ? name + strlen("llvm.") : NULL;
}

static const struct intrinsic *find(const char *name)
{
    if (string_starts(name, CONSTRAINED))
        name += strlen(CONSTRAINED);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (string_starts(name, known[i].begin))
            return &known[i];
    return NULL;
}

static bool is_number(LLVMValueRef value)
{
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(value));
    return kind == LLVMDoubleTypeKind || kind == LLVMFloatTypeKind;
}

static bool is_library(const struct intrinsic *of, LLVMValueRef call)
{
    return of->library && (!of->needs || (is_number(call) && llvm_lacks_feature(call, of->needs)));
}

static bool is_of_processor(LLVMValueRef call, const char *name, enum work *out_work)
{
    *out_work = strstr(name, ".div") || strstr(name, ".sqrt") ? WORK_FLOAT_DIV : WORK_FLOAT;
    for (size_t i = 0; i < sizeof own_names / sizeof *own_names; i++)
        if (string_starts(name, own_names[i]))
            return llvm_accesses_no_memory(call);
    return false;
}

bool llvm_is_intrinsic(LLVMValueRef call, enum work *out_work)
{
    const char *name = name_of(call);
    const struct intrinsic *of = name ? find(name) : NULL;
    *out_work = NOTHING;
    if (!of)
        return name && is_of_processor(call, name, out_work);
    if (is_library(of, call))
        return false;
    *out_work = of->work;
    return true;
}

/* A reduction repeatedly combines two halves of the vector. If the order of the operations affects rounding,
 * the elements are combined one by one. */
double llvm_reduction_uops(LLVMValueRef call)
{
    const char *name = name_of(call);
    if (!name || !string_starts(name, "vector.reduce."))
        return 0;
    LLVMTypeRef type = LLVMTypeOf(LLVMGetOperand(call, LLVMGetNumArgOperands(call) - 1));
    double elements = LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type) : MAX_ELEMENTS;
    bool is_ordered =
        string_starts(name, "vector.reduce.fadd.") || string_starts(name, "vector.reduce.fmul.");
    return 2 * (is_ordered ? elements : ceil(log2(fmax(elements, 2))));
}

/* --- assembly ------------------------------------------------------------------------------------------- */

/* Returns the text of the assembly in LLVM's printed form, and its length; NULL: not found. The text is in
 * the second-last pair of quotes. The last pair contains the constraints. */
static const char *find_assembly(const char *printed, size_t *out_length)
{
    const char *quotes[4] = {0};
    size_t found = 0;
    for (const char *at = printed + strlen(printed); at > printed && found < 4; at--)
        if (at[-1] == '"')
            quotes[found++] = at - 1;
    *out_length = found == 4 ? (size_t)(quotes[2] - quotes[3] - 1) : 0;
    return found == 4 ? quotes[3] + 1 : NULL;
}

/* Returns false for empty assembly, which is a barrier for the compiler, and for assembly that is only a
 * comment. */
static bool has_instructions(LLVMValueRef assembly)
{
    size_t length, blank = 0;
    char *printed = LLVMPrintValueToString(assembly);
    const char *text = find_assembly(printed, &length);
    while (text && blank < length && (text[blank] == ' ' || text[blank] == '\t'))
        blank++;
    bool is_comment = text && blank < length && text[blank] == '#' && !memchr(text, '\\', length);
    bool has_any = !text || (blank < length && !is_comment);
    LLVMDisposeMessage(printed);
    return has_any;
}

/* Returns a name of assembly for messages. The name contains the first line of the assembly's text. */
static const char *name_assembly(struct arena *arena, LLVMValueRef assembly)
{
    char name[MAX_ASSEMBLY + 32];
    size_t length = 0;
    char *printed = LLVMPrintValueToString(assembly);
    const char *text = find_assembly(printed, &length);
    size_t shown = text ? strcspn(text, "\\\"") : 0;
    shown = shown < MAX_ASSEMBLY ? shown : MAX_ASSEMBLY;
    string_print(name, sizeof name, "asm(%.*s%s)", (int)shown, text ? text : "",
                 shown < length ? " ..." : "");
    LLVMDisposeMessage(printed);
    return arena_copy(arena, name, strlen(name));
}

/* --- calls ---------------------------------------------------------------------------------------------- */

bool llvm_is_call(LLVMValueRef value)
{
    return LLVMIsACallInst(value) || LLVMIsAInvokeInst(value) ||
           LLVMGetInstructionOpcode(value) == LLVMCallBr;
}

bool llvm_is_real_call(LLVMValueRef value)
{
    enum work work;
    if (!llvm_is_call(value))
        return false;
    LLVMValueRef callee = LLVMGetCalledValue(value);
    return LLVMIsAInlineAsm(callee) ? has_instructions(callee) : !llvm_is_intrinsic(value, &work);
}

bool llvm_returns_twice(LLVMValueRef call)
{
    const char *name = name_of(call);
    return (name && string_starts(name, "eh.sjlj.setjmp")) ||
           llvm_attribute(call, llvm_attribute_kind("returns_twice"));
}

/* Returns a name for which there are no figures, for example "setjmp (...)". longjmp may repeat the code
 * after the call, so the figures of one run would be too low. */
static const char *name_returns_twice(struct arena *arena, LLVMValueRef callee)
{
    const char *name = callee ? LLVMGetValueName2(callee, &(size_t){0}) : "this";
    char text[128];
    string_print(text, sizeof text, "%s (what a longjmp repeats is not seen)", name);
    return arena_copy(arena, text, strlen(text));
}

const char *llvm_call_name(struct arena *arena, LLVMValueRef call)
{
    char name[32];
    LLVMValueRef callee = llvm_called_function(call);
    if (llvm_returns_twice(call))
        return name_returns_twice(arena, callee);
    if (LLVMIsAInlineAsm(LLVMGetCalledValue(call)))
        return name_assembly(arena, LLVMGetCalledValue(call));
    const char *own_name = name_of(call);
    const struct intrinsic *of = own_name ? find(own_name) : NULL;
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(call));
    bool is_long = kind == LLVMX86_FP80TypeKind || kind == LLVMFP128TypeKind || kind == LLVMPPC_FP128TypeKind;
    if (!of || !is_library(of, call) || !(is_number(call) || is_long))
        return callee ? llvm_name(arena, callee) : NULL;
    string_print(name, sizeof name, "%s%s", of->library,
                 is_long                     ? "l"
                 : kind == LLVMFloatTypeKind ? "f"
                                             : "");
    return arena_copy(arena, name, strlen(name));
}
