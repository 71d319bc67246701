/* joule/names.c - the names of the public enumerations' values, shared by reports and schemas. */
#include <joule/joule.h>

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *name_of(const char *const *names, size_t count, unsigned index)
{
    return index < count && names[index] ? names[index] : "unknown";
}

const char *joule_version(void)
{
    return TEXT(JOULE_VERSION_MAJOR) "." TEXT(JOULE_VERSION_MINOR) "." TEXT(JOULE_VERSION_PATCH);
}

const char *joule_status_name(joule_status status)
{
    static const char *const names[] = {"ok",    "absent",  "denied",  "unsupported", "failed",
                                        "stale", "pending", "invalid", "no_memory"};
    return name_of(names, COUNT(names), (unsigned)status);
}

const char *joule_class_name(joule_class cls)
{
    static const char *const names[] = {"none", "measured", "derived", "modelled", "assumed"};
    return name_of(names, COUNT(names), (unsigned)cls);
}

const char *joule_scope_name(joule_scope scope)
{
    static const char *const names[] = {"unknown", "package",    "core",   "uncore", "dram",    "psys",
                                        "gpu",     "gpu_memory", "module", "node",   "battery", "rail"};
    return name_of(names, COUNT(names), (unsigned)scope);
}

const char *joule_reading_kind_name(joule_reading_kind kind)
{
    static const char *const names[] = {NULL, "energy", "power", "temperature", "clock", "utilisation"};
    return name_of(names, COUNT(names), (unsigned)kind);
}

const char *joule_budget_status_name(joule_budget_status status)
{
    static const char *const names[] = {"not_measured", "within_budget", "near_budget",
                                        "over_budget",  "undecided",     "below_resolution"};
    return name_of(names, COUNT(names), (unsigned)status);
}

const char *joule_clock_reason_name(uint32_t bit)
{
    switch (bit) {
    case JOULE_CLOCKS_IDLE:
        return "idle";
    case JOULE_CLOCKS_SET:
        return "clocks set by a user";
    case JOULE_CLOCKS_POWER:
        return "power limit";
    case JOULE_CLOCKS_TEMPERATURE:
        return "temperature";
    case JOULE_CLOCKS_HOT_HARDWARE:
        return "temperature (hardware)";
    case JOULE_CLOCKS_SLOWDOWN:
        return "hardware slowdown";
    case JOULE_CLOCKS_POWER_BRAKE:
        return "power brake";
    case JOULE_CLOCKS_SYNC:
        return "boost in step with other boards";
    case JOULE_CLOCKS_DISPLAY:
        return "display clocks";
    default:
        return "a reason without a name";
    }
}
