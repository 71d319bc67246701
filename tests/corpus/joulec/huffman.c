/* tests/corpus/joulec/huffman.c - decoding of a text of eleven letters with Huffman codes of two to eight
 * bits.
 *
 * The programs descend a tree bit by bit, use the limits of each length, use a table for eight bits, or use
 * this table with a buffer of bits.
 */
#include <joule/budget.h>
#include <string.h>
#include "corpus.h"

#define SYMBOLS  8192
#define LETTERS  11
#define SHORTEST 2
#define LONGEST  8
#define BYTES    (SYMBOLS * LONGEST / 8 + 8) /* maximum size, including bytes after the end that are read */

struct entry {
    uint8_t letter, length;
};

/* Lengths of a canonical code. Codes of one length are consecutive numbers, and the codes of the next length
 * follow. */
static const uint8_t lengths[LETTERS] = {2, 2, 3, 3, 3, 4, 5, 6, 7, 8, 8};

static uint8_t bytes[BYTES], letters[SYMBOLS];
/* limits[n]: lowest value of eight bits that begin with a code of more than n bits */
static uint32_t limits[LONGEST + 1];
static uint32_t offsets[LONGEST + 1]; /* difference between the letters and the codes of a length */
static struct entry table[1 << LONGEST];
static uint8_t tree[2 * LETTERS][2]; /* values from 2 * LETTERS are letters */
static uint8_t nodes = 1;

static void put_code(uint32_t letter, uint32_t code)
{
    uint32_t length = lengths[letter], first = code << (LONGEST - length), at = 0;
    for (uint32_t i = 0; i < 1u << (LONGEST - length); i++)
        table[first + i] = (struct entry){(uint8_t)letter, (uint8_t)length};
    for (uint32_t bit = length - 1; bit > 0; bit--) {
        uint8_t *child = &tree[at][code >> bit & 1];
        if (!*child)
            *child = nodes++;
        at = *child;
    }
    tree[at][code & 1] = (uint8_t)(2 * LETTERS + letter);
}

static void make_tables(void)
{
    uint32_t code = 0, letter = 0;
    for (uint32_t length = 1; length <= LONGEST; length++) {
        code <<= 1;
        offsets[length] = letter - code;
        for (; letter < LETTERS && lengths[letter] == length; letter++)
            put_code(letter, code++);
        limits[length] = code << (LONGEST - length);
    }
}

/* Chooses letters with the frequencies for which their codes are optimal. */
static void prepare(void)
{
    uint32_t at = 0, code_of[LETTERS];
    memset(tree, 0, sizeof tree);
    memset(bytes, 0, sizeof bytes);
    nodes = 1;
    make_tables();
    for (uint32_t i = 1 << LONGEST; i-- > 0;)
        code_of[table[i].letter] = i;
    for (int i = 0; i < SYMBOLS; i++) {
        struct entry entry = table[corpus_random() % (1 << LONGEST)];
        for (uint32_t b = 0; b < entry.length; b++, at++)
            bytes[at / 8] |= (uint8_t)((code_of[entry.letter] >> (LONGEST - 1 - b) & 1) << (7 - at % 8));
    }
}

static inline uint32_t bit_at(uint32_t at)
{
    return bytes[at / 8] >> (7 - at % 8) & 1;
}

/* Returns the eight bits from bit `at`. */
static inline uint32_t eight_at(uint32_t at)
{
    return ((uint32_t)bytes[at / 8] << 8 | bytes[at / 8 + 1]) >> (8 - at % 8) & 0xff;
}

static uint64_t huffman_tree(void)
{
    uint32_t at = 0;
    for (int i = 0; i < SYMBOLS; i++) {
        uint32_t node = 0;
        JOULE_LOOP(SHORTEST, LONGEST)
        do
            node = tree[node][bit_at(at++)];
        while (node < 2 * LETTERS);
        letters[i] = (uint8_t)(node - 2 * LETTERS);
    }
    return at;
}

/* The length of the code is SHORTEST, plus one for each limit that the next eight bits reach. */
static uint64_t huffman_limits(void)
{
    uint32_t at = 0;
    for (int i = 0; i < SYMBOLS; i++) {
        uint32_t eight = eight_at(at), length = SHORTEST;
        for (int k = SHORTEST; k < LONGEST; k++)
            length += eight >= limits[k];
        letters[i] = (uint8_t)(offsets[length] + (eight >> (LONGEST - length)));
        at += length;
    }
    return at;
}

static uint64_t huffman_table(void)
{
    uint32_t at = 0;
    for (int i = 0; i < SYMBOLS; i++) {
        struct entry entry = table[eight_at(at)];
        letters[i] = entry.letter;
        at += entry.length;
    }
    return at;
}

/* Keeps bits in a word, and adds bytes when there are too few. */
static uint64_t huffman_buffer(void)
{
    uint32_t at = 0, bits = 0, count = 0, used = 0;
    for (int i = 0; i < SYMBOLS; i++) {
        JOULE_LOOP(0, 1)
        while (count < LONGEST) {
            bits = bits << 8 | bytes[at++];
            count += 8;
        }
        struct entry entry = table[bits >> (count - LONGEST) & 0xff];
        letters[i] = entry.letter;
        count -= entry.length;
        used += entry.length;
    }
    return used;
}

const struct group huffman = {
    prepare,
    letters,
    sizeof letters,
    {PROGRAM(huffman_tree), PROGRAM(huffman_limits), PROGRAM(huffman_table), PROGRAM(huffman_buffer)}};
