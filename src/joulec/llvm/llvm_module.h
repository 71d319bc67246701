/* joulec/llvm/llvm_module.h - LLVM's things, for the files that know them.
 *
 * Owns what an instruction does, how long a loop's chain is and what creeps in it, whole numbers and what is asked of them, and finding LLVM's
 * pointers again in lists of ours.
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

/* From LLVM's things to their places in lists of ours. */
struct numbering {
    struct numbered *list; /* by address */
    size_t count;
};

/* Of items[0..count), which may be any of LLVM's pointers. False: no memory. */
bool llvm_number_all(struct arena *arena, void *const *items, size_t count, struct numbering *out);
/* -1: it is in no list. */
int32_t llvm_number_of(const struct numbering *numbering, const void *item);

/* Bitcode or text; owned by the caller. INVALID, with LLVM's words: it is neither, or cannot be read. */
joule_status llvm_parse(LLVMContextRef context, const char *path, LLVMModuleRef *out_module,
                        joule_error *out_error);

/* Makes sums again of choices between a sum and what it is in one case. */
void llvm_settle(LLVMModuleRef module);

/* --- work ----------------------------------------------------------------------------------------------------- */

/* What an instruction does; WORK_KINDS: it costs nothing of its own. */
enum work llvm_work(LLVMValueRef instruction);
/* How often it does so: a vector that is longer than a register is worked on in parts. */
double llvm_parts(LLVMValueRef instruction);
/* A division of whole numbers, or its remainder: what it does and how often, whole numbers' steps beside that, and how many of
 * that kind's latencies its result takes. */
bool llvm_is_division(LLVMValueRef value);
enum work llvm_division_work(LLVMValueRef division);
double llvm_division_steps(LLVMValueRef division);
double llvm_division_ints(LLVMValueRef division);
double llvm_division_waits(LLVMValueRef division);
/* A call of one of LLVM's functions that is an instruction, or nothing (WORK_KINDS). False: it is a real call, or none. */
bool llvm_is_intrinsic(LLVMValueRef call, enum work *out_work);
/* Of such a call that makes one number of a vector's elements; 0: it is another. */
double llvm_reducing_steps(LLVMValueRef call);
/* A phi that goes on by the same step each time. */
bool llvm_is_counter(LLVMValueRef phi);
/* Whether values from memory decide which way a block's last instruction goes; and what it asks. */
bool llvm_is_by_data(LLVMBasicBlockRef block, enum question *out_question);
/* Sets may_be_two of the header of each loop that may be two nested loops of the source. `from` are LLVM's blocks, as in
 * function->blocks, and `blocks` their numbers. */
void llvm_find_merged(LLVMBasicBlockRef *from, const struct numbering *blocks, struct function *function,
                      const struct loops *loops);
/* NULL: through a pointer. */
LLVMValueRef llvm_called_function(LLVMValueRef call);
bool llvm_is_call(LLVMValueRef value);
/* Whether another object may have something else in the place of a function or a variable of this one. */
bool llvm_is_replaceable(LLVMValueRef global);
/* What surely runs, once, where a function is called by name; NULL: its body is not here, may be another in the end, or it is called
 * through a pointer. */
LLVMValueRef llvm_body_of(LLVMValueRef call);
/* One that is no instruction of LLVM's in a call's clothes, and no assembly without words. */
bool llvm_is_real_call(LLVMValueRef value);
/* Whether it comes back more than once, as setjmp does. */
bool llvm_returns_again(LLVMValueRef call);
/* What a real call is of: for one of LLVM's, the C library's function that it is in the end; for assembly, its words. NULL: through a
 * pointer, or no memory. */
const char *llvm_call_name(struct arena *arena, LLVMValueRef call);
/* Whether what it calls leaves memory as it is; and whether it does not even look there. */
bool llvm_writes_nothing(LLVMValueRef call);
bool llvm_touches_nothing(LLVMValueRef call);
/* 0: this LLVM does not know it. An attribute of a call, or of what it calls; NULL: neither has it. */
unsigned llvm_attribute_kind(const char *name);
LLVMAttributeRef llvm_attribute(LLVMValueRef call, unsigned kind);
/* As a signed number. False: it is no constant, or does not fit. */
bool llvm_constant(LLVMValueRef value, int64_t *out_value);
/* Cycles from operand to result, typical of large cores; and how many such steps an instruction takes from one operand. */
double llvm_latency(enum work work);
double llvm_waits(LLVMValueRef instruction, unsigned operand);

/* --- pointers to functions ------------------------------------------------------------------------------------ */

struct pointers {
    LLVMValueRef *functions; /* with bodies */
    struct numbering numbers;
    const bool *is_taken; /* of each */
};

/* Of which of these functions somebody has the address; NULL: no memory. */
bool *llvm_find_taken(struct arena *arena, LLVMValueRef *functions, size_t count);
/* Returns true if no code outside of the module can call the function, unless its address is taken. */
bool llvm_is_local(LLVMModuleRef module, LLVMValueRef function);
/* Sets the targets of a call through a pointer. False: no memory. */
bool llvm_find_targets(struct arena *arena, const struct pointers *pointers, LLVMValueRef instruction,
                       struct call *out);

/* --- memory ------------------------------------------------------------------------------------------------- */

/* The address of a load, a store or an atomic operation, which is an access of its block; NULL: it is none. */
LLVMValueRef llvm_address_of(LLVMValueRef instruction);
/* Whether it is another address under another type; and whether it is made of another one, and of indices. Both have that one as
 * their first operand. */
bool llvm_is_cast(LLVMValueRef address);
bool llvm_is_indexed(LLVMValueRef address);
/* The variable in which an address lies, or what else it is made from. */
LLVMValueRef llvm_base_of(LLVMValueRef address);
/* Whether two addresses may be one: they lie in one variable, and not in different members of it. */
bool llvm_may_share(LLVMTargetDataRef layout, LLVMValueRef a, LLVMValueRef b);
/* Bytes of a type; NaN: nobody knows before it runs. */
double llvm_size_of(LLVMTargetDataRef layout, LLVMTypeRef type);
/* What the loops' text calls a value: a global, or a constant place in one, is "@name". NULL: no memory. */
const char *llvm_address_name(struct arena *arena, LLVMValueRef address);
/* Loads, stores and values of a block, and local variables of a function; global ones of a module. False: no memory. */
bool llvm_read_accesses(struct arena *arena, LLVMTargetDataRef layout, LLVMBasicBlockRef from,
                        struct block *out);
bool llvm_read_locals(struct arena *arena, LLVMTargetDataRef layout, LLVMBasicBlockRef entry,
                      struct function *out);
bool llvm_read_globals(struct arena *arena, LLVMTargetDataRef layout, LLVMModuleRef from, struct module *out);

/* --- chains ------------------------------------------------------------------------------------------------- */

/* Of each innermost loop, how the longest chain runs through its blocks, and which loads are on it. `from` are LLVM's blocks, as
 * in function->blocks, which have their accesses. False: no memory. */
bool llvm_find_chains(LLVMTargetDataRef layout, LLVMBasicBlockRef *from, struct function *function,
                      const struct loops *loops);

/* Whether the innermost loop number `loop`, which has these instructions, stands in another one and waits for nothing that it left
 * when it ran before. */
bool llvm_begins_anew(LLVMBasicBlockRef *from, const struct loops *loops, size_t loop,
                      const struct numbering *instructions);

/* What creeps in each loop, as header's creeps. `from` are LLVM's blocks, as in function->blocks, and `blocks` their numbers. False: no
 * memory. */
bool llvm_find_creeps(struct arena *arena, LLVMTargetDataRef layout, LLVMBasicBlockRef *from,
                      const struct numbering *blocks, struct function *function, const struct loops *loops);

/* Which of the module's functions, `all`, were put into `from` in the place of calls; `programs` are the numbers of their
 * subprograms. False: no memory. */
bool llvm_find_inlined(struct arena *arena, LLVMValueRef from, const struct numbering *programs,
                       const struct function *all, struct function *out);
/* Returns true if clang had a body of this function that LLVM dropped, because another file has it, too. */
bool llvm_is_bodiless(LLVMValueRef function);
/* Returns true if the module uses such a function. */
bool llvm_has_dropped_bodies(LLVMModuleRef module);

/* --- names and operands --------------------------------------------------------------------------------------- */

/* A copy of a value's name in `arena`; "" when memory is used up. */
const char *llvm_name(struct arena *arena, LLVMValueRef value);
/* `is_unsigned`: a constant is, where it is narrower than 32 bits. */
struct operand llvm_operand(struct arena *arena, LLVMValueRef value, bool is_unsigned);
/* What a value of one bit says. */
struct condition llvm_condition(struct arena *arena, LLVMValueRef value);
/* What holds where a switch goes to its default. */
struct condition llvm_switch_condition(struct arena *arena, LLVMValueRef last);
/* A function's parameters, LLVMCountParams of them. NULL: no memory. */
struct operand *llvm_parameters(struct arena *arena, LLVMValueRef function);
/* Of a call of a function, as struct call has it. */
const char *llvm_call_type(struct arena *arena, LLVMValueRef call);
/* What a call passes, LLVMGetNumArgOperands of them; callee NULL: it is not known. NULL: no memory. */
struct operand *llvm_arguments(struct arena *arena, LLVMValueRef call, LLVMValueRef callee);

/* --- the build ---------------------------------------------------------------------------------------------- */

/* Bits of the vectors that an instruction works on, of a register's at most; 0: no vectors. */
double llvm_vector_bits(LLVMValueRef instruction);
/* Whether the target is of the x86 kind and the function may not use this of it, as "+fma". */
bool llvm_lacks(LLVMValueRef instruction, const char *feature);
/* Micro-operations of one instruction on one vector register. */
double llvm_vector_steps(LLVMValueRef instruction);
/* Of those of a product, how many multiply. */
double llvm_vector_products(LLVMValueRef product);
/* Bits of the widest vector register that the instruction's function may use. */
double llvm_register_bits(LLVMValueRef instruction);
/* Changes the loops of a counted module into those of the build. False: this LLVM cannot. */
bool llvm_build_loops(LLVMModuleRef module, const struct module_build *build);
/* Takes the innermost loops of `built`, whose blocks are LLVM's `blocks`, as out->wide. False: no memory. */
bool llvm_take_wide(struct arena *arena, LLVMBasicBlockRef *blocks, const struct function *built,
                    const struct loops *loops, struct function *out);

#endif
