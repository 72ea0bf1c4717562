package models

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"tandem/storage/disk"
)

// moduleDepth is how deep the folders of a model's modules lie below its own.
const moduleDepth = 2

// FileDates returns the names, sizes and dates of the files that say what the model at a path is: a
// GGUF file and its set, or all files of a folder and, in the folders below it, those that a model may
// have there: the config.json of modules, chat templates, the weights of a head. Another string means
// other files. It is empty for a folder that has no config.json or cannot be listed. Links are followed,
// since the files of a hub's cache are links.
func FileDates(dir string) string {
	if file := GGUFDates(dir); file != "" {
		return file
	}
	files := disk.Folder(dir)
	if _, err := files.Stat("config.json"); err != nil {
		return "" // no model, however many files it has
	}
	var list strings.Builder
	addFiles(&list, files, ".", moduleDepth)
	return list.String()
}

// GGUFDates returns the names, sizes and dates of a GGUF file and its set. It is empty for a folder.
func GGUFDates(path string) string {
	if info, err := disk.Stat(path); err != nil || info.IsDir() {
		return ""
	}
	var list strings.Builder
	for _, file := range GGUFSet(path) {
		if info, err := disk.Stat(file); err == nil {
			fmt.Fprintln(&list, info.Name(), info.Size(), info.ModTime().UnixNano())
		}
	}
	return list.String()
}

// addFiles lists a folder and, so many levels deep, what a model may have in the folders below it.
func addFiles(list *strings.Builder, files disk.Folder, dir string, depth int) {
	entries, _ := files.ReadDir(dir)
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		info, err := files.Stat(name)
		switch {
		case err != nil:
		case !info.IsDir() && (depth == moduleDepth || e.Name() == "config.json" ||
			slices.Contains([]string{".jinja", ".safetensors"}, path.Ext(name))):
			fmt.Fprintln(list, name, info.Size(), info.ModTime().UnixNano())
		case info.IsDir() && depth > 0:
			addFiles(list, files, name, depth-1)
		}
	}
}

// WeightsKey returns the folder of a model or of a drafter, not of a built-in one, with the date of
// its weights: of the file, of the index, or of the newest shard. Other weights in the same folder
// have another key: their variants are measured again, and a model in memory is known to be older
// than its files.
func WeightsKey(source string) string {
	if file := GGUFDates(source); file != "" {
		return source + " " + file
	}
	for _, file := range []string{"model.safetensors", "model.safetensors.index.json"} {
		if info, err := disk.Folder(source).Stat(file); err == nil {
			return fmt.Sprintf("%s %d", source, info.ModTime().UnixNano())
		}
	}
	var newest time.Time
	folder := disk.Folder(source)
	shards, _ := fs.Glob(folder, "*.safetensors") // only a bad pattern is an error
	for _, shard := range shards {
		if info, err := folder.Stat(shard); err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	if newest.IsZero() {
		return source
	}
	return fmt.Sprintf("%s %d", source, newest.UnixNano())
}
