package control

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"
)

// carry sends In in the address of a request, as a client does, and returns what the server reads.
func carry[In, Out any](t *testing.T, route Route[In, Out], in In) (address string, got In, err error) {
	t.Helper()
	address, err = route.URL(in)
	if err != nil {
		return address, got, err
	}
	mux := http.NewServeMux()
	called := false
	mux.HandleFunc(route.Method+" "+route.Path, func(_ http.ResponseWriter, r *http.Request) {
		called = true
		got, err = route.ReadParams(r)
	})
	mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(route.Method, address, nil))
	if !called {
		t.Fatalf("%s %s leads to another route than %s", route.Method, address, route.Path)
	}
	return address, got, err
}

// arrives checks the address of an In, and that the server reads the same In from it.
func arrives[In, Out any](t *testing.T, route Route[In, Out], in In, want string) {
	t.Helper()
	address, got, err := carry(t, route, in)
	if err != nil || address != want || !reflect.DeepEqual(got, in) {
		t.Errorf("%s %s arrives as %+v, %v; want %s and %+v", route.Method, address, got, err, want, in)
	}
}

// Each parameter that a client writes is the one that the server reads.
func TestServerReadsParametersOfClient(t *testing.T) {
	arrives(t, GetState, None{}, "/app/state")
	arrives(t, GetModelSettings, "acme/coder", "/app/model-settings?model=acme%2Fcoder")
	arrives(t, RemoveModel, "acme/odd ?#%2F name", "/app/models/acme/odd%20%3F%23%252F%20name")
	arrives(t, WouldRemoveModel, "a&b", "/app/removal?model=a%26b")
	arrives(t, GetCatalogue, true, "/app/catalogue?sizes=true")
	arrives(t, GetCatalogue, false, "/app/catalogue")

	arrives(t, ListRuns, RunQuery{}, "/app/runs")
	arrives(t, ListRuns, RunQuery{Limit: 5, Before: 9, Model: "m", Client: "c", Endpoint: "/v1/x",
		Finish: "stop", Day: "2026-11-22", Search: "ü &", Since: time.Date(2026, 11, 22, 9, 0, 0, 7, time.UTC),
		Failed: true, Slow: true, Sort: "when", Up: true},
		"/app/runs?before=9&client=c&day=2026-11-22&endpoint=%2Fv1%2Fx&failed=true&finish=stop&limit=5&"+
			"model=m&search=%C3%BC+%26&since=2026-11-22T09%3A00%3A00.000000007Z&slow=true&sort=when&up=true")
	arrives(t, GetActivity, 5, "/app/activity?minutes=5")
	arrives(t, GetRun, 7, "/app/runs/7")
	arrives(t, CancelRun, CancelRequest{Run: "my run"}, "/app/runs/my%20run/cancel")
	arrives(t, VerifyRun, RunVerification{Run: 7}, "/app/runs/7/verify")

	arrives(t, ListCheckpoints, CheckpointQuery{Model: "m", Before: "b", Limit: 3},
		"/app/checkpoints?before=b&limit=3&model=m")
	arrives(t, ListCheckpointTitles, []string{"a", "b"}, "/app/checkpoint-titles?ids=a%2Cb")
	arrives(t, GetCheckpoint, CheckpointRead{"c", true}, "/app/checkpoints/c?whole=true")
	arrives(t, ChangeCheckpoint, CheckpointUpdate{Checkpoint: "c"}, "/app/checkpoints/c")
	arrives(t, DeleteCheckpoint, CheckpointDeletion{"c", true}, "/app/checkpoints/c?all=true")
	arrives(t, WouldDeleteCheckpoint, CheckpointDeletion{"c", false}, "/app/checkpoints/c/deletion")
	arrives(t, VerifyCheckpoint, "a b?", "/app/checkpoints/a%20b%3F/verify")
	arrives(t, WouldForget, ForgetRequest{"m", "c", "2026-11-22"}, "/app/forget?client=c&day=2026-11-22&model=m")
	arrives(t, ForgetTexts, 5, "/app/texts/5")
	arrives(t, ForgetTexts, 0, "/app/texts/none")

	arrives(t, ListChats, ChatQuery{Search: "s", Before: 9, Limit: 5}, "/app/chats?before=9&limit=5&search=s")
	arrives(t, ChangeChat, ChatUpdate{ID: 3}, "/app/chats/3")
	arrives(t, AddMessage, NewMessage{Chat: 3}, "/app/chats/3/messages")
	arrives(t, ChangeMessage, MessageUpdate{MessageID: MessageID{3, 4}}, "/app/chats/3/messages/4")
	arrives(t, WouldDeleteMessage, MessageID{3, 4}, "/app/chats/3/messages/4/deletion")
	arrives(t, DeletePreset, "a b", "/app/presets/a%20b")
	arrives(t, DeleteBench, 7, "/app/benches/7")
	arrives(t, DeleteKey, 7, "/app/keys/7")
	arrives(t, WriteConnection, "zed", "/app/connect/zed")
}

// A name that no checkpoint can have leads to the route of none, and not to another route.
func TestBadCheckpointNamesLeadToNone(t *testing.T) {
	for _, name := range []string{"", ".", "..", "a/b", `a\b`, "../x"} {
		if address, err := GetCheckpoint.URL(CheckpointRead{Checkpoint: name}); err != nil ||
			address != "/app/checkpoints/-" {
			t.Errorf("%q leads to %s, %v", name, address, err)
		}
	}
}

// A bad parameter is refused by the client already, with the words of the server.
func TestBadParametersAreRefused(t *testing.T) {
	refused := func(err error, code Code, param, words string) {
		t.Helper()
		e, ok := err.(*Error)
		if !ok || e.Code != code || e.Param != param || !strings.Contains(e.Message, words) {
			t.Errorf("%#v, want %s of %q with %q", err, code, param, words)
		}
	}
	for _, id := range []string{"..", "a/../b", "/a", "a//b"} {
		_, err := RemoveModel.URL(id)
		refused(err, CodeModelNotFound, "", "is not installed")
	}
	_, err := GetModelSettings.URL("")
	refused(err, CodeInvalid, "model", "name an installed model")
	_, err = GetActivity.URL(MaxActivity + 1)
	refused(err, CodeInvalid, "minutes", "between 5 and 1440")
	_, err = GetChat.URL(0)
	refused(err, CodeNoChat, "", `no chat "0"`)
	_, err = ListRuns.URL(RunQuery{Limit: 1001, Sort: "wibble"})
	refused(err, CodeInvalid, "limit", "between 0 and 1000")
	_, err = ListRuns.URL(RunQuery{Sort: strings.Repeat("w", 100)})
	refused(err, CodeInvalid, "sort", strings.Repeat("w", 80)+"...")
	_, err = ListRuns.URL(RunQuery{Search: strings.Repeat("s", MaxRunText+1)})
	refused(err, CodeInvalid, "search", "at most 256 bytes")
	_, err = ListCheckpointTitles.URL(strings.Fields(strings.Repeat("x ", MaxTitles+1)))
	refused(err, CodeInvalid, "ids", "100 checkpoints at most, not 101")

	read := func(path string) error {
		r := httptest.NewRequest(http.MethodDelete, "/", nil)
		r.SetPathValue("id", path)
		_, err := ForgetTexts.ReadParams(r)
		return err
	}
	refused(read("x"), CodeKeyNotFound, "", "There is no key x.")
	refused(read("-3"), CodeKeyNotFound, "", "There is no key -3.")
}
