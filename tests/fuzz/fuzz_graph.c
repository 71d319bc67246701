/* Fuzz target: the text of a graph. Parsing must not crash or leak, and its memory is limited by the text's
 * length. Checks that an accepted graph passes the verifier and is printed as the same text again. */
#include <stdlib.h>
#include <string.h>
#include "forge/ir/builder.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    forge_graph *graph = NULL, *again = NULL;
    char *text, *second;
    joule_error error = {0};
    joule_status status = forge_graph_parse((const char *)data, size, &graph, &error);
    require(status == JOULE_OK || (status == JOULE_INVALID && strncmp(error.message, "line ", 5) == 0));
    if (status != JOULE_OK)
        return 0;
    require(graph_verify(graph, NULL) == JOULE_OK);
    require(forge_graph_print(graph, &text, NULL) == JOULE_OK);
    require(forge_graph_parse(text, strlen(text), &again, NULL) == JOULE_OK);
    require(forge_graph_print(again, &second, NULL) == JOULE_OK);
    require(strcmp(text, second) == 0 && again->node_count == graph->node_count);
    free(text);
    free(second);
    forge_graph_free(graph);
    forge_graph_free(again);
    return 0;
}
