/* tools/redfish/config.h - which management controller is asked, as whom, and whether its certificate is checked.
 *
 * Owns the file of "key = value" lines that JOULE_REDFISH names. The password is in another file, which nobody else may read;
 * neither is ever printed. Newcomers: a controller is trusted only by its certificate, unless the file says "verify = no".
 */
#ifndef REDFISH_CONFIG_H
#define REDFISH_CONFIG_H

#include <stdbool.h>
#include <joule/base.h>

struct config {
    char url[256]; /* "https://bmc.example.org", nothing behind the port */
    char user[64]; /* empty: nobody is named */
    char password[256];
    char ca[256];     /* file of certificates to trust; empty: the system's */
    char chassis[64]; /* empty: the only one with a computer in it */
    bool is_verified;
};

/* INVALID with what is wrong in which line; DENIED, ABSENT for a file that cannot be read. */
joule_status config_read(const char *path, struct config *out_config, joule_error *out_error);

#endif
