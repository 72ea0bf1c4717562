package mac

import (
	"path"
	"slices"
	"strings"
)

// libraries follows every program through the libraries that it loads, as the system's loader does.
func (v *validation) libraries(images map[string]*machO) {
	w := &walker{v: v, images: images, reached: map[string]bool{}}
	names := make([]string, 0, len(images))
	for name, m := range images {
		names = append(names, name)
		v.ownPaths(name, m)
	}
	slices.Sort(names)
	for _, name := range names {
		if images[name].executable {
			w.load(name, path.Dir(name), nil)
		}
	}
	for _, name := range names {
		if !w.reached[name] {
			v.find("no program loads %s", name)
		}
	}
}

// ownPaths checks that an image's paths mean the same on every Mac.
func (v *validation) ownPaths(name string, m *machO) {
	for _, r := range m.rpaths {
		if !strings.HasPrefix(r, "@executable_path/") && r != "@loader_path" &&
			!strings.HasPrefix(r, "@loader_path/") {
			v.find("%s looks for libraries in %s, a folder of the machine that built it", name, r)
		}
	}
	if !m.executable && m.id != "@rpath/"+path.Base(name) {
		v.find("%s has the install name %s; it has to be @rpath/%s", name, m.id, path.Base(name))
	}
	if symbols := m.imports[notTwoLevel]; len(symbols) > 0 {
		v.find("%s takes %s, and %d more, from any library that has it", name, symbols[0],
			len(symbols)-1)
	}
}

// A walker visits the images that programs load.
type walker struct {
	v       *validation
	images  map[string]*machO
	reached map[string]bool
}

// load visits one image. program is the folder of the running program, rpaths are the run paths of
// the images that led here.
func (w *walker) load(name, program string, rpaths []string) {
	first := !w.reached[name]
	w.reached[name] = true
	m := w.images[name]
	for _, r := range m.rpaths {
		rpaths = append(rpaths[:len(rpaths):len(rpaths)], expand(r, program, path.Dir(name)))
	}
	for i, l := range m.loads {
		if isSystem(l) {
			continue
		}
		found := w.resolve(l, program, path.Dir(name), rpaths)
		if found == "" {
			if first {
				w.v.find("%s loads %s, which is neither in the bundle nor part of the system", name,
					l)
			}
			continue
		}
		if first {
			w.symbols(name, m.imports[i], found)
		}
		if found != name {
			w.load(found, program, rpaths)
		}
	}
	if path.Base(name) != selectLib {
		return
	}
	// libmlxselect opens one of these by its path before main runs.
	for _, s := range metalSets {
		set := path.Join(path.Dir(name), s.name, mlxcLib)
		if w.images[set] == nil {
			continue // the inventory reports it
		}
		if first {
			var opened []string
			for _, f := range m.exports {
				if isMLXC(f) {
					opened = append(opened, f)
				}
			}
			w.symbols(name, opened, set)
		}
		w.load(set, program, rpaths)
	}
}

// symbols checks that a library has the symbols that an image takes from it.
func (w *walker) symbols(name string, taken []string, library string) {
	m := w.images[library]
	for _, s := range taken {
		if !m.has(s) {
			w.v.find("%s takes %s from %s, which lacks it", name, s, library)
		}
	}
}

// resolve returns the image that a load command names, or "" if it is not in the bundle.
func (w *walker) resolve(load, program, loader string, rpaths []string) string {
	candidates := []string{expand(load, program, loader)}
	if rest, ok := strings.CutPrefix(load, "@rpath/"); ok {
		candidates = nil
		for _, r := range rpaths {
			candidates = append(candidates, path.Join(r, rest))
		}
	}
	for _, c := range candidates {
		if w.images[c] != nil {
			return c
		}
	}
	return ""
}

// expand replaces @executable_path and @loader_path.
func expand(p, program, loader string) string {
	if rest, ok := strings.CutPrefix(p, "@executable_path"); ok {
		return path.Join(program, rest)
	}
	if rest, ok := strings.CutPrefix(p, "@loader_path"); ok {
		return path.Join(loader, rest)
	}
	return p
}

// isSystem reports whether every Mac has the library.
func isSystem(load string) bool {
	return strings.HasPrefix(load, "/usr/lib/") || strings.HasPrefix(load, "/System/Library/")
}
