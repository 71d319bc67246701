/* tools/redfish/views.c - see views.h. */
#include "views.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"

#define MAX_CHASSIS 32
#define MAX_WATTS   100000.0

/* --- links ---------------------------------------------------------------------------------------------- */

/* Returns the path of a link. NULL: the link has no path or leads to another host, or the path cannot be
 * printed as one word. */
static const char *path_of(const struct json_value *link)
{
    const char *path = json_text_of(json_member(link, "@odata.id"));
    if (!path || path[0] != '/' || path[1] == '/' || strlen(path) >= sizeof((struct view *)0)->path)
        return NULL;
    for (const char *c = path; *c; c++)
        if (*c <= ' ' || *c > '~' || *c == '#')
            return NULL;
    return path;
}

static const char *member_path(const struct json_value *value, const char *name)
{
    return path_of(json_member(value, name));
}

/* Returns true if `word` is the last part of a path, such as "1U" in "/redfish/v1/Chassis/1U/". */
static bool ends_in(const char *path, const char *word)
{
    size_t length = strlen(path), size = strlen(word);
    while (length && path[length - 1] == '/')
        length--;
    return length > size && strncmp(path + length - size, word, size) == 0 && path[length - size - 1] == '/';
}

static void add_view(struct views *views, const char *kind, const char *path)
{
    if (!path || views->count == MAX_VIEWS)
        return;
    struct view *view = &views->list[views->count++];
    string_copy(view->kind, sizeof view->kind, kind);
    string_copy(view->path, sizeof view->path, path);
}

/* --- choosing the chassis ------------------------------------------------------------------------------- */

struct chassis {
    const char *path;
    const struct json_value *value;
};

struct chassis_list {
    struct chassis list[MAX_CHASSIS];
    size_t count;
};

static bool has_power(const struct json_value *chassis)
{
    return member_path(chassis, "PowerSubsystem") || member_path(chassis, "EnvironmentMetrics") ||
           member_path(chassis, "Power");
}

static bool has_computer(const struct json_value *chassis)
{
    const struct json_value *systems = json_member(json_member(chassis, "Links"), "ComputerSystems");
    return systems && systems->kind == JSON_ARRAY && systems->first;
}

static bool is_inside_another(const struct chassis_list *all, const struct chassis *one)
{
    const char *outer = member_path(json_member(one->value, "Links"), "ContainedBy");
    for (size_t i = 0; outer && i < all->count; i++)
        if (strcmp(all->list[i].path, outer) == 0)
            return true;
    return false;
}

typedef bool (*chassis_test)(const struct chassis_list *all, const struct chassis *one);

static bool is_computer(const struct chassis_list *all, const struct chassis *one)
{
    (void)all;
    return has_computer(one->value);
}

static bool is_outermost(const struct chassis_list *all, const struct chassis *one)
{
    return !is_inside_another(all, one);
}

/* Removes the chassis that do not pass the test. If none passes, removes none. */
static void keep_matching(struct chassis_list *list, chassis_test test)
{
    struct chassis_list kept = {.count = 0};
    for (size_t i = 0; i < list->count; i++)
        if (test(list, &list->list[i]))
            kept.list[kept.count++] = list->list[i];
    if (kept.count)
        *list = kept;
}

static joule_status list_chassis(struct client *client, struct chassis_list *out_list)
{
    const struct json_value *root, *all;
    const char *wanted = client->config->chassis;
    joule_status status = client_get(client, "/redfish/v1/", &root);
    if (status != JOULE_OK)
        return status;
    const char *path = member_path(root, "Chassis");
    if (!path)
        return error_set(client->error, JOULE_ABSENT, "%s lists no chassis", client->config->url);
    status = client_get(client, path, &all);
    if (status != JOULE_OK)
        return status;
    const struct json_value *members = json_member(all, "Members");
    const struct json_value *link = members && members->kind == JSON_ARRAY ? members->first : NULL;
    for (; link && out_list->count < MAX_CHASSIS; link = link->next) {
        struct chassis chassis = {.path = path_of(link)};
        if (!chassis.path || (*wanted && !ends_in(chassis.path, wanted)))
            continue;
        status = client_get(client, chassis.path, &chassis.value);
        if (status == JOULE_OK && has_power(chassis.value))
            out_list->list[out_list->count++] = chassis;
        else if (status != JOULE_OK && status != JOULE_ABSENT)
            return status;
    }
    return JOULE_OK;
}

static joule_status choose_chassis(struct client *client, const struct json_value **out_chassis)
{
    struct chassis_list list = {.count = 0};
    joule_status status = list_chassis(client, &list);
    if (status != JOULE_OK)
        return status;
    keep_matching(&list, is_computer);
    keep_matching(&list, is_outermost);
    if (list.count == 0)
        return error_set(client->error, JOULE_ABSENT, "%s has no chassis%s%s that reports its power",
                         client->config->url, *client->config->chassis ? " " : "", client->config->chassis);
    if (list.count > 1)
        return error_set(client->error, JOULE_INVALID,
                         "%s has several chassis (%s, %s ...); name one: chassis = ID", client->config->url,
                         strrchr(list.list[0].path, '/') + 1, strrchr(list.list[1].path, '/') + 1);
    *out_chassis = list.list[0].value;
    return JOULE_OK;
}

/* --- finding views -------------------------------------------------------------------------------------- */

/* Returns true for an empty or disabled bay. */
static bool is_absent(const struct json_value *resource)
{
    const char *state = json_text_of(json_member(json_member(resource, "Status"), "State"));
    return state && (strcmp(state, "Absent") == 0 || strcmp(state, "Disabled") == 0);
}

/* Adds a view for the metrics of each supply. If one supply has no metrics, adds no view, because the sum of
 * the others would be too small. */
static joule_status add_supplies(struct client *client, const char *subsystem_path, struct views *views)
{
    const struct json_value *subsystem, *all, *supply;
    size_t before = views->count;
    joule_status status = client_get(client, subsystem_path, &subsystem);
    const char *path = status == JOULE_OK ? member_path(subsystem, "PowerSupplies") : NULL;
    if (!path)
        return status;
    status = client_get(client, path, &all);
    const struct json_value *members = json_member(all, "Members");
    const struct json_value *link = members && members->kind == JSON_ARRAY ? members->first : NULL;
    for (; status == JOULE_OK && link; link = link->next) {
        path = path_of(link);
        status = path ? client_get(client, path, &supply) : JOULE_ABSENT;
        if (status != JOULE_OK || is_absent(supply))
            continue;
        const char *metrics = member_path(supply, "Metrics");
        add_view(views, "supply", metrics);
        if (!metrics)
            status = JOULE_ABSENT;
    }
    if (status != JOULE_OK || views->count == MAX_VIEWS)
        views->count = before;
    return status;
}

static bool has_supply_inputs(const struct json_value *power)
{
    const struct json_value *supplies = json_member(power, "PowerSupplies");
    const struct json_value *one = supplies && supplies->kind == JSON_ARRAY ? supplies->first : NULL;
    for (; one; one = one->next)
        if (!is_absent(one) && json_member(one, "PowerInputWatts"))
            return true;
    return false;
}

static joule_status add_power(struct client *client, const char *path, struct views *views)
{
    const struct json_value *power;
    joule_status status = client_get(client, path, &power);
    if (status != JOULE_OK)
        return status;
    if (has_supply_inputs(power))
        add_view(views, "supplies", path);
    if (json_member(power, "PowerControl"))
        add_view(views, "control", path);
    return JOULE_OK;
}

static void name_model(const struct json_value *chassis, struct views *views)
{
    const char *maker = json_text_of(json_member(chassis, "Manufacturer"));
    const char *model = json_text_of(json_member(chassis, "Model"));
    string_print(views->model, sizeof views->model, "%s%s%s", maker ? maker : "", maker && model ? " " : "",
                 model ? model : "");
    for (char *c = views->model; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
}

/* Returns true if the search can continue after this status. It continues after a missing resource,
 * because another resource may have the same data. */
static bool can_continue(joule_status status)
{
    return status == JOULE_OK || status == JOULE_ABSENT;
}

joule_status views_find(struct client *client, struct views *out_views)
{
    const struct json_value *chassis;
    *out_views = (struct views){.count = 0};
    joule_status status = choose_chassis(client, &chassis);
    if (status != JOULE_OK)
        return status;
    name_model(chassis, out_views);
    const char *subsystem = member_path(chassis, "PowerSubsystem"), *power = member_path(chassis, "Power");
    if (subsystem)
        status = add_supplies(client, subsystem, out_views);
    add_view(out_views, "environment", member_path(chassis, "EnvironmentMetrics"));
    if (power && can_continue(status))
        status = add_power(client, power, out_views);
    if (!can_continue(status))
        return status;
    return out_views->count
               ? JOULE_OK
               : error_set(client->error, JOULE_ABSENT, "%s reports no power", client->config->url);
}

/* --- reading a view ------------------------------------------------------------------------------------- */

bool view_parse(const char *word, struct view *out_view)
{
    static const char *const kinds[] = {"supply", "supplies", "environment", "control"};
    const char *colon = strchr(word, ':');
    for (size_t i = 0; colon && i < sizeof kinds / sizeof kinds[0]; i++)
        if (string_starts(word, kinds[i]) && strlen(kinds[i]) == (size_t)(colon - word)) {
            string_copy(out_view->kind, sizeof out_view->kind, kinds[i]);
            return colon[1] == '/' && string_copy(out_view->path, sizeof out_view->path, colon + 1);
        }
    return false;
}

/* Returns a JSON number, or the member Reading of an object, in watts; NaN: not a number from 0 to
 * MAX_WATTS. */
static double watts_of(const struct json_value *value)
{
    const struct json_value *reading = json_member(value, "Reading");
    double watts = value && value->kind == JSON_NUMBER       ? json_double_of(value)
                   : reading && reading->kind == JSON_NUMBER ? json_double_of(reading)
                                                             : NAN;
    return watts >= 0 && watts <= MAX_WATTS ? watts : NAN;
}

/* Returns the sum over all present supplies; NaN if one of them has no value. */
static double sum_of_supplies(const struct json_value *power)
{
    double sum = 0;
    const struct json_value *supplies = json_member(power, "PowerSupplies");
    const struct json_value *one = supplies && supplies->kind == JSON_ARRAY ? supplies->first : NULL;
    if (!one)
        return NAN;
    for (; one; one = one->next)
        if (!is_absent(one))
            sum += watts_of(json_member(one, "PowerInputWatts"));
    return sum;
}

static double first_control(const struct json_value *power)
{
    const struct json_value *controls = json_member(power, "PowerControl");
    return controls && controls->kind == JSON_ARRAY && controls->first
               ? watts_of(json_member(controls->first, "PowerConsumedWatts"))
               : NAN;
}

joule_status view_read(struct client *client, const struct view *view, double *out_watts)
{
    const struct json_value *value;
    joule_status status = client_get(client, view->path, &value);
    if (status != JOULE_OK)
        return status;
    if (strcmp(view->kind, "supply") == 0)
        *out_watts = watts_of(json_member(value, "InputPowerWatts"));
    else if (strcmp(view->kind, "supplies") == 0)
        *out_watts = sum_of_supplies(value);
    else if (strcmp(view->kind, "environment") == 0)
        *out_watts = watts_of(json_member(value, "PowerWatts"));
    else
        *out_watts = first_control(value);
    return JOULE_OK;
}
