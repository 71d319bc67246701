/* joule/live/live_devices.c - divides the energy of GPUs and accelerators among processes; see live.h.
 *
 * Note: a process gets the energy of the time in which it kept the device active; several active processes
 * share that energy. If the device was active for longer, the energy of the additional time belongs to
 * processes that are not visible. The energy of the remaining time is idle energy. The power of a device is
 * assumed to be constant between two updates, because its idle power is unknown. If a device does not report
 * how busy it is, all its time counts as active.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/string.h"
#include "joule/live/live_state.h"

#define MAX_PROCESSES 256 /* maximum number of processes on one device */

/* --- accounts ------------------------------------------------------------------------------------------- */

/* Returns the account of a device; adds an account with an empty sum if there is none. Returns NULL if out of
 * memory. */
static struct live_device *device_of(struct live *live, const joule_device *seen)
{
    for (size_t i = 0; i < live->device_count; i++)
        if (strcmp(live->sums[1 + i].device, seen->name) == 0)
            return &live->devices[i];
    if (!ARRAY_ROOM(live->devices, live->device_capacity, live->device_count) ||
        !ARRAY_ROOM(live->sums, live->sum_capacity, 1 + live->device_count))
        return NULL;
    struct live_device *device = &live->devices[live->device_count++];
    struct live_sum *sum = &live->sums[live->device_count];
    *device = (struct live_device){0};
    *sum = (struct live_sum){.busy = NAN};
    string_copy(sum->device, sizeof sum->device, seen->name);
    return device;
}

/* Returns true if the use is by this process. An earlier process with the same id has another start time. */
static bool is_of(const struct live_use *use, const struct seen_process *process)
{
    return use->pid == process->pid && use->start_ticks == process->start_ticks;
}

/* Returns the process's use of the device; adds an empty use if there is none. Returns NULL if out of
 * memory. */
static struct live_use *use_of(struct live_device *device, const struct seen_process *process)
{
    for (size_t i = 0; i < device->use_count; i++)
        if (is_of(&device->uses[i], process))
            return &device->uses[i];
    if (!ARRAY_ROOM(device->uses, device->use_capacity, device->use_count))
        return NULL;
    struct live_use *use = &device->uses[device->use_count++];
    *use = (struct live_use){.pid = process->pid, .start_ticks = process->start_ticks};
    return use;
}

bool live_uses(const struct live *live, const struct seen_process *process, const char *name)
{
    for (size_t d = 0; d < live->device_count; d++)
        for (size_t i = 0; i < live->devices[d].use_count; i++)
            if (strcmp(live->sums[1 + d].device, name) == 0 && is_of(&live->devices[d].uses[i], process))
                return true;
    return false;
}

/* --- active processes ----------------------------------------------------------------------------------- */

/* Adds active seconds (NaN: unknown) and memory of a process on one device. elapsed_s: time since the last
 * update. */
static void add_active(struct live_device *device, struct seen_process *process, double active_s,
                       uint64_t memory_bytes, double elapsed_s)
{
    struct live_use *use = use_of(device, process);
    if (memory_bytes != JOULE_BYTES_UNKNOWN)
        process->gpu_memory_bytes =
            memory_bytes + (process->gpu_memory_bytes == JOULE_BYTES_UNKNOWN ? 0 : process->gpu_memory_bytes);
    if (!use || isnan(active_s))
        return;
    use->step_s += active_s;
    if (elapsed_s > 0)
        process->gpu_share = (isnan(process->gpu_share) ? 0 : process->gpu_share) + active_s / elapsed_s;
}

/* Returns the active seconds of a process since the last update; NaN: unknown. If a device has only one
 * process, the process is active as long as the device. */
static double active_of(const joule_device *seen, const joule_device_process *process, double elapsed_s)
{
    if (!isnan(process->busy))
        return process->busy * elapsed_s;
    return seen->process_count == 1 ? seen->busy * elapsed_s : NAN;
}

/* Adds the active time of every process that the driver lists. Returns false if out of memory. */
static bool query_driver(struct live *live, struct live_device *device, const joule_device *seen,
                         double elapsed_s)
{
    joule_device_process list[MAX_PROCESSES];
    size_t count = joule_device_processes(live->meter, seen->name, list, MAX_PROCESSES);
    for (size_t i = 0; i < count && i < MAX_PROCESSES; i++) {
        if (list[i].pid > INT32_MAX)
            continue;
        struct seen_process *process = process_table_outside(&live->table, (pid_t)list[i].pid);
        if (!process)
            return false;
        process->is_listed = true;
        add_active(device, process, active_of(seen, &list[i], elapsed_s), list[i].memory_bytes, elapsed_s);
    }
    return true;
}

/* --- sharing -------------------------------------------------------------------------------------------- */

/* Divides the new joules of device `d` among processes, idle and rest. Without new joules, keeps the
 * steps. */
static void share_device(struct live *live, size_t d, int32_t domain, int64_t now_ns)
{
    struct live_device *device = &live->devices[d];
    struct live_sum *sum = &live->sums[1 + d];
    double joules, seconds, known_s = 0;
    bool had_begun = device->account.begin_ns != 0;
    if (!live_take_joules(live->meter, domain, &device->account, sum, &joules, &seconds)) {
        if (had_begun || device->account.begin_ns == 0)
            return;
        joules = 0; /* the steps are from before the first reading of energy, so they get no joules */
    }
    double wall_s = (double)(now_ns - device->waits_since_ns) * 1e-9;
    for (size_t i = 0; i < device->use_count; i++)
        known_s += device->uses[i].step_s;
    double whole_s = fmax(wall_s, known_s);
    double active_s = fmin(fmax(known_s, device->busy_s), whole_s);
    double shared = 0;
    for (size_t i = 0; i < device->use_count && whole_s > 0; i++) {
        struct live_use *use = &device->uses[i];
        struct seen_process *process = process_table_find(&live->table, use->pid);
        double part = joules * use->step_s / whole_s;
        use->joules += part;
        use->step_s = 0;
        shared += part;
        if (process && is_of(use, process))
            process->gpu_watts += wall_s > 0 ? part / wall_s : 0;
    }
    double active = whole_s > 0 ? joules * active_s / whole_s : 0;
    sum->alive_joules += shared;
    sum->rest_joules += active - shared;
    sum->idle_joules += joules - active;
    device->busy_s = 0;
    device->waits_since_ns = now_ns;
}

/* Moves the joules of processes that have ended to ended_joules. */
static void end_uses(struct live *live, size_t d)
{
    struct live_device *device = &live->devices[d];
    size_t kept = 0;
    for (size_t i = 0; i < device->use_count; i++) {
        const struct live_use *use = &device->uses[i];
        const struct seen_process *process = process_table_find(&live->table, use->pid);
        if (process && is_of(use, process)) {
            device->uses[kept++] = *use;
            continue;
        }
        live->sums[1 + d].ended_joules += use->joules;
        live->sums[1 + d].alive_joules -= use->joules;
    }
    device->use_count = kept;
}

/* Sets the GPU joules of each process to the sum over all devices. */
static void sum_up(struct live *live)
{
    for (size_t i = 0; i < live->table.count; i++)
        live->table.items[i].gpu_joules = 0;
    for (size_t d = 0; d < live->device_count; d++)
        for (size_t i = 0; i < live->devices[d].use_count; i++) {
            const struct live_use *use = &live->devices[d].uses[i];
            process_table_find(&live->table, use->pid)->gpu_joules += use->joules;
        }
}

/* --- update --------------------------------------------------------------------------------------------- */

/* Clears the values of processes that describe only one update. */
static void clear_last(struct live *live)
{
    for (size_t i = 0; i < live->table.count; i++) {
        struct seen_process *process = &live->table.items[i];
        process->gpu_share = NAN;
        process->gpu_watts = 0;
        process->gpu_memory_bytes = JOULE_BYTES_UNKNOWN;
        process->is_listed = false;
    }
}

static bool query_devices(struct live *live, double elapsed_s)
{
    bool has_memory = true;
    for (size_t i = 0; i < joule_device_count(live->meter); i++) {
        joule_device seen = {.struct_size = sizeof seen};
        struct live_device *device =
            joule_device_get(live->meter, i, &seen) == JOULE_OK ? device_of(live, &seen) : NULL;
        if (!device)
            continue;
        live->sums[1 + (size_t)(device - live->devices)].busy = seen.busy;
        device->busy_s += isnan(seen.busy) ? elapsed_s : seen.busy * elapsed_s;
        has_memory = query_driver(live, device, &seen, elapsed_s) && has_memory;
    }
    return has_memory;
}

joule_status live_update_devices(struct live *live, int64_t now_ns)
{
    double elapsed_s = live->updated_ns ? (double)(now_ns - live->updated_ns) * 1e-9 : 0;
    clear_last(live);
    bool has_memory = query_devices(live, elapsed_s);
    for (size_t d = 0; d < live->device_count; d++)
        end_uses(live, d);
    for (size_t i = 0; i < joule_device_count(live->meter); i++) {
        joule_device seen = {.struct_size = sizeof seen};
        const struct live_device *device =
            joule_device_get(live->meter, i, &seen) == JOULE_OK ? device_of(live, &seen) : NULL;
        if (!device || seen.domain < 0)
            continue;
        share_device(live, (size_t)(device - live->devices), seen.domain, now_ns);
    }
    sum_up(live);
    return has_memory ? JOULE_OK : JOULE_NO_MEMORY;
}

void live_free_devices(struct live *live)
{
    for (size_t i = 0; i < live->device_count; i++)
        free(live->devices[i].uses);
    free(live->devices);
}
