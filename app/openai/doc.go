// Package openai has the routes that are laid out as OpenAI's are:
//
//   - chat completions;
//   - the older completions with echo, scoring and fill-in-the-middle;
//   - embeddings;
//   - the list of models.
//
// Two neighbours have the same shape: Mistral's fill-in-the-middle and Jina's
// reranking.
//
// Names of extensions are their inventors': return_token_ids and ignore_eos as in vLLM,
// timings as in llama.cpp.
//
// The branch of a checkpoint is here too, although its route is one of the control routes.
// Its body is that of /v1/completions, and its answer is a chat or a completion.
package openai
