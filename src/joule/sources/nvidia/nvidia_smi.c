/* joule/sources/nvidia/nvidia_smi.c - opens and reads the boards of the source "nvidia_smi". See
 * nvidia_smi.h.
 *
 * Power and gauges come from a table, with one call of nvidia-smi a second. Processes and partitions come
 * from the XML description, which takes several times as long. The description is requested every few
 * seconds, and only if devices are queried. If a driver does not support tables, all values come from the
 * description.
 * Note: nvidia-smi can repeat its output (-lms), but output to a pipe is buffered for many readings, so their
 * times would be unknown. Each reading is therefore a separate call. If a call takes long, as without
 * persistence mode, the interval between calls is longer. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "joule/sources/nvidia/nvidia_smi.h"
#include "joule/sources/nvidia/nvml.h"
#include "joule/sources/sysfs.h"

#define PERIOD_S     1.0
#define MAX_PERIOD_S 10.0
#define CALLS_SHARE  0.05 /* largest fraction of time in which the program runs */
#define LIST_SIZE    (64 << 10)
#define DESCRIBE_NS  (INT64_C(5) * 1000000000)

/* --- running nvidia-smi --------------------------------------------------------------------------------- */

/* Runs nvidia-smi with two arguments. Returns the length of its output, or -errno. Sets *out_status to its
 * exit status. */
static ssize_t run_smi(struct source *source, const char *const *values, char *out_text, size_t size,
                       int *out_status)
{
    const char *own = source->host->ops->env(source->host, "JOULE_NVIDIA_SMI");
    const char *argv[4] = {own && *own ? own : "nvidia-smi", values[0], values[1], NULL};
    return source->host->ops->run(source->host, argv, SMI_TIMEOUT_NS, out_text, size, out_status);
}

static ssize_t request_table(struct source *source, int *out_status)
{
    struct nvidia_smi *smi = source->data;
    char query[1024];
    smi_query_argument(&smi->query, query, sizeof query);
    const char *const values[] = {query, "--format=csv,noheader,nounits"};
    ssize_t length = run_smi(source, values, smi->text, SMI_TEXT_SIZE, out_status);
    smi->reported_count = 0;
    /* the table is ignored if the exit status is 2, because the driver may support the query only for some of
     * the boards */
    if (length >= 0 && *out_status != 2)
        smi->reported_count = smi_read_table(smi->text, &smi->query, smi->reported, SMI_MAX_BOARDS);
    return length;
}

static ssize_t request_description(struct source *source, int *out_status)
{
    struct nvidia_smi *smi = source->data;
    const char *const values[] = {"-q", "-x"};
    ssize_t length = run_smi(source, values, smi->text, SMI_TEXT_SIZE, out_status);
    smi->reported_count = length >= 0 ? smi_read_description(smi->text, smi->reported, SMI_MAX_BOARDS) : 0;
    return length;
}

static ssize_t request_boards(struct source *source, int *out_status)
{
    const struct nvidia_smi *smi = source->data;
    return smi->describes ? request_description(source, out_status) : request_table(source, out_status);
}

/* Returns the status for a documented exit status of nvidia-smi when no board was parsed. With exit status 0,
 * the output then states that no board exists. */
static joule_status status_of_exit(ssize_t length, int status)
{
    if (length < 0)
        return status_of_errno((int)-length);
    switch (status) {
    case 4:
        return JOULE_DENIED;
    case 0:
    case 6:  /* no device found */
    case 9:  /* the driver is not loaded */
    case 12: /* the NVML library was not found */
        return JOULE_ABSENT;
    default:
        return JOULE_FAILED;
    }
}

/* Finds a query that the driver supports, by trial. Requests the description if there is none. */
static joule_status find_query(struct source *source)
{
    struct nvidia_smi *smi = source->data;
    int status;
    smi->query = smi_query_all();
    ssize_t length = request_table(source, &status);
    while (length >= 0 && status == 2 && smi_query_reduce(&smi->query, smi->text))
        length = request_table(source, &status);
    if (smi->reported_count)
        return JOULE_OK;
    /* A recording may have only the description. */
    if (length >= 0 ? status == 0 || status == 2 : length == -ENOENT) {
        smi->describes = true;
        length = request_description(source, &status);
    }
    return smi->reported_count ? JOULE_OK : status_of_exit(length, status);
}

/* --- opening -------------------------------------------------------------------------------------------- */

static const char *remedy_of(joule_status status)
{
    switch (status) {
    case JOULE_ABSENT:
        return "there is no nvidia-smi, or it lists no GPU: without an NVIDIA driver nothing can be read";
    case JOULE_DENIED:
        return "permission denied for nvidia-smi: join the group that owns /dev/nvidia*, or start the "
               "container with "
               "GPUs";
    default:
        return "nvidia-smi prints no usable values: run it, and see `dmesg`";
    }
}

static joule_status open_boards(struct source *source)
{
    struct nvidia_smi *smi = source->data;
    const struct joule_host *host = source->host;
    joule_status status = find_query(source);
    if (status != JOULE_OK)
        return source_set_state(source, status, "%s", remedy_of(status));
    int64_t begin_ns = host->ops->clock_ns(source->host, CLOCK_MONOTONIC);
    int exit_status;
    request_boards(source, &exit_status);
    double call_s = (double)(host->ops->clock_ns(source->host, CLOCK_MONOTONIC) - begin_ns) * 1e-9;
    source->period_s = fmin(fmax(PERIOD_S, call_s / CALLS_SHARE), MAX_PERIOD_S);
    for (size_t i = 0; i < smi->reported_count; i++)
        if (!nvidia_smi_board_open(source, &smi->reported[i]))
            return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    return smi->count ? JOULE_OK : source_set_state(source, JOULE_FAILED, "%s", remedy_of(JOULE_FAILED));
}

static joule_status nvidia_smi_open(struct source *source)
{
    if (nvml_is_available(source->host))
        return source_set_state(source, JOULE_ABSENT,
                                "not needed: the driver's library is installed (source nvml)");
    if (sysfs_gpus_are_suspended(source, "0x10de"))
        return source_set_state(
            source, JOULE_ABSENT,
            "the NVIDIA GPU is suspended and is not woken for a measurement: run a program on it");
    struct nvidia_smi *smi = source->data = arena_alloc(&source->arena, sizeof *smi);
    if (smi) {
        smi->text = arena_alloc(&source->arena, SMI_TEXT_SIZE);
        smi->reported = arena_alloc(&source->arena, SMI_MAX_BOARDS * sizeof *smi->reported);
    }
    if (!smi || !smi->text || !smi->reported)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    return open_boards(source);
}

/* --- reading -------------------------------------------------------------------------------------------- */

/* Returns the reported values of the board, or NULL if there are none. Compares PCI addresses, because
 * indices may change; compares indices if an address is unknown. */
static const struct smi_board *find_reported(const struct nvidia_smi *smi,
                                             const struct nvidia_smi_board *board)
{
    for (size_t i = 0; i < smi->reported_count; i++) {
        const struct smi_board *reported = &smi->reported[i];
        uint64_t index = i;
        char address[16];
        smi_pci_address(reported, address);
        if (reported->values[SMI_INDEX])
            string_to_u64(reported->values[SMI_INDEX], 10, &index);
        if (*address && *board->pci_address ? strcmp(address, board->pci_address) == 0
                                            : index == (uint64_t)board->index)
            return reported;
    }
    return NULL;
}

static void nvidia_smi_read(struct source *source, struct sink *sink)
{
    struct nvidia_smi *smi = source->data;
    int exit_status;
    ssize_t length = request_boards(source, &exit_status);
    joule_status status = status_of_exit(length, exit_status);
    for (size_t i = 0; i < smi->count; i++) {
        struct nvidia_smi_board *board = &smi->boards[i];
        const struct smi_board *reported = find_reported(smi, board);
        if (reported) {
            board->state = JOULE_OK;
            smi_set_facts(reported, &board->facts);
            nvidia_smi_board_read(board, sink, reported);
        } else { /* a known board that is missing has fallen off the bus */
            board->state = status == JOULE_DENIED ? status : JOULE_FAILED;
            nvidia_smi_board_fail(board, sink);
        }
    }
}

/* --- device facts --------------------------------------------------------------------------------------- */

static void name_partitions(struct source *source)
{
    struct nvidia_smi *smi = source->data;
    size_t partitions = 0;
    int exit_status;
    for (size_t i = 0; i < smi->reported_count; i++)
        partitions += smi->reported[i].partition_count;
    if (partitions && !smi->list)
        smi->list = arena_alloc(&source->arena, LIST_SIZE);
    if (partitions && smi->list &&
        run_smi(source, (const char *[]){"-L", NULL}, smi->list, LIST_SIZE, &exit_status) >= 0)
        smi_read_list(smi->list, smi->reported, smi->reported_count);
}

/* Updates the facts that only the description contains: partitions, processes and the PCIe link. If the
 * driver does not support tables, the last reading has already requested the description. */
static void describe(struct source *source)
{
    struct nvidia_smi *smi = source->data;
    int exit_status;
    if (!smi->describes)
        request_description(source, &exit_status);
    name_partitions(source);
    for (size_t i = 0; i < smi->count; i++) {
        static const struct smi_board unknown;
        const struct smi_board *reported = find_reported(smi, &smi->boards[i]);
        smi_set_users(reported ? reported : &unknown, &smi->boards[i].facts);
    }
}

static void nvidia_smi_query(struct source *source, struct sink *sink)
{
    struct nvidia_smi *smi = source->data;
    int64_t now_ns = sink_now(sink);
    if (smi->described_ns == 0 || now_ns - smi->described_ns >= DESCRIBE_NS) {
        describe(source);
        smi->described_ns = now_ns;
    }
    for (size_t i = 0; i < smi->count; i++) {
        const struct nvidia_smi_board *board = &smi->boards[i];
        if (board->state == JOULE_OK)
            sink_facts(sink, board->device, &board->facts);
        else
            sink_device_fail(sink, board->device, board->state);
    }
}

const struct source_ops source_nvidia_smi = {
    .name = "nvidia_smi",
    .measurement = "nvidia_smi",
    .tier = 3,
    .is_slow = true,
    .period_s = PERIOD_S,
    .open = nvidia_smi_open,
    .read = nvidia_smi_read,
    .query = nvidia_smi_query,
};
