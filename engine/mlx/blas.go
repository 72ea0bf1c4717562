package mlx

/*
#cgo linux CFLAGS: -D_GNU_SOURCE
#cgo linux LDFLAGS: -ldl
#include <dlfcn.h>
#include <stddef.h>

// tandem_file returns the file of the library that a symbol resolves to, or
// NULL.
static const char *tandem_file(const char *symbol) {
	Dl_info info;
	void *address = dlsym(RTLD_DEFAULT, symbol);
	if (address == NULL || dladdr(address, &info) == 0)
		return NULL;
	return info.dli_fname;
}

static const char *tandem_blas(void) { return tandem_file("cblas_sgemm"); }
static const char *tandem_mlxc(void) { return tandem_file("mlx_array_new"); }
*/
import "C"

// BLAS returns the file of the library that computes matrix products on the CPU, as the dynamic
// linker resolved it, empty if none is linked. Results of two libraries differ in their last bits,
// so tables of results name it.
func BLAS() string { return goString(C.tandem_blas()) }

// Library returns the file of mlx-c, as the dynamic linker resolved it.
func Library() string { return goString(C.tandem_mlxc()) }

func goString(file *C.char) string {
	if file == nil {
		return ""
	}
	return C.GoString(file)
}
