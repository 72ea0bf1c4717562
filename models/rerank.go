package models

import "tandem/engine/tokenizer"

// RerankInstruction is what a KindReranker looks for unless a request says otherwise.
// Qwen3-Reranker was trained with it most.
const RerankInstruction = "Given a web search query, " +
	"retrieve relevant passages that answer the query"

// The prompt of Qwen3-Reranker, as its model card gives it. The answer is the token after the end
// of an empty thought.
const (
	rerankHead = "<|im_start|>system\nJudge whether the Document meets the requirements based on " +
		"the Query and the Instruct provided. " +
		"Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n"
	rerankTail = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
)

// RerankPrompt returns the tokens after which a KindReranker says whether a document answers a
// query. The three parts are tokenized one by one, as the model's authors do. A query or a document
// is text, even if it spells a special token. Errors are those of package tokenizer.
func (b *Bundle) RerankPrompt(instruction, query, document string) ([]int32, error) {
	var prompt []int32
	for _, part := range []struct {
		text  string
		plain bool
	}{
		{rerankHead, false},
		{"<Instruct>: " + instruction + "\n<Query>: " + query + "\n<Document>: " + document, true},
		{rerankTail, false},
	} {
		ids, err := b.Tokenizer.Encode(part.text, tokenizer.EncodeOptions{NoSpecial: part.plain})
		if err != nil {
			return nil, err
		}
		prompt = append(prompt, ids...)
	}
	return prompt, nil
}
