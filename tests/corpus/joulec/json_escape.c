/* tests/corpus/joulec/json_escape.c - escaping of a text for a JSON string.
 *
 * The programs use a switch, a table of marks, copies of unchanged runs, tests of eight characters at a time,
 * or a table of replacements.
 */
#include <joule/budget.h>
#include <string.h>
#include "corpus.h"

#define LENGTH          9216 /* length of the text, a multiple of 8 */
#define MAX_REPLACEMENT 6    /* maximum length of one replacement */
#define PADDING         8    /* zeros after the end */

static char text[LENGTH], escaped[MAX_REPLACEMENT * LENGTH + PADDING];
static char marks[256]; /* the character after the backslash; 0: no change */

struct substitute {
    char text[8];
    uint32_t length;
};

static struct substitute substitutes[256];
static const char digits[] = "0123456789abcdef";

static inline char *put_code(char *to, uint8_t c)
{
    memcpy(to, "\\u00", 4);
    to[4] = digits[c >> 4];
    to[5] = digits[c & 15];
    return to + MAX_REPLACEMENT;
}

static inline char *put_marked(char *to, uint8_t c)
{
    if (marks[c] == 'u')
        return put_code(to, c);
    to[0] = '\\';
    to[1] = marks[c];
    return to + 2;
}

static uint64_t finish(char *end)
{
    memset(end, 0, PADDING);
    return (uint64_t)(end - escaped);
}

static void make_tables(void)
{
    static const char escapes[] = "\"\"\\\\\nn\rr\tt\bb\ff";
    memset(marks, 'u', ' ');
    memset(&marks[' '], 0, 256 - ' ');
    for (const char *e = escapes; *e; e += 2)
        marks[(uint8_t)e[0]] = e[1];
    for (int c = 0; c < 256; c++) {
        struct substitute *s = &substitutes[c];
        s->text[0] = (char)c;
        s->length = marks[c] ? (uint32_t)(put_marked(s->text, (uint8_t)c) - s->text) : 1;
    }
}

/* Makes lines of words, some of them in quotes, with few control characters. */
static void prepare(void)
{
    make_tables();
    for (int i = 0; i < LENGTH; i++) {
        uint32_t chance = corpus_random() % 256;
        text[i] = (char)(chance < 40    ? ' '
                         : chance < 44  ? '\n'
                         : chance < 50  ? '"'
                         : chance < 52  ? '\\'
                         : chance == 52 ? 1 + corpus_random() % 31
                         : chance < 70  ? 0x80 + corpus_random() % 128
                                        : 'a' + chance % 26);
    }
}

static uint64_t json_escape_switch(void)
{
    char *to = escaped;
    for (int i = 0; i < LENGTH; i++) {
        uint8_t c = (uint8_t)text[i];
        if (c >= ' ' && c != '"' && c != '\\') {
            *to++ = (char)c;
            continue;
        }
        switch (c) {
        case '"':
        case '\\':
            *to++ = '\\';
            *to++ = (char)c;
            break;
        case '\n':
            *to++ = '\\';
            *to++ = 'n';
            break;
        case '\r':
            *to++ = '\\';
            *to++ = 'r';
            break;
        case '\t':
            *to++ = '\\';
            *to++ = 't';
            break;
        case '\b':
            *to++ = '\\';
            *to++ = 'b';
            break;
        case '\f':
            *to++ = '\\';
            *to++ = 'f';
            break;
        default:
            to = put_code(to, c);
        }
    }
    return finish(to);
}

static uint64_t json_escape_marks(void)
{
    char *to = escaped;
    for (int i = 0; i < LENGTH; i++) {
        uint8_t c = (uint8_t)text[i];
        if (marks[c])
            to = put_marked(to, c);
        else
            *to++ = (char)c;
    }
    return finish(to);
}

static uint64_t json_escape_runs(void)
{
    char *to = escaped;
    int from = 0;
    for (int i = 0; i < LENGTH; i++)
        if (marks[(uint8_t)text[i]]) {
            memcpy(to, text + from, (size_t)(i - from));
            to = put_marked(to + (i - from), (uint8_t)text[i]);
            from = i + 1;
        }
    memcpy(to, text + from, (size_t)(LENGTH - from));
    return finish(to + (LENGTH - from));
}

#define EACH(byte) ((byte)*UINT64_C(0x0101010101010101))

/* Returns nonzero if a byte may be below `n`, which is at most 128. There are no false negatives. */
static inline uint64_t has_below(uint64_t word, uint64_t n)
{
    return (word - EACH(n)) & ~word & EACH(0x80);
}

static uint64_t json_escape_eights(void)
{
    char *to = escaped;
    for (int i = 0; i < LENGTH; i += 8) {
        uint64_t word;
        memcpy(&word, text + i, 8);
        if (!(has_below(word, ' ') | has_below(word ^ EACH('"'), 1) | has_below(word ^ EACH('\\'), 1))) {
            memcpy(to, &word, 8);
            to += 8;
            continue;
        }
        for (int k = i; k < i + 8; k++)
            if (marks[(uint8_t)text[k]])
                to = put_marked(to, (uint8_t)text[k]);
            else
                *to++ = text[k];
    }
    return finish(to);
}

static uint64_t json_escape_substitutes(void)
{
    char *to = escaped;
    for (int i = 0; i < LENGTH; i++) {
        const struct substitute *s = &substitutes[(uint8_t)text[i]];
        memcpy(to, s->text, 8);
        to += s->length;
    }
    return finish(to);
}

const struct group json_escape = {prepare,
                                  escaped,
                                  sizeof escaped,
                                  {PROGRAM(json_escape_switch), PROGRAM(json_escape_marks),
                                   PROGRAM(json_escape_runs), PROGRAM(json_escape_eights),
                                   PROGRAM(json_escape_substitutes)}};
