/* port/windows/dlfcn.h - loads libraries by name. Note: a name without a path is searched in System32
 * only. */
#ifndef PORT_DLFCN_H
#define PORT_DLFCN_H

#define RTLD_NOW   0
#define RTLD_LOCAL 0

void *dlopen(const char *name, int flags);
void *dlsym(void *library, const char *name);
/* Returns NULL: no text is stored. */
char *dlerror(void);

#endif
