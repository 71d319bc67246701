/* joule/doctor/doctor_still.c - reports sensors that can be read but are not in any total: counters that
 * stand still, and boards that are hidden. */
#include "joule/doctor/doctor_exam.h"

/* Numbers of counters that were read at least twice. */
struct counters {
    size_t moving, still;
    const struct channel *first_still;
};

static struct counters count_counters(struct exam *exam)
{
    struct counters counters = {0};
    for (size_t i = 0; i < meter_channel_count(exam->meter); i++) {
        const struct meter_channel *mc = &exam->meter->channels[i];
        const struct channel *ch = mc->channel;
        pthread_mutex_lock(&mc->lane->lock);
        bool is_read = ch->mode == CHANNEL_COUNTER && ch->info.state == JOULE_OK && ch->readings > 1;
        bool moved = ch->moved;
        pthread_mutex_unlock(&mc->lane->lock);
        counters.moving += is_read && moved;
        counters.still += is_read && !moved;
        if (is_read && !moved && !counters.first_still)
            counters.first_still = ch;
    }
    return counters;
}

/* Note: the power PMU of some virtual machines has events that never move, and some boards have a counter
 * that stays at 0. */
void check_still_counters(struct exam *exam)
{
    struct counters counters = count_counters(exam);
    exam->out->no_counter_moves = counters.still > 0 && counters.moving == 0;
    if (counters.still == 0)
        return;
    if (exam->is_recorded && counters.moving == 0) {
        exam_find(exam, FINDING_LIMIT, "counter_still", "No energy counter of this recorded machine moves.")
            ->why = "A recording of one moment does not show whether the counters count. Examine the machine "
                    "itself, or "
                    "update the files while the doctor runs.";
        return;
    }
    /* Only the first such counter is reported. */
    exam_find(exam, FINDING_LIMIT, "counter_still", "The counter %s (%s) can be read but does not move.",
              counters.first_still->info.name, counters.first_still->info.source)
        ->why =
        "It is not used: a running device uses energy, so this counter does not count it. Sensors inside "
        "the same device are used instead, if there are any.";
}

void check_hidden(struct exam *exam)
{
    char boards[128];
    const char *variable = meter_hidden_boards(exam->meter, boards, sizeof boards);
    if (!variable)
        return;
    struct finding *finding =
        exam_find(exam, FINDING_FACT, "hidden_boards", "%s hides %s from programs.", variable, boards);
    finding->why = "Hidden boards are not in any total, but joule devices lists them. To count them, run:";
    finding->command = exam_format(exam, "unset %s", variable);
}
