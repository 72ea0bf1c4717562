package bench

// Benches returns all benches, in the order in which help lists them.
func Benches() []Bench {
	return []Bench{
		{"plain", "plain decode and prefill, tokens per second, and the host's share of a step",
			func() Options { return &plainOptions{} }},
		{"verify", "what verifying a block costs, by its rows and its parts, against a plain step and the last time",
			func() Options { return &verifyOptions{} }},
		{"speculation", "decoding with drafts against plain decoding, on texts that drafts suit and on texts they don't",
			func() Options { return &speculationOptions{} }},
		{"checkpoints", "what checkpoints cost an answer, and how soon they restore a text after a restart",
			func() Options { return &checkpointOptions{} }},
	}
}
