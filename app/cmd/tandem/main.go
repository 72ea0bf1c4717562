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
	"github.com/spf13/cobra"

	"tandem/app/bench"
	"tandem/app/terminal"
)

// newMain returns the program without its streams and environment.
func newMain() *Main {
	m := &Main{terminal.Program{Name: "tandem", Version: terminal.Version(release)}}
	root := &cobra.Command{
		Use:   "tandem",
		Short: "run language models on this machine, for your editor and your agents",
		Long:  "Tandem runs language models on this machine, for your editor and your agents.",
		Example: `  tandem pull mlx-community/Qwen3-0.6B-4bit
  tandem run 'Write a Go function that reverses a slice'
  git diff | tandem run 'Review this change'
  tandem runs show`,
		Annotations: map[string]string{ // what to type instead
			"evidence": "`tandem-lab evidence` judges reports, and `go run ./build lab` builds it",
			"bridge":   "`tandem-lab bridge` asks a Mac to measure, and `go run ./build lab` builds it",
		},
	}
	m.Root = terminal.Verbs(root, m.verbs(root)...)
	return m
}

// verbs returns the verbs. Those in a group are on the first page of help. A test holds README.md to them.
func (m *Main) verbs(root *cobra.Command) (all []*cobra.Command) {
	group := func(title string, verbs ...*cobra.Command) {
		if title != "" {
			root.AddGroup(&cobra.Group{ID: title, Title: title})
		}
		for _, v := range verbs {
			v.GroupID = title
		}
		all = append(all, verbs...)
	}
	under := func(parent *cobra.Command, use, short string, verbs ...*cobra.Command) *cobra.Command {
		parent.Use, parent.Short = use, short
		return terminal.Verbs(parent, verbs...)
	}
	lists := listModels(m)
	lists.SuggestFor = []string{"ls"}
	group("Run a model:", serve(m), run(m), launchVerb(m), open(m))
	group("Models:", pull(m), lists, useModel(m), removeModel(m, "rm MODEL"))
	group("This machine:", status(m), doctor(m),
		under(listRuns(m), "runs", "list requests; shows, resumes and verifies one",
			listRuns(m), showRun(m), resumeRun(m), verifyRun(m)))
	group("", chat(m), showModel(m), listLoaded(m), unloadModel(m, "stop MODEL", "free the memory of a model", 1), logs(m),
		under(listModels(m), "models", "list, add and remove models",
			listModels(m), foundModels(m), addModel(m), removeModel(m, "remove ID"),
			unloadModel(m, "unload [ID]", "free the memory of a model, or of all", 0), drafterOf(m)),
		under(listCheckpoints(m), "checkpoints", "cached prompts on disk; ID may be a name",
			append(changingCheckpoints(m), listCheckpoints(m), showCheckpoint(m), branchCheckpoint(m),
				deleteCheckpoint(m), listTexts(m), verifyCheckpoints(m))...),
		forget(m),
		bench.Command(&m.Program, "measure this machine",
			"`tandem-lab bench` has those of research, and `go run ./build lab` builds it", bench.Benches(), m.home),
		under(listSettings(m), "settings", "what can be set, and what decides each", listSettings(m), setSettings(m)),
		under(listKeys(m), "keys", "the keys that let programs in from other machines",
			listKeys(m), addKey(m), deleteKey(m)),
		man(m))
	return all
}

// release is the version in wails.json. The linker writes it here; a build by hand has none.
var release string

func main() {
	m := newMain()
	m.Attach()
	m.Exit()
}
