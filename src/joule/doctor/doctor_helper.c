/* joule/doctor/doctor_helper.c - reports that joule-helper is used, that it cannot be used, or that it would
 * help.
 *
 * Note: the helper is suggested only if permission for a counter is denied and no other sensor measures the
 * processor.
 */
#include <string.h>
#include "joule/doctor/doctor_exam.h"

/* Returns the meter's source "helper"; NULL: none. */
static const struct source *find_source(const joule_meter *meter)
{
    for (size_t i = 0; i < meter->lane_count; i++)
        for (size_t k = 0; k < meter->lanes[i]->source_count; k++)
            if (strcmp(meter->lanes[i]->sources[k]->ops->name, "helper") == 0)
                return meter->lanes[i]->sources[k];
    return NULL;
}

/* Reports that the helper runs, and the time and energy steps of its values. */
static void report_running(struct exam *exam, const struct source *source)
{
    struct finding *finding =
        exam_find(exam, FINDING_FACT, "helper", "joule-helper runs and reads %zu counter%s.",
                  source->channel_count, source->channel_count == 1 ? "" : "s");
    const struct channel *first = source->channels[0];
    if (first->counter.grain_joules > 0)
        finding->why = exam_format(
            exam,
            "It updates its values every %g s in steps of %g J, to hide secrets: regions shorter than "
            "a few seconds cannot be resolved.",
            first->info.update_period_s, first->counter.grain_joules);
}

/* Returns the name of another slow source that reads the zone of `ch`; NULL: none. A slow source can block
 * this process, because it calls a library or driver. */
static const char *find_direct(joule_meter *meter, const struct channel *ch)
{
    for (size_t i = 0; i < meter_channel_count(meter); i++) {
        const struct meter_channel *other = &meter->channels[i];
        if (other->source->ops->is_slow && strcmp(other->channel->zone, ch->zone) == 0)
            return other->source->ops->name;
    }
    return NULL;
}

/* Reports the boards that the helper reads in guard processes (docs/helper.md). Only these boards are devices
 * of the source. */
static void report_guards(struct exam *exam, const struct source *source)
{
    size_t boards = source->device_count;
    if (boards == 0)
        return;
    struct finding *finding =
        exam_find(exam, FINDING_FACT, "helper_guards",
                  "joule-helper reads %zu board%s in a separate process.", boards, boards == 1 ? "" : "s");
    const char *direct = NULL;
    for (size_t i = 0; i < source->channel_count && !direct; i++)
        direct = find_direct(exam->meter, source->channels[i]);
    finding->why = direct
                       ? exam_format(exam,
                                     "If a driver hangs in that process, no program is blocked. But programs "
                                     "also read %s themselves, except with --sources=-%s or "
                                     "JOULE_SOURCES=-%s.",
                                     direct, direct, direct)
                       : "If a driver hangs in that process, no program is blocked.";
}

/* Suggests the helper, which is not running. */
static void suggest_helper(struct exam *exam)
{
    const struct doctor_facts *facts = &exam->facts;
    bool is_installed = facts->has_helper_unit || facts->has_helper;
    struct finding *finding = exam_find(exam, is_installed ? FINDING_ADVICE : FINDING_FACT, "helper_offer",
                                        "joule-helper can read the refused counters for a group of users%s.",
                                        is_installed ? "" : "; it is not installed");
    finding->why =
        "This survives reboots and gives no other user access. Power readings can reveal secrets of "
        "other users: see joule-helper(8), --coarse.";
    if (facts->has_helper_unit)
        finding->command = "sudo systemd-sysusers && sudo systemctl enable --now joule-helper.socket && "
                           "sudo usermod -aG joule \"$USER\"";
    else if (facts->has_helper)
        finding->command = "sudo joule-helper --group \"$(id -gn)\"";
}

void check_helper(struct exam *exam)
{
    const struct source *source = find_source(exam->meter);
    joule_status state = source ? source->state : JOULE_PENDING;
    if (state == JOULE_OK) {
        report_running(exam, source);
        report_guards(exam, source);
    }
    if (state == JOULE_OK || exam->package)
        return;
    if (state == JOULE_DENIED) {
        struct finding *finding = exam_find(exam, FINDING_ADVICE, "helper_denied",
                                            "joule-helper runs, but this user is not in its group.");
        finding->why = "The command takes effect at the next login.";
        finding->command = "sudo usermod -aG joule \"$USER\"";
    } else if (state == JOULE_FAILED || state == JOULE_UNSUPPORTED) {
        exam_find(exam, FINDING_LIMIT, "helper_fails", "joule-helper cannot be used.")->why =
            exam_format(exam, "%s.", source->remedy);
    } else if (state == JOULE_ABSENT && exam->has_refused_package && !exam->facts.is_container) {
        suggest_helper(exam);
    }
}
