// Package ollama has the routes of Ollama's API, for programs that know no other: generate, chat,
// embed, and its lists of models.
//
// A stream is one JSON object a line. Durations are nanoseconds. A call is sent when it is whole,
// because the API has no form for a part of one.
//
// An empty request loads the model. With keep_alive 0 it frees the model. A request with a prompt
// and keep_alive 0 frees the model after the answer.
package ollama
