package mac

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"tandem/build/licences"
	"tandem/build/setup"
)

// A metalSet is one of the two sets of MLX's libraries in the bundle, named for the wheel that it
// comes from.
type metalSet struct {
	name     string // folder in the bundle
	platform string // of the wheel
	minOS    string // the oldest macOS its libmlx runs on
}

var metalSets = []metalSet{
	{"14", "macosx_14_0_arm64", setup.MacOSTarget},
	{"26", "macosx_26_0_arm64", "26.2"},
}

// Names of the libraries.
const (
	mlxcLib   = "libmlxc.dylib"
	mlxLib    = "libmlx.dylib"
	metallib  = "mlx.metallib"
	selectLib = "libmlxselect.dylib"
)

// A metal is a folder of the cache with the bundle's parts of MLX, ready to be copied and linked:
//
//	sets/libmlxselect.dylib, sets/14/, sets/26/   as in the bundle
//	link/libmlxc.dylib                            libmlxselect by the name in the #cgo line
//	licences/                                     the licences of all of it
type metal struct{ dir string }

func (m metal) sets() string     { return filepath.Join(m.dir, "sets") }
func (m metal) link() string     { return filepath.Join(m.dir, "link") }
func (m metal) licences() string { return filepath.Join(m.dir, "licences") }

// metal makes both sets, and libmlxselect in front of them. A set has the libraries of one wheel
// and mlx-c. mlx-c is built once, against the older wheel.
func (b *builder) metal(ctx context.Context, pip string, cc *crossCC) (metal, error) {
	inputs, err := cc.inputs(b)
	if err != nil {
		return metal{}, err
	}
	e := setup.Entry{Name: "mlx-darwin-" + setup.MLXPin, Inputs: append(inputs, setup.MLXPin)}
	for _, name := range []string{"mlx/metal.txt", "mlx/Cargo.lock", "setup/mlx-c.patch",
		"darwin/select.c", "darwin/select.h"} {
		text, err := os.ReadFile(filepath.Join(b.Root, "build", name))
		if err != nil {
			return metal{}, err
		}
		e.Inputs = append(e.Inputs, string(text))
	}
	dir, err := b.Cache.Ensure(ctx, e, func(dir string) error {
		work := filepath.Join(dir, "work")
		defer os.RemoveAll(work)
		m := metal{dir}
		for _, d := range []string{m.link(), m.licences()} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				return err
			}
		}
		for _, s := range metalSets {
			if err := b.unpackMetal(ctx, pip, filepath.Join(work, s.name), m, s); err != nil {
				return err
			}
		}
		if err := b.crossMLXC(ctx, cc, work, m); err != nil {
			return err
		}
		return b.buildSelect(ctx, cc, work, m)
	})
	return metal{dir}, err
}

// unpackMetal takes libmlx, the libraries that libmlx loads, and the licences from a wheel. It
// leaves out the older wheel's libjaccl, which nothing loads.
func (b *builder) unpackMetal(ctx context.Context, pip, work string, m metal, s metalSet) error {
	cmd := b.Command(ctx, pip, "-m", "pip", "install", "--no-deps", "--require-hashes",
		"--only-binary=:all:", "--platform", s.platform,
		"--target", work, "-r", filepath.Join(b.Root, "build", "mlx", "metal.txt"))
	if err := b.Step("MLX "+setup.MLXVersion+" for macOS "+s.minOS+": install the wheel",
		cmd); err != nil {
		return err
	}
	from, to := filepath.Join(work, "mlx", "lib"), filepath.Join(m.sets(), s.name)
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	files := []string{mlxLib, metallib}
	image, err := readMachO(filepath.Join(from, mlxLib))
	if err != nil {
		return err
	}
	for _, l := range image.loads {
		if name, ok := strings.CutPrefix(l, "@rpath/"); ok {
			files = append(files, name)
		}
	}
	for _, name := range files {
		if err := setup.CopyFile(filepath.Join(to, name), filepath.Join(from, name)); err != nil {
			return err
		}
	}
	for name, path := range map[string]string{
		"mlx.txt": filepath.Join("mlx_metal-"+setup.MLXVersion+".dist-info", "licenses",
			"LICENSE"),
		"metal-cpp.txt": filepath.Join("mlx", "include", "metal_cpp", "LICENSE.txt"),
	} {
		if err := setup.CopyFile(filepath.Join(m.licences(), name),
			filepath.Join(work, path)); err != nil {
			return err
		}
	}
	return nil
}

// crossMLXC compiles mlx-c and puts it into each set. Off a Mac the C compiler links it, so that
// zig's own C++ library stays out. A library can catch another one's exception only if both share
// one C++ library.
func (b *builder) crossMLXC(ctx context.Context, cc *crossCC, work string, m metal) error {
	source, err := b.MLXCSource(ctx, filepath.Join(work, "mlx-c"))
	if err != nil {
		return err
	}
	if err := setup.CopyFile(filepath.Join(m.licences(), "mlx-c.txt"),
		filepath.Join(source, "LICENSE")); err != nil {
		return err
	}
	sources, err := filepath.Glob(filepath.Join(source, "mlx", "c", "*.cpp"))
	if err != nil {
		return err
	}
	wheel := filepath.Join(work, metalSets[0].name, "mlx")
	objects := make([]string, len(sources))
	commands := make(chan []string, len(sources))
	for i, path := range sources {
		objects[i] = filepath.Join(work, strings.TrimSuffix(filepath.Base(path), ".cpp")+".o")
		commands <- append(cc.cxx[1:len(cc.cxx):len(cc.cxx)], "-std=c++20", "-O2", "-DNDEBUG",
			"-fPIC", "-ffile-prefix-map="+source+"=mlx-c", "-I"+source,
			"-I"+filepath.Join(wheel, "include"), "-I"+filepath.Join(wheel, "include", "metal_cpp"),
			"-c", path, "-o", objects[i])
	}
	close(commands)
	var mu sync.Mutex
	var failed error
	var running sync.WaitGroup
	fmt.Fprintf(b.Out, "mlx-c %s for macOS: compile %d files\n", setup.MLXCVersion, len(sources))
	for range runtime.NumCPU() {
		running.Go(func() {
			for args := range commands {
				cmd := b.Command(ctx, cc.cxx[0], args...)
				cmd.Env = append(cmd.Env, cc.env...)
				if out, err := cmd.CombinedOutput(); err != nil {
					mu.Lock()
					failed = fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
					mu.Unlock()
				}
			}
		})
	}
	if running.Wait(); failed != nil {
		return failed
	}
	linker, libraries := cc.cxx, []string{"-lmlx"}
	if cc.sdk != "" {
		linker, libraries = cc.cc, []string{"-lmlx", filepath.Join(cc.sdk, "lib", "libc++.tbd")}
	}
	out := filepath.Join(work, mlxcLib)
	args := append(linker[1:len(linker):len(linker)], "-shared", "-o", out,
		"-Wl,-install_name,@rpath/"+mlxcLib, "-Wl,-rpath,@loader_path",
		"-L"+filepath.Join(wheel, "lib"))
	args = append(append(append(args, objects...), libraries...), cc.linkFlags()...)
	cmd := b.Command(ctx, linker[0], args...)
	cmd.Env = append(cmd.Env, cc.env...)
	if err := b.Step("mlx-c "+setup.MLXCVersion+" for macOS: link", cmd); err != nil {
		return err
	}
	for _, s := range metalSets {
		if err := setup.CopyFile(filepath.Join(m.sets(), s.name, mlxcLib), out); err != nil {
			return err
		}
	}
	return nil
}

// buildSelect links libmlxselect, which has every function of mlx-c.
func (b *builder) buildSelect(ctx context.Context, cc *crossCC, work string, m metal) error {
	image, err := readMachO(filepath.Join(m.sets(), metalSets[0].name, mlxcLib))
	if err != nil {
		return err
	}
	var functions []string
	for _, name := range image.exports {
		if isMLXC(name) {
			functions = append(functions, strings.TrimPrefix(name, "_"))
		}
	}
	jumps := filepath.Join(work, "select.s")
	if err := os.WriteFile(jumps, []byte(selectJumps(functions)), 0o644); err != nil {
		return err
	}
	out := filepath.Join(m.sets(), selectLib)
	args := append(cc.cc[1:len(cc.cc):len(cc.cc)], "-shared", "-O2", "-o", out,
		"-Wl,-install_name,@rpath/"+selectLib,
		filepath.Join(b.Root, "build", "darwin", "select.c"), jumps)
	cmd := b.Command(ctx, cc.cc[0], append(args, cc.linkFlags()...)...)
	cmd.Env = append(cmd.Env, cc.env...)
	if err := b.Step(fmt.Sprintf("%s: link, %d functions", selectLib, len(functions)),
		cmd); err != nil {
		return err
	}
	return setup.CopyFile(filepath.Join(m.link(), mlxcLib), out)
}

// isMLXC reports whether a symbol is a function of mlx-c. Some of them begin with an underscore of
// their own.
func isMLXC(symbol string) bool {
	return strings.HasPrefix(symbol, "_mlx_") || strings.HasPrefix(symbol, "__mlx_")
}

// selectJumps returns the assembly beside build/darwin/select.c: the functions' names, a slot for
// each, and each function as a jump through its slot. Sections stay whole, so that slots and names
// keep their order. The platform leaves x16 to such jumps, and arguments stay untouched.
func selectJumps(functions []string) string {
	var text, slots, names, list strings.Builder
	for i, name := range functions {
		fmt.Fprintf(&text, "  .globl _%s\n  .p2align 2\n_%[1]s:\n  adrp x16, l_slot%[2]d@PAGE\n  ldr x16, [x16, l_slot%[2]d@PAGEOFF]\n  br x16\n",
			name, i)
		fmt.Fprintf(&slots, "l_slot%d:\n  .quad 0\n", i)
		fmt.Fprintf(&names, "l_name%d:\n  .asciz \"%s\"\n", i, name)
		fmt.Fprintf(&list, "  .quad l_name%d\n", i)
	}
	return "  .section __TEXT,__text,regular,pure_instructions\n" + text.String() +
		"  .section __DATA,__data\n  .private_extern _tandem_select_slots\n  .globl _tandem_select_slots\n  .p2align 3\n_tandem_select_slots:\n" +
		slots.String() +
		"  .section __TEXT,__cstring,cstring_literals\n" + names.String() +
		"  .section __DATA,__const\n  .private_extern _tandem_select_names\n  .globl _tandem_select_names\n  .p2align 3\n_tandem_select_names:\n" +
		list.String() + "  .quad 0\n"
}

// components are MLX, mlx-c, and metal-cpp, which is compiled into them.
func (m metal) components() ([]licences.Component, error) {
	var list []licences.Component
	for _, x := range []struct{ name, file string }{{"MLX " + setup.MLXVersion, "mlx.txt"},
		{"mlx-c " + setup.MLXCVersion, "mlx-c.txt"}, {"metal-cpp", "metal-cpp.txt"}} {
		text, err := os.ReadFile(filepath.Join(m.licences(), x.file))
		if err != nil {
			return nil, err
		}
		list = append(list, licences.Component{Name: x.name, Texts: []string{string(text)}})
	}
	return list, nil
}
