package app

import (
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/engine/enginetest"
)

// A checkpoint gets its title from its text, whichever model is in memory. A chat that has the
// answer gives its own title instead.
func TestCheckpointIsTitledByItsTextThenByItsChat(t *testing.T) {
	dir := writeModel(t, "tiny")
	r := start(t, Options{Model: dir}, "127.0.0.1:0")
	c := r.client(t)
	prompt := strings.Repeat("abc ", 40)
	if status, body := r.complete(t, "tiny", prompt); status != 200 {
		t.Fatal(status, body)
	}
	var kept control.Checkpoint
	enginetest.Await(t, "there is a checkpoint of a run", func() bool {
		list, err := control.Call(t.Context(), c, control.ListCheckpoints, control.CheckpointQuery{})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range list.Checkpoints {
			if x.Run > 0 {
				kept = x
			}
		}
		return kept.ID != ""
	})
	if kept.Title != "" || kept.Client == "" {
		t.Errorf("at first the title is %q and the client %q", kept.Title, kept.Client)
	}
	if _, err := control.Call(t.Context(), c, control.UnloadModel,
		control.UnloadRequest{Model: ""}); err != nil {
		t.Fatal(err)
	}
	list, err := control.Call(t.Context(), c, control.ListCheckpointTitles,
		[]string{"nothing", kept.ID})
	if err != nil {
		t.Fatal(err)
	}
	titles := list.Titles
	if len(titles) != 1 {
		t.Fatalf("len(titles) = %v, want 1", len(titles))
	}
	if titles[0].ID != kept.ID {
		t.Fatalf("titles[0].ID = %v, want %v", titles[0].ID, kept.ID)
	}
	if !strings.Contains(titles[0].Title, "abc abc") {
		t.Fatalf(`titles[0].Title = %q, want it to have "abc abc"`, titles[0].Title)
	}
	if titles[0].Ends == "" {
		t.Fatal("titles[0].Ends is empty")
	}
	// A list of runs has the same titles, if it is asked to.
	for asked, want := range map[bool]string{false: "", true: titles[0].Title} {
		runs, err := control.Call(t.Context(), c, control.ListRuns, control.RunQuery{Titles: asked})
		if err != nil || len(runs.Runs) != 1 || runs.Titles[runs.Runs[0].ID] != want {
			t.Errorf("with titles: %t, the list is %+v, %v, want the title %q", asked, runs, err, want)
		}
	}
	// A search finds the titles of a list that shows them, and the names of clients.
	for search, want := range map[string]int{"ABC aBc": 1, "abc": 1, "Go-HTTP": 1, "Wibble": 0} {
		for _, q := range []control.RunQuery{{Titles: true, Search: search}, {Titles: true, Search: search, Sort: "time", Limit: 1}} {
			runs, err := control.Call(t.Context(), c, control.ListRuns, q)
			if err != nil || len(runs.Runs) != want {
				t.Errorf("%q finds %+v, %v, want %d", search, runs, err, want)
			}
		}
	}
	// Once computed, a title is in every list. The title of a chat goes before it.
	title := func() string {
		t.Helper()
		list, err := control.Call(t.Context(), c, control.ListCheckpoints,
			control.CheckpointQuery{Model: "tiny"})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range list.Checkpoints {
			if x.ID == kept.ID {
				return x.Title
			}
		}
		t.Fatal("the checkpoint is gone")
		return ""
	}
	if got := title(); got != titles[0].Title {
		t.Errorf("after that the list has the title %q", got)
	}
	chat, err := r.chats.AddChat(t.Context(), control.Chat{Kind: "chat", Title: "Letters"})
	if err == nil {
		_, err = r.chats.AddMessage(t.Context(),
			control.Message{Chat: chat.ID, Role: "assistant", Content: "abc", Run: kept.Run})
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := title(); got != "Letters" {
		t.Errorf("the title of the chat's checkpoint is %q, want Letters", got)
	}
}

// Machine reports the figures of this computer: cores, memory, the room for models, the system
// and the engine.
func TestMachineReportsCoresMemoryAndSystem(t *testing.T) {
	m, err := control.Ask(t.Context(), start(t, Options{}, "").client(t), control.GetMachine)
	if err != nil {
		t.Fatal(err)
	}
	if m.Cores < 1 {
		t.Errorf("m.Cores = %v, want at least 1", m.Cores)
	}
	if m.Memory <= 0 {
		t.Errorf("m.Memory = %v, want more than 0", m.Memory)
	}
	if m.Room <= 0 {
		t.Errorf("m.Room = %v, want more than 0", m.Room)
	}
	if m.Room >= m.Memory {
		t.Errorf("m.Room = %v, want less than %v", m.Room, m.Memory)
	}
	if m.System == "" {
		t.Error("m.System is empty")
	}
	if !strings.Contains(m.Kind, "/") {
		t.Errorf(`m.Kind = %q, want it to have "/"`, m.Kind)
	}
	if !strings.HasPrefix(m.Engine, "MLX ") {
		t.Errorf(`m.Engine = %q, want it to start with "MLX "`, m.Engine)
	}
}
