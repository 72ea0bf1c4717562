package control

// ModelSettings are what a person set for one model: the body of POST /app/model-settings, which
// replaces what was set before. A nil or empty field is not set. A request decides first, then
// these, then the model's generation_config.json.
type ModelSettings struct {
	Model             string   `json:"model" need:"name an installed model"`
	Context           *int     `json:"context,omitempty" min:"256" max:"67108864"` // tokens, from the next load on
	Depth             *int     `json:"depth,omitempty" min:"0" max:"31"`           // drafts in each round; nil adapts
	Rule              string   `json:"rule,omitempty" oneof:"coupled,rejection"`   // of acceptance
	Temperature       *float64 `json:"temperature,omitempty" min:"0" max:"3.4028234663852886e+38"`
	TopP              *float64 `json:"top_p,omitempty" min:"0" max:"1"`
	TopK              *int     `json:"top_k,omitempty" min:"-1"`
	MinP              *float64 `json:"min_p,omitempty" min:"0" max:"1"`
	RepetitionPenalty *float64 `json:"repetition_penalty,omitempty" min:"0.01" max:"100"`
	KeepLoaded        bool     `json:"keep_loaded,omitempty"`             // it stays in memory while it is idle
	KVBits            *int     `json:"kv_bits,omitempty" min:"0" max:"8"` // one of KVBits, from the next load on

	// Of what drafts for it, from the next load on. DraftWindow is how many tokens of the text a block
	// network reads at most, 0 = as many as it was made for. DrafterBits is one of DrafterBits.
	DraftWindow *int `json:"draft_window,omitempty" min:"0" max:"67108864"`
	DrafterBits *int `json:"drafter_bits,omitempty" min:"0" max:"8"`
}

// MinContext is the shortest context that can be asked for, in tokens, as ModelSettings.Context has it. The
// template and the tools of an agent take more.
const MinContext = 256

// DrafterBits are the values of drafter_bits: a drafter's plain weights are packed in that many bits as it
// is loaded; 0 = held as they are stored.
var DrafterBits = []int{0, 4, 8}

// SamplingDefaults are what a model's authors recommend. A field is nil where they recommend
// nothing.
type SamplingDefaults struct {
	Temperature       *float64 `json:"temperature,omitempty"`
	TopP              *float64 `json:"top_p,omitempty"`
	TopK              *int     `json:"top_k,omitempty"`
	MinP              *float64 `json:"min_p,omitempty"`
	RepetitionPenalty *float64 `json:"repetition_penalty,omitempty"`

	// Ignored says of each recommendation that cannot be used which it is and why.
	Ignored []string `json:"ignored,omitempty"`
}

// ModelSettingsState is the answer of /app/model-settings.
type ModelSettingsState struct {
	Settings      ModelSettings    `json:"settings"`
	Defaults      SamplingDefaults `json:"defaults"`           // where nothing is set
	ContextLength int              `json:"context_length"`     // of the model, in tokens
	Longest       int              `json:"longest,omitempty"`  // tokens of the context, as far as there is memory for it; 0 = not known
	Needs         *Needs           `json:"needs,omitempty"`    // with these settings; nil where that is not known
	Serving       int              `json:"serving,omitempty"`  // tokens of the context in memory; 0 if the model is not loaded
	Later         bool             `json:"later,omitempty"`    // the model in memory has another context, other bits or another draft window: Settings count from the next load on
	Drafter       string           `json:"drafter"`            // auto, none or a folder: see /app/drafter
	Drafters      []DrafterChoice  `json:"drafters,omitempty"` // that could be chosen: the model's own first
}
