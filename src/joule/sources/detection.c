/* joule/sources/detection.c - see detection.h. */
#include "joule/sources/detection.h"

#include <string.h>
#include "base/string.h"

static const struct signs {
    const char *folder, *prefix; /* folder of the device files; prefix of their names */
    const char *variables[3];
} signs[] = {
    [DETECT_NVIDIA] = {"/dev", "nvidia", {"CUDA_VISIBLE_DEVICES"}},
    [DETECT_AMD] = {"/dev", "kfd", {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"}},
    [DETECT_INTEL] = {"/dev/dri", "renderD", {"ZE_AFFINITY_MASK"}},
    [DETECT_TPU] = {"/dev", "accel", {"TPU_NAME", "TPU_WORKER_ID"}},
    [DETECT_NEURON] = {"/dev", "neuron", {"NEURON_RT_NUM_CORES", "NEURON_RT_VISIBLE_CORES"}},
    [DETECT_GROQ] = {"/dev", "groq", {"GROQ_DEVICE_ID"}},
};

/* Writes the path of the first device file of the kind. Returns false if there is none. */
static bool find_file(struct source *source, const struct signs *sign, char *out_path, size_t size)
{
    char **names;
    ssize_t count = source->host->ops->list(source->host, sign->folder, &source->arena, &names);
    for (ssize_t i = 0; i < count; i++)
        if (string_starts(names[i], sign->prefix)) {
            string_print(out_path, size, "%s/%s", sign->folder, names[i]);
            return true;
        }
    return false;
}

/* Returns true if the variable is set and its value requests a device. */
static bool asks_for_device(const char *value)
{
    static const char *const none[] = {"", "-1", "none", "void", "NoDevFiles", NULL};
    return value && !string_is_one_of(value, none);
}

static const char *find_variable(struct joule_host *host, const struct signs *sign)
{
    for (size_t i = 0; i < sizeof sign->variables / sizeof sign->variables[0] && sign->variables[i]; i++)
        if (asks_for_device(host->ops->env(host, sign->variables[i])))
            return sign->variables[i];
    return NULL;
}

joule_status detection_absent(struct source *source, enum detection_kind kind, const char *text)
{
    const struct signs *sign = &signs[kind];
    const char *variable = find_variable(source->host, sign);
    char path[64], note[160] = "";
    bool has_file = find_file(source, sign, path, sizeof path);
    if (has_file && variable)
        string_print(note, sizeof note, "; yet %s exists and %s is set", path, variable);
    else if (has_file)
        string_print(note, sizeof note, "; yet %s exists", path);
    else if (variable)
        string_print(note, sizeof note, "; yet %s is set: is it meant for another machine?", variable);
    return source_set_state(source, JOULE_ABSENT, "%s%s", text, note);
}
