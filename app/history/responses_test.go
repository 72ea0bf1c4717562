package history

import (
	"encoding/json"
	"errors"
	"testing"

	"tandem/app/control"
)

// Only the program that made a response gets it, also after a restart. A deletion of the response
// ends that, and so does forgetting its run.
func TestResponseBelongsToItsProgramUntilItIsDeleted(t *testing.T) {
	home, ctx := t.TempDir(), t.Context()
	a := open(t, home)
	var want []control.KeptResponse
	for _, name := range []string{"zed", "phone"} {
		if _, err := a.db.AddKey(ctx, name, name); err != nil {
			t.Fatal(err)
		}
	}
	for i, client := range []string{"zed", "zed", "phone"} {
		run, err := a.history.BeginRun(ctx, control.Run{Client: client, Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		k := control.KeptResponse{
			ID: string(rune('a' + i)), Owner: client, Run: run, Input: json.RawMessage("[]"),
			Output: json.RawMessage("[1]"), Response: json.RawMessage("{}"),
		}
		if i == 1 {
			k.Previous = "a"
		}
		if err := a.history.KeepResponse(ctx, k); err != nil {
			t.Fatal(err)
		}
		if err := a.history.FinishRun(ctx, control.Run{ID: run, Client: client,
			Model: "m"}); err != nil {
			t.Fatal(err)
		}
		want = append(want, k)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}

	a = open(t, home)
	if _, err := a.db.Responses.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	list, err := a.history.ResponseChain(ctx, "zed", "b")
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 {
		t.Fatalf("len(list) = %v, want 2", len(list))
	}
	if list[0].ID != "a" {
		t.Errorf(`list[0].ID = %q, want "a"`, list[0].ID)
	}
	if list[1].Previous != "a" {
		t.Errorf(`list[1].Previous = %q, want "a"`, list[1].Previous)
	}
	if list[1].Run != want[1].Run {
		t.Errorf("list[1].Run = %v, want %v", list[1].Run, want[1].Run)
	}
	if k, err := a.history.Response(ctx, "phone", "c"); err != nil || k.Owner != "phone" ||
		string(k.Response) != "{}" || string(k.Output) != "[1]" {
		t.Errorf("%+v %v", k, err)
	}
	_, err = a.history.Response(ctx, "phone", "a")
	_, err2 := a.history.ResponseChain(ctx, "phone", "b")
	for _, err := range []error{err, err2, a.history.DeleteResponse(ctx, "phone", "a")} {
		if !errors.Is(err, control.ErrNoResponse) {
			t.Errorf("a response of another program gives %v", err)
		}
	}
	if err := a.history.DeleteResponse(ctx, "phone", "c"); err != nil {
		t.Error(err)
	}
	if _, err := a.history.Forget(ctx, control.ForgetRequest{Client: "zed"}); err != nil {
		t.Fatal(err)
	}
	for _, k := range want {
		if _, err := a.history.Response(ctx, k.Owner, k.ID); !errors.Is(err,
			control.ErrNoResponse) {
			t.Errorf("response %s is still there: %v", k.ID, err)
		}
	}
}
