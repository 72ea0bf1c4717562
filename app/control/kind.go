package control

// What models are for that do more, or other things, than going on with texts.
const (
	KindEmbedding = "embedding" // it makes vectors of texts, and goes on with none
	KindReranker  = "reranker"  // it says whether documents answer a query
)
