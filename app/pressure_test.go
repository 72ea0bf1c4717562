package app

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"tandem/app/control"
	"tandem/app/home"
)

// While the machine is short of memory, Serve unloads the idle model and /app/state says so. A request
// loads it again and gets the same answer.
func TestServeTellsOfAShortageOfMemory(t *testing.T) {
	a, err := Open(t.Context(), Options{Home: t.TempDir(), Model: writeModel(t, "tiny")})
	if err != nil {
		t.Fatal(err)
	}
	levels := make(chan home.Pressure)
	r := serving(t, a, ServeOptions{Addr: "127.0.0.1:0",
		Pressure: func(ctx context.Context, say func(home.Pressure)) error {
			for {
				select {
				case level := <-levels:
					say(level)
				case <-ctx.Done():
					return nil
				}
			}
		}})
	_, want := r.complete(t, "tiny", "abc")
	c := r.client(t)
	await(t, c, func(s control.State) bool { return len(s.Active) == 0 && !s.Loaded.InUse })
	levels <- home.PressureCritical
	s := await(t, c, func(s control.State) bool { return s.Loaded == nil })
	p := s.Pressure
	if p == nil {
		t.Fatal("p is nil")
	}
	if p.Level != control.PressureCritical {
		t.Errorf("p.Level = %v, want %v", p.Level, control.PressureCritical)
	}
	if len(p.Unloaded) != 1 {
		t.Fatalf("len(p.Unloaded) = %v, want 1", len(p.Unloaded))
	}
	if p.Unloaded[0] != "tiny" {
		t.Errorf(`p.Unloaded[0] = %q, want "tiny"`, p.Unloaded[0])
	}
	if p.Text == "" {
		t.Error("p.Text is empty")
	}
	text := func(body string) (text string) {
		var of struct{ Choices []struct{ Text string } }
		if err := json.Unmarshal([]byte(body), &of); err != nil || len(of.Choices) != 1 {
			t.Fatalf("%s: %v", body, err)
		}
		return of.Choices[0].Text
	}
	status, got := r.complete(t, "tiny", "abc")
	if status != http.StatusOK || text(got) != text(want) {
		t.Errorf("%d %s; before the shortage %s", status, got, want)
	}
}
