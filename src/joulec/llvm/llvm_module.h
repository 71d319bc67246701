/* joulec/llvm/llvm_module.h - functions of the files in joulec/llvm: work of instructions, dependence chains,
 * monotonic phis, operands and conditions, and indices of LLVM's objects.
 */
#ifndef JOULEC_LLVM_MODULE_H
#define JOULEC_LLVM_MODULE_H

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include "joulec/module/loops.h"
#include "joulec/module/module.h"

/* One of LLVM's objects, and its index in a list. */
struct numbered {
    const void *item;
    int32_t number;
};

/* Maps LLVM's objects to their indices in a list. */
struct numbering {
    struct numbered *list; /* sorted by address */
    size_t count;
};

/* Maps each of items[0..count), pointers to LLVM's objects, to its index. The list is allocated in `arena`.
 * Returns false if out of memory. */
bool llvm_number_all(struct arena *arena, void *const *items, size_t count, struct numbering *out);
/* Returns the index of an item; -1: the item is not in the list. */
int32_t llvm_number_of(const struct numbering *numbering, const void *item);

/* Reads a file of bitcode or textual IR. The caller disposes of *out_module. Returns JOULE_OK, or
 * JOULE_INVALID with LLVM's message if the file cannot be read or contains neither form. */
joule_status llvm_parse(LLVMContextRef context, const char *path, LLVMModuleRef *out_module,
                        joule_error *out_error);

/* --- work ----------------------------------------------------------------------------------------------- */

/* Returns the kind of an instruction's micro-operations; WORK_KINDS: the instruction needs none of its
 * own. */
enum work llvm_work(LLVMValueRef instruction);
/* Returns the number of an instruction's micro-operations. A vector that is wider than a register needs
 * micro-operations for each register. */
double llvm_uops(LLVMValueRef instruction);
/* Returns true for an integer division or remainder. */
bool llvm_is_division(LLVMValueRef value);
/* Return properties of an integer division or remainder: the kind of its main micro-operations, their number,
 * and the number of additional integer micro-operations. The latency factor is a multiple of llvm_latency()
 * of this kind. */
enum work llvm_division_work(LLVMValueRef division);
double llvm_division_uops(LLVMValueRef division);
double llvm_division_int_uops(LLVMValueRef division);
double llvm_division_latency_factor(LLVMValueRef division);
/* Returns true for a call of an intrinsic that compilers replace by instructions. Sets *out_work to their
 * kind; WORK_KINDS: no instruction is needed. Returns false for other calls and other instructions. */
bool llvm_is_intrinsic(LLVMValueRef call, enum work *out_work);
/* Returns the number of micro-operations of a vector reduction; 0: the call is no reduction. */
double llvm_reduction_uops(LLVMValueRef call);
/* Returns true for a phi that is increased, decreased or shifted by the same amount in each iteration. */
bool llvm_is_induction(LLVMValueRef phi);
/* Returns true if a block's branch depends on values from memory. Sets *out_test to the kind of the branch's
 * condition. */
bool llvm_is_by_data(LLVMBasicBlockRef block, enum branch_test *out_test);
/* Sets may_be_two and has_inlined of each loop header: the loop may be two nested loops of the source, and
 * one of them may be the loop of another function. from: LLVM's blocks, in the order of function->blocks;
 * blocks: indices in `from`. */
void llvm_find_merged(LLVMBasicBlockRef *from, const struct numbering *blocks, struct function *function,
                      const struct loops *loops);
/* Returns the called function; NULL: the call is through a pointer, or is assembly. */
LLVMValueRef llvm_called_function(LLVMValueRef call);
bool llvm_is_call(LLVMValueRef value);
/* Returns true if the linker may replace the function or variable by a definition in another object file. */
bool llvm_is_replaceable(LLVMValueRef global);
/* Returns the function whose body a call certainly runs exactly once. NULL: the body is not in the module,
 * the linker may replace it, the call may return twice, or the call is through a pointer. */
LLVMValueRef llvm_body_of(LLVMValueRef call);
/* Returns true for a call. Returns false for other instructions, for intrinsics that llvm_is_intrinsic()
 * accepts, and for assembly without instructions. */
bool llvm_is_real_call(LLVMValueRef value);
/* Returns true if a call may return twice, like setjmp(). */
bool llvm_returns_twice(LLVMValueRef call);
/* Returns the name of the callee, allocated in `arena`. For an intrinsic that calls the C library, returns
 * the library function's name. For assembly, the name contains the first line of its text. NULL: the call is
 * through a pointer, or out of memory. */
const char *llvm_call_name(struct arena *arena, LLVMValueRef call);
/* Returns true if the callee does not access memory. */
bool llvm_accesses_no_memory(LLVMValueRef call);
/* Returns the kind of the attribute `name`; 0: this version of LLVM does not know it. */
unsigned llvm_attribute_kind(const char *name);
/* Returns a call's attribute of this kind, or else the callee's attribute of this kind. NULL: neither has the
 * attribute. */
LLVMAttributeRef llvm_attribute(LLVMValueRef call, unsigned kind);
/* Returns the width of an integer in bits; 0: the value is no integer. */
unsigned llvm_integer_bits(LLVMValueRef value);
/* Sets *out_value to a constant integer, read as signed. Returns false if the value is no constant integer,
 * or is wider than 64 bits. */
bool llvm_constant(LLVMValueRef value, int64_t *out_value);
/* Returns the latency of a kind of work in cycles, typical of large cores. */
double llvm_latency(enum work work);
/* Returns the latency from an operand to the result of an instruction, as a multiple of llvm_latency() of the
 * instruction's kind. */
double llvm_latency_factor(LLVMValueRef instruction, unsigned operand);

/* --- pointers to functions ------------------------------------------------------------------------------ */

/* The functions that calls through pointers may reach. */
struct pointers {
    LLVMValueRef *functions;      /* all functions with bodies */
    struct numbering numbers;     /* indices in `functions` */
    const bool *is_address_taken; /* for each function: true if its address is taken */
};

/* Returns for each function whether its address is taken, in an array in `arena`; NULL: out of memory. */
bool *llvm_find_address_taken(struct arena *arena, LLVMValueRef *functions, size_t count);
/* Returns true if code outside of the module can call the function only through a pointer to it. */
bool llvm_is_local(LLVMModuleRef module, LLVMValueRef function);
/* Sets targets, target_count and is_closed of *out for a call through a pointer. The list is allocated in
 * `arena`. Returns false if out of memory. */
bool llvm_find_targets(struct arena *arena, const struct pointers *pointers, LLVMValueRef instruction,
                       struct call *out);

/* --- memory --------------------------------------------------------------------------------------------- */

/* Returns the address of a load, store or atomic operation; NULL: the instruction is none of these. Each of
 * these instructions is one item of block->accesses. */
LLVMValueRef llvm_address_of(LLVMValueRef instruction);
/* Return true if an address is a cast of another address, or is computed from another address and indices. In
 * both cases the other address is the first operand. */
bool llvm_is_cast(LLVMValueRef address);
bool llvm_is_indexed(LLVMValueRef address);
/* Returns the variable into which an address points, or else the value from which the address is computed. */
LLVMValueRef llvm_underlying_object(LLVMValueRef address);
/* Returns true if two addresses have the same underlying object and may lie in the same member of it.
 * Addresses with different underlying objects count as different. */
bool llvm_may_alias(LLVMTargetDataRef layout, LLVMValueRef a, LLVMValueRef b);
/* Returns the size of a type in bytes; NaN: unknown at compile time. */
double llvm_size_of(LLVMTargetDataRef layout, LLVMTypeRef type);
/* Returns the name of a value as in struct scev_facts, allocated in `arena`: "@name" for a global variable or
 * a constant address within it. NULL: out of memory. */
const char *llvm_address_name(struct arena *arena, LLVMValueRef address);
/* Read the accesses and values of a block, the local variables in a function's first block, and the global
 * variables of a module. The lists are allocated in `arena`. Return false if out of memory. */
bool llvm_read_accesses(struct arena *arena, LLVMTargetDataRef layout, LLVMBasicBlockRef from,
                        struct block *out);
bool llvm_read_locals(struct arena *arena, LLVMTargetDataRef layout, LLVMBasicBlockRef entry,
                      struct function *out);
bool llvm_read_globals(struct arena *arena, LLVMTargetDataRef layout, LLVMModuleRef from, struct module *out);

/* --- chains --------------------------------------------------------------------------------------------- */

/* Finds the longest dependence chain of each innermost loop, and the critical path of each block outside of
 * these loops. Marks the loads on chains of loops, so accesses must be read before. from: LLVM's blocks, in
 * the order of function->blocks. Returns false if out of memory. */
bool llvm_find_chains(LLVMTargetDataRef layout, LLVMBasicBlockRef *from, struct function *function,
                      const struct loops *loops);

/* Returns true if the innermost loop `loop` is inside another loop and does not depend on values from its own
 * previous entry. instructions: all instructions of the loop. */
bool llvm_is_entry_independent(LLVMBasicBlockRef *from, const struct loops *loops, size_t loop,
                               const struct numbering *instructions);

/* Adds the monotonic phis of each loop to its header. from: LLVM's blocks, in the order of function->blocks;
 * blocks: indices in `from`. Returns false if out of memory. */
bool llvm_find_monotonic_phis(struct arena *arena, LLVMTargetDataRef layout, LLVMBasicBlockRef *from,
                              const struct numbering *blocks, struct function *function,
                              const struct loops *loops);

/* Sets out->inlined to the functions that were inlined into `from`. all: the functions of the module;
 * programs: the index in `all` of each subprogram of the debug information. Returns false if out of
 * memory. */
bool llvm_find_inlined(struct arena *arena, LLVMValueRef from, const struct numbering *programs,
                       const struct function *all, struct function *out);
/* Returns true if clang omitted the body of this inline function, because another file defines the
 * function. */
bool llvm_is_bodiless(LLVMValueRef function);
/* Returns true if the module uses a function for which llvm_is_bodiless() returns true. */
bool llvm_has_dropped_bodies(LLVMModuleRef module);

/* --- names and operands --------------------------------------------------------------------------------- */

/* Returns a copy of a value's name in `arena`; "" if out of memory. */
const char *llvm_name(struct arena *arena, LLVMValueRef value);
/* Returns the condition under which a value of one bit is true; count 0: unknown. */
struct condition llvm_condition(struct arena *arena, LLVMValueRef value);
/* Returns the condition under which the switch `last` branches to its default; count 0: unknown. */
struct condition llvm_switch_condition(struct arena *arena, LLVMValueRef last);
/* Returns a function's parameters, an array of LLVMCountParams(function) items. NULL: out of memory. */
struct operand *llvm_parameters(struct arena *arena, LLVMValueRef function);
/* Returns the type of a call, as in struct call. */
const char *llvm_call_type(struct arena *arena, LLVMValueRef call);
/* Returns the arguments of a call, an array of LLVMGetNumArgOperands(call) items. callee NULL: the callee is
 * unknown. Returns NULL if out of memory. */
struct operand *llvm_arguments(struct arena *arena, LLVMValueRef call, LLVMValueRef callee);

/* --- the build ------------------------------------------------------------------------------------------ */

/* Returns the width in bits of the vectors that an instruction processes, at most the width of a register; 0:
 * no vectors. */
double llvm_vector_bits(LLVMValueRef instruction);
/* Returns true if the target is x86 and the instruction's function must not use a processor feature, such as
 * "+fma". */
bool llvm_lacks_feature(LLVMValueRef instruction, const char *feature);
/* Returns the number of micro-operations of an instruction on one vector register. */
double llvm_vector_uops(LLVMValueRef instruction);
/* Returns the number of multiplications among the micro-operations of a vector product. */
double llvm_vector_multiplies(LLVMValueRef product);
/* Returns the width of the widest vector register that the instruction's function may use, in bits. */
double llvm_register_bits(LLVMValueRef instruction);
/* Unrolls and vectorises the loops of a module of the count build as the user's build does. Returns false if
 * this LLVM does not support the target, or if a pass fails. */
bool llvm_build_loops(LLVMModuleRef module, const struct module_build *build);
/* Sets out->built_loops to the innermost loops of `built`. blocks: LLVM's blocks of `built`; loops: the loops
 * of `built`. Returns false if out of memory. */
bool llvm_read_built_loops(struct arena *arena, LLVMBasicBlockRef *blocks, const struct function *built,
                           const struct loops *loops, struct function *out);

#endif
