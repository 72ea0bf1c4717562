package bench

// Benches lists them.
func Benches() []Bench {
	return []Bench{
		{"plain", "plain decode and prefill, tokens per second, and the host's share of a step", openPlain, "model"},
		{"start", "milliseconds from start to the first answer of /health", openStart, ""},
		{"memory", "memory held, and what 200 requests add to it", openMemory, "model"},
		{"endpoint", "what the endpoint costs a token and a request, how requests at the same time fare, and what 1,000 of them leave behind", openEndpoint, "quick only"},
		{"verify", "what verifying a block costs beside a plain step, by its rows, and what of it; compared with the last time", openVerify, "model drafter context quick"},
		{"speculation", "decoding with drafts against plain decoding, on texts that drafts suit and on texts they don't", openSpeculation, "model drafter pairs quick full only"},
		{"lossless", "whether decoding with drafts says what plain decoding says, to the bit, and what exact requests cost", openLossless, "model quick"},
		{"checkpoints", "what checkpoints save where texts begin alike, what they cost, and how soon a text is back after a restart", openCheckpoints, "model quick pairs"},
	}
}
