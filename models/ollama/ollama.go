// Package ollama reads Ollama's store: which models it has, the GGUF file of each, and what its
// authors recommend for it.
//
// A store has manifests/HOST/NAMESPACE/NAME/TAG, and blobs/sha256-DIGEST. A manifest names the blob
// that is a GGUF file, and the one with parameters. Nothing in a store is trusted: what cannot be
// read holds no model, and recommends nothing.
package ollama

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tandem/storage/disk"
)

const (
	manifestsFolder = "manifests"
	blobsFolder     = "blobs"

	// parts that Ollama leaves out of a name
	usualHost      = "registry.ollama.ai"
	usualNamespace = "library"
	usualTag       = "latest"

	modelLayer  = "application/vnd.ollama.image.model"
	paramsLayer = "application/vnd.ollama.image.params"

	manifestsDepth = 4
)

// Bounds of what is read.
const (
	maxFile    = 1 << 20 // bytes of a manifest, and of parameters
	maxEntries = 4096    // names in the folders of manifests
	maxStops   = 64      // texts that end an answer
	maxStop    = 1 << 10 // bytes of each
)

var blobName = regexp.MustCompile(`^sha256-[0-9a-f]{64}$`)

// IsBlob reports whether a path is named as the files in a store are.
func IsBlob(path string) bool { return blobName.MatchString(filepath.Base(path)) }

// A Model is what a manifest names.
type Model struct {
	Host, Namespace, Name, Tag string

	Names []string // all that the store has for the file, with and without the usual tag

	Blob   string // path of the GGUF file
	params string // path of the parameters; empty if there are none
}

// ID returns the name as Ollama writes it: host, namespace and tag are left out where they are the
// usual ones.
func (m Model) ID() string {
	id := m.Name
	switch {
	case m.Host != usualHost:
		id = m.Host + "/" + m.Namespace + "/" + id
	case m.Namespace != usualNamespace:
		id = m.Namespace + "/" + id
	}
	if m.Tag == usualTag {
		return id
	}
	return id + ":" + m.Tag
}

// names returns the ways to write a name.
func (m Model) names() []string {
	id := m.ID()
	if m.Tag == usualTag {
		return []string{id, id + ":" + usualTag}
	}
	return []string{id}
}

// rank orders the tags of one blob.
func (m Model) rank() int {
	if m.Tag == usualTag {
		return 0
	}
	return 1
}

// Models returns the models in a store, each blob once. Several tags may name one blob: latest
// wins, then the shortest name. Files that are no manifests are passed over.
func Models(store string) ([]Model, error) {
	var found []Model
	left := maxEntries
	var walk func(parts []string) error
	walk = func(parts []string) error {
		dir := filepath.Join(append([]string{store, manifestsFolder}, parts...)...)
		entries, err := disk.ReadDir(dir, left)
		if err != nil {
			return err
		}
		left -= len(entries)
		for _, e := range entries {
			if left <= 0 || strings.HasPrefix(e.Name(), ".") {
				continue
			}
			inner := append(slices.Clone(parts), e.Name())
			if len(inner) < manifestsDepth {
				if e.IsDir() {
					_ = walk(inner) // what cannot be read holds no model
				}
				continue
			}
			if m := readManifest(store, inner); m.Blob != "" {
				found = append(found, m)
			}
		}
		return nil
	}
	err := walk(nil)
	slices.SortFunc(found, func(a, b Model) int {
		return cmp.Or(cmp.Compare(a.Blob, b.Blob), cmp.Compare(a.rank(), b.rank()),
			cmp.Compare(len(a.ID()), len(b.ID())), cmp.Compare(a.ID(), b.ID()))
	})
	var list []Model
	for _, m := range found {
		if last := len(list) - 1; last < 0 || list[last].Blob != m.Blob {
			list = append(list, m)
		}
		last := &list[len(list)-1]
		last.Names = append(last.Names, m.names()...)
	}
	return list, err
}

// readManifest returns the model of a manifest. Its Blob is empty if the manifest names none.
func readManifest(store string, parts []string) Model {
	m := Model{Host: parts[0], Namespace: parts[1], Name: parts[2], Tag: parts[3]}
	text, err := disk.ReadFile(
		filepath.Join(append([]string{store, manifestsFolder}, parts...)...), maxFile)
	if err != nil {
		return m
	}
	var manifest struct {
		Layers []struct {
			MediaType string `json:"mediaType"`
			Digest    string `json:"digest"`
		} `json:"layers"`
	}
	if json.Unmarshal(text, &manifest) != nil {
		return m
	}
	for _, l := range manifest.Layers {
		name := strings.Replace(l.Digest, ":", "-", 1)
		if !blobName.MatchString(name) {
			continue
		}
		path := filepath.Join(store, blobsFolder, name)
		switch {
		case l.MediaType == modelLayer && m.Blob == "":
			m.Blob = path
		case l.MediaType == paramsLayer && m.params == "":
			m.params = path
		}
	}
	return m
}

// Of returns the model whose GGUF file is at a path. ok is false if that lies in no store, and if
// no manifest names it.
func Of(path string) (m Model, ok bool) {
	dir := filepath.Dir(path)
	if filepath.Base(dir) != blobsFolder || !IsBlob(path) {
		return m, false
	}
	list, _ := Models(filepath.Dir(dir))
	i := slices.IndexFunc(list, func(m Model) bool { return m.Blob == path })
	if i < 0 {
		return m, false
	}
	return list[i], true
}

// Parameters are what a model's authors recommend.
type Parameters struct {
	Sampling map[string]any // by the names of generation_config.json, as JSON
	Stops    []string       // texts that end an answer
}

// samplingNames are the parameters that are read. Ollama's repeat_penalty counts the last 64 tokens,
// so it is none of them.
var samplingNames = []string{"temperature", "top_k", "top_p", "min_p"}

// Parameters reads the parameters of a model.
func (m Model) Parameters() (p Parameters) {
	if m.params == "" {
		return p
	}
	text, err := disk.ReadFile(m.params, maxFile)
	if err != nil {
		return p
	}
	var values map[string]json.RawMessage
	if json.Unmarshal(text, &values) != nil {
		return p
	}
	p.Sampling = map[string]any{}
	for _, name := range samplingNames {
		if v, ok := values[name]; ok {
			p.Sampling[name] = v
		}
	}
	var stops []string
	if json.Unmarshal(values["stop"], &stops) != nil {
		return p
	}
	for _, s := range stops[:min(len(stops), maxStops)] {
		if s != "" && len(s) <= maxStop {
			p.Stops = append(p.Stops, s)
		}
	}
	return p
}
