// Package ollama reads Ollama's store: which models it has, the GGUF file of each, and what its
// authors recommend for it.
//
// A store has manifests/HOST/NAMESPACE/NAME/TAG, and blobs/sha256-DIGEST. A manifest names the blob
// that is a GGUF file, and those with parameters, a template and more. Nothing in a store is
// trusted: what cannot be read holds no model, and recommends nothing.
package ollama

import (
	"cmp"
	"encoding/json"
	"fmt"
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

	modelLayer    = "application/vnd.ollama.image.model"
	adapterLayer  = "application/vnd.ollama.image.adapter"
	paramsLayer   = "application/vnd.ollama.image.params"
	templateLayer = "application/vnd.ollama.image.template"
	systemLayer   = "application/vnd.ollama.image.system"
	messagesLayer = "application/vnd.ollama.image.messages"

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

	Names []string // all that the store has for it, with and without the usual tag

	Blob     string // path of the GGUF file
	Manifest string // path of the manifest

	// Why says why the model is none of its own here, in one sentence. It is empty for others.
	Why string

	derived bool // it was made from another model of the store
	beside  besideFile
}

// A besideFile names the blobs that a model has beside its file. A name is empty for none.
type besideFile struct{ params, template, system, messages string }

// of returns the name of a layer's blob, nil for a layer that changes no answer.
func (b *besideFile) of(layer string) *string {
	switch layer {
	case paramsLayer:
		return &b.params
	case templateLayer:
		return &b.template
	case systemLayer:
		return &b.system
	case messagesLayer:
		return &b.messages
	}
	return nil
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

// hasPrompts reports whether a model has a system prompt or messages of its own.
func (m Model) hasPrompts() bool { return m.beside.system != "" || m.beside.messages != "" }

// compare orders the models of one file: the one to serve comes first. The first of these that
// differs decides:
//   - The model has no adapter.
//   - It was not made from another model.
//   - It has no prompts of its own, which Tandem does not read.
//   - Its tag is latest.
//   - Its name is shorter.
func (m Model) compare(o Model) int {
	last := func(is bool) int {
		if is {
			return 1
		}
		return 0
	}
	return cmp.Or(last(m.Why != "")-last(o.Why != ""), last(m.derived)-last(o.derived),
		last(m.hasPrompts())-last(o.hasPrompts()), last(m.Tag != usualTag)-last(o.Tag != usualTag),
		cmp.Compare(len(m.ID()), len(o.ID())), cmp.Compare(m.ID(), o.ID()))
}

// Models returns the models in a store. Files that are no manifests are passed over.
//
// Several names may have one file. It is one model here, with the names whose parameters, template,
// system prompt and messages are the same. Another name asks for another model of that file: it is
// listed by itself, and its Why names the model to take. So no name gives what another one has. A
// model with an adapter is listed with a Why too, since adapters are not read.
func Models(store string) ([]Model, error) {
	found, err := readManifests(store)
	slices.SortFunc(found, func(a, b Model) int {
		return cmp.Or(cmp.Compare(a.Blob, b.Blob), a.compare(b))
	})
	var list []Model
	served := -1 // the index of the one that has the file
	for _, m := range found {
		switch {
		case m.Why != "":
		case served < 0 || list[served].Blob != m.Blob:
			served = len(list)
		case list[served].beside == m.beside:
			list[served].Names = append(list[served].Names, m.names()...)
			continue
		default:
			m.Why = list[served].differs(m)
		}
		m.Names = m.names()
		list = append(list, m)
	}
	return list, err
}

// differs says why another model of the same file is none of its own.
func (m Model) differs(o Model) string {
	var words []string
	for _, l := range []struct{ mine, other, words string }{
		{m.beside.params, o.beside.params, "other parameters"},
		{m.beside.template, o.beside.template, "another template"},
		{m.beside.system, o.beside.system, "another system prompt"},
		{m.beside.messages, o.beside.messages, "other messages"},
	} {
		if l.mine != l.other {
			words = append(words, l.words)
		}
	}
	return fmt.Sprintf("it is the file of %s with %s, and one file is one model here; add %[1]s",
		m.ID(), strings.Join(words, " and "))
}

// readManifests returns a model for each manifest in a store.
func readManifests(store string) (found []Model, err error) {
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
	return found, walk(nil)
}

// readManifest returns the model of a manifest. Its Blob is empty if the manifest names none.
func readManifest(store string, parts []string) Model {
	m := Model{Host: parts[0], Namespace: parts[1], Name: parts[2], Tag: parts[3],
		Manifest: filepath.Join(append([]string{store, manifestsFolder}, parts...)...)}
	text, err := disk.ReadFile(m.Manifest, maxFile)
	if err != nil {
		return m
	}
	var manifest struct {
		Layers []struct {
			MediaType string `json:"mediaType"`
			Digest    string `json:"digest"`
			From      string `json:"from"`
		} `json:"layers"`
	}
	if json.Unmarshal(text, &manifest) != nil {
		return m
	}
	for _, l := range manifest.Layers {
		name := strings.Replace(l.Digest, ":", "-", 1)
		if l.MediaType == adapterLayer {
			m.Why = "it has an adapter, which Tandem does not read; take a model that has it merged"
		}
		if !blobName.MatchString(name) {
			continue
		}
		if l.MediaType == modelLayer && m.Blob == "" {
			m.Blob, m.derived = filepath.Join(store, blobsFolder, name), l.From != ""
		}
		if beside := m.beside.of(l.MediaType); beside != nil && *beside == "" {
			*beside = name
		}
	}
	return m
}

// Of returns the model whose GGUF file is at a path. ok is false if that lies in no store, and if
// no manifest names it. It reads all manifests of the store.
func Of(path string) (m Model, ok bool) {
	dir := filepath.Dir(path)
	if filepath.Base(dir) != blobsFolder || !IsBlob(path) {
		return m, false
	}
	list, _ := Models(filepath.Dir(dir))
	i := slices.IndexFunc(list, func(m Model) bool { return m.Blob == path && m.Why == "" })
	if i < 0 {
		return m, false
	}
	return list[i], true
}

// namePart is what each part of a name can be, and no path to elsewhere.
var namePart = regexp.MustCompile(`^[0-9A-Za-z_][0-9A-Za-z_.:-]*$`)

// Named returns the model that has a name, with or without the parts that Ollama leaves out. ok is
// false if the store has none, or only one with a Why. It reads one file unless there is one.
func Named(store, name string) (m Model, ok bool) {
	parts := strings.Split(name, "/")
	last := len(parts) - 1
	if last > 2 {
		return m, false
	}
	bare, tag, tagged := strings.Cut(parts[last], ":")
	if !tagged {
		tag = usualTag
	}
	parts = append([]string{usualHost, usualNamespace}[:2-last], append(parts[:last], bare, tag)...)
	for _, part := range parts {
		if !namePart.MatchString(part) {
			return m, false
		}
	}
	m = readManifest(store, parts)
	if m.Blob == "" {
		return m, false
	}
	served, ok := Of(m.Blob)
	return served, ok && slices.Contains(served.Names, m.ID())
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
	if m.beside.params == "" {
		return p
	}
	text, err := disk.ReadFile(filepath.Join(filepath.Dir(m.Blob), m.beside.params), maxFile)
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
