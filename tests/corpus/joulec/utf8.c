/* tests/corpus/joulec/utf8.c - decoding of UTF-8.
 *
 * The programs use branches or tables of lengths, work byte by byte, or make two passes.
 */
#include "corpus.h"

#define CHARACTERS 16384
#define BYTES      (CHARACTERS / 16 * (9 * 1 + 4 * 2 + 2 * 3 + 1 * 4))

static uint8_t text[BYTES + 4];
static uint32_t out[CHARACTERS], first[CHARACTERS + 1];
static uint8_t length_of[32] /* 0: continuation byte */, lead_mask[5], tail_shift[5];

static int put(uint8_t *to, int length)
{
    uint32_t bits = corpus_random();
    to[0] = length == 1 ? (uint8_t)(bits & 0x7f) : (uint8_t)(0xff00 >> length | (bits & (0x7fu >> length)));
    for (int k = 1; k < length; k++)
        to[k] = (uint8_t)(0x80 | (bits >> (6 * k) & 0x3f));
    return length;
}

/* Makes characters in random order. Of sixteen characters, nine have one byte, four have two bytes, two have
 * three bytes and one has four bytes. */
static void prepare(void)
{
    static uint8_t lengths[CHARACTERS];
    static const uint8_t sixteen[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4};
    int at = 0;
    for (uint32_t i = 0; i < CHARACTERS; i++) {
        uint32_t j = corpus_random() % (i + 1);
        lengths[i] = lengths[j];
        lengths[j] = sixteen[i % 16];
    }
    for (int i = 0; i < CHARACTERS; i++)
        at += put(text + at, lengths[i]);
    for (int k = 0; k < 32; k++)
        length_of[k] = k < 16 ? 1 : k < 24 ? 0 : k < 28 ? 2 : k < 30 ? 3 : 4;
    for (int length = 0; length <= 4; length++) {
        lead_mask[length] = length == 0 ? 0x3f : length == 1 ? 0x7f : (uint8_t)(0x7f >> length);
        tail_shift[length] = (uint8_t)(6 * (4 - length));
    }
}

static uint64_t utf8_branches(void)
{
    const uint8_t *at = text;
    for (int i = 0; i < CHARACTERS; i++) {
        uint32_t lead = at[0];
        if (lead < 0x80) {
            out[i] = lead;
            at += 1;
        } else if (lead < 0xe0) {
            out[i] = (lead & 0x1f) << 6 | (at[1] & 0x3fu);
            at += 2;
        } else if (lead < 0xf0) {
            out[i] = (lead & 0x0f) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
            at += 3;
        } else {
            out[i] = (lead & 0x07) << 18 | (at[1] & 0x3fu) << 12 | (at[2] & 0x3fu) << 6 | (at[3] & 0x3fu);
            at += 4;
        }
    }
    return (uint64_t)(at - text);
}

/* Decodes four bytes, and shifts out the bytes that do not belong to the character. */
static uint32_t by_length(const uint8_t *at, uint32_t length)
{
    uint32_t four = (at[0] & (uint32_t)lead_mask[length]) << 18 | (at[1] & 0x3fu) << 12 |
                    (at[2] & 0x3fu) << 6 | (at[3] & 0x3fu);
    return four >> tail_shift[length];
}

static uint64_t utf8_lengths(void)
{
    const uint8_t *at = text;
    for (int i = 0; i < CHARACTERS; i++) {
        uint32_t length = length_of[at[0] >> 3];
        out[i] = by_length(at, length);
        at += length;
    }
    return (uint64_t)(at - text);
}

/* Each byte extends the character or begins a new one. */
static uint64_t utf8_bytes(void)
{
    uint32_t code = 0;
    int32_t count = -1;
    for (int i = 0; i < BYTES; i++) {
        uint32_t byte = text[i], goes_on = (byte & 0xc0) == 0x80;
        code = (code << 6 & -goes_on) | (byte & lead_mask[length_of[byte >> 3]]);
        count += !goes_on;
        out[count] = code;
    }
    return BYTES;
}

/* Finds the first bytes of all characters, and then decodes them. */
static uint64_t utf8_places(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < BYTES; i++) {
        first[count] = i;
        count += (text[i] & 0xc0) != 0x80;
    }
    for (int i = 0; i < CHARACTERS; i++)
        out[i] = by_length(text + first[i], length_of[text[first[i]] >> 3]);
    return BYTES;
}

const struct group utf8 = {
    prepare,
    out,
    sizeof out,
    {PROGRAM(utf8_branches), PROGRAM(utf8_lengths), PROGRAM(utf8_bytes), PROGRAM(utf8_places)}};
