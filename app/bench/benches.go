package bench

// Benches returns all benches, in the order in which help lists them.
func Benches() []Bench {
	return []Bench{
		{"plain", "plain decode and prefill, tokens per second, and the host's share of a step", openPlain, "model"},
		{"contexts", "plain decode and prefill after contexts of several lengths, tokens per second", openContexts, "model"},
		{"load", "how fast GGUF files of 1 GB load, by what they hold", openLoad, "quick only"},
		{"start", "milliseconds from start to the first answer of /health", openStart, ""},
		{"memory", "memory held, and what 200 requests add to it", openMemory, "model"},
		{"endpoint", "what the endpoint adds to a token and to a request, how requests share the model, and what 1,000 requests leave behind", openEndpoint, "quick only"},
		{"verify", "what verifying a block costs, by its rows and its parts, against a plain step and the last time", openVerify, "model drafter drafters context quick"},
		{"speculation", "decoding with drafts against plain decoding, on texts that drafts suit and on texts they don't", openSpeculation, "model drafter drafters pairs quick full only"},
		{"journey", "the stages from a forward of the whole text for each token to adaptive drafts, and what each reading of a drafter accepts", openJourney, "model drafter drafters quick"},
		{"lossless", "whether decoding with drafts equals plain decoding, to the bit, and what exact requests cost", openLossless, "model quick"},
		{"checkpoints", "what checkpoints save where texts begin alike, what they cost, and how soon they restore a text after a restart", openCheckpoints, "model quick pairs"},
		{"recall", "needles in a haystack, with full caches, bounded ones and restored rows", openRecall, "model drafter samples size long tokens quick out"},
		{"kvquant", "what fewer bits for keys and values cost: codecs on captured rows, and the caches of --kv-bits", openKVQuant, "model samples quick out"},
		{"code", "Python tasks that end by themselves, with drafts and without, by rows of a block", openCode, "model drafter tokens block probe quick out"},
		{"drafter-parity", "our forward of a DFlash drafter against recorded guesses of a reference", openParity, "dtype out"},
		{"scorecard", "one page on a model: recall, bytes, speed and exactness, as the gate admits them", openScorecard, "model drafter samples quick out"},
	}
}
