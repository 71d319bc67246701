/* infer/grammar/grammar_state.c - advances the state of a grammar; see grammar_automaton.h. */
#include <string.h>
#include "forge/infer/grammar/grammar_automaton.h"

enum { COMPACT_ABOVE = GRAMMAR_MAX_FRAMES / 2 };

/* --- threads -------------------------------------------------------------------------------------------- */

/* Adds a thread, unless it is present, or the end cannot be reached from it within the maximum depth. */
static void add(struct grammar_walk *w, struct grammar_thread *threads, uint32_t *count,
                struct grammar_thread thread)
{
    unsigned depth = w->frames[thread.frame].depth + (unsigned)w->grammar->nodes[thread.node].need;
    if (depth > GRAMMAR_MAX_DEPTH || *count == GRAMMAR_MAX_THREADS)
        return;
    for (uint32_t i = 0; i < *count; i++)
        if (threads[i].node == thread.node && threads[i].frame == thread.frame)
            return;
    w->depth = depth > w->depth ? depth : w->depth;
    threads[(*count)++] = thread;
}

/* Follows an edge that calls. */
static void call(struct grammar_walk *w, struct grammar_thread *threads, uint32_t *count,
                 const struct grammar_edge *edge, uint32_t frame)
{
    const struct grammar_node *nodes = w->grammar->nodes;
    unsigned depth = w->frames[frame].depth;
    if (w->frame_count == w->frame_capacity || depth + nodes[edge->target].need > GRAMMAR_MAX_DEPTH ||
        depth + 1 + nodes[edge->callee].need > GRAMMAR_MAX_DEPTH)
        return;
    if (depth + nodes[edge->target].need > w->depth)
        w->depth = depth + nodes[edge->target].need;
    w->frames[w->frame_count] = (struct grammar_frame){edge->target, (uint16_t)frame, (uint16_t)(depth + 1)};
    add(w, threads, count, (struct grammar_thread){edge->callee, w->frame_count++});
}

/* Adds all threads that are reached from threads[first..*count) without consuming a byte. */
static void close(struct grammar_walk *w, struct grammar_thread *threads, uint32_t first, uint32_t *count)
{
    const struct grammar *g = w->grammar;
    for (uint32_t i = first; i < *count; i++) {
        struct grammar_thread thread = threads[i];
        const struct grammar_node *node = &g->nodes[thread.node];
        for (uint32_t e = node->first_other; e < node[1].first_byte; e++)
            if (g->edges[e].callee != NO_NODE)
                call(w, threads, count, &g->edges[e], thread.frame);
            else
                add(w, threads, count, (struct grammar_thread){g->edges[e].target, thread.frame});
        if (!node->is_final)
            continue;
        const struct grammar_frame *frame = &w->frames[thread.frame];
        if (thread.frame == 0)
            w->is_complete = true;
        else
            add(w, threads, count, (struct grammar_thread){frame->node, frame->parent});
    }
}

void grammar_add(struct grammar_walk *w, struct grammar_thread *threads, uint32_t *count,
                 struct grammar_thread thread)
{
    uint32_t first = *count;
    add(w, threads, count, thread);
    close(w, threads, first, count);
}

uint32_t grammar_step(struct grammar_walk *w, const struct grammar_thread *threads, uint32_t count,
                      uint8_t byte, struct grammar_thread *out_threads)
{
    const struct grammar *g = w->grammar;
    uint32_t out_count = 0;
    w->is_complete = false;
    for (uint32_t i = 0; i < count; i++) {
        const struct grammar_node *node = &g->nodes[threads[i].node];
        for (uint32_t e = node->first_byte; e < node->first_other; e++)
            if (byte >= g->edges[e].low && byte <= g->edges[e].high)
                add(w, out_threads, &out_count,
                    (struct grammar_thread){g->edges[e].target, threads[i].frame});
    }
    close(w, out_threads, 0, &out_count);
    return out_count;
}

/* --- states --------------------------------------------------------------------------------------------- */

void grammar_begin(const struct grammar *grammar, struct grammar_state *state)
{
    struct grammar_walk walk = {
        .grammar = grammar, .frames = state->frames, .frame_count = 1, .frame_capacity = GRAMMAR_MAX_FRAMES};
    state->frames[0] = (struct grammar_frame){.node = NO_NODE};
    state->thread_count = 0;
    grammar_add(&walk, state->threads, &state->thread_count, (struct grammar_thread){grammar->start, 0});
    state->frame_count = walk.frame_count;
    state->is_complete = walk.is_complete;
}

/* Removes the frames that no thread uses. */
static void compact(struct grammar_state *state)
{
    /* At first, 1 marks a used frame. Later, the entry is the new number of the frame. */
    uint16_t moved[GRAMMAR_MAX_FRAMES] = {1};
    uint32_t count = 0;
    for (uint32_t i = 0; i < state->thread_count; i++)
        moved[state->threads[i].frame] = 1;
    for (uint32_t i = state->frame_count; i-- > 1;)
        if (moved[i])
            moved[state->frames[i].parent] = 1;
    for (uint32_t i = 0; i < state->frame_count; i++) {
        if (!moved[i])
            continue;
        moved[i] = (uint16_t)count;
        state->frames[count] = state->frames[i];
        state->frames[count].parent = moved[state->frames[i].parent];
        count++;
    }
    for (uint32_t i = 0; i < state->thread_count; i++)
        state->threads[i].frame = moved[state->threads[i].frame];
    state->frame_count = count;
}

bool grammar_accept_byte(const struct grammar *grammar, struct grammar_state *state, uint8_t byte)
{
    struct grammar_thread threads[GRAMMAR_MAX_THREADS];
    if (state->frame_count > COMPACT_ABOVE)
        compact(state);
    struct grammar_walk walk = {.grammar = grammar,
                                .frames = state->frames,
                                .frame_count = state->frame_count,
                                .frame_capacity = GRAMMAR_MAX_FRAMES};
    uint32_t count = grammar_step(&walk, state->threads, state->thread_count, byte, threads);
    if (count == 0)
        return false;
    memcpy(state->threads, threads, count * sizeof *threads);
    state->thread_count = count;
    state->frame_count = walk.frame_count;
    state->is_complete = walk.is_complete;
    return true;
}

bool grammar_accept(const struct grammar *grammar, struct grammar_state *state, const char *bytes,
                    size_t size)
{
    struct grammar_state before = *state;
    for (size_t i = 0; i < size; i++)
        if (!grammar_accept_byte(grammar, state, (uint8_t)bytes[i])) {
            *state = before;
            return false;
        }
    return true;
}

bool grammar_is_complete(const struct grammar_state *state)
{
    return state->is_complete;
}
