/* joulec/llvm/llvm_pointer.c - see llvm_module.h: the possible targets of calls through a pointer.
 *
 * If the pointer is a choice between functions, or is loaded from a constant table, all targets are known.
 * Otherwise the possible targets are unknown functions, and all functions of the module that have the call's
 * type and whose address is taken.
 * Note: an entry in one of LLVM's own lists, such as the list of annotations, does not count as taking an
 * address.
 */
#include <string.h>
#include "base/string.h"
#include "joulec/llvm/llvm_module.h"

#define MAX_TARGETS 64
#define MAX_VALUES  64 /* maximum number of possible values of a pointer */
#define MAX_DEPTH   16 /* maximum nesting of constants */

/* --- taken addresses ------------------------------------------------------------------------------------ */

/* Returns true if `user` is a call and `use` is the callee, which is the last operand of a call. */
static bool is_called(LLVMUseRef use, LLVMValueRef user)
{
    bool is_call = LLVMIsACallInst(user) || LLVMIsAInvokeInst(user);
    return is_call && LLVMGetOperandUse(user, (unsigned)LLVMGetNumOperands(user) - 1) == use;
}

static bool is_address_taken(LLVMValueRef value, unsigned depth)
{
    bool is = depth == MAX_DEPTH;
    size_t length;
    for (LLVMUseRef use = LLVMGetFirstUse(value); use && !is; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (LLVMIsAGlobalVariable(user))
            is = !string_starts(LLVMGetValueName2(user, &length), "llvm.");
        else if (LLVMIsAConstant(user))
            is = is_address_taken(user, depth + 1);
        else
            is = !is_called(use, user);
    }
    return is;
}

/* If the module contains assembly, no function is local, because assembly may call any function by name. An
 * alias is another name of a function, which other modules may use. */
bool llvm_is_local(LLVMModuleRef module, LLVMValueRef function)
{
    size_t length = 0;
    LLVMGetModuleInlineAsm(module, &length);
    bool is =
        LLVMGetLinkage(function) == LLVMInternalLinkage || LLVMGetLinkage(function) == LLVMPrivateLinkage;
    for (LLVMValueRef a = LLVMGetFirstGlobalAlias(module); a && is; a = LLVMGetNextGlobalAlias(a)) {
        LLVMValueRef of = LLVMAliasGetAliasee(a);
        while (LLVMIsAConstantExpr(of))
            of = LLVMGetOperand(of, 0);
        is = of != function;
    }
    return is && length == 0;
}

bool *llvm_find_address_taken(struct arena *arena, LLVMValueRef *functions, size_t count)
{
    bool *taken = arena_alloc(arena, count + 1);
    for (size_t i = 0; i < count && taken; i++)
        taken[i] = is_address_taken(functions[i], 0);
    return taken;
}

/* --- possible values of a pointer ----------------------------------------------------------------------- */

struct targets {
    const struct pointers *pointers;
    LLVMTypeRef type; /* of the call */
    int32_t list[MAX_TARGETS];
    size_t count;
    LLVMValueRef values[MAX_VALUES];
    size_t value_count;
    bool is_open; /* there may be other targets */
};

static void add_function(struct targets *t, LLVMValueRef function)
{
    int32_t number = llvm_is_replaceable(function) ? -1 : llvm_number_of(&t->pointers->numbers, function);
    t->is_open = t->is_open || number < 0;
    for (size_t i = 0; i < t->count; i++)
        if (t->list[i] == number)
            return;
    if (number >= 0 && t->count < MAX_TARGETS)
        t->list[t->count++] = number;
    else
        t->is_open = true;
}

static void add_value(struct targets *t, LLVMValueRef value)
{
    for (size_t i = 0; i < t->value_count; i++)
        if (t->values[i] == value)
            return;
    if (t->value_count < MAX_VALUES)
        t->values[t->value_count++] = value;
    else
        t->is_open = true;
}

/* Adds all functions in a constant. Their types are not compared, because the caller may have cast the
 * pointer. */
static void add_constant(struct targets *t, LLVMValueRef value, unsigned depth)
{
    bool is_other = LLVMIsAGlobalValue(value) && !LLVMIsAGlobalVariable(value); /* an alias of a function */
    if (LLVMIsAFunction(value))
        add_function(t, value);
    else if (depth == MAX_DEPTH || is_other)
        t->is_open = true;
    else if (LLVMIsAConstant(value) && !LLVMIsAGlobalVariable(value))
        for (int i = 0; i < LLVMGetNumOperands(value); i++)
            add_constant(t, LLVMGetOperand(value, (unsigned)i), depth + 1);
}

/* Adds the functions in `value` that the indices of `address` select. The first index is operand number
 * `next`. An index that is not constant selects all elements. */
static void add_part(struct targets *t, LLVMValueRef value, LLVMValueRef address, unsigned next)
{
    bool is_aggregate = LLVMIsAConstantArray(value) || LLVMIsAConstantStruct(value);
    int64_t index = -1;
    if (!is_aggregate || next >= (unsigned)LLVMGetNumOperands(address)) {
        add_constant(t, value, 0);
        return;
    }
    bool is_one = llvm_constant(LLVMGetOperand(address, next), &index);
    for (int i = 0; i < LLVMGetNumOperands(value); i++)
        if (!is_one || i == index)
            add_part(t, LLVMGetOperand(value, (unsigned)i), address, next + 1);
}

/* Returns true if `address` is the address of `table` with indices into the table. */
static bool is_within(LLVMValueRef address, LLVMValueRef table)
{
    int64_t first;
    return LLVMIsAGetElementPtrInst(address) && LLVMGetNumOperands(address) > 1 &&
           LLVMGetOperand(address, 0) == table &&
           LLVMGetGEPSourceElementType(address) == LLVMGlobalGetValueType(table) &&
           llvm_constant(LLVMGetOperand(address, 1), &first) && first == 0;
}

/* Adds the values that a load from a constant table can return. */
static void add_loaded(struct targets *t, LLVMValueRef address)
{
    LLVMValueRef table = address;
    while (llvm_is_cast(table) || llvm_is_indexed(table))
        table = LLVMGetOperand(table, 0);
    bool is_table =
        LLVMIsAGlobalVariable(table) && LLVMIsGlobalConstant(table) && !llvm_is_replaceable(table);
    LLVMValueRef content = is_table ? LLVMGetInitializer(table) : NULL;
    if (!content)
        t->is_open = true;
    else if (is_within(address, table))
        add_part(t, content, address, 2);
    else
        add_constant(t, content, 0);
}

static void add_possible_values(struct targets *t, LLVMValueRef value)
{
    if (LLVMIsAFunction(value))
        add_function(t, value);
    else if (llvm_is_cast(value))
        add_value(t, LLVMGetOperand(value, 0));
    else if (LLVMIsAPHINode(value))
        for (unsigned i = 0; i < LLVMCountIncoming(value); i++)
            add_value(t, LLVMGetIncomingValue(value, i));
    else if (LLVMIsASelectInst(value))
        for (unsigned i = 1; i <= 2; i++)
            add_value(t, LLVMGetOperand(value, i));
    else if (LLVMIsALoadInst(value))
        add_loaded(t, LLVMGetOperand(value, 0));
    /* The call of a null pointer or an undefined pointer is undefined behaviour */
    else if (!LLVMIsAConstantPointerNull(value) && !LLVMIsAUndefValue(value))
        t->is_open = true;
}

/* Adds all functions of the call's type whose address is taken. Adds no function if there are too many. */
static void add_all_taken(struct targets *t)
{
    const struct pointers *p = t->pointers;
    for (size_t i = 0; i < p->numbers.count && t->count < MAX_TARGETS; i++)
        if (p->is_address_taken[i] && LLVMGlobalGetValueType(p->functions[i]) == t->type &&
            !llvm_is_replaceable(p->functions[i]))
            add_function(t, p->functions[i]);
    if (t->count == MAX_TARGETS)
        t->count = 0;
}

bool llvm_find_targets(struct arena *arena, const struct pointers *pointers, LLVMValueRef instruction,
                       struct call *out)
{
    struct targets t = {.pointers = pointers, .type = LLVMGetCalledFunctionType(instruction)};
    add_value(&t, LLVMGetCalledValue(instruction));
    for (size_t i = 0; i < t.value_count && !t.is_open; i++)
        add_possible_values(&t, t.values[i]);
    out->is_closed = !t.is_open && t.count > 0;
    if (t.is_open)
        add_all_taken(&t);
    out->targets = arena_alloc(arena, (t.count + 1) * sizeof *out->targets);
    if (out->targets && t.count)
        memcpy(out->targets, t.list, t.count * sizeof *out->targets);
    out->target_count = t.count;
    return out->targets != NULL;
}
