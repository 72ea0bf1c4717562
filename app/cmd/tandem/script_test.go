package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/scripttest"
)

// Each script in testdata/*.txt holds twice: with no process on the home, so that the verbs work by
// themselves, and with a process that serves it.
//
// See [scripttest.Script]. The modes are alone and served. A command line can name folders and a file:
//
//   - $TINY has a random model;
//   - $GGUF is another, in one file, and $GGUFS is its folder;
//   - $BARE has a random model without a chat template;
//   - $WORK is empty.
func TestVerbsFollowTheirScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata has no scripts: %v", err)
	}
	vars := map[string]string{"TINY": tinyModel(t, "tiny", nil), "BARE": tinyModel(t, "bare", nil),
		"WORK": t.TempDir(), "GGUF": filepath.Join(t.TempDir(), "small.gguf")}
	vars["GGUFS"] = filepath.Dir(vars["GGUF"])
	recorded, err := os.ReadFile("../../../models/testdata/gguf/llama.gguf")
	if err := errors.Join(err, os.WriteFile(vars["GGUF"], recorded, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(vars["BARE"], "chat_template.jinja")); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		for _, mode := range []string{"alone", "served"} {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txt")+"/"+mode, func(t *testing.T) {
				home := newHome(t)
				if mode == "served" {
					p := serveProcess(t, home)
					defer p.stop(t)
				}
				console, client := newConsole(t, home), client(t, home)
				s := scripttest.Script{Program: "tandem", Vars: vars, Mode: mode}
				s.Run = func(stdin string, args []string) (int, string, string) {
					if mode == "served" {
						// The client gets its answer a moment before the history gets the row.
						waitState(t, client,
							func(st control.State) bool { return len(st.Active) == 0 })
					}
					console.stdin = stdin
					return console.tandem(t.Context(), args...), console.stdout, console.stderr
				}
				s.Follow(t, file)
			})
		}
	}
}
