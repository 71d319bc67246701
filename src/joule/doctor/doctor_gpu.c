/* joule/doctor/doctor_gpu.c - what keeps the energy of GPUs out of the figures.
 *
 * NVIDIA's boards are read through their driver's library; of AMD's and Intel's there is what their kernel drivers tell
 * the hardware monitors, and nothing else in this version, which is said. Newcomers: a GPU inside the processor is
 * in the package's energy already, so nothing is to be done for it.
 */
#include <stdio.h>
#include <string.h>
#include "base/string.h"
#include "joule/doctor/doctor_exam.h"

/* --- NVIDIA ------------------------------------------------------------------------------------------------- */

static bool is_lent(const struct doctor_gpu *gpu)
{
    return strcmp(gpu->driver, "vfio-pci") == 0;
}

static const char lent_why[] = "What is lent to a virtual machine can be measured there alone.";

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
                  "There are device nodes of NVIDIA boards, but no driver and no board.")
            ->why = "Images leave such nodes behind; they are ignored.";
        return;
    }
    struct finding *finding =
        exam_find(exam, FINDING_ADVICE, "nvidia_driver", "NVIDIA boards: %u, held by %s.", count,
                  first->driver[0] ? first->driver : "no driver");
    finding->why = "Their energy can be read through NVIDIA's own driver alone.";
    finding->command = facts->is_container ? "docker run --gpus all ..." : "sudo apt install nvidia-driver";
    if (is_lent(first)) {
        finding->severity = FINDING_LIMIT;
        finding->why = lent_why;
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
                  "The NVIDIA driver is loaded, and its library libnvidia-ml.so.1 is not here.");
    finding->why = "The energy of the boards is read through that library.";
    finding->command = facts->is_container
                           ? "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility ..."
                           : "sudo apt install libnvidia-ml1";
}

/* --- AMD and Intel ------------------------------------------------------------------------------------------ */

static const struct maker {
    const char *name, *id; /* id: how its findings begin */
    const char *load, *log, *open;
    const char *firmware; /* its package in Debian */
} makers[] = {
    [GPU_AMD] = {"AMD", "amd", "sudo modprobe amdgpu", "sudo dmesg | grep -i amdgpu",
                 "sudo chmod a+r /sys/class/drm/card*/device/hwmon/hwmon*/power1_*", "firmware-amd-graphics"},
    [GPU_INTEL] = {"Intel", "intel", "sudo modprobe i915; sudo modprobe xe",
                   "sudo dmesg | grep -e i915 -e xe",
                   "sudo chmod a+r /sys/class/drm/card*/device/hwmon/hwmon*/energy*_input",
                   "firmware-misc-nonfree"},
};

enum outcome { IS_READ, SLEEPS, IS_DENIED, TELLS_NOTHING, IS_LENT, IS_NOT_TAKEN, HAS_NO_DRIVER, OUTCOMES };

/* The best state of what hardware monitors tell of a GPU; ABSENT: nothing. */
static joule_status look_for_meter(struct exam *exam, const struct doctor_gpu *gpu, joule_class *out_class)
{
    joule_status best = JOULE_ABSENT;
    for (size_t i = 0; i < meter_channel_count(exam->meter) && best != JOULE_OK; i++) {
        const struct meter_channel *mc = &exam->meter->channels[i];
        pthread_mutex_lock(&mc->lane->lock);
        const joule_domain *info = &mc->channel->info;
        if (mc->channel->mode != CHANNEL_GAUGE && strcmp(info->source, "hwmon") == 0 &&
            strcmp(info->uuid, gpu->address) == 0 && best != JOULE_DENIED) {
            best = info->state;
            *out_class = info->cls;
        }
        pthread_mutex_unlock(&mc->lane->lock);
    }
    return best;
}

static enum outcome judge(struct exam *exam, const struct doctor_gpu *gpu, joule_class *out_class)
{
    if (is_lent(gpu))
        return IS_LENT;
    if (!gpu->driver[0])
        return exam->facts.has_gpu_module[gpu->vendor] ? IS_NOT_TAKEN : HAS_NO_DRIVER;
    switch (look_for_meter(exam, gpu, out_class)) {
    case JOULE_OK:
        return IS_READ;
    case JOULE_DENIED:
        return IS_DENIED;
    case JOULE_STALE:
        return SLEEPS;
    default:
        return TELLS_NOTHING;
    }
}

/* GPUs of one maker and one outcome. */
struct group {
    const struct maker *maker;
    enum outcome outcome;
    const char *driver; /* of the first */
    joule_class cls;
    char names[96]; /* "GPU 0000:03:00.0", "GPUs 0000:03:00.0, 0000:43:00.0 ..." */
    unsigned count;
};

static void gather(struct exam *exam, enum gpu_vendor vendor, struct group groups[OUTCOMES])
{
    enum { MOST_NAMED = 4 };
    for (size_t i = 0; i < exam->facts.gpu_count; i++) {
        const struct doctor_gpu *gpu = &exam->facts.gpus[i];
        joule_class cls = JOULE_CLASS_NONE;
        if (gpu->vendor != vendor || gpu->is_inside)
            continue;
        enum outcome outcome = judge(exam, gpu, &cls);
        struct group *group = &groups[outcome];
        size_t used = strlen(group->names);
        if (group->count == 0)
            *group = (struct group){
                .maker = &makers[vendor], .outcome = outcome, .driver = gpu->driver, .cls = cls};
        if (group->count < MOST_NAMED)
            snprintf(group->names + used, sizeof group->names - used, "%s%s", used ? ", " : "", gpu->address);
        else if (group->count == MOST_NAMED)
            snprintf(group->names + used, sizeof group->names - used, " ...");
        group->count++;
    }
}

static struct finding *find_group(struct exam *exam, enum finding_severity severity,
                                  const struct group *group, const char *id, const char *what)
{
    return exam_find(exam, severity, exam_format(exam, "%s_gpu_%s", group->maker->id, id), "%s %s (%s): %s.",
                     group->maker->name, group->count == 1 ? "GPU" : "GPUs", group->names, what);
}

static void tell_read(struct exam *exam, const struct group *group)
{
    const char *what = exam_format(exam, "energy %s by hwmon", joule_class_name(group->cls));
    find_group(exam, FINDING_FACT, group, "energy", what)->why =
        exam_format(exam, "It is what the driver %s tells; this version has no other source for %s GPUs.",
                    group->driver, group->maker->name);
}

static void tell_asleep(struct exam *exam, const struct group *group)
{
    find_group(exam, FINDING_FACT, group, "asleep", "asleep")->why =
        "Joule wakes no device: it is read when a program has woken it.";
}

static void tell_denied(struct exam *exam, const struct group *group)
{
    struct finding *finding =
        find_group(exam, FINDING_ADVICE, group, "denied", "this user may not read what the driver tells");
    finding->why =
        "This lasts until the next boot. Any user can then read the power of the GPUs, which on shared "
        "machines can tell secrets of others.";
    finding->command = group->maker->open;
}

static void tell_nothing(struct exam *exam, const struct group *group)
{
    const char *what =
        exam_format(exam, "no energy or power from the driver %s in /sys/class/hwmon", group->driver);
    find_group(exam, FINDING_LIMIT, group, "no_meter", what)->why =
        exam_format(exam, "This version has no other source for %s GPUs: what they use is in no figure.",
                    group->maker->name);
}

static void tell_lent(struct exam *exam, const struct group *group)
{
    find_group(exam, FINDING_LIMIT, group, "lent", "held by vfio-pci")->why = lent_why;
}

static void tell_not_taken(struct exam *exam, const struct group *group)
{
    struct finding *finding =
        find_group(exam, FINDING_ADVICE, group, "not_taken", "not taken by the driver that is loaded");
    finding->why =
        exam_format(exam,
                    "That energy is in no figure. The kernel's log says why: often there is no firmware "
                    "(package %s), or the kernel was started with nomodeset.",
                    group->maker->firmware);
    finding->command = group->maker->log;
}

static void tell_no_driver(struct exam *exam, const struct group *group)
{
    struct finding *finding = find_group(exam, FINDING_ADVICE, group, "no_driver", "no driver");
    finding->why = "That energy is in no figure: it is read through the driver.";
    finding->command = group->maker->load;
    if (exam->facts.is_container) {
        finding->severity = FINDING_LIMIT;
        finding->why =
            exam_format(exam,
                        "That energy is in no figure. The driver has to be loaded on the machine that "
                        "runs this container: %s",
                        group->maker->load);
        finding->command = NULL;
    }
}

void check_other_gpus(struct exam *exam)
{
    static void (*const tell[OUTCOMES])(struct exam *, const struct group *) = {
        tell_read, tell_asleep, tell_denied, tell_nothing, tell_lent, tell_not_taken, tell_no_driver};
    for (enum gpu_vendor vendor = GPU_AMD; vendor <= GPU_INTEL; vendor++) {
        struct group groups[OUTCOMES] = {0};
        gather(exam, vendor, groups);
        for (size_t outcome = 0; outcome < OUTCOMES; outcome++)
            if (groups[outcome].count)
                tell[outcome](exam, &groups[outcome]);
    }
}
