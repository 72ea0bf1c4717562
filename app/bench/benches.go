package bench

// Benches returns all benches, in the order in which help lists them.
func Benches() []Bench {
	return []Bench{
		{"plain", "plain decode and prefill, tokens per second",
			func() Options { return &plainOptions{} }},
		{"verify", "what verifying a block costs against a plain step",
			func() Options { return &verifyOptions{} }},
		{"speculation", "decoding with drafts against plain decoding",
			func() Options { return &speculationOptions{} }},
		{"checkpoints", "what checkpoints cost an answer, and how soon they restore",
			func() Options { return &checkpointOptions{} }},
	}
}
