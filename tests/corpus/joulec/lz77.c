/* tests/corpus/joulec/lz77.c - a text unpacked (Lempel, Ziv): 2048 times some new letters and then a piece of what was there
 * before; letter by letter, by calls of memcpy, by eight letters at once, or through a window as a stream has it. */
#include <joule/budget.h>
#include <string.h>
#include "corpus.h"

#define ITEMS     2048
#define MOST_NEW  7
#define LEAST_OLD 3
#define MOST_OLD  18
#define FURTHEST  4096 /* back to what is repeated */
#define PACKED    (ITEMS * (3 + MOST_NEW))
#define TEXT      (ITEMS * (MOST_NEW + MOST_OLD))
#define SPARE     32 /* written behind the end by those who write eight at once */

static uint8_t packed[PACKED + SPARE], text[TEXT + SPARE];
static uint32_t text_bytes;

/* An item: how many new letters in the upper half of a byte, and how many old ones in its lower half; the new letters; two
 * bytes of how far back the old ones begin. Old ones may reach into themselves. */
static void prepare(void)
{
    uint32_t at = 0, done = 0;
    memset(packed, 0, sizeof packed);
    for (uint32_t i = 0; i < ITEMS; i++) {
        uint32_t news = corpus_random() % (MOST_NEW + 1), olds = corpus_random() % (MOST_OLD - LEAST_OLD + 1);
        news = i == 0 ? MOST_NEW : news * (corpus_random() % 2);
        packed[at++] = (uint8_t)(news << 4 | olds);
        for (uint32_t k = 0; k < news; k++)
            packed[at++] = (uint8_t)('a' + corpus_random() % 26);
        done += news;
        uint32_t far = done < FURTHEST ? done : FURTHEST;
        far = 1 + corpus_random() % (corpus_random() % 8 ? far : far < 8 ? far : 8);
        packed[at++] = (uint8_t)far;
        packed[at++] = (uint8_t)(far >> 8);
        done += olds + LEAST_OLD;
    }
    text_bytes = done;
}

/* What is behind the end was no part of the text. */
static uint64_t finish(const uint8_t *end)
{
    memset(text + text_bytes, 0, SPARE);
    return (uint64_t)(end - text);
}

static uint64_t lz77_letters(void)
{
    const uint8_t *from = packed;
    uint8_t *to = text;
    for (int i = 0; i < ITEMS; i++) {
        uint32_t token = *from++;
        JOULE_LOOP(0, MOST_NEW)
        for (uint32_t k = token >> 4; k > 0; k--)
            *to++ = *from++;
        const uint8_t *old = to - (from[0] | from[1] << 8);
        from += 2;
        JOULE_LOOP(LEAST_OLD, MOST_OLD)
        for (uint32_t k = (token & 15) + LEAST_OLD; k > 0; k--)
            *to++ = *old++;
    }
    return finish(to);
}

static uint64_t lz77_copies(void)
{
    const uint8_t *from = packed;
    uint8_t *to = text;
    for (int i = 0; i < ITEMS; i++) {
        int news = *from >> 4, olds = (*from & 15) + LEAST_OLD;
        memcpy(to, from + 1, (size_t)news);
        to += news;
        from += 1 + news;
        int far = from[0] | from[1] << 8;
        from += 2;
        if (far >= olds) {
            memcpy(to, to - far, (size_t)olds);
        } else {
            JOULE_LOOP(LEAST_OLD, MOST_OLD)
            for (int k = 0; k < olds; k++)
                to[k] = to[k - far];
        }
        to += olds;
    }
    return finish(to);
}

static inline void copy_eight(uint8_t *to, const uint8_t *from)
{
    uint64_t word;
    memcpy(&word, from, sizeof word);
    memcpy(to, &word, sizeof word);
}

/* Copies too much, which is written over by what follows. */
static uint64_t lz77_words(void)
{
    const uint8_t *from = packed;
    uint8_t *to = text;
    for (int i = 0; i < ITEMS; i++) {
        int news = *from >> 4, olds = (*from & 15) + LEAST_OLD;
        copy_eight(to, from + 1);
        to += news;
        from += 1 + news;
        int far = from[0] | from[1] << 8;
        from += 2;
        if (far >= 8) {
            JOULE_LOOP(1, (MOST_OLD + 7) / 8)
            for (int k = 0; k < olds; k += 8)
                copy_eight(to + k, to + k - far);
        } else {
            JOULE_LOOP(LEAST_OLD, MOST_OLD)
            for (int k = 0; k < olds; k++)
                to[k] = to[k - far];
        }
        to += olds;
    }
    return finish(to);
}

struct window {
    uint8_t letters[FURTHEST];
    uint32_t at;
    uint8_t *to;
};

static inline void put(struct window *w, uint8_t letter)
{
    w->letters[w->at++ % FURTHEST] = letter;
    *w->to++ = letter;
}

static uint64_t lz77_window(void)
{
    static struct window w;
    const uint8_t *from = packed;
    w.at = 0;
    w.to = text;
    for (int i = 0; i < ITEMS; i++) {
        uint32_t token = *from++;
        JOULE_LOOP(0, MOST_NEW)
        for (uint32_t k = 0; k < token >> 4; k++)
            put(&w, *from++);
        uint32_t old = w.at - (from[0] | (uint32_t)from[1] << 8);
        from += 2;
        JOULE_LOOP(LEAST_OLD, MOST_OLD)
        for (uint32_t k = 0; k < (token & 15) + LEAST_OLD; k++)
            put(&w, w.letters[(old + k) % FURTHEST]);
    }
    return finish(w.to);
}

const struct group lz77 = {
    prepare,
    text,
    sizeof text,
    {PROGRAM(lz77_letters), PROGRAM(lz77_copies), PROGRAM(lz77_words), PROGRAM(lz77_window)}};
