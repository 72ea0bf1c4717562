package hub

import (
	"cmp"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tandem/models/gguf"
	"tandem/storage/disk"
)

const (
	ggufEnd = ".gguf"

	// projectorName is in the names of GGUF files with what lets a model see. They are not models.
	projectorName = "mmproj"

	maxTagLength = 64
)

// quantizationEnd is how the name of a GGUF file ends that says how its weights are quantized.
var quantizationEnd = regexp.MustCompile(
	`(?i)(?:^|[-._])((?:UD-)?(?:I?Q[0-9][0-9A-Z_]*|BF16|F16|F32|MXFP4(?:_MOE)?))$`)

// preferred lists quantizations in the order in which they are chosen if the name asks for none:
// the most usual one, then its neighbours.
var preferred = []string{"Q4_K_M", "UD-Q4_K_XL", "Q4_K_S", "Q4_K_L", "MXFP4", "MXFP4_MOE", "Q4_1",
	"Q4_0", "IQ4_NL", "IQ4_XS", "Q5_K_S", "Q5_K_M", "Q5_K_L", "UD-Q5_K_XL", "Q5_0", "Q5_1", "Q6_K",
	"Q6_K_L", "UD-Q6_K_XL", "Q3_K_L", "Q3_K_M", "Q3_K_S", "Q8_0", "UD-Q8_K_XL", "Q2_K", "BF16", "F16", "F32"}

// A GGUF says which files of a repository of GGUF files a pull chose.
type GGUF struct {
	File         string   // path in the snapshot; the first of a set
	Quantization string   // such as Q4_K_M, or "" if the file's name has none
	Others       []string // other quantizations in the repository
	Projector    bool     // files that let the model see were left out

	files   []string // all of the set
	missing []string // files of the set that are missing
}

// Is reports whether a file of another revision has the same name, ORG/NAME:QUANTIZATION: the same
// quantization, or the same file name if it has none. It may be another model than the file now,
// see [GGUF.IsNamedAlike].
func (g *GGUF) Is(file string) bool {
	tag := Quantization(file)
	return isGGUF(file) && tag == g.Quantization && (tag != "" || g.IsNamedAlike(file))
}

// IsNamedAlike reports whether a file of another revision has the same name, in a set or by itself.
func (g *GGUF) IsNamedAlike(file string) bool {
	return isGGUF(file) && GGUFStem(filepath.ToSlash(file)) == GGUFStem(g.File)
}

// A fileChoice says which of a repository's GGUF files to choose.
type fileChoice struct {
	quantization string   // empty for the usual one
	existing     []string // see [Options]
}

// Quantization returns how the name of a GGUF file says that its weights are packed, in capitals.
// It returns "" if the name has none.
func Quantization(file string) string {
	m := quantizationEnd.FindStringSubmatch(GGUFStem(file))
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

// checkQuantization refuses what cannot be a quantization. Error: [Invalid].
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

// isGGUF reports whether a file is named like a GGUF file.
func isGGUF(name string) bool { return strings.EqualFold(path.Ext(name), ggufEnd) }

// HasSafetensors reports whether the files of one folder are a model in safetensors, by their
// names: config.json, and weights or their index. GGUF files beside it are other models. If it is
// false, each GGUF file is a model by itself.
func HasSafetensors(names []string) bool {
	return slices.Contains(names, "config.json") && slices.ContainsFunc(names, func(f string) bool {
		return f == indexName || path.Ext(f) == ".safetensors" && !strings.Contains(f, "/")
	})
}

// gguf returns which of a repository's GGUF files to fetch. It returns nil for a model in another
// form, unless a quantization is asked for. Error: [Unsupported].
func (in info) gguf(name string, w fileChoice) (*GGUF, error) {
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

// chooseGGUF returns the GGUF file, or the set of them, of a quantization, or the preferred one if
// w names none. A whole set comes before one that lacks files. It returns nil if nothing is asked
// for and there is no such file.
func chooseGGUF(name string, files []string, w fileChoice) (*GGUF, error) {
	sets, projector := ggufSets(files, w)
	quantization := w.quantization
	g := &GGUF{Projector: projector}
	told := map[string]bool{}
	for _, set := range sets {
		switch {
		case g.File == "" && (quantization == "" || set.tag == quantization):
			g.File, g.Quantization, g.files = set.first, set.tag, gguf.Set(set.first)
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
	first    string          // which identifies it
	there    map[string]bool // its files that exist
	cut      bool            // other files are missing
	tag      string          // its quantization
	rank     int             // of its quantization in preferred
	existing bool            // the caller has it from another revision
}

// ggufSets returns the models among files, in order of preference: a whole set before one that
// lacks files, then the preferred quantization, then one that the caller has. projector reports
// whether there are files that let a model see. A set is examined once, since it may have many
// files, and a repository may have many sets.
func ggufSets(files []string, w fileChoice) (sets []*ggufSet, projector bool) {
	existing := map[string]bool{}
	for _, file := range w.existing {
		existing[GGUFStem(filepath.ToSlash(file))] = true
	}
	of := map[string]*ggufSet{}
	for _, f := range files {
		switch base := strings.ToLower(path.Base(f)); {
		case !isGGUF(f), strings.HasPrefix(base, "."), strings.Contains(base, "imatrix"):
		case IsProjector(f):
			projector = true
		default:
			first := gguf.FirstOfSet(f)
			if of[first] == nil {
				of[first] = &ggufSet{first: first, there: map[string]bool{}}
				sets = append(sets, of[first])
			}
			of[first].there[f] = true
		}
	}
	for _, s := range sets {
		s.cut = len(s.there) < gguf.SetSize(s.first)
		s.tag, s.existing = Quantization(s.first), existing[GGUFStem(s.first)]
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
		return cmp.Or(later(a.cut)-later(b.cut), a.rank-b.rank, later(b.existing)-later(a.existing),
			strings.Compare(a.first, b.first))
	})
	return sets, projector
}

// ggufOnDisk is chooseGGUF for the files of a snapshot. It returns nil for a model in another form.
func ggufOnDisk(name, dir string, w fileChoice) (*GGUF, error) {
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

// GGUFStem returns the name of a GGUF file without its folder, the suffix of its set, and .gguf.
func GGUFStem(file string) string { return gguf.Stem(path.Base(file)) }

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
