/* joule/doctor/doctor_counting.c - finds out why `joule run` cannot run a command in a cgroup of its own.
 *
 * In a cgroup, all CPU time of a command is counted. Otherwise joule run counts by process and may miss some
 * CPU time. doctor_run_trials tries to create a cgroup; if that fails, this file searches for the reason and
 * a remedy.
 * Note: the cgroup of a user's shell usually belongs to root. This is normal, so it gives no advice by
 * itself.
 */
#include <string.h>
#include "joule/doctor/doctor_exam.h"

#define EFFECT                                                                                               \
    "CPU time of processes that no parent waits for is then missing: the command's share may be too low."

/* Returns the name of the method by which joule run counts CPU time. */
static const char *method_of(const struct exam *exam)
{
    return exam->trials.run_method == ATTRIBUTE_NONE ? "subreaper"
                                                     : attribute_method_name(exam->trials.run_method);
}

static void report_missing(struct exam *exam)
{
    const struct doctor_facts *facts = &exam->facts;
    bool can_mount = facts->knows_cgroup2 == YES && !facts->is_container;
    struct finding *finding =
        exam_find(exam, FINDING_LIMIT, "cgroup_missing",
                  "No cgroup v2 is mounted: joule run counts by process (%s).", method_of(exam));
    if (can_mount && facts->is_root == YES) {
        finding->severity = FINDING_ADVICE;
        finding->why = EFFECT " This lasts until the next boot.";
        finding->command = "sudo mkdir -p /run/cgroup2 && sudo mount -t cgroup2 cgroup2 /run/cgroup2";
    } else if (can_mount) {
        finding->why = EFFECT " Root can mount cgroup v2 and delegate a cgroup to this user.";
    } else if (facts->is_container) {
        finding->why = EFFECT " The machine that runs this container provides no cgroup v2.";
    } else {
        finding->why = EFFECT;
    }
}

/* Returns the command that gives a container a writable cgroup; NULL: unknown. */
static const char *writable_container(const struct doctor_facts *facts)
{
    if (!facts->is_cgroup2_read_only)
        return NULL;
    if (strcmp(facts->container, "podman") == 0)
        return "podman run --security-opt unmask=/sys/fs/cgroup ...";
    return strcmp(facts->container, "docker") == 0 ? "docker run --security-opt writable-cgroups=true ..."
                                                   : NULL;
}

static void report_denied(struct exam *exam)
{
    const struct doctor_facts *facts = &exam->facts;
    struct finding *finding =
        exam_find(exam, FINDING_LIMIT, "cgroup_denied",
                  "Cannot create a cgroup: joule run counts by process (%s).", method_of(exam));
    finding->why = EFFECT;
    if (facts->is_container) {
        finding->command = writable_container(facts);
        if (finding->command && strcmp(facts->container, "docker") == 0)
            finding->why = EFFECT " Docker 28 and later:";
    } else if (facts->has_own_systemd) {
        finding->command = "systemd-run --user --scope -p Delegate=yes joule run ...";
    } else if (facts->is_root == NO) {
        finding->why = EFFECT " A login session with a systemd user instance can provide cgroups "
                              "(systemd-run --user --scope).";
    }
    if (finding->command)
        finding->severity = FINDING_ADVICE;
}

void check_counting(struct exam *exam)
{
    enum attribute_method method = exam->trials.run_method;
    bool is_tried = method != ATTRIBUTE_NONE;
    if (method == ATTRIBUTE_CGROUP)
        return;
    if (exam->facts.has_cgroup2 == NO)
        report_missing(exam);
    else if (is_tried)
        report_denied(exam);
}
