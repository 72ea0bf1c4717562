package gguf

import (
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strconv"
)

// maxFiles bounds the files of a set. The largest published ones have fewer than 50.
const maxFiles = 1 << 10

// setName is the name of a file of a set, such as model-00001-of-00003.gguf.
var setName = regexp.MustCompile(`^(.*)-(\d{5})-of-(\d{5})(\.[gG][gG][uU][fF])$`)

// Set returns the names of the files that hold a model together, the first first. name may be any
// of them. A file that belongs to no set is a set by itself.
func Set(name string) []string {
	of, count := parseSet(name)
	if count == 0 {
		return []string{name}
	}
	names := make([]string, count)
	for i := range names {
		names[i] = of(i)
	}
	return names
}

// FirstOfSet returns the first name of Set.
func FirstOfSet(name string) string {
	of, count := parseSet(name)
	if count == 0 {
		return name
	}
	return of(0)
}

// parseSet returns the names of the files of a set, counted from 0. count is 0 for a file that
// belongs to no set.
func parseSet(name string) (of func(i int) string, count int) {
	m := setName.FindStringSubmatch(name)
	if m == nil {
		return nil, 0
	}
	if count, _ = strconv.Atoi(m[3]); count < 1 || count > maxFiles { // five digits
		return nil, 0
	}
	return func(i int) string { return fmt.Sprintf("%s-%05d-of-%s%s", m[1], i+1, m[3], m[4]) }, count
}

// openSet opens the files of the set that a file belongs to. It returns their headers as one: the
// metadata of the first, and all tensors. The caller closes the files.
func openSet(fsys fs.FS, name string) (h *header, files []fs.File, ids []fileID, err error) {
	defer func() {
		if err != nil {
			closeAll(files)
		}
	}()
	names := Set(name)
	seen := map[string]bool{}
	for i, name := range names {
		f, id, err := openRegular(fsys, name)
		if err != nil {
			return nil, files, nil, err
		}
		files, ids = append(files, f), append(ids, id)
		part, err := readHeader(f.(io.ReaderAt), id.size)
		if err != nil {
			return nil, files, nil, inSet(err, name, len(names))
		}
		if err := part.checkPlace(i, len(names)); err != nil {
			return nil, files, nil, inSet(err, name, len(names))
		}
		if h == nil {
			h = &header{metadata: part.metadata}
		}
		for _, t := range part.tensors {
			if seen[t.name] {
				return nil, files, nil, damaged("the set has the tensor %q twice", t.name)
			}
			seen[t.name] = true
			t.file = i
			h.tensors = append(h.tensors, t)
		}
		if len(h.tensors) > maxTensors {
			return nil, files, nil, damaged("the set has more than %d tensors", maxTensors)
		}
	}
	want, err := h.metadata.uint("split.tensors.count", len(h.tensors), maxTensors)
	if err == nil && want != len(h.tensors) {
		err = damaged("the set has %d tensors of %d", len(h.tensors), want)
	}
	return h, files, ids, err
}

// checkPlace refuses a file whose metadata says that it is another one of a set.
func (h *header) checkPlace(i, count int) error {
	no, err := h.metadata.uint("split.no", i, maxFiles)
	if err != nil {
		return err
	}
	n, err := h.metadata.uint("split.count", count, maxFiles)
	switch {
	case err != nil:
		return err
	case n > 1 && count == 1:
		return fmt.Errorf("is one of %d files; give it the name that it was published under", n)
	case no != i || max(n, 1) != count:
		return fmt.Errorf("is file %d of %d by its metadata, and not %d of %d", no+1, n, i+1, count)
	}
	return nil
}

// inSet names the file of a set that an error is about.
func inSet(err error, name string, count int) error {
	if count == 1 {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

func closeAll(files []fs.File) {
	for _, f := range files {
		f.Close()
	}
}
