/* joulec/module/loops.c - see loops.h.
 *
 * Note: the bodies of inner loops are found first. The search for the body of an outer loop skips each inner
 * loop as a whole, so each block is visited once.
 */
#include "joulec/module/loops.h"

#include <stdlib.h>
#include <string.h>

/* State of the search for loops. */
struct search {
    const struct function *function;
    struct loops *out;
    int32_t *loop_at; /* for each block: the loop whose header it is; -1: none */
    int32_t *top;     /* union-find: for each loop, a known loop around it, or the loop itself */
    uint32_t *stack;
};

/* --- headers -------------------------------------------------------------------------------------------- */

/* Finds the loop headers. A back edge leads from a block to the loop header, which dominates this block. */
static void find_headers(struct search *s)
{
    struct loops *out = s->out;
    const struct flow *flow = &out->flow;
    for (size_t i = 0; i < flow->reached; i++) {
        const struct block *b = &s->function->blocks[flow->order[i]];
        for (size_t e = 0; e < b->edge_count; e++) {
            uint32_t to = b->edges[e].to;
            if (flow->rank[to] > i)
                continue;
            if (!flow_dominates(flow, to, flow->order[i]))
                out->is_irregular = true;
            else
                s->loop_at[to] = 0;
        }
    }
    for (size_t i = 0; i < flow->reached; i++) {
        uint32_t block = flow->order[i];
        if (s->loop_at[block] < 0)
            continue;
        s->loop_at[block] = (int32_t)out->count;
        out->list[out->count++] = (struct loop){.header = block, .parent = -1};
    }
}

/* --- bodies --------------------------------------------------------------------------------------------- */

/* Returns the outermost known loop that contains `loop`, or `loop` itself. Shortens the path in `top`. */
static int32_t outermost(struct search *s, int32_t loop)
{
    while (s->top[loop] != loop) {
        s->top[loop] = s->top[s->top[loop]];
        loop = s->top[loop];
    }
    return loop;
}

/* Adds `block` to the loop, unless `block` already belongs to it. If `block` is in known inner loops, adds
 * the outermost of these loops as a whole. Returns the new depth of the stack. */
static size_t push(struct search *s, int32_t loop, uint32_t block, size_t depth)
{
    struct loops *out = s->out;
    if (out->flow.rank[block] == FLOW_NONE)
        return depth;
    int32_t inner = out->innermost[block] < 0 ? -1 : outermost(s, out->innermost[block]);
    if (inner == loop)
        return depth;
    if (inner < 0)
        out->innermost[block] = loop;
    else
        out->list[inner].parent = s->top[inner] = loop;
    s->stack[depth] = inner < 0 ? block : out->list[inner].header;
    return depth + 1;
}

static void set_place(struct loop *loop, const struct source_place *place)
{
    if (!loop->place.file)
        loop->place = *place;
}

static bool goes_back(const struct search *s, uint32_t block)
{
    const struct block *b = &s->function->blocks[block];
    for (size_t e = 0; e < b->edge_count; e++)
        if (flow_dominates(&s->out->flow, b->edges[e].to, block))
            return true;
    return false;
}

/* Returns true if `block` has a back edge to another header than `header`, so that it is the latch of two
 * loops. LLVM has then replaced the place of the inner loop by the place of the outer loop. */
static bool goes_back_further(const struct search *s, uint32_t block, uint32_t header)
{
    const struct block *b = &s->function->blocks[block];
    for (size_t e = 0; e < b->edge_count; e++)
        if (b->edges[e].to != header && flow_dominates(&s->out->flow, b->edges[e].to, header))
            return true;
    return false;
}

/* Returns the place of the loop with the latch `last`. If LLVM has inserted `last` before the back edge, the
 * loop's place is still at the branch of the preceding block. */
static const struct source_place *place_of_latch(const struct search *s, uint32_t last)
{
    const struct flow *flow = &s->out->flow;
    const struct source_place *place = &s->function->blocks[last].loop_place;
    uint32_t first = flow->predecessor_begin[last];
    bool is_inserted = !place->file && flow->predecessor_begin[last + 1] == first + 1 &&
                       flow->rank[flow->predecessors[first]] != FLOW_NONE &&
                       !goes_back(s, flow->predecessors[first]);
    return is_inserted ? &s->function->blocks[flow->predecessors[first]].loop_place : place;
}

/* Finds the body of a loop: all blocks from which a path leads to a back edge without passing through the
 * header. */
static void find_body(struct search *s, int32_t number)
{
    const struct flow *flow = &s->out->flow;
    struct loop *loop = &s->out->list[number];
    uint32_t header = loop->header;
    size_t depth = 0;
    s->top[number] = number;
    s->out->innermost[header] = number;
    for (uint32_t k = flow->predecessor_begin[header]; k < flow->predecessor_begin[header + 1]; k++) {
        uint32_t from = flow->predecessors[k];
        if (flow->rank[from] != FLOW_NONE && flow_dominates(flow, header, from)) {
            if (!goes_back_further(s, from, header))
                set_place(loop, place_of_latch(s, from));
            loop->last = s->function->blocks[from].place;
            depth = push(s, number, from, depth);
        }
    }
    loop->may_be_two = s->function->blocks[header].may_be_two;
    loop->has_inlined = s->function->blocks[header].has_inlined;
    loop->has_own_place = loop->place.file != NULL;
    set_place(loop, &s->function->blocks[header].place);
    while (depth) {
        uint32_t block = s->stack[--depth];
        for (uint32_t k = flow->predecessor_begin[block]; k < flow->predecessor_begin[block + 1]; k++)
            depth = push(s, number, flow->predecessors[k], depth);
    }
}

/* Sets the depths of loops. Merges loops that are nested deeper than LOOPS_MAX_DEPTH into their parents. */
static void cut_depth(struct search *s)
{
    struct loops *out = s->out;
    int32_t *replaced_by = s->top; /* reused array: for each loop, the loop that replaces it */
    size_t count = 0;
    for (size_t i = 0; i < out->count; i++) {
        struct loop loop = out->list[i];
        if (loop.parent >= 0)
            loop.parent = replaced_by[loop.parent];
        loop.depth = loop.parent < 0 ? 1 : out->list[loop.parent].depth + 1;
        replaced_by[i] = loop.depth > LOOPS_MAX_DEPTH ? loop.parent : (int32_t)count;
        out->is_too_deep = out->is_too_deep || loop.depth > LOOPS_MAX_DEPTH;
        if (loop.depth > LOOPS_MAX_DEPTH)
            continue;
        if (loop.parent >= 0)
            out->list[loop.parent].is_outer = true;
        out->list[count++] = loop;
    }
    out->count = count;
    for (size_t i = 0; i < out->flow.reached; i++) {
        int32_t *innermost = &out->innermost[out->flow.order[i]];
        *innermost = *innermost < 0 ? -1 : replaced_by[*innermost];
    }
}

/* --- lists of members, nodes and exits ------------------------------------------------------------------ */

/* Prepares lists that are stored one after the other. Before: begin[l + 2] is the length of list l. After:
 * begin[l + 1] is the offset of list l. Adding an item to list l increments begin[l + 1]. When all items are
 * added, begin[l] is therefore the offset of list l. */
static void begin_lists(uint32_t *begin, size_t count)
{
    for (size_t i = 2; i < count + 2; i++)
        begin[i] += begin[i - 1];
}

/* Orders the blocks so that the blocks of each loop are contiguous. Blocks of inner loops come first. */
static void list_members(struct search *s)
{
    struct loops *out = s->out;
    uint32_t *free_place = s->stack, at = 0; /* next free position in the list, for each loop */
    for (size_t i = 0; i < out->flow.reached; i++)
        if (out->innermost[out->flow.order[i]] >= 0)
            out->list[out->innermost[out->flow.order[i]]].end++; /* `end` is the number of blocks for now */
    for (size_t i = out->count; i-- > 0;)
        if (out->list[i].parent >= 0)
            out->list[out->list[i].parent].end += out->list[i].end;
    for (size_t i = 0; i < out->count; i++) {
        struct loop *loop = &out->list[i];
        uint32_t *around = loop->parent < 0 ? &at : &free_place[loop->parent];
        loop->first = free_place[i] = *around;
        loop->end = *around += loop->end;
    }
    for (size_t i = 0; i < out->flow.reached; i++) {
        uint32_t block = out->flow.order[i];
        uint32_t *here = out->innermost[block] < 0 ? &at : &free_place[out->innermost[block]];
        out->place[block] = *here;
        out->members[(*here)++] = block;
    }
}

/* Calls put(s, region, block) for each node of each region. For a nested loop, `block` is its header. */
static void each_node(struct search *s, void (*put)(struct search *, int32_t, uint32_t))
{
    const struct loops *out = s->out;
    for (size_t i = 0; i < out->flow.reached; i++) {
        uint32_t block = out->flow.order[i];
        int32_t inner = out->innermost[block];
        put(s, inner, block);
        if (inner >= 0 && out->list[inner].header == block)
            put(s, out->list[inner].parent, block);
    }
}

static void count_node(struct search *s, int32_t region, uint32_t block)
{
    (void)block;
    s->out->node_begin[region + 3]++;
}

static void put_node(struct search *s, int32_t region, uint32_t block)
{
    s->out->nodes[s->out->node_begin[region + 2]++] = block;
}

/* Returns the outermost loop that the edge from `block` to `to` leaves; -1: none. */
static int32_t loop_left(const struct loops *loops, uint32_t block, uint32_t to)
{
    int32_t left = -1;
    for (int32_t at = loops->innermost[block]; at >= 0 && !loop_has(loops, at, to);
         at = loops->list[at].parent)
        left = at;
    return left;
}

static void each_exit(struct search *s, void (*put)(struct search *, int32_t, struct loop_exit))
{
    for (size_t i = 0; i < s->out->flow.reached; i++) {
        uint32_t block = s->out->flow.order[i];
        const struct block *b = &s->function->blocks[block];
        for (uint32_t e = 0; e < b->edge_count; e++) {
            int32_t left = loop_left(s->out, block, b->edges[e].to);
            if (left >= 0)
                put(s, left, (struct loop_exit){block, e});
        }
    }
}

static void count_exit(struct search *s, int32_t loop, struct loop_exit exit)
{
    (void)exit;
    s->out->exit_begin[loop + 2]++;
}

static void put_exit(struct search *s, int32_t loop, struct loop_exit exit)
{
    s->out->exits[s->out->exit_begin[loop + 1]++] = exit;
}

static bool list_all(struct search *s, struct arena *arena)
{
    struct loops *out = s->out;
    list_members(s);
    each_node(s, count_node);
    begin_lists(out->node_begin, out->count + 1);
    each_node(s, put_node);
    each_exit(s, count_exit);
    begin_lists(out->exit_begin, out->count);
    out->exits = arena_alloc(arena, (out->exit_begin[out->count + 1] + 1) * sizeof *out->exits);
    if (out->exits)
        each_exit(s, put_exit);
    return out->exits;
}

/* --- whole computation ---------------------------------------------------------------------------------- */

static bool alloc_lists(struct arena *arena, size_t blocks, struct loops *out)
{
    size_t size = (blocks + 4) * sizeof(uint32_t);
    out->list = arena_alloc(arena, (blocks + 1) * sizeof *out->list);
    out->innermost = arena_alloc(arena, size);
    out->heat = arena_alloc(arena, (blocks + 1) * sizeof *out->heat);
    out->members = arena_alloc(arena, size);
    out->place = arena_alloc(arena, size);
    out->nodes = arena_alloc(arena, 2 * size);
    out->node_begin = arena_alloc(arena, size);
    out->exit_begin = arena_alloc(arena, size);
    return out->list && out->innermost && out->heat && out->members && out->place && out->nodes &&
           out->node_begin && out->exit_begin;
}

joule_status loops_find(struct arena *arena, const struct function *function, struct loops *out_loops)
{
    size_t blocks = function->block_count;
    struct arena scratch = {0};
    struct search s = {function, out_loops,
                       .loop_at = arena_alloc(&scratch, (blocks + 1) * sizeof *s.loop_at),
                       .top = arena_alloc(&scratch, (blocks + 1) * sizeof *s.top),
                       .stack = arena_alloc(&scratch, (blocks + 1) * sizeof *s.stack)};
    *out_loops = (struct loops){0};
    bool is_good = flow_find(arena, function, &out_loops->flow) == JOULE_OK && s.loop_at && s.top &&
                   s.stack && alloc_lists(arena, blocks, out_loops);
    if (is_good && blocks) {
        memset(s.loop_at, 0xff, blocks * sizeof *s.loop_at);
        memset(out_loops->innermost, 0xff, blocks * sizeof *out_loops->innermost);
        find_headers(&s);
        cold_find(function, &out_loops->flow, NULL, out_loops->heat);
        for (size_t i = out_loops->count; i-- > 0;)
            find_body(&s, (int32_t)i);
        cut_depth(&s);
        is_good = list_all(&s, arena);
    }
    arena_free(&scratch);
    return is_good ? JOULE_OK : JOULE_NO_MEMORY;
}

bool loop_is_top_tested(const struct function *function, const struct loops *loops, int32_t loop)
{
    uint32_t header = loops->list[loop].header;
    const struct block *b = &function->blocks[header];
    bool leaves = false, goes_back = false;
    for (size_t i = 0; i < b->edge_count; i++) {
        leaves = leaves || !loop_has(loops, loop, b->edges[i].to);
        goes_back = goes_back || b->edges[i].to == header;
    }
    return leaves && !goes_back;
}

bool loop_always_runs(const struct loops *loops, int32_t loop, uint32_t block)
{
    const struct flow *flow = &loops->flow;
    uint32_t header = loops->list[loop].header;
    for (uint32_t i = flow->predecessor_begin[header]; i < flow->predecessor_begin[header + 1]; i++) {
        uint32_t from = flow->predecessors[i];
        if (flow->rank[from] != FLOW_NONE && loop_has(loops, loop, from) &&
            !flow_dominates(flow, block, from))
            return false;
    }
    return true;
}
