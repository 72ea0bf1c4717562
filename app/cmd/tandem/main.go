// Command tandem runs language models on this machine and serves them to editors and agents. It is
// the one executable of the bundle that links MLX.
//
// Standard output carries results alone; everything else goes to standard error. A verb that works
// on the home folder talks to the process that serves it. Where none does, the verb takes the
// folder's lock and works by itself.
//
// Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted. A server that is told to stop
// drains and exits with 0.
package main

import (
	"tandem/app/bench"
	"tandem/app/terminal"
)

// Main is the program, apart from the process it runs in.
type Main struct{ terminal.Program }

// newMain returns the program without its streams and environment.
func newMain() *Main {
	m := &Main{terminal.Program{Name: "tandem", Version: terminal.Version(release)}}
	m.Verbs = m.verbs()
	m.Hints = map[string]string{
		"evidence": "`tandem-lab evidence` judges reports, and `go run ./build lab` builds it",
		"bridge":   "`tandem-lab bridge` asks a Mac to measure, and `go run ./build lab` builds it",
		"bench":    "`tandem-lab bench` has those of research, and `go run ./build lab` builds it",
	}
	return m
}

// verbs returns the table in the order help prints it. A test holds README.md to it.
func (m *Main) verbs() []terminal.Verb {
	return []terminal.Verb{
		{Name: "serve", Doc: "serve the endpoint in the foreground", Run: m.serve},
		{Name: "run", Args: "PROMPT", Doc: "answer a prompt, or continue it; - reads it from standard input", Run: m.run,
			Needs: "a prompt: tandem run 'PROMPT', or tandem run - to read it from standard input"},
		{Name: "models", Args: "VERB", Doc: "the registry of models", Run: m.models, Subs: modelVerbs()},
		{Name: "pull", Args: "ORG/NAME[:TAG][@REVISION]", Doc: "download a model from the hub; TAG takes that quantization of GGUF files", Run: m.pull,
			Needs: "the model to download: tandem pull ORG/NAME"},
		{Name: "runs", Args: "[VERB]", Doc: "the history of requests", Run: m.runs, Subs: runVerbs()},
		{Name: "checkpoints", Args: "[VERB]", Doc: "the states of texts that are kept on disk; ID may be a name", Run: m.checkpoints, Subs: checkpointVerbs()},
		{Name: "forget", Doc: "delete the history of a model, a client or a day, and the states that its requests left; it says what goes, and asks", Run: m.forget},
		bench.Verb(&m.Program, "measure this machine", bench.Benches(), m.home),
		{Name: "settings", Args: "[VERB]", Doc: "what can be set, and what decides each", Run: m.settings, Subs: settingVerbs()},
		{Name: "keys", Args: "[VERB]", Doc: "the keys that let programs in from other machines", Run: m.keys, Subs: keyVerbs()},
		{Name: "open", Doc: "open the page of the running endpoint", Run: m.open},
		{Name: "doctor", Doc: "what works here and what does not", Run: m.doctor},
	}
}

// release is the version in wails.json. The linker writes it here; a build by hand has none.
var release string

func main() {
	m := newMain()
	m.Attach()
	m.Exit()
}
