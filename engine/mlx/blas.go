package mlx

/*
#cgo linux CFLAGS: -D_GNU_SOURCE
#cgo linux LDFLAGS: -ldl
#include <dlfcn.h>
#include <stddef.h>

// tandem_blas returns the file that cblas_sgemm resolves to, or NULL.
static const char *tandem_blas(void) {
	Dl_info info;
	void *address = dlsym(RTLD_DEFAULT, "cblas_sgemm");
	if (address == NULL || dladdr(address, &info) == 0)
		return NULL;
	return info.dli_fname;
}
*/
import "C"

// BLAS returns the file of the library that computes matrix products on the
// CPU, as the dynamic linker resolved it; empty if none is linked. Results
// differ in their last bits between libraries, so tables of results name it.
func BLAS() string {
	file := C.tandem_blas()
	if file == nil {
		return ""
	}
	return C.GoString(file)
}
