package library

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tandem/app/control"
	"tandem/storage/disk"
)

// Ollama's store has manifests/HOST/NAMESPACE/NAME/TAG, and blobs/sha256-DIGEST. A manifest names
// the blob that is a GGUF file.
const (
	manifestsFolder = "manifests"
	blobsFolder     = "blobs"

	// parts that Ollama leaves out of a name
	ollamaHost      = "registry.ollama.ai"
	ollamaNamespace = "library"
	ollamaLatest    = "latest"

	modelLayer       = "application/vnd.ollama.image.model"
	maxManifest      = 1 << 20 // bytes
	maxOllamaEntries = 4096    // names read in the folders of manifests
	manifestsDepth   = 4
)

var ollamaBlob = regexp.MustCompile(`^sha256-[0-9a-f]{64}$`)

// An ollamaModel is what a manifest names.
type ollamaModel struct {
	id   string // as Ollama writes it, without the tag latest
	tag  string
	blob string // path
}

// ollamaModels returns the models in a store, each blob once. Several tags may name one blob: latest
// wins, then the shortest name. Files that are no manifests are passed over.
func ollamaModels(store string) ([]ollamaModel, error) {
	var found []ollamaModel
	left := maxOllamaEntries
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
			if blob := modelBlob(store, inner); blob != "" {
				found = append(found, ollamaModel{ollamaID(inner), e.Name(), blob})
			}
		}
		return nil
	}
	err := walk(nil)
	slices.SortFunc(found, func(a, b ollamaModel) int {
		return cmp.Or(cmp.Compare(a.blob, b.blob), cmp.Compare(a.rank(), b.rank()),
			cmp.Compare(len(a.id), len(b.id)), cmp.Compare(a.id, b.id))
	})
	sameBlob := func(a, b ollamaModel) bool { return a.blob == b.blob }
	return slices.CompactFunc(found, sameBlob), err
}

// rank orders the tags of one blob.
func (m ollamaModel) rank() int {
	if m.tag == ollamaLatest {
		return 0
	}
	return 1
}

// modelBlob returns the path of the GGUF file of a manifest, empty if it names none.
func modelBlob(store string, parts []string) string {
	text, err := disk.ReadFile(
		filepath.Join(append([]string{store, manifestsFolder}, parts...)...), maxManifest)
	if err != nil {
		return ""
	}
	var manifest struct {
		Layers []struct {
			MediaType string `json:"mediaType"`
			Digest    string `json:"digest"`
		} `json:"layers"`
	}
	if json.Unmarshal(text, &manifest) != nil {
		return ""
	}
	for _, l := range manifest.Layers {
		name := strings.Replace(l.Digest, ":", "-", 1)
		if l.MediaType == modelLayer && ollamaBlob.MatchString(name) {
			return filepath.Join(store, blobsFolder, name)
		}
	}
	return ""
}

// ollamaID returns the name of a model as Ollama writes it: host, namespace and tag are left out
// where they are the usual ones. Parts come from names of folders, so one that no request could
// name makes it a plain id.
func ollamaID(parts []string) string {
	for _, part := range parts {
		if plainID(part) != part {
			return plainID(parts[2] + "-" + parts[3])
		}
	}
	host, namespace, name, tag := parts[0], parts[1], parts[2], parts[3]
	switch {
	case host != ollamaHost:
		name = host + "/" + namespace + "/" + name
	case namespace != ollamaNamespace:
		name = namespace + "/" + name
	}
	if tag == ollamaLatest {
		return name
	}
	return name + ":" + tag
}

// blobID returns the name that Ollama has for a blob in its store, empty if it has none.
func blobID(path string) string {
	dir := filepath.Dir(path)
	if filepath.Base(dir) != blobsFolder || !ollamaBlob.MatchString(filepath.Base(path)) {
		return ""
	}
	list, _ := ollamaModels(filepath.Dir(dir))
	for _, m := range list {
		if m.blob == path {
			return m.id
		}
	}
	return ""
}

// store adds the models in Ollama's store.
func (f *finder) store(dir string) {
	f.begin(func() {
		list, err := ollamaModels(dir)
		if f.silent(err, dir, control.PlaceOllama) || err != nil {
			return
		}
		for _, m := range list {
			if f.take(1) < 0 {
				return
			}
			f.begin(func() { f.addModel(m.id, m.blob, control.PlaceOllama) })
		}
	})
}
