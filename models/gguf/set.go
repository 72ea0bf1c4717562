package gguf

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// maxFiles bounds the files of a set. The largest published ones have fewer than 50.
const maxFiles = 1 << 10

// setName is the name of a file of a set, such as model-00001-of-00003.gguf.
var setName = regexp.MustCompile(`(?s)^(.*)-\d{5}-of-(\d{5})(\.[gG][gG][uU][fF])$`)

// Set returns the names, or the paths, of the files that hold a model together, the first first. name
// may be any of them. A file that belongs to no set is a set by itself.
func Set(name string) []string {
	stem, count, ext := parseSet(name)
	if count == 0 {
		return []string{name}
	}
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%05d-of-%05d%s", stem, i+1, count, ext)
	}
	return names
}

// FirstOfSet returns the first name of Set alone.
func FirstOfSet(name string) string {
	if stem, count, ext := parseSet(name); count > 0 {
		return fmt.Sprintf("%s-%05d-of-%05d%s", stem, 1, count, ext)
	}
	return name
}

// SetSize returns how many names Set returns.
func SetSize(name string) int {
	_, count, _ := parseSet(name)
	return max(count, 1)
}

// Stem returns the name of a file without the number of a set, and without .gguf.
func Stem(name string) string {
	stem, _, _ := parseSet(name)
	return stem
}

// parseSet takes the name of a file apart. count is 0 for a file that belongs to no set.
func parseSet(name string) (stem string, count int, ext string) {
	if m := setName.FindStringSubmatch(name); m != nil {
		count, _ = strconv.Atoi(m[2]) // five digits
		if count >= 1 && count <= maxFiles {
			return m[1], count, m[3]
		}
	}
	ext = path.Ext(name)
	return strings.TrimSuffix(name, ext), 0, ext
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
