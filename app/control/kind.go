package control

// Kinds of models that do more than continue texts, or something else.
const (
	KindEmbedding = "embedding" // it makes vectors of texts, and generates none
	KindReranker  = "reranker"  // it says whether documents answer a query
)
