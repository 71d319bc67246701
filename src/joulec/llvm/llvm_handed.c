/* joulec/llvm/llvm_handed.c - see llvm_steps.h: what calls read and write, through which they wait for others and others for them.
 *
 * A call is handed the address of a variable that stays the same from round to round, or what it calls has a global one that it
 * reads or writes at one place. What it reads there it waits for; what it writes is waited for.
 * Newcomers: where the instructions of what is called are few, they say which members of a variable it reads and writes; else
 * what LLVM has found out of its parameters says it. A variable that is reached otherwise is not seen.
 */
#include "joulec/llvm/llvm_steps.h"

#include <math.h>

#define MOST_LOOKS   (1 << 18) /* of all calls of a loop together: what others read and write stays unknown */
#define MOST_OF_BODY 256       /* instructions of what is called */
#define MOST_PLACES  16        /* of a call; and in places of an address */
#define MOST_STORES  64        /* into one of them */

/* --- what calls read and write --------------------------------------------------------------------------------------- */

static bool is_same(const struct extent *a, const struct extent *b)
{
    return a->base == b->base && a->low == b->low && a->high == b->high;
}

static bool make_room(struct steps *s)
{
    size_t room = 2 * s->handed_room + 16;
    if (s->handed_count < s->handed_room)
        return true;
    struct handed *list = arena_alloc(s->arena, room * sizeof *list);
    for (size_t i = 0; i < s->handed_count && list; i++)
        list[i] = s->handed[i];
    s->handed = list ? list : s->handed;
    s->handed_room = list ? room : s->handed_room;
    return list != NULL;
}

/* Of a call with many places, those that are one too many are any in their variable. */
static bool add(struct steps *s, uint32_t call, struct extent place, bool is_read, bool is_written)
{
    if (s->handed_count - s->list[call].handed >= MOST_PLACES)
        place = (struct extent){place.base, -INFINITY, INFINITY};
    for (size_t i = s->list[call].handed; i < s->handed_count; i++) {
        struct handed *h = &s->handed[i];
        if (!is_same(&h->extent, &place))
            continue;
        h->is_read = h->is_read || is_read;
        h->is_written = h->is_written || is_written;
        return true;
    }
    if (!make_room(s))
        return false;
    s->handed[s->handed_count++] = (struct handed){place, call, is_read, is_written};
    return true;
}

static bool is_constant_place(LLVMValueRef address)
{
    bool is = LLVMIsAGetElementPtrInst(address) || LLVMIsABitCastInst(address);
    for (int i = 1; is && i < LLVMGetNumOperands(address); i++)
        is = LLVMIsAConstantInt(LLVMGetOperand(address, (unsigned)i));
    return is;
}

/* Whether an address is the same in each round: it is there before, or a constant place in what is. */
static bool stays(const struct steps *s, LLVMValueRef address)
{
    for (int steps = 0; steps < MOST_PLACES && is_constant_place(address); steps++)
        address = LLVMGetOperand(address, 0);
    return LLVMIsAAllocaInst(address) || llvm_number_of(&s->numbers, address) < 0;
}

static bool argument_is(LLVMValueRef call, unsigned argument, const char *attribute)
{
    LLVMValueRef callee = llvm_called_function(call);
    unsigned kind = llvm_attribute_kind(attribute), index = argument + 1;
    return LLVMGetCallSiteEnumAttribute(call, index, kind) ||
           (callee && argument < LLVMCountParams(callee) && LLVMGetEnumAttributeAtIndex(callee, index, kind));
}

/* From there on anywhere. */
static struct extent behind(const struct llvm_place *place)
{
    return (struct extent){place->extent.base, place->extent.low, INFINITY};
}

/* A variable as the call's attributes have it. */
static bool add_whole(struct steps *s, uint32_t number, unsigned argument)
{
    LLVMValueRef call = s->list[number].value;
    bool is_result = argument_is(call, argument, "writeonly") || argument_is(call, argument, "sret");
    bool is_kept = llvm_writes_nothing(call) || argument_is(call, argument, "readonly");
    if (argument_is(call, argument, "readnone"))
        return true;
    struct llvm_place at = llvm_place_at(s->layout, LLVMGetOperand(call, argument), 0);
    return add(s, number, behind(&at), !is_result, !is_kept);
}

/* An address that the call is handed, and that stays. */
static bool is_handed(const struct steps *s, LLVMValueRef argument)
{
    return LLVMGetTypeKind(LLVMTypeOf(argument)) == LLVMPointerTypeKind && !LLVMIsAFunction(argument) &&
           !LLVMIsAConstantPointerNull(argument) && stays(s, argument);
}

/* --- what the instructions of what is called say ----------------------------------------------------------------------- */

/* The parameter that a variable is; -1: it is none. */
static int parameter_of(LLVMValueRef callee, LLVMValueRef base)
{
    unsigned count = LLVMCountParams(callee);
    for (unsigned i = 0; i < count && LLVMIsAArgument(base); i++)
        if (LLVMGetParam(callee, i) == base)
            return (int)i;
    return -1;
}

/* Whether nothing but loads and stores uses a parameter, in whichever place of it. */
static bool is_plain(LLVMValueRef address, int depth)
{
    bool is = depth < MOST_PLACES;
    for (LLVMUseRef use = LLVMGetFirstUse(address); use && is; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (LLVMIsAGetElementPtrInst(user) || LLVMIsABitCastInst(user))
            is = is_plain(user, depth + 1);
        else
            is = LLVMIsALoadInst(user) || (LLVMIsAStoreInst(user) && LLVMGetOperand(user, 1) == address);
    }
    return is;
}

/* A load or a store of what is called. */
static bool add_access(struct steps *s, uint32_t number, LLVMValueRef callee, LLVMValueRef access)
{
    LLVMValueRef call = s->list[number].value;
    struct extent place = llvm_place_of(s->layout, access).extent;
    int parameter = parameter_of(callee, place.base);
    bool is_global = LLVMIsAGlobalVariable(place.base) && !LLVMIsGlobalConstant(place.base) &&
                     LLVMIsAConstant(llvm_address_of(access));
    if (parameter >= 0 && (unsigned)parameter < LLVMGetNumArgOperands(call)) {
        LLVMValueRef argument = LLVMGetOperand(call, (unsigned)parameter);
        struct llvm_place at = llvm_place_at(s->layout, argument, 0);
        if (!is_handed(s, argument) || !is_plain(place.base, 0))
            return true;
        if (at.is_exact)
            place = (struct extent){at.extent.base, at.extent.low + place.low, at.extent.low + place.high};
        else
            place = behind(&at);
    } else if (!is_global) {
        return true;
    }
    return add(s, number, place, !LLVMIsAStoreInst(access), !LLVMIsALoadInst(access));
}

/* False: no memory. `out_is_whole`: these were all. */
static bool add_body(struct steps *s, uint32_t number, LLVMValueRef callee, bool *out_is_whole)
{
    int left = MOST_OF_BODY;
    bool done = true;
    for (LLVMBasicBlockRef b = callee ? LLVMGetFirstBasicBlock(callee) : NULL; b && done;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef v = LLVMGetFirstInstruction(b); v && left >= 0 && done;
             v = LLVMGetNextInstruction(v))
            if (left-- > 0 && llvm_address_of(v))
                done = add_access(s, number, callee, v);
    *out_is_whole = left >= 0 && callee;
    return done;
}

static bool add_call(struct steps *s, uint32_t number)
{
    LLVMValueRef call = s->list[number].value, callee = llvm_body_of(call);
    bool is_whole, done = add_body(s, number, callee, &is_whole);
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call) && done; i++) {
        bool is_known = is_whole && i < LLVMCountParams(callee) && is_plain(LLVMGetParam(callee, i), 0);
        if (is_handed(s, LLVMGetOperand(call, i)) && !is_known)
            done = add_whole(s, number, i);
    }
    return done;
}

static void find_places(struct steps *s)
{
    for (size_t i = 0; i < s->count; i++) {
        LLVMValueRef value = s->list[i].value;
        bool is_access = LLVMIsALoadInst(value) || LLVMIsAStoreInst(value);
        if (is_access && stays(s, llvm_address_of(value)))
            s->list[i].extent = llvm_place_of(s->layout, value).extent;
    }
}

bool handed_find(struct steps *s)
{
    size_t looks = 0;
    bool done = true;
    s->handed_count = 0;
    find_places(s);
    for (uint32_t i = 0; i < s->count && done; i++) {
        s->list[i].handed = s->handed_count;
        if (s->list[i].call && looks <= MOST_LOOKS) {
            looks += s->count + MOST_OF_BODY;
            done = add_call(s, i);
        }
        s->list[i].handed_end = s->handed_count;
    }
    return done;
}

/* --- waiting --------------------------------------------------------------------------------------------------------- */

/* The last call before a step that writes there; -1: none. */
static int32_t writer_before(const struct steps *s, const struct extent *place, size_t step)
{
    for (size_t i = s->list[step].handed; i-- > 0;)
        if (s->handed[i].is_written && llvm_extents_meet(&s->handed[i].extent, place))
            return (int32_t)s->handed[i].call;
    return -1;
}

static uint32_t add_wait(struct wait *out, uint32_t count, int32_t on, LLVMValueRef variable)
{
    if (on >= 0 && out)
        out[count] = (struct wait){on, 1, variable};
    return count + (on >= 0);
}

/* The last ones. */
static uint32_t add_stores(const struct steps *s, const struct extent *place, int32_t from, size_t to,
                           struct wait *out, uint32_t count)
{
    int left = MOST_STORES;
    for (int32_t i = (int32_t)to - 1; i > from && left > 0; i--) {
        LLVMValueRef store = LLVMIsAStoreInst(s->list[i].value);
        if (!store || !llvm_extents_meet(&s->list[i].extent, place))
            continue;
        count = add_wait(out, count, llvm_number_of(&s->numbers, LLVMGetOperand(store, 0)), place->base);
        left--;
    }
    return count;
}

uint32_t handed_add(const struct steps *s, size_t number, struct wait *out)
{
    const struct step *step = &s->list[number];
    uint32_t count = 0;
    if (LLVMIsALoadInst(step->value) && s->handed_count)
        count = add_wait(out, count, writer_before(s, &step->extent, number), step->extent.base);
    for (size_t i = step->handed; i < step->handed_end; i++) {
        const struct extent *place = &s->handed[i].extent;
        if (!s->handed[i].is_read)
            continue;
        int32_t writer = writer_before(s, place, number);
        count = add_wait(out, count, writer, place->base);
        count = add_stores(s, place, writer, number, out, count);
    }
    return count;
}

/* --- from round to round --------------------------------------------------------------------------------------------- */

static bool writes(const struct steps *s, size_t writer, const struct extent *place)
{
    const struct step *step = &s->list[writer];
    bool does = LLVMIsAStoreInst(step->value) && llvm_extents_meet(&step->extent, place);
    for (size_t i = step->handed; i < step->handed_end && !does; i++)
        does = s->handed[i].is_written && llvm_extents_meet(&s->handed[i].extent, place);
    return does;
}

LLVMValueRef handed_meets(const struct steps *s, size_t writer, size_t reader)
{
    const struct step *step = &s->list[reader];
    if (s->list[writer].call && LLVMIsALoadInst(step->value) && writes(s, writer, &step->extent))
        return step->extent.base;
    for (size_t i = step->handed; i < step->handed_end; i++)
        if (s->handed[i].is_read && writes(s, writer, &s->handed[i].extent))
            return s->handed[i].extent.base;
    return NULL;
}

bool handed_is_writer(const struct steps *s, size_t step)
{
    bool is = false;
    for (size_t i = s->list[step].handed; i < s->list[step].handed_end && !is; i++)
        is = s->handed[i].is_written;
    return is;
}

bool handed_is_instead(const struct steps *s, size_t number, size_t other)
{
    bool is_call = s->list[number].call, does = false;
    const struct step *call = &s->list[is_call ? number : other];
    for (size_t i = call->handed; i < call->handed_end && !does; i++)
        does = s->handed[i].is_written && writes(s, is_call ? other : number, &s->handed[i].extent);
    return does;
}
