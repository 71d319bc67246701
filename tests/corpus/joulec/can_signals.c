/* tests/corpus/joulec/can_signals.c - the values of the signals in 640 CAN frames of eight bytes and four
 * kinds. Bit 0 is the lowest bit of the first byte.
 *
 * The programs use a table of positions and read bytes or the whole frame, use a table of shifts, or contain
 * code for each kind of frame.
 */
#include <joule/budget.h>
#include <string.h>
#include "corpus.h"

#define FRAMES      640
#define KINDS       4
#define MAX_SIGNALS 5 /* maximum number of signals in a frame */

struct signal_place {
    uint8_t begin, bits, is_signed;
    int16_t factor, offset;
    int32_t minimum, maximum; /* values outside of this range are clamped */
};

static const struct kind {
    uint32_t count;
    struct signal_place signals[MAX_SIGNALS];
} kinds[KINDS] = {
    {5,
     {{0, 16, 0, 1, 0, 0, 50000},     /* engine speed */
      {16, 12, 1, 5, 0, -8000, 8000}, /* torque */
      {28, 8, 0, 1, -40, -40, 150},   /* coolant */
      {36, 10, 0, 1, 0, 0, 1000},     /* accelerator pedal */
      {60, 4, 0, 1, 0, 0, 15}}},      /* counter */
    {4,
     {{2, 13, 0, 3, 0, 0, 20000},
      {18, 13, 0, 3, 0, 0, 20000},
      {34, 13, 0, 3, 0, 0, 20000},
      {50, 13, 0, 3, 0, 0, 20000}}}, /* wheel speeds */
    {5,
     {{0, 1, 0, 1, 0, 0, 1},
      {1, 2, 0, 1, 0, 0, 2},
      {15, 9, 1, 2, 0, -400, 400},
      {24, 11, 1, 1, 100, -900, 1000},
      {35, 21, 0, 1, 0, 0, 2000000}}}, /* body */
    {3,
     {{4, 14, 1, 10, 0, -70000, 70000},   /* steering */
      {20, 20, 1, 1, 0, -500000, 500000}, /* yaw */
      {44, 16, 0, 1, 0, 0, 60000}}},      /* pressure */
};

struct frame {
    uint8_t kind, bytes[8];
};

static struct frame frames[FRAMES];
static int32_t values[FRAMES][MAX_SIGNALS];

static void prepare(void)
{
    memset(values, 0, sizeof values);
    for (int f = 0; f < FRAMES; f++) {
        frames[f].kind = (uint8_t)(corpus_random() % KINDS);
        for (int i = 0; i < 8; i++)
            frames[f].bytes[i] = (uint8_t)corpus_random();
    }
}

static inline int32_t clamped(int32_t v, int32_t minimum, int32_t maximum)
{
    return v < minimum ? minimum : v > maximum ? maximum : v;
}

static inline int32_t scaled(const struct signal_place *s, int32_t raw)
{
    return clamped(raw * s->factor + s->offset, s->minimum, s->maximum);
}

static inline uint64_t word_of(const struct frame *frame)
{
    uint64_t word;
    memcpy(&word, frame->bytes, 8);
    return word;
}

static uint64_t can_signals_bytes(void)
{
    memset(values, 0, sizeof values);
    for (int f = 0; f < FRAMES; f++) {
        const struct kind *kind = &kinds[frames[f].kind];
        JOULE_LOOP(1, MAX_SIGNALS)
        for (uint32_t i = 0; i < kind->count; i++) {
            const struct signal_place *s = &kind->signals[i];
            uint32_t first = s->begin / 8, last = (s->begin + s->bits - 1u) / 8, all = 0;
            JOULE_LOOP(1, 4)
            for (uint32_t k = first; k <= last; k++)
                all |= (uint32_t)frames[f].bytes[k] << 8 * (k - first);
            uint32_t raw = all >> s->begin % 8 & ((1u << s->bits) - 1);
            uint32_t sign = (uint32_t)s->is_signed << (s->bits - 1);
            raw = (raw ^ sign) - sign;
            values[f][i] = scaled(s, (int32_t)raw);
        }
    }
    return 0;
}

static uint64_t can_signals_word(void)
{
    memset(values, 0, sizeof values);
    for (int f = 0; f < FRAMES; f++) {
        const struct kind *kind = &kinds[frames[f].kind];
        uint64_t word = word_of(&frames[f]);
        JOULE_LOOP(1, MAX_SIGNALS)
        for (uint32_t i = 0; i < kind->count; i++) {
            const struct signal_place *s = &kind->signals[i];
            uint32_t raw = (uint32_t)(word >> s->begin) & ((1u << s->bits) - 1);
            if (s->is_signed && raw >> (s->bits - 1))
                raw -= 1u << s->bits;
            values[f][i] = scaled(s, (int32_t)raw);
        }
    }
    return 0;
}

/* Shifts each signal to the top of the word and back, which extends the sign of signed signals. */
static uint64_t can_signals_shifts(void)
{
    static uint8_t up[KINDS][MAX_SIGNALS], down[KINDS][MAX_SIGNALS];
    for (int k = 0; k < KINDS; k++)
        for (int i = 0; i < MAX_SIGNALS; i++) {
            up[k][i] = (uint8_t)((64 - kinds[k].signals[i].begin - kinds[k].signals[i].bits) & 63);
            down[k][i] = (uint8_t)((64 - kinds[k].signals[i].bits) & 63);
        }
    memset(values, 0, sizeof values);
    for (int f = 0; f < FRAMES; f++) {
        uint32_t k = frames[f].kind;
        uint64_t word = word_of(&frames[f]);
        JOULE_LOOP(1, MAX_SIGNALS)
        for (uint32_t i = 0; i < kinds[k].count; i++) {
            const struct signal_place *s = &kinds[k].signals[i];
            uint64_t top = word << up[k][i];
            int64_t raw = s->is_signed ? (int64_t)top >> down[k][i] : (int64_t)(top >> down[k][i]);
            values[f][i] = scaled(s, (int32_t)raw);
        }
    }
    return 0;
}

static inline int32_t natural(uint64_t word, int begin, int bits)
{
    return (int32_t)(word >> begin & ((UINT64_C(1) << bits) - 1));
}

static inline int32_t integer(uint64_t word, int begin, int bits)
{
    return (int32_t)((int64_t)(word << (64 - begin - bits)) >> (64 - bits));
}

static uint64_t can_signals_written(void)
{
    memset(values, 0, sizeof values);
    for (int f = 0; f < FRAMES; f++) {
        uint64_t w = word_of(&frames[f]);
        int32_t *v = values[f];
        switch (frames[f].kind) {
        case 0:
            v[0] = clamped(natural(w, 0, 16), 0, 50000);
            v[1] = clamped(integer(w, 16, 12) * 5, -8000, 8000);
            v[2] = clamped(natural(w, 28, 8) - 40, -40, 150);
            v[3] = clamped(natural(w, 36, 10), 0, 1000);
            v[4] = natural(w, 60, 4);
            break;
        case 1:
            for (int wheel = 0; wheel < 4; wheel++)
                v[wheel] = clamped(natural(w, 2 + 16 * wheel, 13) * 3, 0, 20000);
            break;
        case 2:
            v[0] = natural(w, 0, 1);
            v[1] = clamped(natural(w, 1, 2), 0, 2);
            v[2] = clamped(integer(w, 15, 9) * 2, -400, 400);
            v[3] = clamped(integer(w, 24, 11) + 100, -900, 1000);
            v[4] = clamped(natural(w, 35, 21), 0, 2000000);
            break;
        default:
            v[0] = clamped(integer(w, 4, 14) * 10, -70000, 70000);
            v[1] = clamped(integer(w, 20, 20), -500000, 500000);
            v[2] = clamped(natural(w, 44, 16), 0, 60000);
        }
    }
    return 0;
}

const struct group can_signals = {prepare,
                                  values,
                                  sizeof values,
                                  {PROGRAM(can_signals_bytes), PROGRAM(can_signals_word),
                                   PROGRAM(can_signals_shifts), PROGRAM(can_signals_written)}};
