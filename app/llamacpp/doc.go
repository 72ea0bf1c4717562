// Package llamacpp has routes of llama.cpp's server that editors call beside OpenAI's: completion,
// infill, tokenize, detokenize and props. Their requests may leave out the model, as that server
// has one. The chosen model answers then.
package llamacpp
