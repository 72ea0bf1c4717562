//go:build desktop

package main

import (
	"os"
	"path/filepath"
	"strings"
)

// droppedModels returns the dropped paths that may be models: folders and GGUF files. Text files are
// for the chat, and the page reads them itself.
func droppedModels(paths []string) []string {
	list := []string{}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		if info.IsDir() || strings.EqualFold(filepath.Ext(path), ".gguf") {
			list = append(list, path)
		}
	}
	return list
}
