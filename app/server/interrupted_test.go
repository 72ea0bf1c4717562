package server

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/roomtest"
)

// A run ends as soon as its client is lost, however that happens. It can be resumed if the client
// said that it may come back, and if Tandem stops. It cannot be resumed if a person stopped it.
func TestInterruptedRunCanBeResumed(t *testing.T) {
	type end func(s *Server, leave context.CancelFunc) *httptest.ResponseRecorder
	gone := func(_ *Server, leave context.CancelFunc) *httptest.ResponseRecorder {
		leave()
		return nil
	}
	cancel := func(body string) end {
		return func(s *Server, _ context.CancelFunc) *httptest.ResponseRecorder {
			return roomtest.Post(s.Socket(), "/app/runs/page-1/cancel", body)
		}
	}
	for _, c := range []struct {
		name    string
		returns string // the header's value
		end     end
		finish  string
	}{
		{"a page is left", "true", gone, control.FinishInterrupted},
		{"a program leaves", "", gone, control.FinishCancel},
		{"another value", "false", gone, control.FinishCancel},
		{"a window's page is left", "true", cancel(`{"left":true}`), control.FinishInterrupted},
		{"a program is reported to have left", "", cancel(`{"left":true}`), control.FinishCancel},
		{"a person stops it", "true", cancel(`{}`), control.FinishCancel},
		{"a person stops it, in so many words", "true", cancel(`{"left":false}`), control.FinishCancel},
		{"Tandem stops", "", func(s *Server, _ context.CancelFunc) *httptest.ResponseRecorder {
			s.Close()
			return nil
		}, control.FinishInterrupted},
	} {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprint(c.name, ", stream ", stream), func(t *testing.T) {
				fake := roomtest.NewBackend()
				s := New(services(fake), Options{})
				begun, over := make(chan struct{}), make(chan struct{})
				fake.Model.Script = roomtest.Script(func(ctx context.Context,
					yield func(string, error) bool) {
					yield("h", nil)
					yield("i", nil)
					close(begun)
					<-ctx.Done()
					yield("", ctx.Err())
				})
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				go func() {
					defer close(over)
					<-begun
					if w := c.end(s, leave); w != nil && w.Code != http.StatusOK {
						t.Errorf("%d %s", w.Code, w.Body)
					}
				}()
				body := fmt.Sprintf(`{"model":"tandem","prompt":"x","stream":%v}`, stream)
				r := roomtest.Request("/v1/completions", body).WithContext(ctx)
				r.Header.Set(api.RunNameHeader, "page-1")
				r.Header.Set(api.ResumableHeader, c.returns)
				s.Endpoint().ServeHTTP(httptest.NewRecorder(), r)
				<-over
				run, text := fake.LastRun(), fake.Texts[1]
				if run.FinishReason != c.finish || run.CompletionTokens != 2 {
					t.Errorf("the history has %+v", run)
				}
				if kept := c.finish == control.FinishInterrupted; (text.Request != nil) != kept {
					t.Errorf("the request is kept: %s", text.Request)
				}
				if got := api.BytesTokens(text.Tail); !slices.Equal(got, []int32{256, 'x', 0, 0}) {
					t.Errorf("its text is %v", got)
				}
			})
		}
	}
}

// A request that reports a run as left is answered after that run has ended. The run can then be
// resumed at once.
func TestReportOfLeftRunIsAnsweredAfterItsEnd(t *testing.T) {
	fake := roomtest.NewBackend()
	s := New(services(fake), Options{})
	begun, let := make(chan struct{}), make(chan struct{})
	fake.Model.Script = roomtest.Script(func(ctx context.Context, yield func(string, error) bool) {
		yield("h", nil)
		close(begun)
		<-ctx.Done()
		<-let // a round takes some time
		yield("", ctx.Err())
	})
	answered, served := make(chan int), make(chan struct{})
	go func() {
		defer close(served)
		r := roomtest.Request("/v1/completions", `{"model":"tandem","prompt":"x","stream":true}`)
		r.Header.Set(api.RunNameHeader, "page-1")
		r.Header.Set(api.ResumableHeader, "true")
		s.Endpoint().ServeHTTP(httptest.NewRecorder(), r)
	}()
	<-begun
	go func() {
		answered <- roomtest.Post(s.Socket(), "/app/runs/page-1/cancel",
			`{"left":true}`).Code
	}()
	<-onlyRun(s).Ctx.Done() // it was told to end
	select {
	case code := <-answered:
		t.Fatalf("answered with %d while the run goes on", code)
	default:
	}
	close(let)
	if code := <-answered; code != http.StatusOK {
		t.Errorf("answered with %d", code)
	}
	<-served
	if w := roomtest.Post(s.Socket(), "/app/runs/page-1/cancel",
		`{"left":true}`); w.Code != http.StatusOK {
		t.Errorf("once it has ended: %d %s", w.Code, w.Body)
	}
	roomtest.WantError(t, roomtest.Post(s.Socket(), "/app/runs/page-1/cancel",
		`{"left":"so"}`), http.StatusBadRequest,
		control.CodeInvalid)
}

// onlyRun returns the one run in flight.
func onlyRun(s *Server) *api.Run {
	for _, u := range s.api.InFlight() {
		return u
	}
	return nil
}
