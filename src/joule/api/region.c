/* joule/api/region.c - begin and end of regions, and queries of their results.
 *
 * To begin or end a region costs a clock reading through the vDSO, and a few atomic operations in memory of
 * the thread (session_layout.h). joule_begin, joule_end and all functions that they call are
 * async-signal-safe.
 * Note: a thread takes a slot at its first region. It loses the slot when session_generation changes: after
 * fork, or when the session is replaced.
 */
#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/thread_id.h"
#include "joule/struct_sizes.h"
#include "joule/api/framed.h"
#include "joule/api/open.h"
#include "joule/collector/collector.h"
#include "joule/collector/ledger.h"
#include "joule/session/session.h"

#define RETRY_NS     NS_PER_S /* a thread that found no slot tries again after this time */
#define NO_SLOT      0xffffu
#define MAX_DEPTH    8 /* without a slot, nested regions are subtracted up to this depth */
#define PUBLIC_FLAGS (JOULE_REGION_CPU | JOULE_REGION_GPU | JOULE_REGION_THREAD_OWNED)

/* The members of joule_region that libjoule encodes. flags: public bits, SPAN_SYNCHRONISED, and in the upper
 * 16 bits the low half of session_generation. slot: the slot's number or NO_SLOT in the lower 16 bits, the
 * region's index in its open table in the upper 16 bits. owner: the thread's id. */
#define GENERATION_SHIFT 16

/* State of the calling thread. */
static __thread struct {
    struct slot *slot;
    uint32_t number; /* number of `slot`, or NO_SLOT */
    uint32_t tid;
    uint32_t generation; /* session_generation for which these values are valid; 0: none */
    int64_t tried_ns;    /* time of the last attempt to get a slot */
    /* the memory into which threads without a slot fold their regions is available */
    bool has_slotless_folds;
    uint32_t depth; /* number of open regions if the thread has no slot; MAX_DEPTH: that many or more */
    struct {
        int64_t begin_ns, nested_ns;
    } open[MAX_DEPTH];
} self __attribute__((tls_model("initial-exec")));

/* The hook of joule_set_sync. */
static struct {
    _Atomic joule_sync_fn hook;
    void *context;
} synchronise;

/* --- begin and end -------------------------------------------------------------------------------------- */

/* Takes a slot for this thread and fills `self`. Returns NULL if no slot is free. After a failure, calls
 * within RETRY_NS fail without a new attempt. */
__attribute__((noinline, cold)) static struct slot *take_slot(uint32_t generation)
{
    int64_t now = clock_now_ns();
    if (self.generation == generation && now - self.tried_ns < RETRY_NS)
        return NULL;
    struct session *session = session_current();
    uint32_t tid = thread_id(), number = 0;
    struct slot *slot = session_take_slot(session, tid, &number);
    struct session_map *map = session_map(session);
    self.has_slotless_folds =
        !slot && map && session_populate(map->slotless_folds, sizeof map->slotless_folds);
    self.slot = NULL; /* a signal handler sees no slot or a complete one */
    atomic_signal_fence(memory_order_seq_cst);
    self.number = slot ? number : NO_SLOT;
    self.tid = tid;
    self.tried_ns = now;
    self.generation = generation;
    atomic_signal_fence(memory_order_seq_cst);
    self.slot = slot;
    return slot;
}

/* Returns this thread's slot, taken at first use; NULL: none. */
static inline struct slot *own_slot(uint32_t generation)
{
    if (__builtin_expect(self.slot && self.generation == generation, 1))
        return self.slot;
    return take_slot(generation);
}

static uint32_t generation_now(void)
{
    return atomic_load_explicit(&session_generation, memory_order_relaxed);
}

/* Calls the hook, which waits until the GPU is idle. Returns false if there is no hook. */
static bool call_hook(void)
{
    joule_sync_fn hook = atomic_load_explicit(&synchronise.hook, memory_order_acquire);
    if (hook)
        hook(synchronise.context);
    return hook != NULL;
}

void joule_set_sync(joule_sync_fn sync, void *context)
{
    atomic_store_explicit(&synchronise.hook, NULL, memory_order_release);
    synchronise.context = context;
    atomic_store_explicit(&synchronise.hook, sync, memory_order_release);
}

/* Opens a region in `self.open`. A signal handler that interrupts this function uses the next entry. */
static void open_without_slot(int64_t begin_ns)
{
    uint32_t depth = self.depth;
    if (depth >= MAX_DEPTH)
        return;
    self.depth = depth + 1;
    atomic_signal_fence(memory_order_seq_cst);
    self.open[depth].begin_ns = begin_ns;
    self.open[depth].nested_ns = 0;
}

/* Closes a region in `self.open`. Returns the time in ns of the regions nested in it; 0 if `self.open` does
 * not contain it. Drops deeper entries, because other threads ended their regions. */
static int64_t close_without_slot(int64_t begin_ns, int64_t duration_ns)
{
    for (uint32_t i = self.depth; i-- > 0;) {
        if (self.open[i].begin_ns != begin_ns)
            continue;
        self.depth = i;
        if (i > 0)
            self.open[i - 1].nested_ns += duration_ns;
        return self.open[i].nested_ns;
    }
    return 0;
}

/* Begins a region. flags: public bits and SPAN_FRAMED. */
static inline __attribute__((always_inline)) joule_region begin_region(uint32_t tag, uint32_t flags)
{
    uint32_t generation = generation_now();
    struct slot *slot = own_slot(generation);
    if (flags & JOULE_REGION_GPU && call_hook())
        flags |= SPAN_SYNCHRONISED;
    int64_t begin_ns = clock_now_ns();
    uint32_t place = NO_SLOT | SPAN_NOT_LISTED << 16;
    if (slot)
        place = self.number | slot_open(slot, begin_ns, open_what(tag, flags)) << 16;
    else
        open_without_slot(begin_ns);
    return (joule_region){
        .begin_ns = (uint64_t)begin_ns,
        .tag = tag,
        .flags = flags | generation << GENERATION_SHIFT,
        .slot = place,
        .owner = self.tid,
    };
}

joule_region joule_begin_with(uint32_t tag, uint32_t flags)
{
    return begin_region(tag, flags & PUBLIC_FLAGS);
}

joule_region joule_begin(uint32_t tag)
{
    return begin_region(tag, 0);
}

joule_region region_begin_framed(uint32_t tag, uint32_t flags)
{
    return begin_region(tag, (flags & PUBLIC_FLAGS) | SPAN_FRAMED);
}

/* Returns JOULE_OK if this thread may end the region, otherwise the error of joule_end. */
static joule_status check_running(const joule_region *region, uint32_t generation)
{
    if (!region || region->begin_ns == 0 || region->end_ns != 0)
        return JOULE_INVALID;
    if (region->flags >> GENERATION_SHIFT != (uint16_t)generation)
        return JOULE_STALE;
    if (region->flags & JOULE_REGION_THREAD_OWNED && region->owner != self.tid)
        return JOULE_INVALID;
    return JOULE_OK;
}

/* Removes an ended region from its slot's list of open regions and stores the time of the regions nested in
 * it in *out_nested_ns. Returns false if the region was ended before, through a copy. */
static bool close_region(const joule_region *region, int64_t end_ns, int64_t *out_nested_ns)
{
    uint32_t number = region->slot & 0xffff, index = region->slot >> 16 & 0xff;
    int64_t begin_ns = (int64_t)region->begin_ns;
    *out_nested_ns = 0;
    if (number == NO_SLOT && region->owner == self.tid)
        *out_nested_ns = close_without_slot(begin_ns, end_ns - begin_ns);
    if (number >= SESSION_SLOTS || index >= SESSION_OPEN)
        return true; /* the region was not listed */
    if (self.slot && number == self.number && region->owner == self.tid) {
        if (!slot_close(self.slot, index, begin_ns, true, out_nested_ns))
            return false;
        slot_add_nested(self.slot, index, begin_ns, end_ns - begin_ns);
        return true;
    }
    struct session_map *map = session_map(session_current());
    if (!map)
        return false;
    if (slot_close(&map->slots[number], index, begin_ns, false, out_nested_ns))
        return true;
    /* The thread that began the region has ended, and so have its slot and list. */
    uint64_t owner = atomic_load_explicit(&map->owners[number], memory_order_acquire);
    return (uint32_t)owner != region->owner;
}

/* Adds an ended region to the shared sums of threads without a slot. own_ns: the region's duration without
 * nested regions. */
__attribute__((noinline, cold)) static void fold_without_slot(const struct span *span, int64_t own_ns)
{
    struct session_map *map = session_map(session_current());
    if (map && self.has_slotless_folds)
        fold_add(&map->slotless_mark, map->slotless_folds, span, own_ns);
    else if (map)
        atomic_fetch_add_explicit(&map->unstored, 1, memory_order_relaxed);
}

/* Stores an ended region in the ring, or folds it if the ring is full or `slot` is NULL. */
static void record(const joule_region *region, int64_t nested_ns, struct slot *slot)
{
    uint32_t tag = region->tag < SESSION_TAGS ? region->tag : TAG_OTHER;
    uint32_t number = region->slot & 0xffff;
    struct span span = {
        .begin_ns = (int64_t)region->begin_ns,
        .end_ns = (int64_t)region->end_ns,
        .tag = (uint16_t)tag,
        .slot = (uint16_t)(number < SESSION_SLOTS ? number : self.number),
        .index = number < SESSION_SLOTS ? (uint8_t)(region->slot >> 16) : SPAN_NOT_LISTED,
        .flags = (uint8_t)region->flags,
        .device = SPAN_ALL_GPUS,
        .error_ns = (float)nested_ns,
    };
    int64_t own_ns = span.end_ns - span.begin_ns - nested_ns;
    if (!slot)
        fold_without_slot(&span, own_ns);
    else if (!slot_push(slot, &span))
        slot_fold(slot, &span, own_ns);
}

joule_status joule_end(joule_region *region)
{
    uint32_t generation = generation_now();
    struct slot *slot = own_slot(generation);
    joule_status status = check_running(region, generation);
    if (status != JOULE_OK)
        return status;
    if (region->flags & JOULE_REGION_GPU && !call_hook())
        region->flags &= ~(uint32_t)SPAN_SYNCHRONISED;
    int64_t end_ns = clock_now_ns(), nested_ns;
    if (!close_region(region, end_ns, &nested_ns))
        return JOULE_INVALID;
    region->end_ns = (uint64_t)end_ns;
    record(region, nested_ns, slot);
    return JOULE_OK;
}

void region_end_framed_since(int64_t since_ns)
{
    struct slot *slot = own_slot(generation_now());
    for (unsigned i = 0; slot && i < SESSION_OPEN; i++) {
        int64_t begin_ns = atomic_load_explicit(&slot->open[i].begin_ns, memory_order_relaxed);
        uint64_t what = atomic_load_explicit(&slot->open[i].what, memory_order_relaxed);
        if (begin_ns <= OPEN_CLOSING || begin_ns <= since_ns || !(what >> 32 & SPAN_FRAMED))
            continue;
        joule_region region = {.begin_ns = (uint64_t)begin_ns,
                               .tag = (uint32_t)what,
                               .flags = (what >> 32 & 0xff) | generation_now() << GENERATION_SHIFT,
                               .slot = self.number | i << 16,
                               .owner = self.tid};
        joule_end(&region);
    }
}

void region_count(uint32_t tag)
{
    struct slot *slot = own_slot(generation_now());
    struct span call = {.tag = (uint16_t)(tag < SESSION_TAGS ? tag : TAG_OTHER)};
    if (slot)
        slot_fold(slot, &call, 0);
    else
        fold_without_slot(&call, 0);
}

double region_timestamp_seconds(void)
{
    struct slot *slot = own_slot(generation_now());
    int64_t shortest_ns = INT64_MAX;
    for (int i = 0; i < 64 && slot; i++) {
        joule_region region = begin_region(TAG_OTHER, 0);
        bool is_right = check_running(&region, generation_now()) == JOULE_OK;
        int64_t end_ns = clock_now_ns(), took_ns = end_ns - (int64_t)region.begin_ns, nested_ns;
        close_region(&region, end_ns, &nested_ns); /* this region is never recorded */
        shortest_ns = is_right && took_ns < shortest_ns ? took_ns : shortest_ns;
    }
    return shortest_ns < INT64_MAX ? clock_seconds(shortest_ns) : NAN;
}

uint32_t joule_tag(const char *name)
{
    meter_default_in_child();
    return session_tag(session_current(), name);
}

/* --- foreign spans -------------------------------------------------------------------------------------- */

/* Returns true if a foreign span, with times converted to ns, can be stored. */
static bool is_span_valid(const joule_span *span, double begin_ns, double end_ns)
{
    return isfinite(begin_ns) && isfinite(end_ns) && begin_ns >= 1 && end_ns >= begin_ns && end_ns < 9e18 &&
           isfinite(span->error_ns) && span->error_ns >= 0 && span->device_index >= -1 &&
           span->tag < SESSION_TAGS;
}

joule_status joule_span_add(joule_meter *meter, const joule_span *span)
{
    joule_span known;
    joule_status status = abi_read(&known, sizeof known, SPAN_SIZE_1, span);
    if (status != JOULE_OK)
        return status;
    if (meter && meter->pid != getpid())
        return JOULE_STALE;
    span = &known;
    double begin_ns = span->offset_ns + span->scale_ns * span->begin;
    double end_ns = span->offset_ns + span->scale_ns * span->end;
    int64_t now = meter ? meter_now_ns(meter) : clock_now_ns();
    if (!is_span_valid(span, begin_ns, end_ns) || end_ns > (double)now + 3 * span->error_ns + 1e6)
        return JOULE_INVALID;
    struct slot *slot = own_slot(generation_now());
    uint32_t device = span->device_index < 0 ? SPAN_ALL_GPUS : (uint32_t)span->device_index;
    struct span record = {
        .begin_ns = (int64_t)begin_ns,
        .end_ns = (int64_t)end_ns,
        .tag = (uint16_t)span->tag,
        .slot = (uint16_t)self.number,
        .index = SPAN_NOT_LISTED,
        .flags = (uint8_t)((span->flags & PUBLIC_FLAGS) | SPAN_FOREIGN),
        .device = (uint8_t)(device < SPAN_ALL_GPUS ? device : SPAN_ALL_GPUS),
        .error_ns = (float)span->error_ns,
    };
    return slot && slot_push(slot, &record) ? JOULE_OK : JOULE_NO_MEMORY;
}

/* --- queries -------------------------------------------------------------------------------------------- */

/* Copies a result to the caller's structure, and returns `status`. */
static joule_status give_result(joule_result *out, const joule_result *result, joule_status status)
{
    abi_write(out, result, sizeof *result);
    return status;
}

/* Resolves *meter. Returns INVALID, FAILED or STALE as <joule/region.h> states. */
static joule_status check_query(joule_meter **meter, const joule_result *out)
{
    return abi_has_room(out, RESULT_SIZE_1) ? meter_take(meter) : JOULE_INVALID;
}

/* Returns the claimed devices' energy without a collector: from this meter's sensors, or from the
 * measuring parent's board. */
static struct window devices_window(joule_meter *meter, uint32_t flags, int64_t begin_ns, int64_t end_ns)
{
    uint32_t devices = flags & (JOULE_REGION_CPU | JOULE_REGION_GPU);
    if (devices == 0)
        return meter_window(meter, JOULE_TOTAL, begin_ns, end_ns);
    if (devices == JOULE_REGION_CPU || devices == JOULE_REGION_GPU)
        return meter_window(meter, devices == JOULE_REGION_CPU ? JOULE_CPU : JOULE_GPU, begin_ns, end_ns);
    struct window cpu = meter_window(meter, JOULE_CPU, begin_ns, end_ns);
    struct window gpu = meter_window(meter, JOULE_GPU, begin_ns, end_ns);
    if (isnan(gpu.joules.value))
        return cpu;
    if (isnan(cpu.joules.value))
        return gpu;
    return window_add(cpu, &gpu);
}

/* Fills a region's result without a collector: energies of windows, but no shares. */
static joule_status window_result(joule_meter *meter, const joule_region *region, joule_result *out)
{
    int64_t begin_ns = (int64_t)region->begin_ns, end_ns = (int64_t)region->end_ns;
    struct window all = devices_window(meter, region->flags, begin_ns, end_ns);
    bool is_all = !(region->flags & (JOULE_REGION_CPU | JOULE_REGION_GPU));
    out->count = 1;
    out->duration_s = all.length_s;
    out->coverage = all.length_s > 0 ? fmin(1, all.covered_s / all.length_s) : 0;
    out->window = estimate_quantity(&all.joules);
    if (is_all || region->flags & JOULE_REGION_CPU) {
        struct window cpu = meter_window(meter, JOULE_CPU, begin_ns, end_ns);
        out->cpu = estimate_quantity(&cpu.joules);
    }
    if (is_all || region->flags & JOULE_REGION_GPU) {
        struct window gpu = meter_window(meter, JOULE_GPU, begin_ns, end_ns);
        out->gpu = estimate_quantity(&gpu.joules);
    }
    out->is_final = all.is_final;
    return out->is_final ? JOULE_OK : JOULE_PENDING;
}

/* Returns the reason why a region's result has no joules. Returns ABSENT instead of PENDING if the result is
 * final (`status` is OK). */
static joule_status why_unknown(joule_meter *meter, uint32_t flags, joule_status status)
{
    uint32_t devices = flags & (JOULE_REGION_CPU | JOULE_REGION_GPU);
    joule_status why = meter_why_unknown(meter, devices == JOULE_REGION_CPU   ? JOULE_CPU
                                                : devices == JOULE_REGION_GPU ? JOULE_GPU
                                                                              : JOULE_TOTAL);
    return why == JOULE_PENDING && status == JOULE_OK ? JOULE_ABSENT : why;
}

joule_status joule_region_result(joule_meter *meter, const joule_region *region, joule_result *out_result)
{
    joule_status status = check_query(&meter, out_result);
    if (status != JOULE_OK)
        return status;
    if (!region || region->begin_ns == 0 || region->end_ns < region->begin_ns || region->end_ns > INT64_MAX)
        return JOULE_INVALID;
    joule_result result = result_unknown();
    struct collector *collector = collector_of(meter);
    status = collector ? collector_region(collector, region, &result) : window_result(meter, region, &result);
    if (isnan(result.window.value) && region->end_ns > region->begin_ns)
        status = why_unknown(meter, region->flags, status);
    result.unsynchronised = region->flags & JOULE_REGION_GPU && !(region->flags & SPAN_SYNCHRONISED);
    return give_result(out_result, &result, status);
}

joule_status joule_region_wait(joule_meter *meter, const joule_region *region, double timeout_s,
                               joule_result *out_result)
{
    joule_status status = check_query(&meter, out_result);
    if (status != JOULE_OK)
        return status;
    int64_t deadline_ns = clock_now_ns() + (int64_t)(fmin(fmax(timeout_s, 0), 1e6) * 1e9);
    struct timespec pause = {.tv_nsec = 500000};
    while ((status = joule_region_result(meter, region, out_result)) == JOULE_PENDING) {
        if (clock_now_ns() >= deadline_ns)
            break;
        joule_sample_now(meter);
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 20000000)
            pause.tv_nsec *= 2;
    }
    return status;
}

joule_status joule_tag_result(joule_meter *meter, uint32_t tag, joule_result *out_result)
{
    joule_status status = check_query(&meter, out_result);
    if (status != JOULE_OK)
        return status;
    joule_result result = result_unknown();
    struct collector *collector = collector_of(meter);
    status = collector ? collector_tag(collector, tag, &result) : JOULE_UNSUPPORTED;
    return give_result(out_result, &result, status);
}
