/* tools/redfish/main.c - joule-redfish: prints the power that a management controller reports, as lines of
 * text.
 *
 * libjoule's source `redfish` runs this program, so that measured programs need no libcurl. Output lines are
 * "model TEXT", "reading KIND WATTS PATH" (KIND as in views.h; WATTS "-": unknown) and "failed STATUS TEXT".
 *
 * Note: without KIND:PATH arguments the program searches for views. With such arguments, usually the views
 * that an earlier run printed, it does not search. A search needs many requests to a slow controller.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/string.h"
#include "common/options.h"
#include "views.h"

const char tool_name[] = "joule-redfish";

static void print_failure(joule_status status, const joule_error *error)
{
    printf("failed %d %s\n", (int)status, error->message);
}

/* Reads and prints all views. Stops at the first error other than a missing resource. */
static joule_status print_readings(struct client *client, const struct views *views)
{
    for (size_t i = 0; i < views->count; i++) {
        const struct view *view = &views->list[i];
        double watts = NAN;
        joule_status status = view_read(client, view, &watts);
        if (status != JOULE_OK && status != JOULE_ABSENT)
            return status;
        if (isnan(watts))
            printf("reading %s - %s\n", view->kind, view->path);
        else
            printf("reading %s %.9g %s\n", view->kind, watts, view->path);
    }
    return JOULE_OK;
}

static joule_status find_and_print(struct config *config, struct views *views, joule_error *error)
{
    struct client client;
    joule_status status = client_open(config, error, &client);
    if (status != JOULE_OK)
        return status;
    if (views->count == 0)
        status = views_find(&client, views);
    if (status == JOULE_OK && views->model[0])
        printf("model %s\n", views->model);
    if (status == JOULE_OK)
        status = print_readings(&client, views);
    client_close(&client);
    return status;
}

int main(int argc, char **argv)
{
    struct config config;
    struct views views = {.count = 0};
    joule_error error = {0};
    if (argc < 2 || argc > 2 + MAX_VIEWS || argv[1][0] == '-') {
        complain("", "usage: joule-redfish CONFIG [KIND:PATH...]");
        return EXIT_USAGE;
    }
    for (int i = 2; i < argc; i++)
        if (!view_parse(argv[i], &views.list[views.count++])) {
            complain("", "'%s' is not of the form KIND:PATH", argv[i]);
            return EXIT_USAGE;
        }
    joule_status status = config_read(argv[1], &config, &error);
    if (status == JOULE_OK)
        status = find_and_print(&config, &views, &error);
    if (status != JOULE_OK)
        print_failure(status, &error);
    return status == JOULE_OK ? 0 : EXIT_OWN_FAILURE;
}
