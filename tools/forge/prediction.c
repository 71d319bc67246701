/* tools/forge/prediction.c - see prediction.h. */
#include "prediction.h"

#include <forge/energy.h>
#include <math.h>
#include "base/string.h"

bool device_is_estimate_only(forge_device *device)
{
    forge_device_facts facts = {.struct_size = sizeof facts};
    return forge_device_query(device, &facts) == JOULE_OK && facts.is_estimate_only;
}

const char *quantity_text(joule_quantity quantity, joule_dimension dimension, char out[QUANTITY_TEXT])
{
    char value[32], low[32], high[32];
    joule_format(quantity.value, dimension, 3, value, sizeof value);
    if (isnan(quantity.value)) {
        string_copy(out, QUANTITY_TEXT, value);
        return out;
    }
    joule_format(quantity.low, dimension, 2, low, sizeof low);
    joule_format(quantity.high, dimension, 2, high, sizeof high);
    string_print(out, QUANTITY_TEXT, "%s (%s to %s)", value, low, high);
    return out;
}

static void print_run(forge_instance *instance, forge_device *device)
{
    joule_quantity seconds, joules;
    char time[QUANTITY_TEXT], energy[QUANTITY_TEXT];
    if (forge_expected_run(instance, &seconds, &joules) == JOULE_OK)
        printf("%s: %s and %s each run, %s; nothing was run\n", forge_device_name(device),
               quantity_text(seconds, JOULE_DIMENSION_TIME, time),
               quantity_text(joules, JOULE_DIMENSION_ENERGY, energy), joule_class_name(joules.cls));
}

joule_status expected_print(const forge_program *program, forge_device *device, joule_error *error)
{
    forge_states *states = NULL;
    forge_instance *instance = NULL;
    if (!device_is_estimate_only(device))
        return JOULE_OK;
    joule_status status = forge_states_new(device, 0, &states, error);
    if (status == JOULE_OK)
        status = forge_instance_new(program, device, states, &instance, error);
    if (status == JOULE_OK)
        print_run(instance, device);
    forge_instance_free(instance);
    forge_states_free(states);
    return status;
}
