// Command lab is tandem-lab, the program that judges what Tandem's research claims: its benches, a server
// with bounded layers, the rules of evidence, and a Mac that measures for a machine that is not a Mac. It
// is no part of the app for users.
//
// Standard output carries results alone; everything else goes to standard error.
//
// Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted. Verbs of bridge have a few more.
package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

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
	m.Root = terminal.Verbs(&cobra.Command{
		Use:  "tandem-lab",
		Long: "tandem-lab judges what Tandem's research claims. Verbs of bridge have a few more exit codes.",
	},
		serve(m),
		bench.Command(&m.Program, "measure what research claims",
			"`tandem bench` has those of plain decoding, verification, drafts and checkpoints", m.benches(), m.home),
		terminal.Verbs(&cobra.Command{Use: "evidence", Short: "check what evaluation reports may claim"}, checkEvidence(m)),
		terminal.Verbs(&cobra.Command{Use: "bridge", Short: "run benchmarks on a Mac from another machine, through a git branch"},
			listPresets(m), requestPreset(m), requestStatus(m), runRequest(m), publishResults(m), examineBridge(m),
			setUpBridge(m)),
	)
	return m
}

// benches returns the benches of the lab. The starter model may be beside the program, and tandem where
// the build puts it.
func (m *Main) benches() []bench.Bench {
	program := terminal.Executable()
	return lab.Benches(starter.Beside(program), tandemBeside(program), m.retrievalFolder,
		func(ctx context.Context, drafter string) (lab.Stage, error) {
			return app.OpenStage(ctx, drafter)
		})
}

// tandemBeside returns the tandem that a build of the same checkout made, or empty if there is none.
func tandemBeside(program string) string {
	file := filepath.Join(filepath.Dir(program), "..", "cli", "tandem")
	if _, err := os.Stat(file); err != nil {
		return ""
	}
	return file
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
