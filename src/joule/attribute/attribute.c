/* joule/attribute/attribute.c - see attribute.h. */
#include "joule/attribute/attribute.h"

#include <math.h>
#include <unistd.h>
#include "base/string.h"

const char *attribute_method_name(enum attribute_method method)
{
    static const char *const names[] = {"none", "cgroup", "subreaper", "wait4", "tree"};
    return (size_t)method < sizeof names / sizeof names[0] ? names[method] : "none";
}

/* Parses "cpu  user nice system idle iowait irq softirq steal guest guest_nice". User time includes guest
 * time, and steal is time of other virtual machines. */
struct machine_time attribute_machine(struct joule_host *host)
{
    enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, COUNT };
    struct machine_time unknown = {NAN, NAN};
    char text[256];
    if (host->ops->read_file(host, "/proc/stat", text, sizeof text) <= 0 || !string_starts(text, "cpu "))
        return unknown;
    double ticks[COUNT];
    const char *at = text + 4;
    for (int i = 0; i < COUNT; i++) {
        while (*at == ' ')
            at++;
        at = string_scan_double(at, &ticks[i]);
        if (!at)
            return unknown;
    }
    double per_s = (double)sysconf(_SC_CLK_TCK);
    double busy = ticks[USER] + ticks[NICE] + ticks[SYSTEM] + ticks[IRQ] + ticks[SOFTIRQ];
    return (struct machine_time){busy / per_s, (busy + ticks[IDLE] + ticks[IOWAIT]) / per_s};
}

struct estimate attribute_energy(const struct attribution *attribution, const struct estimate *total,
                                 const struct estimate *idle)
{
    if (isnan(attribution->share) || isnan(total->value))
        return estimate_unknown();
    struct estimate active = *total;
    if (idle && !isnan(idle->value))
        active = estimate_add(active, -1, idle);
    double active_joules = active.value;
    if (active_joules < 0) /* noise around 0, which no command can have used: the best estimate is 0 */
        active.value = active_joules = 0;
    struct estimate own = estimate_scale(active, attribution->share);
    own.variance += active_joules * active_joules * attribution->share_sd * attribution->share_sd;
    return estimate_weaken(own, JOULE_CLASS_DERIVED);
}
