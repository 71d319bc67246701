/* port/elsewhere/attribute_group.c - in the place of joule/attribute/attribute_group.c, for what libjoule itself asks of it.
 *
 * Newcomers: commands are measured on Linux alone, by `joule run`, which no other system's joule has.
 */
#include "joule/attribute/attribute.h"

enum attribute_method attribute_try(void)
{
    return ATTRIBUTE_NONE;
}
