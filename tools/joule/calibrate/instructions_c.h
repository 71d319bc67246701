/* tools/joule/calibrate/instructions_c.h - the macros of kernels.c as C statements, for other architectures.
 *
 * Note: an empty asm statement after each operation keeps the compiler from folding, vectorising or removing
 * it, and adds no instruction.
 */
#ifndef CALIBRATE_INSTRUCTIONS_H
#define CALIBRATE_INSTRUCTIONS_H

#include <math.h>

#define ARCHITECTURE "C"
#define HAS_FMA      true
#define HAS_256      false
#define HAS_512      false

/* If the constraint letter of float registers is unknown, each float operation also waits for memory. */
#if defined(__riscv) || defined(__powerpc__) || defined(__loongarch__) || defined(__s390__) ||               \
    defined(__mips__)
#define FLOAT_REGISTER "+f"
#elif defined(__x86_64__) || defined(__i386__)
#define FLOAT_REGISTER "+x"
#elif defined(__arm__) || defined(__aarch64__)
#define FLOAT_REGISTER "+w"
#else
#define FLOAT_REGISTER "+m"
#endif
#define KEEP(x)  __asm__ volatile("" : "+r"(x));
#define FKEEP(x) __asm__ volatile("" : FLOAT_REGISTER(x));

#define TIMES_1(x)  x
#define TIMES_4(x)  x x x x
#define TIMES_8(x)  TIMES_4(x) TIMES_4(x)
#define TIMES_16(x) TIMES_8(x) TIMES_8(x)
#define TIMES_32(x) TIMES_16(x) TIMES_16(x)

#define C_LOOP(name, times, body, tail)                                                                      \
    static void name(struct kernel_state *g, uint64_t n)                                                     \
    {                                                                                                        \
        uint64_t i0 = g->starts[0], i1 = g->starts[1], i2 = g->starts[2], i3 = g->starts[3];                 \
        uint64_t i4 = g->starts[4], i5 = g->starts[5], iK = g->factor, iU = g->one;                          \
        uint32_t quotient = UINT32_MAX, flag = 0;                                                            \
        double f0 = g->near_one, f1 = f0, f2 = f0, f3 = f0, f4 = f0, f5 = f0, f6 = f0, f7 = f0, f8 = f0;     \
        double f9 = f0, f14 = g->near_one, f15 = g->small;                                                   \
        unsigned char *position = (unsigned char *)g->position;                                              \
        for (; n; n--) {                                                                                     \
            TIMES_##times(body) tail                                                                         \
        }                                                                                                    \
        g->position = (uint64_t)position;                                                                    \
        uint64_t ends[] = {i0, i1, i2, i3, i4, i5};                                                          \
        memcpy(g->starts, ends, sizeof ends);                                                                \
        g->sink = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8 + f9 + f14 + f15 +                              \
                  (double)(quotient + flag + iU + iK);                                                       \
    }
#define LOOP(name, times, body)       C_LOOP(name, times, body, )
#define FLOAT_LOOP(name, times, body) C_LOOP(name, times, body, )
#define LOOP_WRAP(name, times, body)                                                                         \
    C_LOOP(name, times, body, position = (uint64_t)position >= g->end ? (unsigned char *)g->begin : position;)

#define COMPARE                                                                                              \
    KEEP(iU)                                                                                                 \
    flag = iK < iU;                                                                                          \
    KEEP(flag)
#define NOP __asm__ volatile("nop");
#define ADD(d, s)                                                                                            \
    i##d += i##s;                                                                                            \
    KEEP(i##d)
#define MUL(d, s)                                                                                            \
    i##d *= i##s;                                                                                            \
    KEEP(i##d)
#define DIV_CHAIN                                                                                            \
    KEEP(iU) quotient /= (uint32_t)iU;                                                                       \
    KEEP(quotient)
#define DIV                                                                                                  \
    KEEP(iU) quotient = (uint32_t)iK / (uint32_t)iU;                                                         \
    KEEP(quotient)
#define LOAD(d)     i##d = *(volatile uint64_t *)&g->words[d];
#define STORE(d)    *(volatile uint64_t *)&g->words[8 + (d)] = iK;
#define ATOMIC      __atomic_fetch_add(&g->words[16], iK, __ATOMIC_RELAXED);
#define NEVER_TAKEN KEEP(iK) if (!iK) break;
#define BRANCH                                                                                               \
    if (*(volatile unsigned char *)position) {                                                               \
        i0 += iK;                                                                                            \
        KEEP(i0)                                                                                             \
    }                                                                                                        \
    position++;

#define FADD(d, s)                                                                                           \
    f##d += f##s;                                                                                            \
    FKEEP(f##d)
#define FMUL(d, s)                                                                                           \
    f##d *= f##s;                                                                                            \
    FKEEP(f##d)
#define FMA(d, a, s)                                                                                         \
    f##d = fma(f##d, f##a, f##s);                                                                            \
    FKEEP(f##d)
#define FDIV(d, s)                                                                                           \
    f##d /= f##s;                                                                                            \
    FKEEP(f##d)
#define FSQRT(d)                                                                                             \
    f##d = sqrt(f##d);                                                                                       \
    FKEEP(f##d)
#define FLOAD(d) f##d = *(volatile double *)&g->near_one;

#define CHASE       position = *(unsigned char *volatile *)position;
#define CHASE_BY(d) i##d = *(volatile uint64_t *)i##d;
#define READ(d, at) i##d = *(volatile uint64_t *)(position + (at));
#define WRITE(at)   *(volatile uint64_t *)(position + (at)) = iK;
#define NEXT_LINE                                                                                            \
    position += 64;                                                                                          \
    KEEP(position)

#endif
