/* joulec/trips/value_range.c - see value_range.h.
 *
 * Note: a signed comparison of n + 1 shows nothing about n, because n + 1 may have overflowed. An unsigned
 * comparison with a non-negative number does: compilers write 1 <= n && n <= 64 in this way.
 */
#include "joulec/trips/known.h"

#include <math.h>

#define MOST_NARROWED 16
#define MOST_EXCLUDED 4
#define MOST_STEPS    256 /* maximum dominators that are visited */

struct narrowed {
    uint32_t name;
    unsigned bits;
    expr_int low, high;
    bool has_low, has_high;
    expr_int excluded[MOST_EXCLUDED]; /* values that it cannot have; they matter at the ends of the range */
    size_t excluded_count;
};

struct place {
    const struct known *known;
    struct narrowed list[MOST_NARROWED];
    size_t count;
};

const struct expr *known_formula(const struct scev_function *facts, const struct operand *operand,
                                 struct expr *room)
{
    *room = (struct expr){.kind = EXPR_UNKNOWN, .nodes = 1, .depth = 1};
    if (operand->is_constant) {
        room->kind = EXPR_INTEGER;
        room->integer = operand->constant;
    } else if (operand->name) {
        room->name = expr_find_name(&facts->pool, operand->name);
        room->kind = room->name == INDEX_NONE ? EXPR_UNKNOWN : EXPR_SYMBOL;
        const struct scev_value *value = scev_find_value(facts, room->name);
        if (value)
            return value->value;
    }
    return room;
}

static struct expr_range value_of(const struct known *known, const struct expr *expr)
{
    return expr_value(expr, (struct expr_values){known->values, known->count});
}

/* --- conditions ----------------------------------------------------------------------------------------- */

/* Returns the constraint of a name, which is added if it is new; NULL: no room. */
static struct narrowed *narrowed_of(struct place *place, uint32_t name, unsigned bits)
{
    for (size_t i = 0; i < place->count; i++)
        if (place->list[i].name == name)
            return &place->list[i];
    if (place->count == MOST_NARROWED)
        return NULL;
    place->list[place->count] = (struct narrowed){.name = name, .bits = bits};
    return &place->list[place->count++];
}

static void limit_low(struct narrowed *of, expr_int low)
{
    if (!of->has_low || low > of->low)
        of->low = low;
    of->has_low = true;
}

static void limit_high(struct narrowed *of, expr_int high)
{
    if (!of->has_high || high < of->high)
        of->high = high;
    of->has_high = true;
}

static void exclude(struct narrowed *of, expr_int value)
{
    if (of->excluded_count < MOST_EXCLUDED)
        of->excluded[of->excluded_count++] = value;
}

/* Splits a symbol, an extended symbol, or a symbol plus a constant. Returns false for other expressions. */
static bool is_shifted(const struct expr *expr, uint32_t *out_name, expr_int *out_shift, bool *out_is_natural)
{
    *out_shift = 0;
    *out_is_natural = false;
    if (expr->kind == EXPR_ZEXT || expr->kind == EXPR_SEXT) {
        *out_is_natural = expr->kind == EXPR_ZEXT;
        expr = expr->operand[0];
    } else if (expr->kind == EXPR_ADD && expr->count == 2 && expr->operand[0]->kind == EXPR_INTEGER) {
        *out_shift = expr->operand[0]->integer;
        expr = expr->operand[1];
    }
    *out_name = expr->name;
    return expr->kind == EXPR_SYMBOL;
}

/* Applies the comparison `left KIND right` to the range of `left`. */
static void narrow(struct place *place, enum compare kind, const struct operand *operand,
                   const struct expr *left, const struct expr *right)
{
    struct expr_range limit = value_of(place->known, right);
    uint32_t name;
    expr_int shift;
    bool is_natural, is_unsigned = kind >= COMPARE_BELOW;
    if (!is_shifted(left, &name, &shift, &is_natural) || !limit.is_known || limit.has_wrapped)
        return;
    if ((shift != 0 && !is_unsigned) || ((is_unsigned || is_natural) && limit.low < 0))
        return;
    struct narrowed *of = narrowed_of(place, name, operand->bits);
    if (!of)
        return;
    switch (kind) {
    case COMPARE_EQUAL:
        limit_low(of, limit.low);
        limit_high(of, limit.high);
        break;
    case COMPARE_NOT_EQUAL:
        if (limit.low == limit.high)
            exclude(of, limit.low - shift);
        break;
    case COMPARE_LESS:
    case COMPARE_BELOW:
        limit_high(of, limit.high - 1 - shift);
        break;
    case COMPARE_AT_MOST:
    case COMPARE_BELOW_OR_SAME:
        limit_high(of, limit.high - shift);
        break;
    case COMPARE_MORE:
        limit_low(of, limit.low + 1);
        break;
    case COMPARE_AT_LEAST:
        limit_low(of, limit.low);
        break;
    default:
        break; /* a negative number is also above any limit */
    }
    if (kind == COMPARE_BELOW || kind == COMPARE_BELOW_OR_SAME || (is_natural && of->has_high))
        limit_low(of, -shift);
}

static enum compare mirrored(enum compare kind)
{
    static const enum compare mirrors[] = {
        [COMPARE_EQUAL] = COMPARE_EQUAL, [COMPARE_NOT_EQUAL] = COMPARE_NOT_EQUAL,
        [COMPARE_LESS] = COMPARE_MORE,   [COMPARE_AT_MOST] = COMPARE_AT_LEAST,
        [COMPARE_MORE] = COMPARE_LESS,   [COMPARE_AT_LEAST] = COMPARE_AT_MOST,
        [COMPARE_BELOW] = COMPARE_ABOVE, [COMPARE_BELOW_OR_SAME] = COMPARE_ABOVE_OR_SAME,
        [COMPARE_ABOVE] = COMPARE_BELOW, [COMPARE_ABOVE_OR_SAME] = COMPARE_BELOW_OR_SAME};
    return mirrors[kind];
}

static void learn(struct place *place, const struct comparison *comparison, bool is_contrary)
{
    struct expr left_room, right_room;
    const struct expr *left = known_formula(place->known->facts, &comparison->left, &left_room),
                      *right = known_formula(place->known->facts, &comparison->right, &right_room);
    enum compare kind = is_contrary ? compare_contrary(comparison->kind) : comparison->kind;
    narrow(place, kind, &comparison->left, left, right);
    narrow(place, mirrored(kind), &comparison->right, right, left);
}

/* Applies a condition that is true, or false if is_inverse. */
static void learn_all(struct place *place, const struct condition *condition, bool is_contrary)
{
    bool holds_each = is_contrary ? condition->is_any || (condition->count == 1 && !condition->is_part)
                                  : !condition->is_any || condition->count == 1;
    for (size_t i = 0; i < condition->count && holds_each; i++)
        learn(place, &condition->list[i], is_contrary);
}

static void learn_promises(struct place *place, const struct block *block, size_t calls)
{
    for (size_t i = 0; i < block->promise_count; i++)
        if (block->promises[i].calls_before <= calls)
            learn_all(place, &block->promises[i].condition, false);
}

/* Applies the branch at the end of the only predecessor. For a loop header: of the only predecessor outside
 * of the loop. */
static void learn_way(struct place *place, uint32_t block)
{
    const struct loops *loops = place->known->loops;
    const struct flow *flow = &loops->flow;
    int32_t loop = loops->innermost[block];
    bool is_header = loop >= 0 && loops->list[loop].header == block;
    const struct block *from = NULL;
    for (uint32_t i = flow->before_begin[block]; i < flow->before_begin[block + 1]; i++) {
        if (is_header && loop_has(loops, loop, flow->before[i]))
            continue;
        if (from)
            return;
        from = &place->known->function->blocks[flow->before[i]];
    }
    if (from && from->edge_count == 2 && from->edges[0].to != from->edges[1].to)
        learn_all(place, &from->condition, from->edges[1].to == block);
    else if (from && from->edge_count > 2 && from->edges[0].to == block)
        learn_all(place, &from->condition, false);
}

/* Collects the constraints that hold after `calls` calls of the block. */
static void go_to(struct place *place, uint32_t block, size_t calls)
{
    const struct function *f = place->known->function;
    const uint32_t *dominator = place->known->loops->flow.dominator;
    learn_promises(place, &f->blocks[block], calls);
    for (unsigned steps = 0; block != 0 && steps < MOST_STEPS; steps++) {
        learn_way(place, block);
        block = dominator[block];
        learn_promises(place, &f->blocks[block], SIZE_MAX);
    }
}

/* --- values --------------------------------------------------------------------------------------------- */

static struct expr_range intersect(struct expr_range a, struct expr_range b)
{
    if (!a.is_known || !b.is_known)
        return a.is_known ? a : b;
    struct expr_range both = {a.low > b.low ? a.low : b.low, a.high < b.high ? a.high : b.high, true,
                              a.has_wrapped || b.has_wrapped, a.bits ? a.bits : b.bits};
    return both.low <= both.high ? both : a; /* an empty intersection: the place is not reached */
}

/* Removes excluded values from the ends of a range. */
static struct expr_range without_excluded(const struct narrowed *of, struct expr_range range)
{
    /* Repeated, because a value may become an end only after another one is removed. */
    for (size_t times = 0; times < of->excluded_count; times++)
        for (size_t i = 0; i < of->excluded_count && range.low < range.high; i++) {
            bool is_low = of->excluded[i] == range.low, is_high = of->excluded[i] == range.high;
            range.low += is_low;
            range.high -= is_high;
        }
    return range;
}

/* Returns the range of a constraint; it is unknown without an upper end. If the lower end is unknown, the
 * minimum of the type is used. */
static struct expr_range range_of(const struct narrowed *of)
{
    if (!of->has_high || !of->bits || of->bits > 64)
        return (struct expr_range){0};
    expr_int least = -((expr_int)1 << (of->bits - 1));
    struct expr_range range = {of->has_low && of->low > least ? of->low : least, of->high, true, false,
                               of->bits};
    range.is_known = range.low <= range.high;
    return range;
}

/* A number with an upper limit is rarely far below 0, so the middle is taken from 0 if the range contains
 * 0. */
static struct expr_range middle(struct expr_range range)
{
    expr_int from = range.low < 0 && range.high > 0 ? 0 : range.low;
    if (range.is_known)
        range.low = range.high = from + (range.high - from) / 2;
    return range;
}

static bool is_useful(struct expr_range range)
{
    const expr_int most = (expr_int)1 << 62;
    return range.is_known && !range.has_wrapped && range.low >= INT64_MIN && range.high <= most;
}

/* Returns the range that LLVM prints; unknown if it is no narrower than a type. */
static struct expr_range printed_range(const struct known *known, const struct operand *operand)
{
    const struct scev_value *value =
        operand->name ? scev_find_value(known->facts, expr_find_name(&known->facts->pool, operand->name))
                      : NULL;
    bool says = value && value->range.is_known && value->range.high <= SCEV_MOST_TAKEN;
    return says ? value->range : (struct expr_range){0};
}

/* Returns true if a range covers all values of a type with this many bits. */
static bool is_of_type(struct expr_range range)
{
    for (unsigned bits = 8; bits <= 32; bits *= 2) {
        expr_int half = (expr_int)1 << (bits - 1);
        if ((range.low == 0 && range.high == 2 * half - 1) || (range.low == -half && range.high == half - 1))
            return range.is_known;
    }
    return false;
}

bool known_at_call(const struct known *known, uint32_t block, size_t call, const struct operand *operand,
                   struct trips_symbol *out)
{
    struct place place = {.known = known};
    struct expr room;
    struct expr_range kept[MOST_NARROWED][2];
    const struct expr *formula = known_formula(known->facts, operand, &room);
    out->bits = operand->bits;
    out->is_by_type = false;
    if (operand->is_constant) {
        out->low = out->est = out->high = operand->constant;
        return true;
    }
    go_to(&place, block, call);
    for (size_t i = 0; i < place.count; i++) {
        uint32_t name = place.list[i].name;
        kept[i][0] = known->values[name];
        kept[i][1] = known->points[name];
        known->values[name] = intersect(kept[i][0], range_of(&place.list[i]));
        struct expr_range now = known->values[name], point = kept[i][1];
        if (!point.is_known || point.low < now.low || point.high > now.high)
            known->points[name] = middle(now);
    }
    struct expr_range value = value_of(known, formula);
    struct expr_range range = intersect(value, printed_range(known, operand));
    struct expr_range point = expr_value(formula, (struct expr_values){known->points, known->count});
    for (size_t i = place.count; i-- > 0;) {
        known->values[place.list[i].name] = kept[i][0];
        known->points[place.list[i].name] = kept[i][1];
    }
    if (!is_useful(range))
        return false;
    if (!point.is_known || point.low < range.low || point.low > range.high)
        point = middle(range);
    out->is_by_type = !value.is_known && is_of_type(range);
    if (out->is_by_type && point.low > TRIPS_GUESS)
        point.low = TRIPS_GUESS;
    out->low = (int64_t)range.low;
    out->est = (int64_t)point.low;
    out->high = (int64_t)range.high;
    return true;
}

size_t known_promised(const struct known *known, uint32_t block, struct trips_symbol *out, size_t room)
{
    struct place place = {.known = known};
    size_t count = 0;
    const uint32_t *dominator = known->loops->flow.dominator;
    for (unsigned steps = 0; block != 0 && steps < MOST_STEPS; steps++, block = dominator[block])
        learn_promises(&place, &known->function->blocks[block], SIZE_MAX);
    if (known->function->block_count)
        learn_promises(&place, &known->function->blocks[0], SIZE_MAX);
    for (size_t i = 0; i < place.count && count < room; i++) {
        struct expr_range range = range_of(&place.list[i]);
        if (is_useful(range))
            out[count++] =
                (struct trips_symbol){known->facts->pool.names[place.list[i].name], (int64_t)range.low,
                                      (int64_t)middle(range).low, (int64_t)range.high, place.list[i].bits};
    }
    return count;
}

/* Narrows a symbol's range by the constraints at a place. */
static void narrow_symbol(const struct known *known, const struct place *place, struct trips_symbol *symbol)
{
    uint32_t name = expr_find_name(&known->facts->pool, symbol->name);
    for (size_t i = 0; i < place->count; i++) {
        struct narrowed of = place->list[i];
        if (of.name != name)
            continue;
        limit_low(&of, symbol->low);
        limit_high(&of, symbol->high);
        struct expr_range range =
            without_excluded(&of, (struct expr_range){of.low, of.high, true, false, symbol->bits});
        if (range.low > range.high)
            return; /* the place is not reached */
        symbol->low = (int64_t)range.low;
        symbol->high = (int64_t)range.high;
        symbol->est = symbol->est < symbol->low    ? symbol->low
                      : symbol->est > symbol->high ? symbol->high
                                                   : symbol->est;
    }
}

void known_on_entry(const struct known *known, int32_t loop, struct trips_symbol *symbols, size_t count)
{
    struct place place = {.known = known};
    go_to(&place, known->loops->list[loop].header, 0);
    for (size_t i = 0; i < count; i++)
        narrow_symbol(known, &place, &symbols[i]);
}

/* --- answers -------------------------------------------------------------------------------------------- */

/* Returns true if the comparison has the same result for true integers and for values of `bits` bits. */
static bool fits(struct expr_range range, unsigned bits, bool is_unsigned)
{
    expr_int most = bits >= 1 && bits <= 64 ? (expr_int)1 << (bits - 1) : 0;
    return range.is_known && !range.has_wrapped && range.low >= (is_unsigned ? 0 : -most) &&
           range.high < most;
}

static enum known_answer less(struct expr_range a, struct expr_range b)
{
    return a.high < b.low ? KNOWN_HOLDS : a.low >= b.high ? KNOWN_FAILS : KNOWN_NOT;
}

static enum known_answer contrary(enum known_answer answer)
{
    return answer == KNOWN_NOT ? answer : answer == KNOWN_HOLDS ? KNOWN_FAILS : KNOWN_HOLDS;
}

static enum known_answer answer(const struct known *known, const struct comparison *c)
{
    struct expr left_room, right_room;
    struct expr_range left = value_of(known, known_formula(known->facts, &c->left, &left_room)),
                      right = value_of(known, known_formula(known->facts, &c->right, &right_room));
    bool is_unsigned = c->kind >= COMPARE_BELOW;
    unsigned bits = c->left.bits ? c->left.bits : c->right.bits;
    if (!fits(left, bits, is_unsigned) || !fits(right, bits, is_unsigned))
        return KNOWN_NOT;
    switch (c->kind) {
    case COMPARE_EQUAL:
    case COMPARE_NOT_EQUAL: {
        bool is_apart = left.high < right.low || right.high < left.low;
        bool is_same = left.low == left.high && right.low == right.high && left.low == right.low;
        enum known_answer equal = is_apart ? KNOWN_FAILS : is_same ? KNOWN_HOLDS : KNOWN_NOT;
        return c->kind == COMPARE_EQUAL ? equal : contrary(equal);
    }
    case COMPARE_LESS:
    case COMPARE_BELOW:
        return less(left, right);
    case COMPARE_AT_LEAST:
    case COMPARE_ABOVE_OR_SAME:
        return contrary(less(left, right));
    case COMPARE_MORE:
    case COMPARE_ABOVE:
        return less(right, left);
    default:
        return contrary(less(right, left));
    }
}

enum known_answer known_answers(const struct known *known, const struct condition *condition)
{
    /* one comparison with this answer decides the whole condition */
    enum known_answer decides = condition->is_any ? KNOWN_HOLDS : KNOWN_FAILS;
    bool has_open = condition->is_part || !condition->count;
    for (size_t i = 0; i < condition->count; i++) {
        enum known_answer one = answer(known, &condition->list[i]);
        if (one == decides)
            return one;
        has_open = has_open || one == KNOWN_NOT;
    }
    return has_open ? KNOWN_NOT : contrary(decides);
}

/* --- a function ----------------------------------------------------------------------------------------- */

static void set(struct known *known, uint32_t name, struct expr_range range, expr_int point)
{
    if (name >= known->count)
        return;
    known->values[name] = range;
    known->points[name] = (struct expr_range){point, point, true, false, range.bits};
}

joule_status known_prepare(struct arena *arena, const struct function *function, const struct loops *loops,
                           const struct scev_function *facts, const struct trips_symbol *symbols,
                           size_t symbol_count, const struct trips *trips, struct known *out)
{
    *out =
        (struct known){.function = function, .loops = loops, .facts = facts, .count = facts->pool.name_count};
    out->values = arena_alloc(arena, (out->count + 1) * sizeof *out->values);
    out->points = arena_alloc(arena, (out->count + 1) * sizeof *out->points);
    if (!out->values || !out->points)
        return JOULE_NO_MEMORY;
    for (size_t i = 0; i < facts->value_count; i++) {
        const struct scev_value *value = &facts->values[i];
        bool is_itself = value->value->kind == EXPR_SYMBOL && value->value->name == value->name;
        if (is_itself && value->range.is_known && value->range.high <= SCEV_MOST_TAKEN)
            set(out, value->name, value->range, middle(value->range).low);
    }
    for (size_t i = 0; i < symbol_count; i++)
        set(out, expr_find_name(&facts->pool, symbols[i].name),
            (struct expr_range){symbols[i].low, symbols[i].high, true, false, symbols[i].bits},
            symbols[i].est);
    for (size_t i = 0; trips && i < loops->count; i++) {
        double high = trips[i].per_entry.high, est = trips[i].per_entry.est;
        if (high < 0x1p62 && est < 0x1p62)
            set(out, expr_find_name(&facts->pool, function->blocks[loops->list[i].header].name),
                (struct expr_range){0, (expr_int)fmax(high - 1, 0), true, false, 0},
                (expr_int)fmax((est - 1) / 2, 0));
    }
    return JOULE_OK;
}
