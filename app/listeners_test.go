package app

import (
	"cmp"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/endpoint"
	"tandem/app/home"
)

// TestNetworkSwitch: the switch is refused without a key, listens anew on the
// same port, and keeps the key that it needs.
func TestNetworkSwitch(t *testing.T) {
	port, listens := lendPort(t)
	a, err := Open(t.Context(), Options{Home: t.TempDir(),
		Settings: control.Settings{Port: port, KeepRequests: control.KeepNone}})
	if err != nil {
		t.Fatal(err)
	}
	var asked []endpoint.Place
	// on this machine alone, whatever is asked
	a.endpoint.Listen = func(at endpoint.Place) ([]net.Listener, error) {
		asked = append(asked, at)
		return listens(at)
	}
	r := serving(t, a, ServeOptions{Endpoint: true})
	if _, err := r.change(t, `{"network": true}`); codeOf(err) != control.CodeInvalid ||
		paramOf(err) != "network" {
		t.Errorf("without a key: %v", err)
	}
	if _, err := r.change(t, `{"require_key": true}`); codeOf(err) != control.CodeInvalid ||
		paramOf(err) != "require_key" {
		t.Errorf("without a key: %v", err)
	}
	c := r.client(t)
	key, err := c.AddKey(t.Context(), control.KeyRequest{Name: "phone"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.change(t, `{"network": true}`); err != nil {
		t.Fatal(err)
	}
	if last := asked[len(asked)-1]; !last.Network || last.Port != port {
		t.Errorf("listens at %+v, then %+v", asked[0], last)
	}
	if status, err := health(t, port); err != nil {
		t.Errorf("%d %v", status, err)
	}
	if err := c.DeleteKey(t.Context(), key.Key.ID); codeOf(err) != control.CodeInvalid {
		t.Errorf("the last key goes: %v", err)
	}
	if _, err := r.change(t, `{"network": false}`); err != nil {
		t.Fatal(err)
	}
	if last := asked[len(asked)-1]; last.Network || last.Port != port {
		t.Errorf("listens at %+v when it is off", last)
	}
	if err := c.DeleteKey(t.Context(), key.Key.ID); err != nil {
		t.Error(err)
	}
}

// TestSwitchFails: where the network cannot be listened to, this machine is served
// as before.
func TestSwitchFails(t *testing.T) {
	port, listens := lendPort(t)
	a, err := Open(t.Context(), Options{Home: t.TempDir(),
		Settings: control.Settings{Port: port, KeepRequests: control.KeepNone}})
	if err != nil {
		t.Fatal(err)
	}
	a.endpoint.Listen = func(at endpoint.Place) ([]net.Listener, error) {
		if at.Network {
			return nil, errors.New("not on this machine")
		}
		return listens(at)
	}
	r := serving(t, a, ServeOptions{Endpoint: true})
	if _, err := r.client(t).AddKey(t.Context(), control.KeyRequest{Name: "phone"}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.change(t, `{"network": true}`); err == nil ||
		!strings.Contains(err.Error(), "not on this machine") {
		t.Errorf("%v", err)
	}
	if st, err := r.client(t).Settings(t.Context()); err != nil || st.Settings.Network ||
		st.Reached != nil {
		t.Errorf("%+v %v", st, err)
	}
	if resp, err := http.Get(r.url + "/health"); err != nil {
		t.Error(err)
	} else {
		resp.Body.Close()
	}
}

// TestSwitchFailsBothWays: where the way back is closed too, the state says so, and
// the endpoint opens when somebody asks for it.
func TestSwitchFailsBothWays(t *testing.T) {
	for name, c := range map[string]struct {
		back  func(port int) error
		taken bool
	}{
		"taken":  {func(port int) error { return &endpoint.TakenError{Port: port} }, true},
		"closed": {func(int) error { return errors.New("no sockets are left") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			port, listens := lendPort(t)
			a, err := Open(t.Context(), Options{Home: t.TempDir(),
				Settings: control.Settings{Port: port, KeepRequests: control.KeepNone}})
			if err != nil {
				t.Fatal(err)
			}
			opened, well := 0, false
			var again error
			a.endpoint.Listen = func(at endpoint.Place) ([]net.Listener, error) {
				if opened++; opened == 1 || well {
					return listens(at)
				}
				return nil, cmp.Or(again, c.back(at.Port))
			}
			r := serving(t, a, ServeOptions{Endpoint: true})
			client := r.client(t)
			if _, err := client.AddKey(t.Context(), control.KeyRequest{Name: "phone"}); err != nil {
				t.Fatal(err)
			}
			if _, err := r.change(t, `{"network": true}`); codeOf(err) != control.CodePortTaken ||
				!strings.HasPrefix(err.Error(), "The endpoint is closed: ") {
				t.Errorf("%v", err)
			}
			st, err := client.State(t.Context())
			if err != nil || st.Address != "" || st.Error == "" || !st.EndpointClosed ||
				(st.PortTaken != nil) != c.taken {
				t.Errorf("%+v %v", st, err)
			}
			if owner, err := home.Owner(r.home.Dir); err != nil ||
				strings.Contains(owner, "http://") {
				t.Errorf("the lock says %q: %v", owner, err)
			}
			// Another try tells its own cause, and of another port nothing is told.
			again = errors.New("not today")
			if _, err := client.SetPort(t.Context(), 0); codeOf(err) != control.CodePortTaken {
				t.Errorf("again: %v", err)
			}
			again = errors.New("not there")
			if _, err := client.SetPort(t.Context(), port-1); codeOf(err) != control.CodePortTaken {
				t.Errorf("elsewhere: %v", err)
			}
			if st, err = client.State(t.Context()); err != nil ||
				!strings.HasSuffix(st.Error, "not today") || !st.EndpointClosed ||
				st.PortTaken != nil {
				t.Errorf("%+v %v", st, err)
			}
			well = true
			if st, err = client.SetPort(t.Context(), 0); err != nil || st.Address != r.url ||
				st.Error != "" || st.EndpointClosed || st.PortTaken != nil {
				t.Errorf("again: %+v %v", st, err)
			}
			if status, err := health(t, port); err != nil {
				t.Errorf("%d %v", status, err)
			}
		})
	}
}

// TestSwitchOpens: the switch of the network opens an endpoint that is closed, or
// says why not; one whose port another program has waits for the next try.
func TestSwitchOpens(t *testing.T) {
	for name, c := range map[string]struct {
		why   error
		opens bool
	}{
		"closed": {errors.New("no sockets are left"), true},
		"taken":  {&endpoint.TakenError{Port: 8263}, false},
	} {
		t.Run(name, func(t *testing.T) {
			port, listens := lendPort(t)
			a, err := Open(t.Context(), Options{Home: t.TempDir(),
				Settings: control.Settings{Port: port, KeepRequests: control.KeepNone}})
			if err != nil {
				t.Fatal(err)
			}
			why, opened := error(nil), false
			a.endpoint.Listen = func(at endpoint.Place) ([]net.Listener, error) {
				if opened && why != nil {
					return nil, why
				}
				opened = true
				return listens(at)
			}
			r := serving(t, a, ServeOptions{Endpoint: true})
			if _, err := r.client(t).AddKey(t.Context(),
				control.KeyRequest{Name: "phone"}); err != nil {
				t.Fatal(err)
			}
			why = c.why
			if _, err := r.change(t, `{"network": true}`); err == nil || r.State().Address != "" {
				t.Fatalf("it is open: %v", err)
			}
			if c.opens {
				if _, err := r.change(t,
					`{"network": true}`); codeOf(err) != control.CodePortTaken {
					t.Errorf("it is set, and nothing moves: %v", err)
				}
			}
			why = nil
			st, err := r.change(t, `{"network": true}`)
			if err != nil || !st.Settings.Network || (r.State().Address != "") != c.opens {
				t.Errorf("%+v %v", r.State(), err)
			}
			if s, err := r.client(t).SetPort(t.Context(), 0); err != nil || s.Address == "" ||
				!r.endpoint.Place().Network {
				t.Errorf("tried again: %+v %v", s, err)
			}
		})
	}
}
