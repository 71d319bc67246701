/* joulec/trips/value_range.c - see value_range.h.
 *
 * Note: a signed comparison of n + 1 shows nothing about n, because n + 1 may have overflowed. An unsigned
 * comparison of n - 1 with a non-negative number bounds n: compilers write 1 <= n && n <= 64 in this way.
 */
#include "joulec/trips/value_range.h"

#include <math.h>

#define MAX_CONSTRAINTS 16
#define MAX_EXCLUDED    4
#define MAX_STEPS       256 /* maximum dominators that are visited */

struct constraint {
    uint32_t name;
    unsigned bits;
    expr_int low, high;
    bool has_low, has_high;
    expr_int excluded[MAX_EXCLUDED]; /* impossible values; used at the ends of the range */
    size_t excluded_count;
};

struct constraints {
    const struct value_ranges *ranges;
    struct constraint list[MAX_CONSTRAINTS];
    size_t count;
};

const struct expr *operand_formula(const struct scev_function *facts, const struct operand *operand,
                                   struct expr *storage)
{
    *storage = (struct expr){.kind = EXPR_UNKNOWN, .nodes = 1, .depth = 1};
    if (operand->is_constant) {
        storage->kind = EXPR_INTEGER;
        storage->integer = operand->constant;
    } else if (operand->name) {
        storage->name = expr_find_name(&facts->pool, operand->name);
        storage->kind = storage->name == INDEX_NONE ? EXPR_UNKNOWN : EXPR_SYMBOL;
        const struct scev_value *value = scev_find_value(facts, storage->name);
        if (value)
            return value->value;
    }
    return storage;
}

static struct expr_range value_of(const struct value_ranges *ranges, const struct expr *expr)
{
    return expr_value(expr, (struct expr_values){ranges->values, ranges->count});
}

/* --- conditions ----------------------------------------------------------------------------------------- */

/* Returns the constraint of a name; adds the constraint if it is new. NULL: the list is full. */
static struct constraint *constraint_of(struct constraints *constraints, uint32_t name, unsigned bits)
{
    for (size_t i = 0; i < constraints->count; i++)
        if (constraints->list[i].name == name)
            return &constraints->list[i];
    if (constraints->count == MAX_CONSTRAINTS)
        return NULL;
    constraints->list[constraints->count] = (struct constraint){.name = name, .bits = bits};
    return &constraints->list[constraints->count++];
}

static void limit_low(struct constraint *constraint, expr_int low)
{
    if (!constraint->has_low || low > constraint->low)
        constraint->low = low;
    constraint->has_low = true;
}

static void limit_high(struct constraint *constraint, expr_int high)
{
    if (!constraint->has_high || high < constraint->high)
        constraint->high = high;
    constraint->has_high = true;
}

static void exclude(struct constraint *constraint, expr_int value)
{
    if (constraint->excluded_count < MAX_EXCLUDED)
        constraint->excluded[constraint->excluded_count++] = value;
}

/* Splits a symbol, an extended symbol, or a symbol plus a constant. Returns false for other expressions. */
static bool is_symbol_plus_constant(const struct expr *expr, uint32_t *out_name, expr_int *out_shift,
                                    bool *out_is_zero_extended)
{
    *out_shift = 0;
    *out_is_zero_extended = false;
    if (expr->kind == EXPR_ZEXT || expr->kind == EXPR_SEXT) {
        *out_is_zero_extended = expr->kind == EXPR_ZEXT;
        expr = expr->operand[0];
    } else if (expr->kind == EXPR_ADD && expr->count == 2 && expr->operand[0]->kind == EXPR_INTEGER) {
        *out_shift = expr->operand[0]->integer;
        expr = expr->operand[1];
    }
    *out_name = expr->name;
    return expr->kind == EXPR_SYMBOL;
}

/* Applies the comparison `left KIND right` to the range of `left`. */
static void narrow(struct constraints *constraints, enum compare kind, const struct operand *operand,
                   const struct expr *left, const struct expr *right)
{
    struct expr_range limit = value_of(constraints->ranges, right);
    uint32_t name;
    expr_int shift;
    bool is_zero_extended, is_unsigned = kind >= COMPARE_ULT;
    if (!is_symbol_plus_constant(left, &name, &shift, &is_zero_extended) || !limit.is_known ||
        limit.has_wrapped)
        return;
    if ((shift != 0 && !is_unsigned) || ((is_unsigned || is_zero_extended) && limit.low < 0))
        return;
    struct constraint *constraint = constraint_of(constraints, name, operand->bits);
    if (!constraint)
        return;
    switch (kind) {
    case COMPARE_EQ:
        limit_low(constraint, limit.low);
        limit_high(constraint, limit.high);
        break;
    case COMPARE_NE:
        if (limit.low == limit.high)
            exclude(constraint, limit.low - shift);
        break;
    case COMPARE_SLT:
    case COMPARE_ULT:
        limit_high(constraint, limit.high - 1 - shift);
        break;
    case COMPARE_SLE:
    case COMPARE_ULE:
        limit_high(constraint, limit.high - shift);
        break;
    case COMPARE_SGT:
        limit_low(constraint, limit.low + 1);
        break;
    case COMPARE_SGE:
        limit_low(constraint, limit.low);
        break;
    default:
        break; /* no bound: as unsigned, a negative number is above any limit */
    }
    if (kind == COMPARE_ULT || kind == COMPARE_ULE || (is_zero_extended && constraint->has_high))
        limit_low(constraint, -shift);
}

static enum compare swapped(enum compare kind)
{
    static const enum compare swapped_kinds[] = {
        [COMPARE_EQ] = COMPARE_EQ,   [COMPARE_NE] = COMPARE_NE,   [COMPARE_SLT] = COMPARE_SGT,
        [COMPARE_SLE] = COMPARE_SGE, [COMPARE_SGT] = COMPARE_SLT, [COMPARE_SGE] = COMPARE_SLE,
        [COMPARE_ULT] = COMPARE_UGT, [COMPARE_ULE] = COMPARE_UGE, [COMPARE_UGT] = COMPARE_ULT,
        [COMPARE_UGE] = COMPARE_ULE};
    return swapped_kinds[kind];
}

static void add_comparison(struct constraints *constraints, const struct comparison *comparison,
                           bool is_inverse)
{
    struct expr left_storage, right_storage;
    const struct expr *left = operand_formula(constraints->ranges->facts, &comparison->left, &left_storage),
                      *right =
                          operand_formula(constraints->ranges->facts, &comparison->right, &right_storage);
    enum compare kind = is_inverse ? compare_inverse(comparison->kind) : comparison->kind;
    narrow(constraints, kind, &comparison->left, left, right);
    narrow(constraints, swapped(kind), &comparison->right, right, left);
}

/* Applies a condition that is true, or false if is_inverse. */
static void add_condition(struct constraints *constraints, const struct condition *condition, bool is_inverse)
{
    bool holds_each = is_inverse ? condition->is_any || (condition->count == 1 && !condition->is_part)
                                 : !condition->is_any || condition->count == 1;
    for (size_t i = 0; i < condition->count && holds_each; i++)
        add_comparison(constraints, &condition->list[i], is_inverse);
}

static void add_assumptions(struct constraints *constraints, const struct block *block, size_t calls)
{
    for (size_t i = 0; i < block->assumption_count; i++)
        if (block->assumptions[i].calls_before <= calls)
            add_condition(constraints, &block->assumptions[i].condition, false);
}

/* Applies the branch at the end of the only predecessor. For a loop header: of the only predecessor outside
 * of the loop. */
static void add_predecessor_branch(struct constraints *constraints, uint32_t block)
{
    const struct loops *loops = constraints->ranges->loops;
    const struct flow *flow = &loops->flow;
    int32_t loop = loops->innermost[block];
    bool is_header = loop >= 0 && loops->list[loop].header == block;
    const struct block *from = NULL;
    for (uint32_t i = flow->predecessor_begin[block]; i < flow->predecessor_begin[block + 1]; i++) {
        if (is_header && loop_has(loops, loop, flow->predecessors[i]))
            continue;
        if (from)
            return;
        from = &constraints->ranges->function->blocks[flow->predecessors[i]];
    }
    if (from && from->edge_count == 2 && from->edges[0].to != from->edges[1].to)
        add_condition(constraints, &from->condition, from->edges[1].to == block);
    else if (from && from->edge_count > 2 && from->edges[0].to == block)
        add_condition(constraints, &from->condition, false);
}

/* Collects the constraints that hold after `calls` calls of the block. */
static void collect_constraints(struct constraints *constraints, uint32_t block, size_t calls)
{
    const struct function *f = constraints->ranges->function;
    const uint32_t *dominator = constraints->ranges->loops->flow.dominator;
    add_assumptions(constraints, &f->blocks[block], calls);
    for (unsigned steps = 0; block != 0 && steps < MAX_STEPS; steps++) {
        add_predecessor_branch(constraints, block);
        block = dominator[block];
        add_assumptions(constraints, &f->blocks[block], SIZE_MAX);
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
static struct expr_range without_excluded(const struct constraint *constraint, struct expr_range range)
{
    /* Repeated, because a value may become an end only after another one is removed. */
    for (size_t times = 0; times < constraint->excluded_count; times++)
        for (size_t i = 0; i < constraint->excluded_count && range.low < range.high; i++) {
            bool is_low = constraint->excluded[i] == range.low,
                 is_high = constraint->excluded[i] == range.high;
            range.low += is_low;
            range.high -= is_high;
        }
    return range;
}

/* Returns the range of a constraint. Without an upper end, the range is unknown. Without a lower end, the
 * range begins at the minimum of the type. */
static struct expr_range range_of(const struct constraint *constraint)
{
    if (!constraint->has_high || !constraint->bits || constraint->bits > 64)
        return (struct expr_range){0};
    expr_int min = -((expr_int)1 << (constraint->bits - 1));
    struct expr_range range = {constraint->has_low && constraint->low > min ? constraint->low : min,
                               constraint->high, true, false, constraint->bits};
    range.is_known = range.low <= range.high;
    return range;
}

/* Returns the middle of the range, or of its part from 0 on if the range contains negative and positive
 * values. A number with an upper limit is rarely far below 0. */
static struct expr_range likely_value(struct expr_range range)
{
    expr_int from = range.low < 0 && range.high > 0 ? 0 : range.low;
    if (range.is_known)
        range.low = range.high = from + (range.high - from) / 2;
    return range;
}

static bool is_useful(struct expr_range range)
{
    const expr_int limit = (expr_int)1 << 62;
    return range.is_known && !range.has_wrapped && range.low >= INT64_MIN && range.high <= limit;
}

/* Returns LLVM's range of the operand; unknown if the range is no narrower than a type. */
static struct expr_range range_from_llvm(const struct value_ranges *ranges, const struct operand *operand)
{
    const struct scev_value *value =
        operand->name ? scev_find_value(ranges->facts, expr_find_name(&ranges->facts->pool, operand->name))
                      : NULL;
    bool is_narrow = value && value->range.is_known && value->range.high <= SCEV_MAX_TAKEN;
    return is_narrow ? value->range : (struct expr_range){0};
}

/* Returns true if a range consists of all values of an integer type of 8, 16 or 32 bits. */
static bool is_whole_type(struct expr_range range)
{
    for (unsigned bits = 8; bits <= 32; bits *= 2) {
        expr_int half = (expr_int)1 << (bits - 1);
        if ((range.low == 0 && range.high == 2 * half - 1) || (range.low == -half && range.high == half - 1))
            return range.is_known;
    }
    return false;
}

bool value_range_of_argument(const struct value_ranges *ranges, uint32_t block, size_t call,
                             const struct operand *operand, struct trips_symbol *out)
{
    struct constraints constraints = {.ranges = ranges};
    struct expr storage;
    struct expr_range saved[MAX_CONSTRAINTS][2];
    const struct expr *formula = operand_formula(ranges->facts, operand, &storage);
    out->bits = operand->bits;
    out->is_by_type = false;
    if (operand->is_constant) {
        out->low = out->est = out->high = operand->constant;
        return true;
    }
    collect_constraints(&constraints, block, call);
    for (size_t i = 0; i < constraints.count; i++) {
        uint32_t name = constraints.list[i].name;
        saved[i][0] = ranges->values[name];
        saved[i][1] = ranges->points[name];
        ranges->values[name] = intersect(saved[i][0], range_of(&constraints.list[i]));
        struct expr_range now = ranges->values[name], point = saved[i][1];
        if (!point.is_known || point.low < now.low || point.high > now.high)
            ranges->points[name] = likely_value(now);
    }
    struct expr_range value = value_of(ranges, formula);
    struct expr_range range = intersect(value, range_from_llvm(ranges, operand));
    struct expr_range point = expr_value(formula, (struct expr_values){ranges->points, ranges->count});
    for (size_t i = constraints.count; i-- > 0;) {
        ranges->values[constraints.list[i].name] = saved[i][0];
        ranges->points[constraints.list[i].name] = saved[i][1];
    }
    if (!is_useful(range))
        return false;
    if (!point.is_known || point.low < range.low || point.low > range.high)
        point = likely_value(range);
    out->is_by_type = !value.is_known && is_whole_type(range);
    if (out->is_by_type && point.low > TRIPS_GUESS)
        point.low = TRIPS_GUESS;
    out->low = (int64_t)range.low;
    out->est = (int64_t)point.low;
    out->high = (int64_t)range.high;
    return true;
}

size_t value_range_assumed(const struct value_ranges *ranges, uint32_t block, struct trips_symbol *out,
                           size_t capacity)
{
    struct constraints constraints = {.ranges = ranges};
    size_t count = 0;
    const uint32_t *dominator = ranges->loops->flow.dominator;
    for (unsigned steps = 0; block != 0 && steps < MAX_STEPS; steps++, block = dominator[block])
        add_assumptions(&constraints, &ranges->function->blocks[block], SIZE_MAX);
    if (ranges->function->block_count)
        add_assumptions(&constraints, &ranges->function->blocks[0], SIZE_MAX);
    for (size_t i = 0; i < constraints.count && count < capacity; i++) {
        struct expr_range range = range_of(&constraints.list[i]);
        if (is_useful(range))
            out[count++] = (struct trips_symbol){ranges->facts->pool.names[constraints.list[i].name],
                                                 (int64_t)range.low, (int64_t)likely_value(range).low,
                                                 (int64_t)range.high, constraints.list[i].bits};
    }
    return count;
}

/* Narrows a symbol's range by the constraints at a place. */
static void narrow_symbol(const struct value_ranges *ranges, const struct constraints *constraints,
                          struct trips_symbol *symbol)
{
    uint32_t name = expr_find_name(&ranges->facts->pool, symbol->name);
    for (size_t i = 0; i < constraints->count; i++) {
        struct constraint constraint = constraints->list[i];
        if (constraint.name != name)
            continue;
        limit_low(&constraint, symbol->low);
        limit_high(&constraint, symbol->high);
        struct expr_range range = without_excluded(
            &constraint, (struct expr_range){constraint.low, constraint.high, true, false, symbol->bits});
        if (range.low > range.high)
            return; /* the place is not reached */
        symbol->low = (int64_t)range.low;
        symbol->high = (int64_t)range.high;
        symbol->est = symbol->est < symbol->low    ? symbol->low
                      : symbol->est > symbol->high ? symbol->high
                                                   : symbol->est;
    }
}

void value_range_narrow_at_entry(const struct value_ranges *ranges, int32_t loop,
                                 struct trips_symbol *symbols, size_t count)
{
    struct constraints constraints = {.ranges = ranges};
    collect_constraints(&constraints, ranges->loops->list[loop].header, 0);
    for (size_t i = 0; i < count; i++)
        narrow_symbol(ranges, &constraints, &symbols[i]);
}

/* --- evaluating conditions ------------------------------------------------------------------------------ */

/* Returns true if the comparison has the same result for true integers and for values of `bits` bits. */
static bool fits(struct expr_range range, unsigned bits, bool is_unsigned)
{
    expr_int limit = bits >= 1 && bits <= 64 ? (expr_int)1 << (bits - 1) : 0;
    return range.is_known && !range.has_wrapped && range.low >= (is_unsigned ? 0 : -limit) &&
           range.high < limit;
}

static enum truth less(struct expr_range a, struct expr_range b)
{
    return a.high < b.low ? TRUTH_TRUE : a.low >= b.high ? TRUTH_FALSE : TRUTH_UNKNOWN;
}

static enum truth negate(enum truth truth)
{
    return truth == TRUTH_UNKNOWN ? truth : truth == TRUTH_TRUE ? TRUTH_FALSE : TRUTH_TRUE;
}

static enum truth evaluate(const struct value_ranges *ranges, const struct comparison *c)
{
    struct expr left_storage, right_storage;
    struct expr_range left = value_of(ranges, operand_formula(ranges->facts, &c->left, &left_storage)),
                      right = value_of(ranges, operand_formula(ranges->facts, &c->right, &right_storage));
    bool is_unsigned = c->kind >= COMPARE_ULT;
    unsigned bits = c->left.bits ? c->left.bits : c->right.bits;
    if (!fits(left, bits, is_unsigned) || !fits(right, bits, is_unsigned))
        return TRUTH_UNKNOWN;
    switch (c->kind) {
    case COMPARE_EQ:
    case COMPARE_NE: {
        bool is_apart = left.high < right.low || right.high < left.low;
        bool is_same = left.low == left.high && right.low == right.high && left.low == right.low;
        enum truth equal = is_apart ? TRUTH_FALSE : is_same ? TRUTH_TRUE : TRUTH_UNKNOWN;
        return c->kind == COMPARE_EQ ? equal : negate(equal);
    }
    case COMPARE_SLT:
    case COMPARE_ULT:
        return less(left, right);
    case COMPARE_SGE:
    case COMPARE_UGE:
        return negate(less(left, right));
    case COMPARE_SGT:
    case COMPARE_UGT:
        return less(right, left);
    default:
        return negate(less(right, left));
    }
}

enum truth value_range_evaluate(const struct value_ranges *ranges, const struct condition *condition)
{
    /* one comparison with this result decides the whole condition */
    enum truth decides = condition->is_any ? TRUTH_TRUE : TRUTH_FALSE;
    bool has_open = condition->is_part || !condition->count;
    for (size_t i = 0; i < condition->count; i++) {
        enum truth one = evaluate(ranges, &condition->list[i]);
        if (one == decides)
            return one;
        has_open = has_open || one == TRUTH_UNKNOWN;
    }
    return has_open ? TRUTH_UNKNOWN : negate(decides);
}

/* --- a function ----------------------------------------------------------------------------------------- */

static void set(struct value_ranges *ranges, uint32_t name, struct expr_range range, expr_int point)
{
    if (name >= ranges->count)
        return;
    ranges->values[name] = range;
    ranges->points[name] = (struct expr_range){point, point, true, false, range.bits};
}

joule_status value_range_prepare(struct arena *arena, const struct function *function,
                                 const struct loops *loops, const struct scev_function *facts,
                                 const struct trips_symbol *symbols, size_t symbol_count,
                                 const struct trips *trips, struct value_ranges *out)
{
    *out = (struct value_ranges){
        .function = function, .loops = loops, .facts = facts, .count = facts->pool.name_count};
    out->values = arena_alloc(arena, (out->count + 1) * sizeof *out->values);
    out->points = arena_alloc(arena, (out->count + 1) * sizeof *out->points);
    if (!out->values || !out->points)
        return JOULE_NO_MEMORY;
    for (size_t i = 0; i < facts->value_count; i++) {
        const struct scev_value *value = &facts->values[i];
        bool is_itself = value->value->kind == EXPR_SYMBOL && value->value->name == value->name;
        if (is_itself && value->range.is_known && value->range.high <= SCEV_MAX_TAKEN)
            set(out, value->name, value->range, likely_value(value->range).low);
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
