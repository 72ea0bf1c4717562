package control

// The models on this machine, models that can be downloaded, and the memory that they need.

// Places where models are found.
const (
	PlaceHub      = "hub"      // the Hugging Face cache
	PlaceLMStudio = "lmstudio" // LM Studio's folder
	PlaceOllama   = "ollama"   // Ollama's store
	PlaceFolder   = "folder"   // one that the user added
)

// Found is the answer of GET /app/found: the models on this machine. None of them is registered
// until a person chooses it.
type Found struct {
	Models []FoundModel `json:"models"`
	Cut    bool         `json:"cut,omitempty"` // there are more than were looked at
}

// FoundModel is the folder of a model.
type FoundModel struct {
	ID            string `json:"id"` // that it has, or would get
	Path          string `json:"path"`
	Place         string `json:"place"`
	Bytes         int64  `json:"bytes"` // of its weights; 0 where they are not known
	Architecture  string `json:"architecture"`
	Quantization  string `json:"quantization"`
	Dtype         string `json:"dtype,omitempty"`     // as in Model
	FileType      string `json:"file_type,omitempty"` // as in Model
	ContextLength int    `json:"context_length"`
	Kind          string `json:"kind,omitempty"` // see KindEmbedding
	Registered    bool   `json:"registered,omitempty"`

	Names []string `json:"names,omitempty"` // all that Ollama has for it

	Why    string `json:"why,omitempty"`     // why it cannot be served, one sentence; empty if it can
	NoChat string `json:"no_chat,omitempty"` // as in ModelNeeds

	Needs *Needs `json:"needs,omitempty"` // nil if it cannot be served, or if only its registration can tell them
}

// Packing is [Model.Packing]. It is empty for a model that cannot be served.
func (m FoundModel) Packing() string {
	return Model{FileType: m.FileType, Quantization: m.Quantization, Dtype: m.Dtype}.Packing()
}

// Needs is the memory that a model needs with a context of that length.
type Needs struct {
	Bytes   int64 `json:"bytes"`
	Context int   `json:"context"` // tokens: as asked for, or the most that there is room for
	Fits    bool  `json:"fits"`
}

// Memory is the answer of GET /app/memory: what the installed models need of this machine.
type Memory struct {
	Total  int64        `json:"total"` // bytes of the machine; 0 = not known
	Room   int64        `json:"room"`  // of them for models; 0 = not known
	Models []ModelNeeds `json:"models"`
}

// ModelNeeds is what one installed model needs, or why it cannot be loaded.
type ModelNeeds struct {
	ID    string `json:"id"`
	Kind  string `json:"kind,omitempty"` // see KindEmbedding
	Needs Needs  `json:"needs"`          // zero with Why
	Least int64  `json:"least,omitzero"` // bytes that it can be loaded with, beside others; 0 with Why
	Why   string `json:"why,omitempty"`  // one sentence

	// NoChat is why the model cannot chat though it has a chat template, one sentence.
	NoChat string `json:"no_chat,omitempty"`

	// Inexact says what the weights of a GGUF file lose in memory. It is empty for exact ones.
	Inexact string `json:"inexact,omitempty"`
}

// Catalogue is the answer of GET /app/catalogue: a short list of models that are worth downloading,
// by the memory that they need.
type Catalogue struct {
	Memory int64       `json:"memory"`        // bytes of the machine; 0 = not known
	Class  int         `json:"class"`         // of the machine: the largest From that it has the memory for; 0 = none
	Models []Suggested `json:"models"`        // the smallest class first, and in a class the first choice first
	Why    string      `json:"why,omitempty"` // why sizes are not known, one sentence
}

// Suggested is one model of the catalogue.
type Suggested struct {
	ID         string             `json:"id"`
	Revision   string             `json:"revision,omitempty"`   // commit; empty = the branch main as it is
	What       string             `json:"what"`                 // what it is good for, a few words
	From       int                `json:"from"`                 // GiB of memory that the machine should have
	Drafters   []SuggestedDrafter `json:"drafters,omitempty"`   // made for it; the first is downloaded with it
	Bytes      int64              `json:"bytes,omitempty"`      // to download; 0 = not known
	Registered bool               `json:"registered,omitempty"` // it is there already
}

// SuggestedDrafter is a published drafter of a suggested model.
type SuggestedDrafter struct {
	ID       string `json:"id"`
	Revision string `json:"revision,omitempty"` // as in Suggested
	Kind     string `json:"kind"`               // as in Drafter
	Bytes    int64  `json:"bytes,omitempty"`    // to download; 0 = not known
	Here     bool   `json:"here,omitempty"`     // in the hub's cache already
}

// Kinds of models that do more than continue texts, or something else.
const (
	KindEmbedding = "embedding" // it makes vectors of texts, and generates none
	KindReranker  = "reranker"  // it says whether documents answer a query
)
