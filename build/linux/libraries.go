package linux

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tandem/build/licences"
	"tandem/build/setup"
)

// glibcOnly are the libraries that glibc brings, and so every system the archive runs on.
var glibcOnly = []string{"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1",
	"libresolv.so.2", "ld-linux-x86-64.so.2"}

// resolved matches a line of ldd: the name and the path of a library.
var resolved = regexp.MustCompile(`(?m)^\s+(\S+) => (/\S+)`)

// copyLibraries copies into tree each library that the program loads, but glibc's, and returns their
// licences. mlx is the folder of the installed MLX; the program was built against it.
func copyLibraries(ctx context.Context, b *setup.Builder, tree, tandem, mlx string) ([]licences.Component, error) {
	ldd := b.Command(ctx, "ldd", tandem)
	ldd.Env = append(ldd.Env, "LD_LIBRARY_PATH="+filepath.Join(mlx, "lib"))
	text, err := b.Output(ldd)
	if err != nil {
		return nil, err
	}
	if strings.Contains(text, "not found") {
		return nil, fmt.Errorf("libraries of %s are missing here:\n%s", tandem, text)
	}
	wheel := filepath.Join(filepath.Dir(mlx), "mlx_cpu.libs")
	var docs []string // of Debian's packages, which state their terms there
	for _, m := range resolved.FindAllStringSubmatch(text, -1) {
		name, path := m[1], m[2]
		if slices.Contains(glibcOnly, name) {
			continue
		}
		to := filepath.Join(tree, "mlx", "lib", name)
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, err
		}
		switch {
		case filepath.Dir(path) == wheel:
			to = filepath.Join(tree, "mlx_cpu.libs", name)
		case !strings.HasPrefix(path, mlx):
			pkg, err := debianPackage(ctx, b, path)
			if err != nil {
				return nil, err
			}
			docs = append(docs, pkg)
		}
		if err := setup.CopyFile(to, path); err != nil {
			return nil, err
		}
	}
	return libraryLicences(ctx, b, mlx, docs)
}

// debianPackage returns the package that owns a file. Some packages still name their files as if
// /lib were no link to /usr/lib.
func debianPackage(ctx context.Context, b *setup.Builder, path string) (string, error) {
	owner, err := b.Output(b.Command(ctx, "dpkg", "-S", path))
	if err != nil {
		owner, err = b.Output(b.Command(ctx, "dpkg", "-S", strings.TrimPrefix(path, "/usr")))
	}
	name, _, _ := strings.Cut(owner, ":")
	return name, err
}

// libraryLicences returns the terms of MLX, of mlx-c, and of Debian's packages.
func libraryLicences(ctx context.Context, b *setup.Builder, mlx string,
	packages []string) ([]licences.Component, error) {
	wheel, err := licences.Read("MLX "+setup.MLXVersion, filepath.Join(filepath.Dir(mlx),
		"mlx_cpu-"+setup.MLXVersion+".dist-info", "licenses"))
	if err != nil {
		return nil, err
	}
	parts := []licences.Component{wheel}
	work, err := os.MkdirTemp("", "mlx-c-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	source, err := b.MLXCSource(ctx, filepath.Join(work, "mlx-c"))
	if err != nil {
		return nil, err
	}
	mlxc, err := licences.Read("mlx-c "+setup.MLXCVersion, source)
	if err != nil {
		return nil, err
	}
	parts = append(parts, mlxc)
	slices.Sort(packages)
	for _, name := range slices.Compact(packages) {
		c, err := licences.Read(name+", as Debian or Ubuntu builds it", filepath.Join("/usr/share/doc", name))
		if err != nil {
			return nil, err
		}
		parts = append(parts, c)
	}
	return parts, nil
}

// newestGlibc returns the newest version of glibc's symbols that a file in tree asks for.
func newestGlibc(tree string) (newest string, err error) {
	err = filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		magic := make([]byte, len(elf.ELFMAG))
		if _, err := file.ReadAt(magic, 0); errors.Is(err, io.EOF) || string(magic) != elf.ELFMAG {
			return nil // a licence, the model
		}
		f, err := elf.NewFile(file)
		if err != nil {
			return err
		}
		needs, err := f.DynamicVersionNeeds()
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, library := range needs {
			for _, need := range library.Needs {
				if v, ok := strings.CutPrefix(need.Dep, "GLIBC_"); ok && newer(v, newest) {
					newest = v
				}
			}
		}
		return nil
	})
	if err == nil && newest == "" {
		err = fmt.Errorf("no file in %s asks for glibc", tree)
	}
	return newest, err
}

// newer reports whether version a, such as 2.36, is newer than b.
func newer(a, b string) bool {
	numbers := func(v string) (list []int) {
		for s := range strings.SplitSeq(v, ".") {
			n, err := strconv.Atoi(s)
			if err != nil {
				return list // GLIBC_PRIVATE
			}
			list = append(list, n)
		}
		return list
	}
	return slices.Compare(numbers(a), numbers(b)) > 0
}
