/* tools/joule/calibrate/instructions_x86_64.h - the macros of kernels.c as x86-64 instructions.
 *
 * Registers: integers 0 to 5 are r8 to r13; K (`factor`) and U (`one`) are r14 and r15; the current address
 * is rsi; floats are xmm0 to xmm15. rdi is the address of struct kernel_state, and rbx contains the number of
 * remaining rounds.
 *
 * Note: additions take two registers, because newer cores execute additions of small constants during
 * renaming.
 */
#ifndef CALIBRATE_INSTRUCTIONS_H
#define CALIBRATE_INSTRUCTIONS_H

#define ARCHITECTURE "x86-64"
#define HAS_FMA      (__builtin_cpu_supports("fma") != 0)
#define HAS_256      (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
#define HAS_512      (__builtin_cpu_supports("avx512f") != 0)

#define I0 "r8"
#define I1 "r9"
#define I2 "r10"
#define I3 "r11"
#define I4 "r12"
#define I5 "r13"
#define IK "r14"
#define IU "r15"

/* Offsets are those of struct kernel_state. */
#define READY                                                                                                \
    "mov (%[g]), %%rsi\n mov 24(%[g]), %%r14\n mov 32(%[g]), %%r15\n mov $-1, %%eax\n mov $64, %%edx\n"      \
    "mov 64(%[g]), %%r8\n mov 72(%[g]), %%r9\n mov 80(%[g]), %%r10\n"                                        \
    "mov 88(%[g]), %%r11\n mov 96(%[g]), %%r12\n mov 104(%[g]), %%r13\n"
#define READY_FLOATS                                                                                         \
    ".irp r,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14\n movsd 40(%[g]), %%xmm\\r\n .endr\n"                         \
    "movsd 48(%[g]), %%xmm15\n"
#define READY_256                                                                                            \
    ".irp r,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14\n vbroadcastsd 40(%[g]), %%ymm\\r\n .endr\n"                  \
    "vbroadcastsd 48(%[g]), %%ymm15\n"
#define READY_512                                                                                            \
    ".irp r,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14\n vbroadcastsd 40(%[g]), %%zmm\\r\n .endr\n"                  \
    "vbroadcastsd 48(%[g]), %%zmm15\n"
#define WRAP "cmp 16(%[g]), %%rsi\n cmovae 8(%[g]), %%rsi\n"
#define DONE                                                                                                 \
    "mov %%rsi, (%[g])\n mov %%r8, 64(%[g])\n mov %%r9, 72(%[g])\n mov %%r10, 80(%[g])\n"                    \
    "mov %%r11, 88(%[g])\n mov %%r12, 96(%[g])\n mov %%r13, 104(%[g])\n"
#define DONE_WIDE "vzeroupper\n" DONE

#define ASM_LOOP(name, ready, times, body, tail, done)                                                       \
    static void name(struct kernel_state *g, uint64_t n)                                                     \
    {                                                                                                        \
        __asm__ volatile(ready ".p2align 6\n1:\n.rept " #times "\n" body ".endr\n" tail                      \
                               "dec %[n]\n jnz 1b\n9:\n" done                                                \
                         : [n] "+b"(n)                                                                       \
                         : [g] "D"(g)                                                                        \
                         : "memory", "cc", "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "r12",      \
                           "r13", "r14", "r15", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",      \
                           "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");    \
    }
#define LOOP(name, times, body)       ASM_LOOP(name, READY, times, body, "", DONE)
#define LOOP_WRAP(name, times, body)  ASM_LOOP(name, READY, times, body, WRAP, DONE)
#define FLOAT_LOOP(name, times, body) ASM_LOOP(name, READY READY_FLOATS, times, body, "", DONE)
#define LOOP_256(name, times, body)   ASM_LOOP(name, READY READY_256, times, body, WRAP, DONE_WIDE)
#define LOOP_512(name, times, body)   ASM_LOOP(name, READY READY_512, times, body, WRAP, DONE_WIDE)

#define COMPARE     "test %%r14, %%r15\n"
#define NOP         "nop\n"
#define ADD(d, s)   "add %%" I##s ", %%" I##d "\n"
#define MUL(d, s)   "imul %%" I##s ", %%" I##d "\n"
#define DIV_CHAIN   "xor %%edx, %%edx\n div %%r15d\n"
#define DIV         "mov %%r14d, %%eax\n xor %%edx, %%edx\n div %%r15d\n"
#define LOAD(d)     "mov 128+8*" #d "(%[g]), %%" I##d "\n"
#define STORE(d)    "mov %%r14, 192+8*" #d "(%[g])\n"
#define ATOMIC      "lock add %%r14, 256(%[g])\n"
#define NEVER_TAKEN "test %%r14, %%r14\n jz 9f\n"
#define BRANCH      "movzbl (%%rsi), %%ecx\n add %%r15, %%rsi\n test %%ecx, %%ecx\n jz 2f\n add %%r14, %%r8\n2:\n"

#define FADD(d, s)   "addsd %%xmm" #s ", %%xmm" #d "\n"
#define FMUL(d, s)   "mulsd %%xmm" #s ", %%xmm" #d "\n"
#define FMA(d, a, s) "vfmadd132sd %%xmm" #a ", %%xmm" #s ", %%xmm" #d "\n"
#define FDIV(d, s)   "divsd %%xmm" #s ", %%xmm" #d "\n"
#define FSQRT(d)     "sqrtsd %%xmm" #d ", %%xmm" #d "\n"
#define FLOAD(d)     "movsd 40(%[g]), %%xmm" #d "\n"

#define VADD(d)       "vaddpd %%ymm15, %%ymm" #d ", %%ymm" #d "\n"
#define VFMA(d)       "vfmadd132pd %%ymm14, %%ymm15, %%ymm" #d "\n"
#define VLOAD(d, at)  "vmovupd " #at "(%%rsi), %%ymm" #d "\n"
#define VSTORE(d, at) "vmovupd %%ymm" #d ", " #at "(%%rsi)\n"
#define VSUM(d, s)    "vaddpd %%ymm" #s ", %%ymm" #d ", %%ymm" #d "\n"
#define WADD(d)       "vaddpd %%zmm15, %%zmm" #d ", %%zmm" #d "\n"
#define WFMA(d)       "vfmadd132pd %%zmm14, %%zmm15, %%zmm" #d "\n"
#define WLOAD(d, at)  "vmovupd " #at "(%%rsi), %%zmm" #d "\n"
#define WSUM(d, s)    "vaddpd %%zmm" #s ", %%zmm" #d ", %%zmm" #d "\n"

/* Loads the next address from the current address. */
#define CHASE       "mov (%%rsi), %%rsi\n"
#define CHASE_BY(d) "mov (%%" I##d "), %%" I##d "\n"
/* Accesses the word `at` bytes after the current address. */
#define READ(d, at) "mov " #at "(%%rsi), %%" I##d "\n"
#define WRITE(at)   "mov %%r14, " #at "(%%rsi)\n"
#define NEXT_LINE   "add %%rdx, %%rsi\n"

#endif
