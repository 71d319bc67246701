/* joule/sources/nvidia/nvidia_smi_xml.c - parses the XML description that nvidia-smi -q -x prints. See
 * nvidia_smi.h.
 *
 * The parser supports only the XML that nvidia-smi prints: elements, text, the attribute id, comments and a
 * document type. It reads the text in one pass and modifies it.
 * Note: element names differ between driver versions. The elements of power, for example, were renamed in
 * drivers 535 and 565. If several elements of one field are present, the first known value is used. */
#include <math.h>
#include <string.h>
#include "base/string.h"
#include "joule/sources/nvidia/nvidia_smi.h"
#include "joule/sources/nvidia/nvml_abi.h"

#define MAX_DEPTH 16
#define PATH_SIZE 256

/* Paths below an element gpu. */
static const struct {
    const char *path;
    enum smi_field field;
} elements[] = {
    {"product_name", SMI_NAME},
    {"uuid", SMI_UUID},
    {"pci/pci_bus_id", SMI_PCI},
    {"fb_memory_usage/total", SMI_MEMORY_TOTAL},
    {"fb_memory_usage/used", SMI_MEMORY_USED},
    {"fb_memory_usage/free", SMI_MEMORY_FREE},
    {"utilization/gpu_util", SMI_BUSY},
    {"utilization/memory_util", SMI_MEMORY_BUSY},
    {"utilization/encoder_util", SMI_ENCODER},
    {"utilization/decoder_util", SMI_DECODER},
    {"fan_speed", SMI_FAN},
    {"pci/replay_counter", SMI_REPLAYS},
    {"pci/tx_util", SMI_TRANSMIT},
    {"pci/rx_util", SMI_RECEIVE},
    {"temperature/gpu_temp", SMI_TEMPERATURE},
    {"temperature/memory_temp", SMI_MEMORY_TEMPERATURE},
    {"clocks/sm_clock", SMI_CLOCK},
    {"clocks/mem_clock", SMI_MEMORY_CLOCK},
    {"power_readings/power_draw", SMI_POWER}, /* before driver 535 */
    {"power_readings/power_limit", SMI_LIMIT},
    {"power_readings/enforced_power_limit", SMI_LIMIT_ENFORCED},
    {"power_readings/default_power_limit", SMI_LIMIT_DEFAULT},
    {"power_readings/min_power_limit", SMI_LIMIT_MIN},
    {"power_readings/max_power_limit", SMI_LIMIT_MAX},
    {"gpu_power_readings/power_draw", SMI_POWER},
    {"gpu_power_readings/average_power_draw", SMI_POWER_AVERAGE}, /* from driver 565 on, like the next one */
    {"gpu_power_readings/instant_power_draw", SMI_POWER_INSTANT},
    {"gpu_power_readings/requested_power_limit", SMI_LIMIT},
    {"gpu_power_readings/current_power_limit", SMI_LIMIT_ENFORCED},
    {"gpu_power_readings/default_power_limit", SMI_LIMIT_DEFAULT},
    {"gpu_power_readings/min_power_limit", SMI_LIMIT_MIN},
    {"gpu_power_readings/max_power_limit", SMI_LIMIT_MAX},
    {"module_power_readings/power_draw", SMI_MODULE_POWER},
    {"module_power_readings/instant_power_draw", SMI_MODULE_POWER},
};

/* Names after the prefix clocks_event_reasons/clocks_event_reason_ or
 * clocks_throttle_reasons/clocks_throttle_reason_. */
static const struct {
    const char *name;
    uint64_t bit;
} reasons[] = {
    {"gpu_idle", nvmlClocksEventReasonGpuIdle},
    {"applications_clocks_setting", nvmlClocksEventReasonApplicationsClocksSetting},
    {"sw_power_cap", nvmlClocksEventReasonSwPowerCap},
    {"hw_slowdown", nvmlClocksEventReasonHwSlowdown},
    {"sync_boost", nvmlClocksEventReasonSyncBoost},
    {"sw_thermal_slowdown", nvmlClocksEventReasonSwThermalSlowdown},
    {"hw_thermal_slowdown", nvmlClocksEventReasonHwThermalSlowdown},
    {"hw_power_brake_slowdown", nvmlClocksEventReasonHwPowerBrakeSlowdown},
    {"display_clocks_setting", nvmlClocksEventReasonDisplayClockSetting},
};

struct description {
    const char *open[MAX_DEPTH]; /* names of the open elements; point into the text */
    size_t depth;
    size_t gpu_depth; /* depth of the open element gpu; 0: none is open */
    const char *driver;
    struct smi_board *boards, *board;
    size_t count, max;
};

/* --- values of elements --------------------------------------------------------------------------------- */

/* Writes the path of the innermost element below gpu. */
static void path_below_gpu(const struct description *d, char out_path[PATH_SIZE])
{
    struct text text;
    text_init(&text, out_path, PATH_SIZE);
    for (size_t i = d->gpu_depth; i < d->depth; i++)
        text_printf(&text, "%s%s", i == d->gpu_depth ? "" : "/", d->open[i]);
}

static void parse_reason(struct smi_board *board, const char *path, const char *text)
{
    static const char *const folders[] = {"clocks_event_reasons/clocks_event_reason_",
                                          "clocks_throttle_reasons/clocks_throttle_reason_"};
    bool is_active = strcmp(text, "Active") == 0;
    if (!is_active && strcmp(text, "Not Active") != 0)
        return;
    for (size_t f = 0; f < 2; f++)
        for (size_t i = 0; i < sizeof reasons / sizeof reasons[0] && string_starts(path, folders[f]); i++)
            if (strcmp(path + strlen(folders[f]), reasons[i].name) == 0) {
                board->knows_reasons = true;
                board->reasons |= is_active ? reasons[i].bit : 0;
            }
}

static void parse_mib(uint64_t *bytes, const char *text)
{
    double mib;
    if (string_scan_double(text, &mib) && mib >= 0 && mib < 0x1p40)
        *bytes = (uint64_t)(mib * 1048576.0);
}

static void parse_process(struct smi_board *board, const char *name, const char *text)
{
    joule_device_process *process = board->process_count ? &board->processes[board->process_count - 1] : NULL;
    if (strcmp(name, "pid") == 0 && process)
        string_to_u64(text, 10, &process->pid);
    else if (strcmp(name, "used_memory") == 0 && process)
        parse_mib(&process->memory_bytes, text);
}

static void parse_partition(struct smi_board *board, const char *name, const char *text)
{
    joule_device_partition *partition =
        board->partition_count ? &board->partitions[board->partition_count - 1] : NULL;
    uint64_t number;
    if (!partition)
        return;
    if (strcmp(name, "uuid") == 0)
        string_copy(partition->uuid, sizeof partition->uuid, text);
    else if (strcmp(name, "gpu_instance_id") == 0 && string_to_u64(text, 10, &number))
        partition->instance = (uint32_t)number;
    else if (strcmp(name, "compute_instance_id") == 0 && string_to_u64(text, 10, &number))
        partition->compute_instance = (uint32_t)number;
    else if (strcmp(name, "fb_memory_usage/total") == 0)
        parse_mib(&partition->memory_total_bytes, text);
    else if (strcmp(name, "fb_memory_usage/used") == 0)
        parse_mib(&partition->memory_used_bytes, text);
    else if (strcmp(name, "fb_memory_usage/free") == 0)
        parse_mib(&partition->memory_free_bytes, text);
}

/* Adds ECC errors of one kind of memory. path: the element's path below ecc_errors/, such as
 * "volatile/sram_uncorrectable_parity", or "volatile/single_bit/total" before driver 418. Elements with other
 * names, such as thresholds, are not counts. */
static void parse_errors(struct smi_board *board, const char *path, const char *text)
{
    bool is_lifetime = string_starts(path, "aggregate/");
    const char *name = strchr(path, '/');
    double count;
    if ((!is_lifetime && !string_starts(path, "volatile/")) || strchr(text, ' ') ||
        !string_scan_double(text, &count) || !(count >= 0 && count < UINT32_MAX))
        return;
    bool is_corrected = strcmp(name, "/sram_correctable") == 0 || strcmp(name, "/dram_correctable") == 0 ||
                        strcmp(name, "/single_bit/total") == 0;
    bool is_uncorrected = string_starts(name, "/sram_uncorrectable") ||
                          strcmp(name, "/dram_uncorrectable") == 0 || strcmp(name, "/double_bit/total") == 0;
    if (!is_corrected && !is_uncorrected)
        return;
    size_t i = (size_t)(2 * is_lifetime + is_uncorrected);
    board->knows_ecc[i] = true;
    board->ecc[i] += count;
}

static void parse_field(struct smi_board *board, const char *path, const char *text)
{
    for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++)
        if (strcmp(path, elements[i].path) == 0 &&
            smi_value_status(board->values[elements[i].field]) != JOULE_OK)
            board->values[elements[i].field] = text;
}

/* Stores the text of the innermost open element, which ends here. */
static void parse_text(struct description *d, const char *text)
{
    static const char process[] = "processes/process_info/", partition[] = "mig_devices/mig_device/";
    char path[PATH_SIZE];
    if (!d->board) {
        if (strcmp(d->open[d->depth - 1], "driver_version") == 0)
            d->driver = text;
        return;
    }
    path_below_gpu(d, path);
    if (string_starts(path, process))
        parse_process(d->board, path + strlen(process), text);
    else if (string_starts(path, partition))
        parse_partition(d->board, path + strlen(partition), text);
    else if (string_starts(path, "ecc_errors/"))
        parse_errors(d->board, path + strlen("ecc_errors/"), text);
    else if (string_starts(path, "clocks_"))
        parse_reason(d->board, path, text);
    else
        parse_field(d->board, path, text);
}

/* --- begin and end of elements -------------------------------------------------------------------------- */

/* Returns the value of `id` in a tag's attributes, or NULL if there is none. */
static char *find_id(char *attributes)
{
    char *id = strstr(attributes, "id=\""), *end = id ? strchr(id + 4, '"') : NULL;
    if (!end)
        return NULL;
    *end = '\0';
    return id + 4;
}

static void begin_board(struct description *d, char *attributes)
{
    if (d->count == d->max)
        return;
    d->board = &d->boards[d->count++];
    memset(d->board, 0, sizeof *d->board);
    d->board->values[SMI_PCI] = find_id(attributes);
    d->board->values[SMI_DRIVER] = d->driver;
}

static bool begin_element(struct description *d, const char *name, char *attributes)
{
    char path[PATH_SIZE];
    if (d->depth == MAX_DEPTH)
        return false;
    d->open[d->depth++] = name;
    if (!d->gpu_depth && strcmp(name, "gpu") == 0) {
        d->gpu_depth = d->depth;
        begin_board(d, attributes);
        return true;
    }
    if (!d->board)
        return true;
    path_below_gpu(d, path);
    if (strcmp(path, "processes") == 0)
        d->board->has_process_list = true;
    else if (strcmp(path, "processes/process_info") == 0 && d->board->process_count < DEVICE_MAX_PROCESSES)
        d->board->processes[d->board->process_count++] =
            (joule_device_process){.memory_bytes = JOULE_BYTES_UNKNOWN, .busy = NAN};
    else if (strcmp(path, "mig_devices/mig_device") == 0 && d->board->partition_count < DEVICE_MAX_PARTITIONS)
        d->board->partitions[d->board->partition_count++] = device_partition_unknown();
    return true;
}

static bool end_element(struct description *d, const char *name)
{
    if (d->depth == 0 || strcmp(d->open[d->depth - 1], name) != 0)
        return false;
    if (d->depth-- == d->gpu_depth) {
        d->gpu_depth = 0;
        d->board = NULL;
    }
    return true;
}

/* --- tags ----------------------------------------------------------------------------------------------- */

/* Replaces the five named character references by their characters; other references are left unchanged. */
static void decode(char *text)
{
    static const struct {
        const char *name;
        char character;
    } table[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    char *out = text;
    while (*text) {
        size_t i = 0, count = sizeof table / sizeof table[0];
        while (i < count && !string_starts(text, table[i].name))
            i++;
        *out++ = i < count ? table[i].character : *text;
        text += i < count ? strlen(table[i].name) : 1;
    }
    *out = '\0';
}

/* Handles a tag. tag: the tag's text without '<' and '>'. text_before: the text between this tag and the
 * previous tag if the previous tag is an opening tag, otherwise NULL. Before a closing tag, it is the text of
 * the element. Returns false if tags do not match. */
static bool parse_tag(struct description *d, char *tag, char *text_before)
{
    size_t length = strlen(tag);
    if (*tag == '?' || *tag == '!')
        return true;
    if (*tag == '/') {
        if (text_before && d->depth > 0) {
            decode(text_before);
            parse_text(d, string_trim(text_before));
        }
        return end_element(d, string_trim(tag + 1));
    }
    bool is_empty = length > 0 && tag[length - 1] == '/';
    if (is_empty)
        tag[length - 1] = '\0';
    char *attributes = tag + strcspn(tag, " \t\r\n");
    if (*attributes)
        *attributes++ = '\0';
    return *tag && begin_element(d, tag, attributes) && (!is_empty || end_element(d, tag));
}

/* Returns the '>' that ends a tag or comment, or NULL if there is none. tag: the text after '<'. */
static char *find_end(char *tag)
{
    if (!string_starts(tag, "!--"))
        return strchr(tag, '>');
    char *end = strstr(tag + 3, "-->");
    return end ? end + 2 : NULL;
}

size_t smi_read_description(char *text, struct smi_board *out_boards, size_t max)
{
    struct description d = {.boards = out_boards, .max = max};
    char *before = NULL, *tag, *end; /* before: the text after the last tag if that is an opening tag */
    while ((tag = strchr(text, '<')) != NULL && (end = find_end(tag + 1)) != NULL) {
        bool opens = tag[1] != '/' && end[-1] != '/' && tag[1] != '!' && tag[1] != '?';
        *tag = *end = '\0';
        if (!parse_tag(&d, tag + 1, before))
            return 0;
        text = end + 1;
        before = opens ? text : NULL;
    }
    return d.depth == 0 ? d.count : 0;
}
