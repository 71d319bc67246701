/* joule/doctor/doctor_gpu.c - reports whether the energy of each GPU is measured and, if not, why.
 *
 * NVIDIA's boards are read through their driver's library; AMD's and Intel's through their kernel drivers,
 * and through their vendors' libraries and programs.
 * Note: the energy of a GPU inside the processor is part of the package's energy, so it gives no finding.
 */
#include <stdio.h>
#include <string.h>
#include "base/string.h"
#include "joule/doctor/doctor_exam.h"

/* --- NVIDIA --------------------------------------------------------------------------------------------- */

static bool is_passed_through(const struct doctor_gpu *gpu)
{
    return strcmp(gpu->driver, "vfio-pci") == 0;
}

static const char passed_through_why[] =
    "A board that is passed to a virtual machine can be measured only there.";

void check_nvidia_driver(struct exam *exam)
{
    const struct doctor_facts *facts = &exam->facts;
    const struct doctor_gpu *first = NULL;
    unsigned count = 0;
    for (size_t i = 0; i < facts->gpu_count; i++) {
        const struct doctor_gpu *gpu = &facts->gpus[i];
        if (gpu->vendor != GPU_NVIDIA)
            continue;
        if (!first || (!first->driver[0] && gpu->driver[0]))
            first = gpu;
        count++;
    }
    if (facts->has_nvidia_driver || (count == 0 && facts->nvidia_nodes == 0))
        return;
    if (count == 0) {
        exam_find(exam, FINDING_FACT, "nvidia_nodes",
                  "There are device nodes for NVIDIA boards, but no driver and no board.")
            ->why = "Machine images may contain such nodes; they are ignored.";
        return;
    }
    struct finding *finding =
        exam_find(exam, FINDING_ADVICE, "nvidia_driver", "NVIDIA boards: %u, bound to %s.", count,
                  first->driver[0] ? first->driver : "no driver");
    finding->why = "Their energy can be read only through NVIDIA's own driver.";
    finding->command = facts->is_container ? "docker run --gpus all ..." : "sudo apt install nvidia-driver";
    if (is_passed_through(first)) {
        finding->severity = FINDING_LIMIT;
        finding->why = passed_through_why;
        finding->command = NULL;
    }
}

void check_nvml(struct exam *exam)
{
    const struct doctor_facts *facts = &exam->facts;
    if (!facts->has_nvidia_driver || facts->has_nvml || exam->is_recorded)
        return;
    struct finding *finding =
        exam_find(exam, FINDING_ADVICE, "nvml_missing",
                  "The NVIDIA driver is loaded, but its library libnvidia-ml.so.1 was not found.");
    finding->why = "The energy of the boards is read through that library.";
    finding->command = facts->is_container
                           ? "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility ..."
                           : "sudo apt install libnvidia-ml1";
}

/* --- AMD and Intel -------------------------------------------------------------------------------------- */

static const struct maker {
    const char *name, *id; /* id: prefix of the ids of findings about its GPUs */
    /* Commands that load the driver, show its kernel messages, and let all users read its sensors. */
    const char *load, *log, *open;
    const char *firmware;   /* Debian package of the firmware */
    const char *sources[8]; /* sources that read energy or power of the maker's boards */
    const char *library;    /* what to install for one of these sources */
} makers[] = {
    [GPU_AMD] = {"AMD",
                 "amd",
                 "sudo modprobe amdgpu",
                 "sudo dmesg | grep -i amdgpu",
                 "sudo chmod a+r /sys/class/drm/card*/device/hwmon/hwmon*/power1_*",
                 "firmware-amd-graphics",
                 {"hwmon", "amdgpu", "amd_smi", "rocm_smi", "amd_smi_program", "rocm_smi_program"},
                 "AMD SMI (package amd-smi-lib of ROCm)"},
    [GPU_INTEL] =
        {"Intel",
         "intel",
         "sudo modprobe i915; sudo modprobe xe",
         "sudo dmesg | grep -e i915 -e xe",
         "sudo chmod a+r /sys/class/drm/card*/device/hwmon/hwmon*/energy*_input",
         "firmware-misc-nonfree",
         {"hwmon", "level_zero"},
         "Level Zero with its system management (package libze1 or level-zero, and intel-level-zero-gpu)"},
};

struct meter_found {
    joule_class cls;
    const char *source; /* name of the channel's source */
};

/* The possible results for the energy of a GPU. */
enum outcome {
    IS_READ,
    SLEEPS,
    IS_DENIED,
    HAS_NO_METER,
    IS_PASSED_THROUGH,
    IS_NOT_BOUND,
    HAS_NO_DRIVER,
    OUTCOMES
};

/* Returns true if the channel belongs to the GPU: if the PCI address of the channel's device, or the
 * channel's uuid, is the address of the GPU. */
static bool is_of_gpu(const struct meter_channel *mc, const struct doctor_gpu *gpu)
{
    const joule_domain *info = &mc->channel->info;
    for (size_t i = 0; i < mc->source->device_count; i++)
        if (strcmp(mc->source->devices[i]->name, info->device) == 0 &&
            strcmp(mc->source->devices[i]->pci_address, gpu->address) == 0)
            return true;
    return strcmp(info->uuid, gpu->address) == 0;
}

/* Returns the best state among the GPU's channels of energy or power; JOULE_ABSENT if there is no such
 * channel. Sets *out to class and source of the channel in this state. */
static joule_status find_gpu_meter(struct exam *exam, const struct doctor_gpu *gpu, struct meter_found *out)
{
    joule_status best = JOULE_ABSENT;
    for (size_t i = 0; i < meter_channel_count(exam->meter) && best != JOULE_OK; i++) {
        const struct meter_channel *mc = &exam->meter->channels[i];
        pthread_mutex_lock(&mc->lane->lock);
        const joule_domain *info = &mc->channel->info;
        if (mc->channel->mode != CHANNEL_GAUGE && is_of_gpu(mc, gpu) &&
            (best != JOULE_DENIED || info->state == JOULE_OK)) {
            best = info->state;
            *out = (struct meter_found){info->cls, info->source};
        }
        pthread_mutex_unlock(&mc->lane->lock);
    }
    return best;
}

/* Returns the outcome of a GPU. Sets *out if the GPU has a channel of energy or power. */
static enum outcome judge(struct exam *exam, const struct doctor_gpu *gpu, struct meter_found *out)
{
    if (is_passed_through(gpu))
        return IS_PASSED_THROUGH;
    if (!gpu->driver[0])
        return exam->facts.has_gpu_module[gpu->vendor] ? IS_NOT_BOUND : HAS_NO_DRIVER;
    switch (find_gpu_meter(exam, gpu, out)) {
    case JOULE_OK:
        return IS_READ;
    case JOULE_DENIED:
        return IS_DENIED;
    case JOULE_STALE:
        return SLEEPS;
    default:
        return HAS_NO_METER;
    }
}

/* GPUs of one maker with one outcome. */
struct group {
    const struct maker *maker;
    enum outcome outcome;
    const char *driver; /* driver of the first GPU */
    struct meter_found meter;
    char names[96]; /* "GPU 0000:03:00.0", "GPUs 0000:03:00.0, 0000:43:00.0 ..." */
    unsigned count;
};

/* Sorts the vendor's GPUs outside the processor into groups by their outcome. */
static void group_gpus(struct exam *exam, enum gpu_vendor vendor, struct group groups[OUTCOMES])
{
    enum { MAX_NAMED = 4 };
    for (size_t i = 0; i < exam->facts.gpu_count; i++) {
        const struct doctor_gpu *gpu = &exam->facts.gpus[i];
        struct meter_found found = {0};
        if (gpu->vendor != vendor || gpu->is_inside)
            continue;
        enum outcome outcome = judge(exam, gpu, &found);
        struct group *group = &groups[outcome];
        size_t used = strlen(group->names);
        if (group->count == 0)
            *group = (struct group){
                .maker = &makers[vendor], .outcome = outcome, .driver = gpu->driver, .meter = found};
        if (group->count < MAX_NAMED)
            snprintf(group->names + used, sizeof group->names - used, "%s%s", used ? ", " : "", gpu->address);
        else if (group->count == MAX_NAMED)
            snprintf(group->names + used, sizeof group->names - used, " ...");
        group->count++;
    }
}

/* Adds a finding about a group and returns it; the diagnosis owns it. */
static struct finding *find_group(struct exam *exam, enum finding_severity severity,
                                  const struct group *group, const char *id, const char *what)
{
    return exam_find(exam, severity, exam_format(exam, "%s_gpu_%s", group->maker->id, id), "%s %s (%s): %s.",
                     group->maker->name, group->count == 1 ? "GPU" : "GPUs", group->names, what);
}

/* Returns the name of a source's state, in static storage; "absent" if the meter does not have the source. */
static const char *state_of_source(struct exam *exam, const char *name)
{
    const char *state = joule_status_name(JOULE_ABSENT);
    for (size_t l = 0; l < exam->meter->lane_count; l++) {
        struct lane *lane = exam->meter->lanes[l];
        pthread_mutex_lock(&lane->lock);
        for (size_t i = 0; i < lane->source_count; i++)
            if (strcmp(lane->sources[i]->ops->name, name) == 0)
                state = joule_status_name(lane->opened ? lane->sources[i]->state : JOULE_PENDING);
        pthread_mutex_unlock(&lane->lock);
    }
    return state;
}

/* Returns the maker's sources with their states, such as "hwmon (ok), level_zero (absent)". The diagnosis
 * owns the text. */
static const char *list_sources(struct exam *exam, const struct maker *maker)
{
    char list[256];
    struct text text;
    text_init(&text, list, sizeof list);
    for (size_t i = 0; maker->sources[i]; i++)
        text_printf(&text, "%s%s (%s)", i ? ", " : "", maker->sources[i],
                    state_of_source(exam, maker->sources[i]));
    return exam_format(exam, "%s", list);
}

static void report_read(struct exam *exam, const struct group *group)
{
    const char *what =
        exam_format(exam, "energy %s by %s", joule_class_name(group->meter.cls), group->meter.source);
    find_group(exam, FINDING_FACT, group, "energy", what)->why =
        exam_format(exam, "The driver %s is loaded. Sources for %s GPUs: %s.", group->driver,
                    group->maker->name, list_sources(exam, group->maker));
}

static void report_asleep(struct exam *exam, const struct group *group)
{
    find_group(exam, FINDING_FACT, group, "asleep", "asleep")->why =
        "Joule does not wake a device; it reads the device after a program has woken it.";
}

static void report_denied(struct exam *exam, const struct group *group)
{
    struct finding *finding =
        find_group(exam, FINDING_ADVICE, group, "denied", "permission denied for the driver's readings");
    finding->why =
        "This command lasts until the next boot. Any user can then read the power of the GPUs, which on "
        "shared machines can reveal secrets of others.";
    finding->command = group->maker->open;
}

static void report_no_meter(struct exam *exam, const struct group *group)
{
    const char *what = exam_format(exam, "no energy or power from the driver %s", group->driver);
    find_group(exam, FINDING_LIMIT, group, "no_meter", what)->why = exam_format(
        exam, "This energy is not in any figure. Sources for %s GPUs: %s. A newer kernel may help, or %s.",
        group->maker->name, list_sources(exam, group->maker), group->maker->library);
}

static void report_passed_through(struct exam *exam, const struct group *group)
{
    find_group(exam, FINDING_LIMIT, group, "lent", "bound to vfio-pci")->why = passed_through_why;
}

static void report_not_bound(struct exam *exam, const struct group *group)
{
    struct finding *finding =
        find_group(exam, FINDING_ADVICE, group, "not_taken", "not bound by the loaded driver");
    finding->why = exam_format(
        exam,
        "This energy is not in any figure. The kernel log states the reason: often firmware is missing "
        "(package %s), or the kernel was started with nomodeset.",
        group->maker->firmware);
    finding->command = group->maker->log;
}

static void report_no_driver(struct exam *exam, const struct group *group)
{
    struct finding *finding = find_group(exam, FINDING_ADVICE, group, "no_driver", "no driver");
    finding->why = "This energy is not in any figure, because it is read through the driver.";
    finding->command = group->maker->load;
    if (exam->facts.is_container) {
        finding->severity = FINDING_LIMIT;
        finding->why = exam_format(exam,
                                   "This energy is not in any figure. Load the driver on the machine that "
                                   "runs this container: %s",
                                   group->maker->load);
        finding->command = NULL;
    }
}

void check_other_gpus(struct exam *exam)
{
    static void (*const reports[OUTCOMES])(struct exam *, const struct group *) = {
        report_read,           report_asleep,    report_denied,   report_no_meter,
        report_passed_through, report_not_bound, report_no_driver};
    for (enum gpu_vendor vendor = GPU_AMD; vendor <= GPU_INTEL; vendor++) {
        struct group groups[OUTCOMES] = {0};
        group_gpus(exam, vendor, groups);
        for (size_t outcome = 0; outcome < OUTCOMES; outcome++)
            if (groups[outcome].count)
                reports[outcome](exam, &groups[outcome]);
    }
}
