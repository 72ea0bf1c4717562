// Package openai has the routes in the form of OpenAI's:
//
//   - chat completions;
//   - the older completions with echo, scoring and fill-in-the-middle;
//   - embeddings;
//   - the list of models.
//
// Two neighbours have the same form: Mistral's fill-in-the-middle and Jina's reranking. LM Studio's
// own routes are here too: its list of models, and the same chats, completions and embeddings.
//
// chat_answer.go and completion_answer.go have the answers and their chunks. A file of a smaller route
// has its own. choices_format.go streams the chunks.
//
// Extensions keep their inventors' names: return_token_ids and ignore_eos are vLLM's, timings is
// llama.cpp's.
//
// The branch of a checkpoint is here too, although its route is one of the control routes. Its body
// is that of /v1/completions, and its answer is a chat or a completion.
package openai
