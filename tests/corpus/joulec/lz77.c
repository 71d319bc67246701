/* tests/corpus/joulec/lz77.c - decompression of a text (LZ77) that consists of 2048 items. An item contains
 * some literals and then a match, which refers to earlier text.
 *
 * The programs copy letter by letter, with memcpy, in copies of eight letters, or through a ring buffer as
 * for a stream.
 */
#include <joule/budget.h>
#include <string.h>
#include "corpus.h"

#define ITEMS        2048
#define MAX_LITERALS 7
#define MIN_MATCH    3
#define MAX_MATCH    18
#define MAX_DISTANCE 4096 /* maximum distance of a match */
#define PACKED       (ITEMS * (3 + MAX_LITERALS))
#define TEXT         (ITEMS * (MAX_LITERALS + MAX_MATCH))
#define SPARE        32 /* bytes after the end that copies of eight letters may write */

static uint8_t packed[PACKED + SPARE], text[TEXT + SPARE];
static uint32_t text_bytes;

/* Makes the items. An item is a byte, the literals, and two bytes for the distance of the match. The upper
 * half of the byte is the number of literals. Its lower half is the length of the match minus MIN_MATCH. A
 * match may overlap itself. */
static void prepare(void)
{
    uint32_t at = 0, done = 0;
    memset(packed, 0, sizeof packed);
    for (uint32_t i = 0; i < ITEMS; i++) {
        uint32_t literals = corpus_random() % (MAX_LITERALS + 1),
                 matched = corpus_random() % (MAX_MATCH - MIN_MATCH + 1);
        literals = i == 0 ? MAX_LITERALS : literals * (corpus_random() % 2);
        packed[at++] = (uint8_t)(literals << 4 | matched);
        for (uint32_t k = 0; k < literals; k++)
            packed[at++] = (uint8_t)('a' + corpus_random() % 26);
        done += literals;
        uint32_t far = done < MAX_DISTANCE ? done : MAX_DISTANCE;
        far = 1 + corpus_random() % (corpus_random() % 8 ? far : far < 8 ? far : 8);
        packed[at++] = (uint8_t)far;
        packed[at++] = (uint8_t)(far >> 8);
        done += matched + MIN_MATCH;
    }
    text_bytes = done;
}

/* Clears the bytes after the end, which are not part of the text. */
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
        JOULE_LOOP(0, MAX_LITERALS)
        for (uint32_t k = token >> 4; k > 0; k--)
            *to++ = *from++;
        const uint8_t *old = to - (from[0] | from[1] << 8);
        from += 2;
        JOULE_LOOP(MIN_MATCH, MAX_MATCH)
        for (uint32_t k = (token & 15) + MIN_MATCH; k > 0; k--)
            *to++ = *old++;
    }
    return finish(to);
}

static uint64_t lz77_copies(void)
{
    const uint8_t *from = packed;
    uint8_t *to = text;
    for (int i = 0; i < ITEMS; i++) {
        int literals = *from >> 4, matched = (*from & 15) + MIN_MATCH;
        memcpy(to, from + 1, (size_t)literals);
        to += literals;
        from += 1 + literals;
        int far = from[0] | from[1] << 8;
        from += 2;
        if (far >= matched) {
            memcpy(to, to - far, (size_t)matched);
        } else {
            JOULE_LOOP(MIN_MATCH, MAX_MATCH)
            for (int k = 0; k < matched; k++)
                to[k] = to[k - far];
        }
        to += matched;
    }
    return finish(to);
}

static inline void copy_eight(uint8_t *to, const uint8_t *from)
{
    uint64_t word;
    memcpy(&word, from, sizeof word);
    memcpy(to, &word, sizeof word);
}

/* Copies more letters than needed. The next item overwrites the surplus. */
static uint64_t lz77_words(void)
{
    const uint8_t *from = packed;
    uint8_t *to = text;
    for (int i = 0; i < ITEMS; i++) {
        int literals = *from >> 4, matched = (*from & 15) + MIN_MATCH;
        copy_eight(to, from + 1);
        to += literals;
        from += 1 + literals;
        int far = from[0] | from[1] << 8;
        from += 2;
        if (far >= 8) {
            JOULE_LOOP(1, (MAX_MATCH + 7) / 8)
            for (int k = 0; k < matched; k += 8)
                copy_eight(to + k, to + k - far);
        } else {
            JOULE_LOOP(MIN_MATCH, MAX_MATCH)
            for (int k = 0; k < matched; k++)
                to[k] = to[k - far];
        }
        to += matched;
    }
    return finish(to);
}

struct window {
    uint8_t letters[MAX_DISTANCE];
    uint32_t at;
    uint8_t *to;
};

static inline void put(struct window *w, uint8_t letter)
{
    w->letters[w->at++ % MAX_DISTANCE] = letter;
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
        JOULE_LOOP(0, MAX_LITERALS)
        for (uint32_t k = 0; k < token >> 4; k++)
            put(&w, *from++);
        uint32_t old = w.at - (from[0] | (uint32_t)from[1] << 8);
        from += 2;
        JOULE_LOOP(MIN_MATCH, MAX_MATCH)
        for (uint32_t k = 0; k < (token & 15) + MIN_MATCH; k++)
            put(&w, w.letters[(old + k) % MAX_DISTANCE]);
    }
    return finish(w.to);
}

const struct group lz77 = {
    prepare,
    text,
    sizeof text,
    {PROGRAM(lz77_letters), PROGRAM(lz77_copies), PROGRAM(lz77_words), PROGRAM(lz77_window)}};
