/* joulec/llvm/llvm_path.c - see llvm_steps.h: how long a function without loops makes wait who waits for what it makes.
 *
 * Three paths matter: from whatever it is given to its result; from what it finds in variables to what it leaves in any; and from
 * a variable back to the same, where the next call finds it.
 * Newcomers: a branch is guessed, so nothing waits for what decides it.
 */
#include "joulec/llvm/llvm_steps.h"

#define MOST_LOOKS                                                                                           \
    (1 << 18) /* of instructions times stores and calls: of larger functions only the first are looked at */

/* A variable that is there before the call and after it. */
static bool is_outside(LLVMValueRef variable)
{
    return variable && (LLVMIsAArgument(variable) || LLVMIsAGlobalVariable(variable));
}

/* The variable from outside that a step reads, or that it writes; NULL: none. */
static LLVMValueRef touched(const struct steps *s, const struct step *step, bool writes)
{
    bool is_access = writes ? LLVMIsAStoreInst(step->value) != NULL : LLVMIsALoadInst(step->value) != NULL;
    if (is_access && is_outside(step->extent.base))
        return step->extent.base;
    for (size_t i = step->handed; i < step->handed_end; i++)
        if ((writes ? s->handed[i].is_written : s->handed[i].is_read) && is_outside(s->handed[i].extent.base))
            return s->handed[i].extent.base;
    return NULL;
}

/* What a step leaves, which is its own result or what it stores. */
static void take_left(const struct steps *s, size_t number, struct step *end)
{
    LLVMValueRef store = LLVMIsAStoreInst(s->list[number].value);
    int32_t on = store ? llvm_number_of(&s->numbers, LLVMGetOperand(store, 0)) : (int32_t)number;
    steps_take_wait(s, end, (struct wait){on, 0, store ? NULL : touched(s, &s->list[number], true)});
}

/* --- paths -------------------------------------------------------------------------------------------------------- */

static void find_result(struct steps *s)
{
    struct step end = steps_end();
    steps_walk_all(s);
    for (size_t i = 0; i < s->count; i++) {
        LLVMValueRef value = s->list[i].value;
        if (LLVMIsAReturnInst(value) && LLVMGetNumOperands(value))
            steps_take_wait(s, &end,
                            (struct wait){llvm_number_of(&s->numbers, LLVMGetOperand(value, 0)), 0, NULL});
    }
    steps_keep(s, &end, VIA_RESULT);
}

static void find_left(struct steps *s)
{
    struct step end = steps_end();
    for (size_t i = 0; i < s->count; i++) {
        s->list[i].begins = touched(s, &s->list[i], false);
        s->list[i].is_begin = s->list[i].begins;
    }
    steps_walk(s, 0);
    for (size_t i = 0; i < s->count; i++)
        if (touched(s, &s->list[i], true))
            take_left(s, i, &end);
    steps_keep(s, &end, VIA_MEMORY);
}

/* Whether `reader` finds at its begin what `writer` leaves: a load, too, of a store. */
static LLVMValueRef found_in(const struct steps *s, size_t writer, size_t reader)
{
    const struct step *from = &s->list[reader], *to = &s->list[writer];
    bool is_plain = LLVMIsALoadInst(from->value) && LLVMIsAStoreInst(to->value);
    if (is_plain)
        return is_outside(to->extent.base) && llvm_extents_meet(&from->extent, &to->extent) ? to->extent.base
                                                                                            : NULL;
    LLVMValueRef variable = handed_meets(s, writer, reader);
    return is_outside(variable) ? variable : NULL;
}

static struct step back_to(struct steps *s, size_t writer)
{
    struct step end = steps_end();
    for (size_t i = 0; i < s->count; i++) {
        s->list[i].begins = found_in(s, writer, i);
        s->list[i].is_begin = s->list[i].begins;
    }
    steps_walk(s, 0);
    take_left(s, writer, &end);
    return end;
}

static void find_state(struct steps *s)
{
    size_t looks = 0, longest = 0;
    double cycles = 0;
    for (size_t i = 0; i < s->count && looks < MOST_LOOKS; i++) {
        if (!touched(s, &s->list[i], true))
            continue;
        looks += s->count;
        struct step end = back_to(s, i);
        longest = end.cycles > cycles ? i : longest;
        cycles = end.cycles > cycles ? end.cycles : cycles;
    }
    if (cycles > 0) {
        struct step end = back_to(s, longest);
        steps_keep(s, &end, VIA_STATE);
    }
}

void steps_find_paths(struct steps *s)
{
    find_result(s);
    find_left(s);
    find_state(s);
}
