#include <string.h>
#include <unistd.h>

#include "native.h"

// Serves in place of the program, before Go's runtime starts: a process can be copied only while it
// has no other threads that do work. C runs constructors before main, with main's arguments.
__attribute__((constructor)) static void serve(int argc, char **argv) {
	if (argc == 0 || strncmp(argv[0], TANDEM_NATIVE_FAMILY, strlen(TANDEM_NATIVE_FAMILY)) != 0) {
		return;
	}
	if (strcmp(argv[0], TANDEM_NATIVE_NAME) == 0) {
		tandem_native_serve(3);
	}
	_exit(1); // an older program asks, which this one has replaced on disk
}
