/* infer/tokenizer/token_table.c - see token_table.h. */
#include "forge/infer/tokenizer/token_table.h"

#include <stdlib.h>
#include <sys/random.h>
#include "base/clock.h"

uint64_t token_table_key(void)
{
    uint64_t key = 0;
    if (getrandom(&key, sizeof key, GRND_NONBLOCK) != (ssize_t)sizeof key)
        key ^= (uint64_t)clock_now_ns() * UINT64_C(0x9e3779b97f4a7c15) ^ (uintptr_t)&key;
    return key;
}

/* Returns the number of slots for `count` entries: a power of two, at least 2 * count. 0: too many. */
static size_t slot_count(size_t count)
{
    size_t slots = 16;
    if (count > SIZE_MAX / 64)
        return 0;
    while (slots < 2 * count)
        slots *= 2;
    return slots;
}

/* --- texts ---------------------------------------------------------------------------------------------- */

bool token_table_init(struct token_table *table, const struct token_texts *texts, size_t count)
{
    size_t slots = slot_count(count);
    *table = (struct token_table){.texts = texts, .mask = slots - 1, .key = token_table_key()};
    table->slots = slots ? calloc(slots, sizeof *table->slots) : NULL;
    for (size_t i = 0; table->slots && i < slots; i++)
        table->slots[i].token = TOKEN_NONE;
    return table->slots != NULL;
}

/* Returns the slot that contains a text, or the free slot where the text would be added. */
static struct token_slot *find_slot(const struct token_table *table, uint64_t hash, const char *text,
                                    size_t size)
{
    uint32_t tag = (uint32_t)(hash >> 32);
    for (size_t i = hash & table->mask;; i = (i + 1) & table->mask) {
        struct token_slot *slot = &table->slots[i];
        size_t own_size;
        if (slot->token == TOKEN_NONE)
            return slot;
        if (slot->tag != tag)
            continue;
        const char *own = token_text(table->texts, slot->token, &own_size);
        if (own_size == size && memcmp(own, text, size) == 0)
            return slot;
    }
}

int32_t token_table_find(const struct token_table *table, const char *text, size_t size)
{
    return find_slot(table, token_hash(table->key, text, size), text, size)->token;
}

void token_table_add(struct token_table *table, int32_t token)
{
    size_t size;
    const char *text = token_text(table->texts, token, &size);
    uint64_t hash = token_hash(table->key, text, size);
    struct token_slot *slot = find_slot(table, hash, text, size);
    if (slot->token == TOKEN_NONE)
        *slot = (struct token_slot){.tag = (uint32_t)(hash >> 32), .token = token};
}

void token_table_free(struct token_table *table)
{
    free(table->slots);
    *table = (struct token_table){0};
}

/* --- pairs ---------------------------------------------------------------------------------------------- */

bool pair_table_init(struct pair_table *table, size_t count)
{
    size_t slots = slot_count(count);
    *table = (struct pair_table){.mask = slots - 1, .key = token_table_key() | 1};
    table->shift = 64u - (unsigned)__builtin_ctzll(slots | UINT64_C(1) << 63);
    table->slots = slots ? calloc(slots, sizeof *table->slots) : NULL;
    for (size_t i = 0; table->slots && i < slots; i++)
        table->slots[i].tokens = PAIR_FREE;
    return table->slots != NULL;
}

void pair_table_add(struct pair_table *table, int32_t left, int32_t right, uint32_t rank, int32_t merged)
{
    uint64_t tokens = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    size_t i = pair_slot(table, tokens);
    while (table->slots[i].tokens != PAIR_FREE && table->slots[i].tokens != tokens)
        i = (i + 1) & table->mask;
    if (table->slots[i].tokens == PAIR_FREE)
        table->slots[i] = (struct token_pair){tokens, rank, merged};
}

void pair_table_free(struct pair_table *table)
{
    free(table->slots);
    *table = (struct pair_table){0};
}
