package model

import "tandem/app/dialect"

// Abilities say what a model can do besides text.
type Abilities struct {
	Tools    bool // it can call tools
	Thinking bool // it thinks before it answers
	FIM      *FIM // the texts by which it fills in the middle; nil if it cannot
}

// NewAbilities returns the abilities of a model that writes in d. fim may be nil.
func NewAbilities(d *dialect.Dialect, fim *FIM) Abilities {
	return Abilities{Tools: d.Tools(), Thinking: d.Reasons(), FIM: fim}
}

// FIM holds the texts of a model's fill-in-the-middle tokens.
type FIM struct {
	Prefix, Suffix, Middle string
}

// fims are those of the families that have them.
var fims = []FIM{
	{Prefix: "<|fim_prefix|>", Suffix: "<|fim_suffix|>", Middle: "<|fim_middle|>"},    // Qwen Coder, the pocket model
	{Prefix: "<fim_prefix>", Suffix: "<fim_suffix>", Middle: "<fim_middle>"},          // StarCoder, Granite
	{Prefix: "<｜fim▁begin｜>", Suffix: "<｜fim▁hole｜>", Middle: "<｜fim▁end｜>"},          // DeepSeek Coder
	{Prefix: "▁<PRE>", Suffix: "▁<SUF>", Middle: "▁<MID>"},                            // Code Llama
	{Prefix: "<|code_prefix|>", Suffix: "<|code_suffix|>", Middle: "<|code_middle|>"}, // GLM
}

// FIMOf returns the fill-in-the-middle tokens of a tokenizer, whose method ID finds a token by its text. ok
// is false if it has none.
func FIMOf(find func(text string) (id int32, ok bool)) (_ FIM, ok bool) {
	for _, f := range fims {
		known := true
		for _, token := range []string{f.Prefix, f.Suffix, f.Middle} {
			_, ok := find(token)
			known = known && ok
		}
		if known {
			return f, true
		}
	}
	return FIM{}, false
}
