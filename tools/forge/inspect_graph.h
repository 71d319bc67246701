/* tools/forge/inspect_graph.h - the page that `forge inspect` prints for a graph. */
#ifndef FORGE_INSPECT_GRAPH_H
#define FORGE_INSPECT_GRAPH_H

#include <forge/graph.h>
#include "base/string.h"

/* A graph with its operations counted. */
struct graph_page {
    const char *path;
    const forge_graph *graph;
    struct tally *tallies; /* indexed by operation */
};

/* Counts the operations of `graph`, which must outlive *page. Call graph_page_free also after an error. */
joule_status graph_page_make(struct graph_page *page, const char *path, const forge_graph *graph,
                             joule_error *out_error);
void graph_page_free(struct graph_page *page);
/* Prints the page; `page`: a struct graph_page. */
void graph_page_print(const void *page, struct text *out);

#endif
