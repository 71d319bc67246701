/* joulec/llvm/llvm_module.h - functions of the files that use LLVM: work of instructions, dependence chains,
 * monotonic phis, operands and conditions, and indices of LLVM's objects.
 */
#ifndef JOULEC_LLVM_MODULE_H
#define JOULEC_LLVM_MODULE_H

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include "joulec/module/loops.h"
#include "joulec/module/module.h"

struct numbered {
    const void *item;
    int32_t number;
};

/* Maps LLVM's objects to indices of lists. */
struct numbering {
    struct numbered *list; /* sorted by address */
    size_t count;
};

/* Numbers items[0..count), which are pointers to LLVM's objects. Returns false if out of memory. */
bool llvm_number_all(struct arena *arena, void *const *items, size_t count, struct numbering *out);
/* Returns the index of an item; -1: it is in no list. */
int32_t llvm_number_of(const struct numbering *numbering, const void *item);

/* Reads bitcode or textual IR; the caller owns *out_module. Returns JOULE_INVALID, with LLVM's message, if
 * the file is neither or cannot be read. */
joule_status llvm_parse(LLVMContextRef context, const char *path, LLVMModuleRef *out_module,
                        joule_error *out_error);

/* Replaces phis whose incoming values all equal one sum by that sum. */
void llvm_fold_phi_sums(LLVMModuleRef module);

/* --- work ----------------------------------------------------------------------------------------------- */

/* Returns the kind of an instruction; WORK_KINDS: it costs nothing of its own. */
enum work llvm_work(LLVMValueRef instruction);
/* Returns the number of micro-operations of that kind; a vector longer than a register needs several. */
double llvm_uops(LLVMValueRef instruction);
/* For an integer division or remainder: its kind, the number of micro-operations of that kind, additional
 * integer micro-operations, and its latency in multiples of the kind's latency. */
bool llvm_is_division(LLVMValueRef value);
enum work llvm_division_work(LLVMValueRef division);
double llvm_division_uops(LLVMValueRef division);
double llvm_division_int_uops(LLVMValueRef division);
double llvm_division_latency_factor(LLVMValueRef division);
/* Returns true for a call of an intrinsic that is an instruction, or that needs none (WORK_KINDS). Returns
 * false for other calls and instructions. */
bool llvm_is_intrinsic(LLVMValueRef call, enum work *out_work);
/* Returns the micro-operations of a vector reduction; 0: not a reduction. */
double llvm_reduction_uops(LLVMValueRef call);
/* Returns true for a phi that changes by the same step in each iteration. */
bool llvm_is_induction(LLVMValueRef phi);
/* Returns true if a block's branch depends on values from memory. Sets *out_test to what it tests. */
bool llvm_is_by_data(LLVMBasicBlockRef block, enum branch_test *out_test);
/* Sets may_be_two of the header of each loop that may be two nested loops of the source. from: LLVM's blocks,
 * as in function->blocks; blocks: their indices. */
void llvm_find_merged(LLVMBasicBlockRef *from, const struct numbering *blocks, struct function *function,
                      const struct loops *loops);
/* Returns the called function; NULL: a call through a pointer. */
LLVMValueRef llvm_called_function(LLVMValueRef call);
bool llvm_is_call(LLVMValueRef value);
/* Returns true if the linker may replace the function or variable by one of another object. */
bool llvm_is_replaceable(LLVMValueRef global);
/* Returns the body that a call certainly runs, once. NULL: it is not in the module, may be replaced, or the
 * call is through a pointer. */
LLVMValueRef llvm_body_of(LLVMValueRef call);
/* Returns true for a call that is neither an intrinsic without a call nor empty assembly. */
bool llvm_is_real_call(LLVMValueRef value);
/* Returns true if a call may return twice, like setjmp(). */
bool llvm_returns_twice(LLVMValueRef call);
/* Returns the name of what is called: of an intrinsic, the C library's function; of assembly, its text. NULL:
 * a call through a pointer, or out of memory. */
const char *llvm_call_name(struct arena *arena, LLVMValueRef call);
/* Returns true if the callee does not access memory. */
bool llvm_accesses_no_memory(LLVMValueRef call);
/* Return the kind of an attribute, 0: unknown to this LLVM; and the attribute of a call or of its callee,
 * NULL: none. */
unsigned llvm_attribute_kind(const char *name);
LLVMAttributeRef llvm_attribute(LLVMValueRef call, unsigned kind);
/* Returns the width of an integer; 0: another type. */
unsigned llvm_integer_bits(LLVMValueRef value);
/* Reads a constant as a signed integer. Returns false if it is no constant, or wider than 64 bits. */
bool llvm_constant(LLVMValueRef value, int64_t *out_value);
/* Return the latency of a kind of work, in cycles of typical large cores, and the latency of an instruction
 * from one operand, in multiples of it. */
double llvm_latency(enum work work);
double llvm_latency_factor(LLVMValueRef instruction, unsigned operand);

/* --- pointers to functions ------------------------------------------------------------------------------ */

struct pointers {
    LLVMValueRef *functions; /* with bodies */
    struct numbering numbers;
    const bool *is_address_taken; /* for each function: its address is taken */
};

/* Returns for each function whether its address is taken; NULL: out of memory. */
bool *llvm_find_address_taken(struct arena *arena, LLVMValueRef *functions, size_t count);
/* Returns true if no code outside of the module can call the function, unless its address is taken. */
bool llvm_is_local(LLVMModuleRef module, LLVMValueRef function);
/* Sets the possible targets of a call through a pointer. Returns false if out of memory. */
bool llvm_find_targets(struct arena *arena, const struct pointers *pointers, LLVMValueRef instruction,
                       struct call *out);

/* --- memory --------------------------------------------------------------------------------------------- */

/* Returns the address of a load, store or atomic operation, which is an access of its block; NULL: another
 * instruction. */
LLVMValueRef llvm_address_of(LLVMValueRef instruction);
/* Return true if an address is a cast, or is computed from another address and indices. The other address is
 * the first operand. */
bool llvm_is_cast(LLVMValueRef address);
bool llvm_is_indexed(LLVMValueRef address);
/* Returns the variable that contains an address, or the value from which the address is computed. */
LLVMValueRef llvm_underlying_object(LLVMValueRef address);
/* Returns true if two addresses may be equal: they are in one variable, and not in different members of
 * it. */
bool llvm_may_alias(LLVMTargetDataRef layout, LLVMValueRef a, LLVMValueRef b);
/* Returns the size of a type in bytes; NaN: unknown at compile time. */
double llvm_size_of(LLVMTargetDataRef layout, LLVMTypeRef type);
/* Returns the name of a value in struct scev_facts; for a global or a constant address in one, "@name". NULL:
 * out of memory. */
const char *llvm_address_name(struct arena *arena, LLVMValueRef address);
/* Read the accesses and values of a block, the local variables of a function, and the global variables of a
 * module. Return false if out of memory. */
bool llvm_read_accesses(struct arena *arena, LLVMTargetDataRef layout, LLVMBasicBlockRef from,
                        struct block *out);
bool llvm_read_locals(struct arena *arena, LLVMTargetDataRef layout, LLVMBasicBlockRef entry,
                      struct function *out);
bool llvm_read_globals(struct arena *arena, LLVMTargetDataRef layout, LLVMModuleRef from, struct module *out);

/* --- chains --------------------------------------------------------------------------------------------- */

/* Finds the longest dependence chain of each innermost loop, and marks the loads on it. from: LLVM's blocks,
 * as in function->blocks, whose accesses were read. Returns false if out of memory. */
bool llvm_find_chains(LLVMTargetDataRef layout, LLVMBasicBlockRef *from, struct function *function,
                      const struct loops *loops);

/* Returns true if the innermost loop number `loop`, which has these instructions, is inside another loop and
 * does not depend on its own previous entry. */
bool llvm_is_entry_independent(LLVMBasicBlockRef *from, const struct loops *loops, size_t loop,
                               const struct numbering *instructions);

/* Adds the monotonic phis of each loop to its header. from: LLVM's blocks, as in function->blocks; blocks:
 * their indices. Returns false if out of memory. */
bool llvm_find_monotonic_phis(struct arena *arena, LLVMTargetDataRef layout, LLVMBasicBlockRef *from,
                              const struct numbering *blocks, struct function *function,
                              const struct loops *loops);

/* Lists the functions of `all`, which are those of the module, that were inlined into `from`. programs:
 * indices of their subprograms. Returns false if out of memory. */
bool llvm_find_inlined(struct arena *arena, LLVMValueRef from, const struct numbering *programs,
                       const struct function *all, struct function *out);
/* Returns true if clang dropped the body of this function, because another file has it too. */
bool llvm_is_bodiless(LLVMValueRef function);
/* Returns true if the module uses such a function. */
bool llvm_has_dropped_bodies(LLVMModuleRef module);

/* --- names and operands --------------------------------------------------------------------------------- */

/* Returns a copy of a value's name in `arena`; "" if out of memory. */
const char *llvm_name(struct arena *arena, LLVMValueRef value);
/* Returns the condition under which a value of one bit is true. */
struct condition llvm_condition(struct arena *arena, LLVMValueRef value);
/* Returns the condition under which a switch goes to its default. */
struct condition llvm_switch_condition(struct arena *arena, LLVMValueRef last);
/* Returns a function's parameters, LLVMCountParams of them. NULL: out of memory. */
struct operand *llvm_parameters(struct arena *arena, LLVMValueRef function);
/* Returns the type of a call, as in struct call. */
const char *llvm_call_type(struct arena *arena, LLVMValueRef call);
/* Returns the arguments of a call, LLVMGetNumArgOperands of them. callee NULL: unknown. NULL: out of
 * memory. */
struct operand *llvm_arguments(struct arena *arena, LLVMValueRef call, LLVMValueRef callee);

/* --- the build ------------------------------------------------------------------------------------------ */

/* Returns the width of the vectors that an instruction processes, at most that of a register, in bits; 0: no
 * vectors. */
double llvm_vector_bits(LLVMValueRef instruction);
/* Returns true if the target is x86 and the function may not use a feature, such as "+fma". */
bool llvm_lacks_feature(LLVMValueRef instruction, const char *feature);
/* Returns the micro-operations of one instruction on one vector register. */
double llvm_vector_uops(LLVMValueRef instruction);
/* Returns how many of the micro-operations of a product multiply. */
double llvm_vector_multiplies(LLVMValueRef product);
/* Returns the width of the widest vector register that the instruction's function may use, in bits. */
double llvm_register_bits(LLVMValueRef instruction);
/* Optimises the loops of a counted module like the build. Returns false if this LLVM cannot. */
bool llvm_build_loops(LLVMModuleRef module, const struct module_build *build);
/* Reads the innermost loops of `built`, whose LLVM blocks are `blocks`, into out->built_loops. Returns false
 * if out of memory. */
bool llvm_read_built_loops(struct arena *arena, LLVMBasicBlockRef *blocks, const struct function *built,
                           const struct loops *loops, struct function *out);

#endif
