/* infer/grammar/grammar_mask.c - computes which tokens a grammar allows, and caches results for nodes of the
 * automaton.
 *
 * A thread can allow a token in two ways. First: it consumes all bytes of the token within its own part of
 * the automaton. This depends only on the thread's node. Second: it returns to its frame before the end of
 * the token, and the rest of the token is consumed after the return. The cache stores, for each node, the
 * tokens of the first kind and the trie nodes at which the thread returned. From these trie nodes on, the
 * tokens of the second kind are computed for each state. */
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/error.h"
#include "forge/infer/grammar/grammar_automaton.h"
#include "forge/infer/grammar/token_trie.h"

enum { MAX_CACHE_BYTES = 64 << 20, MAX_WALK_FRAMES = 8192 };

/* The cached result for one node of the automaton. */
struct cached {
    bool is_valid;
    /* Number of levels by which a token of the result may be nested deeper than the thread's frame. The
     * result is not used for frames for which this could exceed GRAMMAR_MAX_DEPTH. */
    uint8_t depth;
    uint32_t *words;   /* mask of the allowed tokens; NULL: `tokens` lists them */
    uint32_t *tokens;  /* [token_count] */
    uint32_t *returns; /* [return_count], nodes of the trie at which the thread returned */
    uint32_t token_count, return_count;
};

struct grammar_cache {
    const struct grammar *grammar;
    const struct token_trie *trie;
    struct cached *cached; /* [grammar->node_count] */
    size_t cached_bytes;
    struct grammar_walk walk;
    struct grammar_frame *frames;   /* [MAX_WALK_FRAMES] */
    struct grammar_thread *threads; /* [max_depth + 1][GRAMMAR_MAX_THREADS] */
    uint32_t *counts, *marks;       /* [max_depth + 1]: numbers of threads and of frames at each depth */
    uint32_t *mask;                 /* [words], while a result is computed */
    uint32_t *returns;
    size_t return_count, return_capacity;
    bool is_out_of_memory;
};

/* --- walks ---------------------------------------------------------------------------------------------- */

static void set_tokens(const struct token_trie *trie, const struct token_trie_node *node, uint32_t *mask)
{
    for (uint32_t i = node->first_token; i < node->first_token + node->token_count; i++)
        mask[trie->tokens[i] / 32] |= UINT32_C(1) << trie->tokens[i] % 32;
}

static void add_return(struct grammar_cache *c, uint32_t node)
{
    if (ARRAY_ROOM(c->returns, c->return_capacity, c->return_count))
        c->returns[c->return_count++] = node;
    else
        c->is_out_of_memory = true;
}

/* Walks the subtree of the trie's node `root`, at which the threads are c->threads[0..c->counts[0]). Sets the
 * bits of the allowed tokens below `root` in mask. lists_returns: adds each node to c->returns that has
 * children and at which a thread returned from frame 0. */
static void walk_subtree(struct grammar_cache *c, uint32_t root, uint32_t *mask, bool lists_returns)
{
    const struct token_trie_node *nodes = c->trie->nodes;
    c->marks[0] = c->walk.frame_count;
    for (uint32_t i = root + 1; i < nodes[root].end;) {
        uint32_t depth = (uint32_t)nodes[i].depth - nodes[root].depth;
        struct grammar_thread *before = c->threads + (size_t)(depth - 1) * GRAMMAR_MAX_THREADS;
        c->walk.frame_count = c->marks[depth - 1];
        c->counts[depth] =
            grammar_step(&c->walk, before, c->counts[depth - 1], nodes[i].byte, before + GRAMMAR_MAX_THREADS);
        if (c->counts[depth] == 0) {
            i = nodes[i].end;
            continue;
        }
        c->marks[depth] = c->walk.frame_count;
        if (nodes[i].token_count > 0)
            set_tokens(c->trie, &nodes[i], mask);
        if (lists_returns && c->walk.is_complete && nodes[i].end > i + 1)
            add_return(c, i);
        i++;
    }
    c->walk.frame_count = c->marks[0];
}

static size_t word_count(const struct grammar_cache *c)
{
    return (c->trie->vocabulary + 31) / 32;
}

/* --- cached results ------------------------------------------------------------------------------------- */

static size_t count_tokens(const struct grammar_cache *c)
{
    size_t count = 0;
    for (size_t i = 0; i < word_count(c); i++)
        count += (size_t)__builtin_popcount(c->mask[i]);
    return count;
}

/* Copies `count` words. Returns NULL if out of memory. */
static uint32_t *copy_words(const uint32_t *words, size_t count)
{
    uint32_t *copy = malloc((count + 1) * sizeof *copy);
    if (copy && count > 0)
        memcpy(copy, words, count * sizeof *copy);
    return copy;
}

/* Stores the mask, as words or as a list of tokens, and the list of returns. Returns false if the cache is
 * full, or out of memory. */
static bool store(struct grammar_cache *c, struct cached *out)
{
    size_t tokens = count_tokens(c), words = word_count(c);
    bool is_list = tokens < words;
    size_t bytes = ((is_list ? tokens : words) + c->return_count) * sizeof(uint32_t);
    if (c->is_out_of_memory || c->cached_bytes + bytes > MAX_CACHE_BYTES)
        return false;
    out->returns = copy_words(c->returns, c->return_count);
    uint32_t *copy = is_list ? malloc((tokens + 1) * sizeof *copy) : copy_words(c->mask, words);
    if (!out->returns || !copy) {
        free(out->returns);
        free(copy);
        *out = (struct cached){0};
        return false;
    }
    size_t count = 0;
    for (size_t i = 0; is_list && i < words; i++)
        for (uint32_t word = c->mask[i]; word; word &= word - 1)
            copy[count++] = (uint32_t)(i * 32 + (size_t)__builtin_ctz(word));
    out->words = is_list ? NULL : copy;
    out->tokens = is_list ? copy : NULL;
    out->token_count = (uint32_t)count;
    out->return_count = (uint32_t)c->return_count;
    out->depth = (uint8_t)(c->walk.depth < UINT8_MAX ? c->walk.depth : UINT8_MAX);
    out->is_valid = true;
    c->cached_bytes += bytes;
    return true;
}

/* Returns the cached result for a node. Computes it first if necessary. NULL: it cannot be stored. */
static const struct cached *find(struct grammar_cache *c, uint32_t node)
{
    struct cached *cached = &c->cached[node];
    if (cached->is_valid)
        return cached;
    if (c->cached_bytes + word_count(c) * sizeof(uint32_t) > MAX_CACHE_BYTES)
        return NULL;
    memset(c->mask, 0, word_count(c) * sizeof *c->mask);
    c->return_count = 0;
    c->is_out_of_memory = false;
    c->frames[0] = (struct grammar_frame){.node = NO_NODE};
    c->walk.frame_count = 1;
    c->walk.depth = 0;
    c->threads[0] = (struct grammar_thread){node, 0};
    c->counts[0] = 1;
    walk_subtree(c, 0, c->mask, true);
    return store(c, cached) ? cached : NULL;
}

static void add_cached(const struct grammar_cache *c, const struct cached *cached, uint32_t *mask)
{
    for (size_t i = 0; cached->words && i < word_count(c); i++)
        mask[i] |= cached->words[i];
    for (uint32_t i = 0; i < cached->token_count; i++)
        mask[cached->tokens[i] / 32] |= UINT32_C(1) << cached->tokens[i] % 32;
}

/* --- masks ---------------------------------------------------------------------------------------------- */

/* Copies the frames of the state to the walk. */
static void take_frames(struct grammar_cache *c, const struct grammar_state *state)
{
    memcpy(c->frames, state->frames, state->frame_count * sizeof *c->frames);
    c->walk.frame_count = state->frame_count;
}

/* Adds the tokens within which the thread returns to its frame. */
static void add_returns(struct grammar_cache *c, const struct cached *cached,
                        const struct grammar_state *state, struct grammar_thread thread, uint32_t *mask)
{
    const struct grammar_frame *frame = &state->frames[thread.frame];
    if (cached->return_count == 0 || thread.frame == 0)
        return;
    take_frames(c, state);
    c->counts[0] = 0;
    grammar_add(&c->walk, c->threads, &c->counts[0], (struct grammar_thread){frame->node, frame->parent});
    for (uint32_t i = 0; i < cached->return_count; i++)
        walk_subtree(c, cached->returns[i], mask, false);
}

/* Adds the tokens that one thread allows. */
static void add_thread(struct grammar_cache *c, const struct grammar_state *state,
                       struct grammar_thread thread, uint32_t *mask)
{
    const struct grammar_node *node = &c->grammar->nodes[thread.node];
    if (node->first_byte == node->first_other)
        return;
    const struct cached *cached = find(c, thread.node);
    if (cached && state->frames[thread.frame].depth + (unsigned)cached->depth <= GRAMMAR_MAX_DEPTH) {
        add_cached(c, cached, mask);
        add_returns(c, cached, state, thread, mask);
        return;
    }
    take_frames(c, state);
    c->threads[0] = thread;
    c->counts[0] = 1;
    walk_subtree(c, 0, mask, false);
}

bool grammar_mask(struct grammar_cache *c, const struct grammar_state *state, uint32_t *mask)
{
    uint32_t any = 0;
    memset(mask, 0, word_count(c) * sizeof *mask);
    for (uint32_t i = 0; i < state->thread_count; i++)
        add_thread(c, state, state->threads[i], mask);
    for (size_t i = 0; i < word_count(c); i++)
        any |= mask[i];
    return any != 0;
}

/* --- new, free ------------------------------------------------------------------------------------------ */

joule_status grammar_cache_new(const struct grammar *grammar, const struct token_trie *trie,
                               struct grammar_cache **out_cache, joule_error *out_error)
{
    struct grammar_cache *c = calloc(1, sizeof *c);
    *out_cache = NULL;
    if (c) {
        size_t depths = trie->max_depth + 1;
        c->grammar = grammar;
        c->trie = trie;
        c->cached = calloc(grammar->node_count, sizeof *c->cached);
        c->frames = calloc(MAX_WALK_FRAMES, sizeof *c->frames);
        c->threads = calloc(depths, GRAMMAR_MAX_THREADS * sizeof *c->threads);
        c->counts = calloc(depths, sizeof *c->counts);
        c->marks = calloc(depths, sizeof *c->marks);
        c->mask = calloc(word_count(c) + 1, sizeof *c->mask);
    }
    if (!c || !c->cached || !c->frames || !c->threads || !c->counts || !c->marks || !c->mask) {
        grammar_cache_free(c);
        return error_set(out_error, JOULE_NO_MEMORY, "cannot create a cache of masks: out of memory");
    }
    c->walk =
        (struct grammar_walk){.grammar = grammar, .frames = c->frames, .frame_capacity = MAX_WALK_FRAMES};
    *out_cache = c;
    return JOULE_OK;
}

void grammar_cache_free(struct grammar_cache *c)
{
    if (!c)
        return;
    for (size_t i = 0; c->cached && i < c->grammar->node_count; i++) {
        free(c->cached[i].words);
        free(c->cached[i].tokens);
        free(c->cached[i].returns);
    }
    free(c->cached);
    free(c->frames);
    free(c->threads);
    free(c->counts);
    free(c->marks);
    free(c->mask);
    free(c->returns);
    free(c);
}
