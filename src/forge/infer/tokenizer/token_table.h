/* infer/tokenizer/token_table.h - hash tables of a tokenizer: from text to token, and from a pair of tokens
 * to their merge.
 *
 * Note: hashes are keyed with a random number, because texts from an untrusted model file could otherwise be
 * chosen to collide. Results do not depend on this number. */
#ifndef FORGE_INFER_TOKEN_TABLE_H
#define FORGE_INFER_TOKEN_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { TOKEN_NONE = -1 };

/* Texts of tokens, one after another. */
struct token_texts {
    char *bytes;
    uint32_t *begins; /* [count + 1]; token i has the bytes from begins[i] to begins[i + 1] */
};

/* Returns the text of a token, and its size in bytes. */
static inline const char *token_text(const struct token_texts *texts, int32_t token, size_t *out_size)
{
    *out_size = texts->begins[token + 1] - texts->begins[token];
    return texts->bytes + texts->begins[token];
}

/* A slot of a table. tag: upper half of the hash; token: TOKEN_NONE if the slot is free. */
struct token_slot {
    uint32_t tag;
    int32_t token;
};

/* A hash table from texts to tokens, with open addressing. At least half of the slots are free. */
struct token_table {
    const struct token_texts *texts;
    struct token_slot *slots;
    size_t mask; /* number of slots - 1; the number is a power of two */
    uint64_t key;
};

/* Returns a random number for hashes. */
uint64_t token_table_key(void);
/* Returns the keyed hash of `size` bytes. */
static inline uint64_t token_hash(uint64_t key, const char *bytes, size_t size)
{
    uint64_t hash = key ^ size, word = 0;
    for (; size >= sizeof word; size -= sizeof word, bytes += sizeof word) {
        memcpy(&word, bytes, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash = (hash ^ hash >> 32) + key;
    }
    word = 0;
    for (size_t i = 0; i < size; i++)
        word = word << 8 | (uint8_t)bytes[i];
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return hash ^ hash >> 32;
}

/* Prepares an empty table for `count` tokens. Returns false if out of memory. */
bool token_table_init(struct token_table *table, const struct token_texts *texts, size_t count);
/* Returns the token with this text, or TOKEN_NONE. */
int32_t token_table_find(const struct token_table *table, const char *text, size_t size);
/* Adds a token. Does nothing if the table contains a token with the same text. */
void token_table_add(struct token_table *table, int32_t token);
void token_table_free(struct token_table *table);

/* A merge of two tokens. */
struct token_pair {
    uint64_t tokens; /* left << 32 | right; PAIR_FREE if the slot is free */
    uint32_t rank;   /* the lowest is merged first */
    int32_t merged;
};
#define PAIR_FREE UINT64_MAX

/* A hash table from pairs of tokens to merges, with open addressing. */
struct pair_table {
    struct token_pair *slots;
    size_t mask;
    unsigned shift; /* 64 - log2 of the number of slots */
    uint64_t key;   /* odd */
};

static inline size_t pair_slot(const struct pair_table *table, uint64_t tokens)
{
    tokens = (tokens ^ tokens >> 32) * table->key;
    return (tokens ^ tokens >> 32) * UINT64_C(0x9e3779b97f4a7c15) >> table->shift;
}

/* Returns the merge of two tokens, or NULL. */
static inline const struct token_pair *pair_table_find(const struct pair_table *table, int32_t left,
                                                       int32_t right)
{
    uint64_t tokens = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    size_t i = pair_slot(table, tokens);
    while (table->slots[i].tokens != PAIR_FREE) {
        if (table->slots[i].tokens == tokens)
            return &table->slots[i];
        i = (i + 1) & table->mask;
    }
    return NULL;
}

/* Prepares an empty table for `count` merges. Returns false if out of memory. */
bool pair_table_init(struct pair_table *table, size_t count);
/* Adds a merge. Does nothing if the table contains this pair. */
void pair_table_add(struct pair_table *table, int32_t left, int32_t right, uint32_t rank, int32_t merged);
void pair_table_free(struct pair_table *table);

#endif
