/* port/elsewhere/attribute_group.c - replaces joule/attribute/attribute_group.c: only Linux measures
 * commands. */
#include "joule/attribute/attribute.h"

enum attribute_method attribute_try(void)
{
    return ATTRIBUTE_NONE;
}
