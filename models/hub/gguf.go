package hub

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tandem/storage/disk"
)

const (
	ggufEnd = ".gguf"

	// projectorName is in the names of GGUF files with what lets a model see. They are no models.
	projectorName = "mmproj"

	maxTagLength = 64

	// maxSetFiles bounds the files of a set, as models does.
	maxSetFiles = 1 << 10
)

var (
	// quantizationEnd is how the name of a GGUF file ends that says how its weights are packed.
	quantizationEnd = regexp.MustCompile(
		`(?i)(?:^|[-._])((?:UD-)?(?:I?Q[0-9][0-9A-Z_]*|BF16|F16|F32|MXFP4(?:_MOE)?))$`)

	// setEnd is how the names of the files of a set end.
	setEnd = regexp.MustCompile(`-\d{5}-of-(\d{5})$`)
)

// preferred lists quantizations, the one first that is taken without a wish. It is the most usual
// one; then come those next to it.
var preferred = []string{"Q4_K_M", "UD-Q4_K_XL", "Q4_K_S", "Q4_K_L", "MXFP4", "MXFP4_MOE", "Q4_1",
	"Q4_0", "IQ4_NL", "Q5_K_S", "Q5_K_M", "Q5_K_L", "UD-Q5_K_XL", "Q5_0", "Q5_1", "Q6_K", "Q6_K_L",
	"UD-Q6_K_XL", "Q3_K_L", "Q3_K_M", "Q3_K_S", "Q8_0", "UD-Q8_K_XL", "Q2_K", "BF16", "F16", "F32"}

// A GGUF says what a pull took of a repository of GGUF files.
type GGUF struct {
	File         string   // path in the snapshot; the first of a set
	Quantization string   // such as Q4_K_M; empty if the file's name tells none
	Others       []string // the quantizations that the repository has too
	Projector    bool     // files that let the model see were left out

	files   []string // all of the set
	missing []string // those of them that are not there
}

// Is reports whether a file of another revision goes by the same name, ORG/NAME:QUANTIZATION: it is of
// the same quantization, or named alike if that is not told. It may be another model than the file
// now, see [GGUF.IsNamedAlike].
func (g *GGUF) Is(file string) bool {
	tag := Quantization(file)
	return isGGUF(file) && tag == g.Quantization && (tag != "" || g.IsNamedAlike(file))
}

// IsNamedAlike reports whether a file of another revision has the same name, in a set or by itself.
func (g *GGUF) IsNamedAlike(file string) bool {
	return isGGUF(file) && GGUFStem(filepath.ToSlash(file)) == GGUFStem(g.File)
}

// A wish says which of a repository's GGUF files to take.
type wish struct {
	quantization string   // empty for the usual one
	had          []string // see [Options]
}

// Quantization returns how the name of a GGUF file says that its weights are packed, in capitals.
// It is empty if the name says nothing.
func Quantization(file string) string {
	stem := strings.TrimSuffix(path.Base(file), path.Ext(file))
	m := quantizationEnd.FindStringSubmatch(setEnd.ReplaceAllString(stem, ""))
	if m == nil {
		return ""
	}
	return strings.ToUpper(m[1])
}

// CutQuantization splits the name of a model at the quantization that it asks for:
// ORG/NAME:Q4_K_M@REVISION is ORG/NAME@REVISION and Q4_K_M.
func CutQuantization(name string) (rest, quantization string) {
	id, revision, at := strings.Cut(name, "@")
	rest, quantization, _ = strings.Cut(id, ":")
	if at {
		rest += "@" + revision
	}
	return rest, strings.ToUpper(quantization)
}

// checkQuantization refuses what can be no quantization. Error: [Invalid].
func checkQuantization(name, quantization string) error {
	id, _, _ := strings.Cut(name, "@")
	if quantization == "" && !strings.Contains(id, ":") {
		return nil
	}
	if quantization == "" || len(quantization) > maxTagLength ||
		strings.ContainsFunc(quantization, notWord) {
		return errorf(Invalid, "", "%q names no quantization: "+
			"it looks like org/name:Q4_K_M, or org/name:Q4_K_M@revision", name)
	}
	return nil
}

// IsProjector reports whether a GGUF file is named as one with what lets a model see.
func IsProjector(name string) bool {
	return isGGUF(name) && strings.Contains(strings.ToLower(path.Base(name)), projectorName)
}

// isGGUF reports whether a file is named as a GGUF file is.
func isGGUF(name string) bool { return strings.EqualFold(path.Ext(name), ggufEnd) }

// HasSafetensors reports whether files that lie beside each other are a model in safetensors, as
// far as their names tell: config.json, and weights or their index. GGUF files beside it are other
// models. Where it is false, each GGUF file is a model by itself.
func HasSafetensors(names []string) bool {
	return slices.Contains(names, "config.json") && slices.ContainsFunc(names, func(f string) bool {
		return f == indexName || path.Ext(f) == ".safetensors" && !strings.Contains(f, "/")
	})
}

// gguf returns what to take of a repository's GGUF files. It is nil for a model in another form,
// unless a quantization is asked for. Error: [Unsupported].
func (in info) gguf(name string, w wish) (*GGUF, error) {
	if w.quantization == "" && HasSafetensors(in.files) {
		return nil, nil
	}
	g, err := chooseGGUF(name, in.files, w)
	if err == nil && g != nil && len(g.missing) > 0 {
		return nil, errorf(Unsupported, name,
			"the repository lacks %s, a part of the model: choose another revision", g.missing[0])
	}
	return g, err
}

// chooseGGUF returns the GGUF file, or the set of them, of a quantization. Without one it takes the
// one that is preferred. A whole set goes before one that lacks files. It is nil if nothing is asked
// for and there is no such file.
func chooseGGUF(name string, files []string, w wish) (*GGUF, error) {
	sets, projector := ggufSets(files, w)
	quantization := w.quantization
	g := &GGUF{Projector: projector}
	told := map[string]bool{}
	for _, set := range sets {
		switch {
		case g.File == "" && (quantization == "" || set.tag == quantization):
			g.File, g.Quantization, g.files = set.first, set.tag, GGUFSet(set.first)
			for _, f := range g.files {
				if !set.there[f] {
					g.missing = append(g.missing, f)
				}
			}
		case set.tag != "" && set.tag != g.Quantization && !set.cut && !told[set.tag]:
			told[set.tag] = true
			g.Others = append(g.Others, set.tag)
		}
	}
	if g.File == "" {
		if quantization == "" {
			return nil, nil
		}
		if len(g.Others) == 0 {
			return nil, errorf(Unsupported, name, "the repository has no GGUF file: "+
				"pull it without :%s", quantization)
		}
		return nil, errorf(Unsupported, name, "the repository has no GGUF file of %s: choose one of %s",
			quantization, strings.Join(g.Others, ", "))
	}
	return g, nil
}

// A ggufSet is a set of GGUF files, or a single one.
type ggufSet struct {
	first string          // by which it is told apart
	there map[string]bool // those of its files that are there
	cut   bool            // others are missing
	tag   string          // its quantization
	rank  int             // of that, the preferred first
	had   bool            // the caller has it of another revision
}

// ggufSets returns the models among files, in the order in which they are taken: a whole set before
// one that lacks files, then the preferred quantization, then one that the caller has. projector says
// that there are files that let a model see. A set is measured once, since it may have many files,
// and a repository may have many sets.
func ggufSets(files []string, w wish) (sets []*ggufSet, projector bool) {
	had := map[string]bool{}
	for _, file := range w.had {
		had[GGUFStem(filepath.ToSlash(file))] = true
	}
	of := map[string]*ggufSet{}
	for _, f := range files {
		switch base := strings.ToLower(path.Base(f)); {
		case !isGGUF(f), strings.HasPrefix(base, "."), strings.Contains(base, "imatrix"):
		case IsProjector(f):
			projector = true
		default:
			first := FirstOfGGUFSet(f)
			if of[first] == nil {
				of[first] = &ggufSet{first: first, there: map[string]bool{}}
				sets = append(sets, of[first])
			}
			of[first].there[f] = true
		}
	}
	for _, s := range sets {
		_, n, _ := parseSet(s.first)
		s.cut = len(s.there) < n
		s.tag, s.had = Quantization(s.first), had[GGUFStem(s.first)]
		if s.rank = slices.Index(preferred, s.tag); s.rank < 0 {
			s.rank = len(preferred)
		}
	}
	later := func(put bool) int {
		if put {
			return 1
		}
		return 0
	}
	slices.SortFunc(sets, func(a, b *ggufSet) int {
		return cmp.Or(later(a.cut)-later(b.cut), a.rank-b.rank, later(b.had)-later(a.had),
			strings.Compare(a.first, b.first))
	})
	return sets, projector
}

// ggufOnDisk is chooseGGUF for the files of a snapshot. It is nil for a model in another form.
func ggufOnDisk(name, dir string, w wish) (*GGUF, error) {
	entries, err := disk.ReadDir(dir, 0)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if w.quantization == "" && HasSafetensors(names) {
		return nil, nil
	}
	return chooseGGUF(name, listGGUF(dir), w)
}

// parseSet returns the name of a GGUF file without the end that tells its set, and how many files the
// set has. The set of a single file has n = 1 and numbered is false.
func parseSet(file string) (stem string, n int, numbered bool) {
	stem = strings.TrimSuffix(file, path.Ext(file))
	m := setEnd.FindStringSubmatchIndex(stem)
	if m == nil || !isGGUF(file) {
		return stem, 1, false
	}
	n, _ = strconv.Atoi(stem[m[2]:m[3]]) // five digits
	if n < 1 || n > maxSetFiles {
		return stem, 1, false
	}
	return stem[:m[0]], n, true
}

// GGUFSet returns the names of all files of the set that a GGUF file belongs to.
func GGUFSet(file string) []string {
	stem, n, numbered := parseSet(file)
	if !numbered {
		return []string{file}
	}
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%05d-of-%05d%s", stem, i+1, n, path.Ext(file))
	}
	return names
}

// FirstOfGGUFSet returns the first name of GGUFSet alone.
func FirstOfGGUFSet(file string) string {
	stem, n, numbered := parseSet(file)
	if !numbered {
		return file
	}
	return fmt.Sprintf("%s-%05d-of-%05d%s", stem, 1, n, path.Ext(file))
}

// GGUFStem returns the name of a GGUF file without its folder, the end that tells its set, and .gguf.
func GGUFStem(file string) string {
	stem, _, _ := parseSet(path.Base(file))
	return stem
}

// ggufDepth is how many levels of folders below a snapshot may hold GGUF files.
const ggufDepth = 2

// listGGUF returns the GGUF files in a snapshot that can be read, as slash paths.
func listGGUF(dir string) []string {
	var files []string
	var walk func(rel string, depth int)
	walk = func(rel string, depth int) {
		entries, _ := disk.ReadDir(filepath.Join(dir, filepath.FromSlash(rel)), maxFiles)
		for _, e := range entries {
			name := path.Join(rel, e.Name())
			if e.IsDir() && depth > 0 {
				walk(name, depth-1)
			} else if isGGUF(name) {
				st, err := disk.Stat(filepath.Join(dir, filepath.FromSlash(name)))
				if err == nil && st.Mode().IsRegular() {
					files = append(files, name)
				}
			}
		}
	}
	walk(".", ggufDepth)
	slices.Sort(files)
	return files
}
