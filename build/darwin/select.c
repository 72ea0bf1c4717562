/* libmlxselect.dylib stands before the two sets of MLX in the bundle: `tandem` links it, and before main it opens the
 * set that this Mac runs. Each function of mlx-c is one jump through a slot (in an assembly file that the build writes,
 * with the names and the slots); here the slots are filled.
 *
 * So one executable serves both, however it is started: by the app, by a link in ~/.local/bin, by a login item. No
 * environment is needed, which the hardened runtime would strip, and no second copy of a program that carries a model. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "select.h"

extern const char *const tandem_select_names[]; /* up to a null pointer */
extern void *tandem_select_slots[];             /* one for each name */

__attribute__((visibility("hidden"))) void *tandem_select_open(const char *dir, const char *set) {
  char path[MAXPATHLEN];
  if ((size_t)snprintf(path, sizeof path, "%s/%s/libmlxc.dylib", dir, set) >= sizeof path)
    return NULL;
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

__attribute__((constructor)) static void tandem_select(void) {
  Dl_info self;
  struct utsname system;
  char dir[MAXPATHLEN];
  if (dladdr(tandem_select_slots, &self) == 0 || strlcpy(dir, self.dli_fname, sizeof dir) >= sizeof dir || strrchr(dir, '/') == NULL) {
    fputs("tandem: the program's own folder cannot be found\n", stderr);
    _exit(1);
  }
  *strrchr(dir, '/') = 0;
  void *set = NULL;
  if (uname(&system) == 0 && wants_newer(system.release))
    set = tandem_select_open(dir, "26");
  if (set == NULL)
    set = tandem_select_open(dir, "14");
  if (set == NULL) {
    fprintf(stderr, "tandem: MLX cannot be loaded; put Tandem.app in place again: %s\n", dlerror());
    _exit(1);
  }
  for (int i = 0; tandem_select_names[i] != NULL; i++) {
    tandem_select_slots[i] = dlsym(set, tandem_select_names[i]);
    if (tandem_select_slots[i] == NULL) {
      fprintf(stderr, "tandem: %s; put Tandem.app in place again\n", dlerror());
      _exit(1);
    }
  }
}
