package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/endpoint"
	"tandem/app/home"
)

// another holds a port in both address families until the test ends or it is closed, as another
// program would.
type another struct {
	port int
	list []net.Listener
}

func holdPort(t *testing.T, port int) *another {
	t.Helper()
	list, err := endpoint.Listen(endpoint.Binding{Port: port})
	if err != nil {
		t.Fatal(err)
	}
	o := &another{list[0].Addr().(*net.TCPAddr).Port, list}
	t.Cleanup(o.close)
	// A probe that asks what listens here gets its connection closed at once.
	for _, l := range list {
		go func() {
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				c.Close()
			}
		}()
	}
	return o
}

func (o *another) close() {
	for _, l := range o.list {
		l.Close()
	}
}

// health asks /health at a port. It makes a connection of its own, because others may keep
// theirs open.
func health(t *testing.T, port int) (int, error) {
	t.Helper()
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Get(fmt.Sprintf("http://127.0.0.1:%d/health", port))
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

// When another program has the port, the state names the port and the next free one. SetPort
// serves the port once the other program has closed it.
func TestTakenPortIsReportedAndServedOnceFree(t *testing.T) {
	for _, flag := range []bool{false, true} {
		t.Run(fmt.Sprintf("flag %t", flag), func(t *testing.T) {
			other := holdPort(t, 0)
			home := t.TempDir()
			a, err := Open(t.Context(), Options{Home: home,
				Settings: control.Settings{Port: other.port, KeepRequests: control.KeepNone}})
			if err != nil {
				t.Fatal(err)
			}
			o := ServeOptions{Endpoint: true}
			if flag {
				o.Addr = fmt.Sprintf("127.0.0.1:%d", other.port)
			}
			r := serving(t, a, o)
			c := r.client(t)
			st, err := control.Ask(t.Context(), c, control.GetState)
			if err != nil {
				t.Fatal(err)
			}
			if st.Address != "" {
				t.Fatalf(`st.Address = %q, want ""`, st.Address)
			}
			if st.PortTaken == nil {
				t.Fatal("st.PortTaken is nil")
			}
			if st.PortTaken.Port != other.port {
				t.Fatalf("st.PortTaken.Port = %v, want %v", st.PortTaken.Port, other.port)
			}
			if st.PortTaken.Next == 0 {
				t.Fatal("st.PortTaken.Next is 0")
			}
			if st.Error == "" {
				t.Fatal("st.Error is empty")
			}
			if _, err := control.Call(t.Context(), c, control.SetPort,
				control.PortRequest{Port: 0}); codeOf(err) != control.CodePortTaken {
				t.Errorf("SetPort while the port is taken: %v", err)
			}
			other.close()
			if st, err = control.Call(t.Context(), c, control.SetPort,
				control.PortRequest{Port: 0}); err != nil ||
				st.Address != fmt.Sprintf("http://127.0.0.1:%d", other.port) ||
				st.PortTaken != nil || st.Error != "" {
				t.Errorf("SetPort once the port is free: %+v %v", st, err)
			}
			if status, err := health(t, other.port); err != nil {
				t.Errorf("/health: %d %v", status, err)
			}
		})
	}
}

// A port that SetPort opens is stored. The next start without --addr serves it.
func TestPortOfSetPortStaysAfterARestart(t *testing.T) {
	other, dir := holdPort(t, 0), t.TempDir()
	o := Options{Home: dir, Settings: control.Settings{Port: other.port,
		KeepRequests: control.KeepNone}}
	next := 0
	t.Run("use", func(t *testing.T) {
		a, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		c := serving(t, a, ServeOptions{Endpoint: true}).client(t)
		st, err := control.Ask(t.Context(), c, control.GetState)
		if err != nil {
			t.Fatal(err)
		}
		next = st.PortTaken.Next
		if st, err = control.Call(t.Context(), c, control.SetPort,
			control.PortRequest{Port: next}); err != nil ||
			st.Address != fmt.Sprintf("http://127.0.0.1:%d", next) || st.Error != "" {
			t.Fatalf("SetPort(%d): %+v %v", next, st, err)
		}
		if owner, err := home.Owner(dir); err != nil || !strings.HasSuffix(owner, st.Address) {
			t.Errorf("the lock says %q: %v", owner, err)
		}
	})
	a, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r := serving(t, a, ServeOptions{Endpoint: true}); r.url != fmt.Sprintf("http://127.0.0.1:%d",
		next) {
		t.Errorf("after a restart it serves %s, not port %d", r.url, next)
	}
}

// A change of the port moves the endpoint while it answers, and an answer under way goes on to
// its end. A port that is taken changes nothing.
func TestChangeOfThePortMovesTheEndpoint(t *testing.T) {
	first := holdPort(t, 0)
	first.close()
	a, err := Open(t.Context(), Options{Home: t.TempDir(), Model: writeModel(t, "tiny"),
		Settings: control.Settings{Port: first.port, KeepRequests: control.KeepNone}})
	if err != nil {
		t.Fatal(err)
	}
	r := serving(t, a, ServeOptions{Endpoint: true, Preload: true})
	stream, err := r.post(t, t.Context(), 3, 60)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()

	taken := holdPort(t, 0)
	_, err = r.change(t, fmt.Sprintf(`{"port": %d, "idle_unload_minutes": 5}`, taken.port))
	if codeOf(err) != control.CodePortTaken {
		t.Errorf("a change to a taken port: %v", err)
	}
	if st, err := control.Ask(t.Context(), r.client(t), control.GetSettings); err != nil || st.Settings.Port != first.port ||
		st.Settings.IdleUnloadMinutes != 0 {
		t.Errorf("half of a refused change is in force: %+v %v", st.Settings, err)
	}
	if status, err := health(t, first.port); err != nil {
		t.Errorf("at the first port: %d %v", status, err)
	}

	second := holdPort(t, 0)
	second.close()
	st, err := r.change(t, fmt.Sprintf(`{"port": %d}`, second.port))
	if err != nil || !strings.HasPrefix(st.Link,
		fmt.Sprintf("http://127.0.0.1:%d/#", second.port)) {
		t.Fatalf("a change to port %d: %+v %v", second.port, st, err)
	}
	if status, err := health(t, second.port); err != nil {
		t.Errorf("at the new port: %d %v", status, err)
	}
	if _, err := health(t, first.port); err == nil {
		t.Error("the old port still answers")
	}
	text, err := io.ReadAll(stream.Body)
	if err != nil || !strings.Contains(string(text), "[DONE]") {
		t.Errorf("the answer under way ended with %q: %v", text, err)
	}
}

// When the new port cannot be stored, the endpoint stays at the old one.
func TestPortThatCannotBeStoredIsNotServed(t *testing.T) {
	first, second := holdPort(t, 0), holdPort(t, 0)
	first.close()
	second.close()
	a, err := Open(t.Context(), Options{Home: t.TempDir(),
		Settings: control.Settings{Port: first.port, KeepRequests: control.KeepNone}})
	if err != nil {
		t.Fatal(err)
	}
	r := serving(t, a, ServeOptions{Endpoint: true})
	if err := r.db.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(second.port)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.ChangeSettings(t.Context(), control.SettingsChange{"port": b}); err == nil {
		t.Error("the change succeeded with a closed database")
	}
	if status, err := health(t, first.port); err != nil {
		t.Errorf("at the first port: %d %v", status, err)
	}
	if got := r.settings.Current().Port; got != first.port {
		t.Errorf("the port in force is %d, want %d", got, first.port)
	}
}

// With --addr this machine alone is served whatever network says, and the settings name --addr.
// Without the flag network is in force again.
func TestAddrServesThisMachineAloneWhateverTheSetting(t *testing.T) {
	port, listens := lendPort(t)
	home := t.TempDir()
	o := Options{Home: home, Settings: control.Settings{Port: port, KeepRequests: control.KeepNone}}
	serveAt := func(t *testing.T, addr string) (*running, *endpoint.Binding) {
		a, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		var asked endpoint.Binding
		// The test listens on this machine alone, whatever place is asked for.
		a.endpoint.Listen = func(at endpoint.Binding) ([]net.Listener, error) {
			asked = at
			return listens(at)
		}
		return serving(t, a, ServeOptions{Endpoint: true, Addr: addr}), &asked
	}
	t.Run("set", func(t *testing.T) {
		r, _ := serveAt(t, "")
		if _, err := control.Call(t.Context(), r.client(t), control.AddKey,
			control.KeyRequest{Name: "phone"}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.change(t, `{"network": true}`); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("flag", func(t *testing.T) {
		r, asked := serveAt(t, fmt.Sprintf("127.0.0.1:%d", port))
		st, err := control.Ask(t.Context(), r.client(t), control.GetSettings)
		if err != nil {
			t.Fatal(err)
		}
		if st.Settings.Network {
			t.Error("st.Settings.Network = true, want false")
		}
		if asked.Network {
			t.Error("asked.Network = true, want false")
		}
		if sourceOf(st, "network").By != "--addr" {
			t.Errorf(`sourceOf(st, "network").By = %q, want "--addr"`,
				sourceOf(st, "network").By)
		}
		if st.Reached != nil {
			t.Errorf("st.Reached = %v, want nil", st.Reached)
		}
		if _, err := r.change(t, `{"network": true}`); err == nil ||
			!strings.Contains(err.Error(), "was set with --addr") {
			t.Errorf("a change of network: %v, want it refused because of --addr", err)
		}
		// A start without the flag needs the key again.
		keys, err := control.Ask(t.Context(), r.client(t), control.ListKeys)
		if err != nil || len(keys.Keys) != 1 {
			t.Fatal(keys, err)
		}
		if _, err := control.Call(t.Context(), r.client(t), control.DeleteKey,
			keys.Keys[0].ID); codeOf(err) != control.CodeInvalid ||
			!strings.Contains(err.Error(), "once Tandem is started without") {
			t.Errorf("the deletion of the last key: %v, want it refused", err)
		}
	})
	r, asked := serveAt(t, "")
	if st, err := control.Ask(t.Context(), r.client(t), control.GetSettings); err != nil || !st.Settings.Network ||
		!asked.Network {
		t.Errorf("without the flag it listens at %+v: %+v %v", *asked, st.Settings, err)
	}
}

// A process that serves the control socket alone refuses SetPort. A change of the port is stored
// for the next process with an endpoint.
func TestProcessWithoutEndpointStoresThePortAlone(t *testing.T) {
	r := start(t, Options{}, "")
	if _, err := control.Call(context.Background(), r.client(t), control.SetPort,
		control.PortRequest{Port: 0}); codeOf(err) != control.CodeInvalid {
		t.Errorf("SetPort without an endpoint: %v", err)
	}
	b, err := json.Marshal(control.DefaultPort + 1)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := control.Call(t.Context(), r.client(t), control.ChangeSettings,
		control.SettingsChange{"port": b}); err != nil ||
		st.Settings.Port != control.DefaultPort+1 || st.Link != "" {
		t.Errorf("the change of the port: %+v %v", st, err)
	}
}

// codeOf returns the code of a control.Error, or "".
func codeOf(err error) control.Code {
	if e, ok := errors.AsType[*control.Error](err); ok {
		return e.Code
	}
	return ""
}

// paramOf returns the parameter that a control.Error names, or "".
func paramOf(err error) string {
	if e, ok := errors.AsType[*control.Error](err); ok {
		return e.Param
	}
	return ""
}
