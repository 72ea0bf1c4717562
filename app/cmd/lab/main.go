// Command lab is tandem-lab, the program that judges what Tandem's research claims: its benches, a server
// with bounded layers, the rules of evidence, and a Mac that measures for a machine that is none. It is no
// part of the app for users.
//
// Standard output carries results alone; everything else goes to standard error.
//
// Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted. Verbs of bridge have a few more.
package main

import (
	"context"

	"tandem/app"
	"tandem/app/bench"
	"tandem/app/control"
	"tandem/app/lab"
	"tandem/app/terminal"
	"tandem/models/starter"
)

// Main is the program, apart from the process it runs in.
type Main struct{ terminal.Program }

// newMain returns the program without its streams and environment.
func newMain() *Main {
	m := &Main{terminal.Program{Name: "tandem-lab", Version: terminal.Version(release)}}
	m.Verbs = []terminal.Verb{
		{Name: "serve", Doc: "serve the endpoint in the foreground, with bounded layers if asked for", Run: m.serve},
		bench.Verb(&m.Program, "measure what research claims", m.benches(), m.home),
		{Name: "evidence", Args: "VERB", Doc: "what reports of evaluations may claim", Run: m.evidence, Subs: evidenceVerbs()},
		{Name: "bridge", Args: "VERB", Doc: "let a Mac measure for a machine that is none, by a git branch", Run: m.bridge, Subs: bridgeVerbs()},
	}
	return m
}

// benches returns the benches of the lab. The starter model may lie beside the program.
func (m *Main) benches() []bench.Bench {
	return lab.Benches(starter.Beside(terminal.Executable()), m.retrievalFolder,
		func(ctx context.Context, drafter string) (lab.Stage, error) {
			return app.OpenStage(ctx, drafter)
		})
}

// home returns the folder that holds everything Tandem keeps.
func (m *Main) home() string { return control.Home(m.Getenv) }

// release is the version in wails.json. The linker writes it here; a build by hand has none.
var release string

func main() {
	m := newMain()
	m.Attach()
	m.Exit()
}
