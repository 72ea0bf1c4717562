package record

import (
	"cmp"
	"time"
)

// Model is one row of the registry: a model that can be loaded.
type Model struct {
	ID             string    `json:"id"`   // org/name, or the folder's name
	Path           string    `json:"path"` // folder of config.json, or a GGUF file; empty for the embedded model
	Source         string    `json:"source"`
	Revision       string    `json:"revision"`
	Architecture   string    `json:"architecture"`
	Quantization   string    `json:"quantization"`
	Dtype          string    `json:"dtype"`
	Parameters     int64     `json:"parameters"`
	Bytes          int64     `json:"bytes"`
	ContextLength  int       `json:"context_length"`   // tokens
	DownloadedByUs bool      `json:"downloaded_by_us"` // only these are ever deleted from disk
	AddedAt        time.Time `json:"added_at"`
	LastUsedAt     time.Time `json:"last_used_at,omitzero"`
	LoadMS         int64     `json:"load_ms,omitzero"`   // of the last load; 0 = never loaded
	Kind           string    `json:"kind,omitzero"`      // embedding or reranker; empty if it generates text
	FileType       string    `json:"file_type,omitzero"` // of a GGUF file, such as Q4_K_M
}

// Packing says how the weights are packed: in a GGUF file first, and how they are held. It is the
// type of the weights if they are not packed.
func (m Model) Packing() string {
	held := cmp.Or(m.Quantization, m.Dtype)
	if m.FileType == "" || m.FileType == held {
		return held
	}
	return m.FileType + ", " + held
}
