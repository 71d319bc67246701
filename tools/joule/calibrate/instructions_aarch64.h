/* tools/joule/calibrate/instructions_aarch64.h - the macros of kernels.c as AArch64 instructions.
 *
 * Registers: integers 0 to 5 are x9 to x14; K (`factor`) and U (`one`) are x15 and x16; the current address
 * is x17; floats are d0 to d15. A vector of 256 bits is two of 128 bits: vector d, 0 to 7, is v<d> and v2<d>,
 * such as v0 and v20.
 *
 * Note: atomics are pairs of exclusive instructions, which every core of the architecture has.
 */
#ifndef CALIBRATE_INSTRUCTIONS_H
#define CALIBRATE_INSTRUCTIONS_H

#define ARCHITECTURE "aarch64"
#define HAS_FMA      true
#define HAS_256      true
#define HAS_512      false

#define I0 "x9"
#define I1 "x10"
#define I2 "x11"
#define I3 "x12"
#define I4 "x13"
#define I5 "x14"
#define IK "x15"
#define IU "x16"

/* Offsets are those of struct kernel_state. */
#define READY                                                                                                \
    "ldr x17, [%[g]]\n ldp x15, x16, [%[g], #24]\n mov w20, #-1\n add x19, %[g], #256\n"                     \
    "ldp x9, x10, [%[g], #64]\n ldp x11, x12, [%[g], #80]\n ldp x13, x14, [%[g], #96]\n"
#define READY_FLOATS                                                                                         \
    ".irp r,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14\n ldr d\\r, [%[g], #40]\n .endr\n"                            \
    "ldr d15, [%[g], #48]\n"
#define READY_256                                                                                            \
    READY_FLOATS ".irp r,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n dup v\\r\\().2d, v\\r\\().d[0]\n .endr\n"   \
                 ".irp r,20,21,22,23,24,25,26,27\n dup v\\r\\().2d, v0.d[0]\n .endr\n"
#define WRAP "ldr x21, [%[g], #16]\n ldr x22, [%[g], #8]\n cmp x17, x21\n csel x17, x22, x17, hs\n"
#define DONE                                                                                                 \
    "str x17, [%[g]]\n stp x9, x10, [%[g], #64]\n stp x11, x12, [%[g], #80]\n stp x13, x14, [%[g], #96]\n"

#define ASM_LOOP(name, ready, times, body, tail)                                                             \
    static void name(struct kernel_state *g, uint64_t n)                                                     \
    {                                                                                                        \
        __asm__ volatile(ready ".p2align 6\n1:\n.rept " #times "\n" body ".endr\n" tail                      \
                               "subs %[n], %[n], #1\n b.ne 1b\n9:\n" DONE                                    \
                         : [n] "+r"(n)                                                                       \
                         : [g] "r"(g)                                                                        \
                         : "memory", "cc", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17",     \
                           "x19", "x20", "x21", "x22", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", \
                           "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v20", "v21", "v22", "v23",       \
                           "v24", "v25", "v26", "v27");                                                      \
    }
#define LOOP(name, times, body)       ASM_LOOP(name, READY, times, body, "")
#define LOOP_WRAP(name, times, body)  ASM_LOOP(name, READY, times, body, WRAP)
#define FLOAT_LOOP(name, times, body) ASM_LOOP(name, READY READY_FLOATS, times, body, "")
#define LOOP_256(name, times, body)   ASM_LOOP(name, READY READY_256, times, body, WRAP)

#define COMPARE     "cmp x15, x16\n"
#define NOP         "nop\n"
#define ADD(d, s)   "add " I##d ", " I##d ", " I##s "\n"
#define MUL(d, s)   "mul " I##d ", " I##d ", " I##s "\n"
#define DIV_CHAIN   "udiv w20, w20, w16\n"
#define DIV         "udiv w21, w15, w16\n"
#define LOAD(d)     "ldr " I##d ", [%[g], #(128+8*" #d ")]\n"
#define STORE(d)    "str x15, [%[g], #(192+8*" #d ")]\n"
#define ATOMIC      "2: ldxr x20, [x19]\n add x20, x20, x15\n stxr w21, x20, [x19]\n cbnz w21, 2b\n"
#define NEVER_TAKEN "cbz x15, 9f\n"
#define BRANCH      "ldrb w20, [x17]\n add x17, x17, x16\n cbz w20, 2f\n add x9, x9, x15\n2:\n"

#define FADD(d, s)   "fadd d" #d ", d" #d ", d" #s "\n"
#define FMUL(d, s)   "fmul d" #d ", d" #d ", d" #s "\n"
#define FMA(d, a, s) "fmadd d" #d ", d" #d ", d" #a ", d" #s "\n"
#define FDIV(d, s)   "fdiv d" #d ", d" #d ", d" #s "\n"
#define FSQRT(d)     "fsqrt d" #d ", d" #d "\n"
#define FLOAD(d)     "ldr d" #d ", [%[g], #40]\n"

#define VADD(d)       "fadd v" #d ".2d, v" #d ".2d, v15.2d\n fadd v2" #d ".2d, v2" #d ".2d, v15.2d\n"
#define VFMA(d)       "fmla v" #d ".2d, v14.2d, v15.2d\n fmla v2" #d ".2d, v14.2d, v15.2d\n"
#define VLOAD(d, at)  "ldp q" #d ", q2" #d ", [x17, #" #at "]\n"
#define VSTORE(d, at) "stp q" #d ", q2" #d ", [x17, #" #at "]\n"
#define VSUM(d, s)    "fadd v" #d ".2d, v" #d ".2d, v" #s ".2d\n fadd v2" #d ".2d, v2" #d ".2d, v2" #s ".2d\n"

/* Loads the next address from the current address. */
#define CHASE       "ldr x17, [x17]\n"
#define CHASE_BY(d) "ldr " I##d ", [" I##d "]\n"
/* Accesses the word `at` bytes after the current address. */
#define READ(d, at) "ldr " I##d ", [x17, #" #at "]\n"
#define WRITE(at)   "str x15, [x17, #" #at "]\n"
#define NEXT_LINE   "add x17, x17, #64\n"

#endif
