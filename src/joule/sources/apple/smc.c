/* joule/sources/apple/smc.c - the source "smc": the power of a whole Mac, from its system management
 * controller.
 *
 * The source reads the key PSTR, the machine's power in watts, which the controller updates about once a
 * second. IOKit is loaded at run time.
 * Note: the driver has several services in macOS' I/O registry. Only AppleSMCKeysEndpoint answers. */
#include <math.h>
#include <string.h>
#include "base/string.h"
#include "joule/sources/apple/apple_power.h"

#define PERIOD_S        1.0
#define MAX_WATTS       2000.0
#define SELECTOR        2   /* number of the driver's only method */
#define NO_KEY          132 /* result: the controller does not know the key */
#define KEY(a, b, c, d) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))

enum { SMC_READ = 5, SMC_KEY_INFO = 9 };

/* The driver's input and output (SMCParamStruct). */
struct smc_message {
    uint32_t key;
    struct {
        uint8_t major, minor, build, reserved;
        uint16_t release;
    } version;
    struct {
        uint16_t version, length;
        uint32_t cpu, gpu, memory;
    } limits;
    struct {
        uint32_t size, type;
        uint8_t attributes;
    } info;
    uint8_t result, status, command;
    uint32_t number;
    uint8_t bytes[32];
};
_Static_assert(sizeof(struct smc_message) == 80, "the driver accepts only this size");

typedef uint32_t io_object; /* a Mach port; 0: none */

struct iokit {
    void *(*matching)(const char *class_name);
    int (*get_matching)(io_object main_port, void *matching, io_object *out_iterator);
    io_object (*next)(io_object iterator);
    int (*get_name)(io_object entry, char out_name[128]);
    int (*open)(io_object service, io_object task, uint32_t type, io_object *out_connection);
    int (*close)(io_object connection);
    int (*release)(io_object object);
    int (*call)(io_object connection, uint32_t selector, const void *input, size_t input_size, void *output,
                size_t *output_size);
    io_object *task; /* the task port of this process */
};

struct smc {
    struct iokit iokit;
    io_object connection;
    struct channel *channel;
};

/* --- the driver ----------------------------------------------------------------------------------------- */

static bool load(struct joule_host *host, struct iokit *iokit)
{
    const struct {
        const char *name;
        void *function; /* address of the function pointer */
    } functions[] = {
        {"IOServiceMatching", &iokit->matching}, {"IOServiceGetMatchingServices", &iokit->get_matching},
        {"IOIteratorNext", &iokit->next},        {"IORegistryEntryGetName", &iokit->get_name},
        {"IOServiceOpen", &iokit->open},         {"IOServiceClose", &iokit->close},
        {"IOObjectRelease", &iokit->release},    {"IOConnectCallStructMethod", &iokit->call},
        {"mach_task_self_", &iokit->task},
    };
    const char *path = host->ops->env(host, "JOULE_IOKIT_LIB");
    void *library = host->ops->open_library(
        host, path && *path ? path : "/System/Library/Frameworks/IOKit.framework/IOKit");
    bool has_all = library != NULL;
    for (size_t i = 0; has_all && i < sizeof functions / sizeof functions[0]; i++)
        has_all = host_find_symbol(host, library, functions[i].name, functions[i].function);
    return has_all;
}

static bool try_service(struct smc *smc, io_object service)
{
    char name[128] = "";
    return smc->iokit.get_name(service, name) == 0 && strcmp(name, "AppleSMCKeysEndpoint") == 0 &&
           smc->iokit.open(service, *smc->iokit.task, 0, &smc->connection) == 0;
}

static bool connect_smc(struct smc *smc)
{
    const struct iokit *iokit = &smc->iokit;
    io_object iterator = 0, service;
    void *matching = iokit->matching("AppleSMC");
    /* get_matching releases `matching`. */
    if (!matching || iokit->get_matching(0, matching, &iterator) != 0)
        return false;
    while (!smc->connection && (service = iokit->next(iterator)) != 0) {
        if (!try_service(smc, service))
            smc->connection = 0;
        iokit->release(service);
    }
    iokit->release(iterator);
    return smc->connection != 0;
}

static joule_status call(const struct smc *smc, struct smc_message *message)
{
    struct smc_message answer = {0};
    size_t size = sizeof answer;
    if (smc->iokit.call(smc->connection, SELECTOR, message, sizeof *message, &answer, &size) != 0 ||
        size != sizeof answer)
        return JOULE_FAILED;
    if (answer.result == NO_KEY)
        return JOULE_UNSUPPORTED;
    *message = answer;
    return answer.result == 0 ? JOULE_OK : JOULE_FAILED;
}

static joule_status read_watts(const struct smc *smc, double *out_watts)
{
    struct smc_message message = {.key = KEY('P', 'S', 'T', 'R'), .command = SMC_KEY_INFO};
    joule_status status = call(smc, &message);
    if (status != JOULE_OK)
        return status;
    if (message.info.type != KEY('f', 'l', 't', ' ') || message.info.size != sizeof(float))
        return JOULE_UNSUPPORTED;
    message =
        (struct smc_message){.key = KEY('P', 'S', 'T', 'R'), .info.size = sizeof(float), .command = SMC_READ};
    status = call(smc, &message);
    float watts;
    memcpy(&watts, message.bytes, sizeof watts); /* little-endian, as are all Macs with this service */
    if (status == JOULE_OK && !(watts > 0 && watts <= MAX_WATTS))
        return JOULE_FAILED;
    *out_watts = watts;
    return status;
}

/* --- the source ----------------------------------------------------------------------------------------- */

static void smc_close(struct source *source)
{
    struct smc *smc = source->data;
    if (smc && smc->connection)
        smc->iokit.close(smc->connection);
    source->data = NULL;
}

static joule_status smc_open(struct source *source)
{
    double watts;
    struct smc *smc = source->data = arena_alloc(&source->arena, sizeof *smc);
    if (!smc)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    if (!load(source->host, &smc->iokit))
        return source_set_state(source, JOULE_ABSENT, "IOKit not found: it exists only on macOS");
    if (!connect_smc(smc))
        return source_set_state(source, JOULE_ABSENT,
                                "cannot open the service AppleSMCKeysEndpoint of this machine");
    joule_status status = read_watts(smc, &watts);
    if (status == JOULE_OK && !(smc->channel = apple_add_part(source, APPLE_SYSTEM)))
        status = JOULE_NO_MEMORY;
    if (status != JOULE_OK) {
        smc_close(source); /* `close` is not called if `open` fails */
        return source_set_state(source, status, "the controller does not report the machine's power (PSTR)");
    }
    smc->channel->mode = CHANNEL_POWER;
    smc->channel->rank = RANK_BOARD;
    smc->channel->info.reading = JOULE_READING_POWER;
    smc->channel->integrator.period_s = PERIOD_S;
    return JOULE_OK;
}

static void smc_read(struct source *source, struct sink *sink)
{
    const struct smc *smc = source->data;
    double watts;
    joule_status status = read_watts(smc, &watts);
    if (status == JOULE_OK)
        sink_power(sink, smc->channel, 0, watts);
    else
        sink_fail(sink, smc->channel, status);
}

const struct source_ops source_smc = {
    .name = "smc",
    .measurement = "smc",
    .tier = 2,
    .is_slow = true,
    .folder = "/System/Library", /* exists only on macOS */
    .period_s = PERIOD_S,
    .open = smc_open,
    .read = smc_read,
    .close = smc_close,
};
