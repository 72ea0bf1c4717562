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

// network and require_key are refused without a key. The switch listens again at the same port.
// The last key cannot be deleted while network is on.
func TestNetworkNeedsAKeyAndKeepsThePort(t *testing.T) {
	port, listens := lendPort(t)
	a, err := Open(t.Context(), Options{Home: t.TempDir(),
		Settings: control.Settings{Port: port, KeepRequests: control.KeepNone}})
	if err != nil {
		t.Fatal(err)
	}
	var asked []endpoint.Binding
	// The test listens on this machine alone, whatever place is asked for.
	a.endpoint.Listen = func(at endpoint.Binding) ([]net.Listener, error) {
		asked = append(asked, at)
		return listens(at)
	}
	r := serving(t, a, ServeOptions{Endpoint: true})
	if _, err := r.change(t, `{"network": true}`); codeOf(err) != control.CodeInvalid ||
		paramOf(err) != "network" {
		t.Errorf("a switch without a key: %v", err)
	}
	if _, err := r.change(t, `{"require_key": true}`); codeOf(err) != control.CodeInvalid ||
		paramOf(err) != "require_key" {
		t.Errorf("a switch without a key: %v", err)
	}
	c := r.client(t)
	key, err := control.Call(t.Context(), c, control.AddKey, control.KeyRequest{Name: "phone"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.change(t, `{"network": true}`); err != nil {
		t.Fatal(err)
	}
	if last := asked[len(asked)-1]; !last.Network || last.Port != port {
		t.Errorf("it listened at %+v and now at %+v, want the network at port %d", asked[0], last, port)
	}
	if status, err := health(t, port); err != nil {
		t.Errorf("/health: %d %v", status, err)
	}
	if _, err := control.Call(t.Context(), c, control.DeleteKey,
		key.Key.ID); codeOf(err) != control.CodeInvalid {
		t.Errorf("the deletion of the last key: %v, want it refused", err)
	}
	if _, err := r.change(t, `{"network": false}`); err != nil {
		t.Fatal(err)
	}
	if last := asked[len(asked)-1]; last.Network || last.Port != port {
		t.Errorf("with network off it listens at %+v", last)
	}
	if _, err := control.Call(t.Context(), c, control.DeleteKey, key.Key.ID); err != nil {
		t.Error(err)
	}
}

// When the network cannot be listened at, the change fails with the cause and this machine is
// served as before.
func TestFailedNetworkSwitchKeepsServingThisMachine(t *testing.T) {
	port, listens := lendPort(t)
	a, err := Open(t.Context(), Options{Home: t.TempDir(),
		Settings: control.Settings{Port: port, KeepRequests: control.KeepNone}})
	if err != nil {
		t.Fatal(err)
	}
	a.endpoint.Listen = func(at endpoint.Binding) ([]net.Listener, error) {
		if at.Network {
			return nil, errors.New("not on this machine")
		}
		return listens(at)
	}
	r := serving(t, a, ServeOptions{Endpoint: true})
	if _, err := control.Call(t.Context(), r.client(t), control.AddKey,
		control.KeyRequest{Name: "phone"}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.change(t, `{"network": true}`); err == nil ||
		!strings.Contains(err.Error(), "not on this machine") {
		t.Errorf("the switch: %v, want its cause", err)
	}
	if st, err := control.Ask(t.Context(), r.client(t), control.GetSettings); err != nil || st.Settings.Network ||
		st.Reached != nil {
		t.Errorf("after the failed switch the settings are %+v %v", st, err)
	}
	if resp, err := http.Get(r.url + "/health"); err != nil {
		t.Error(err)
	} else {
		resp.Body.Close()
	}
}

// When neither the network nor the old place can be listened at, the state says that the
// endpoint is closed and why. SetPort opens it again.
func TestEndpointClosedByASwitchOpensOnRequest(t *testing.T) {
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
			a.endpoint.Listen = func(at endpoint.Binding) ([]net.Listener, error) {
				if opened++; opened == 1 || well {
					return listens(at)
				}
				return nil, cmp.Or(again, c.back(at.Port))
			}
			r := serving(t, a, ServeOptions{Endpoint: true})
			client := r.client(t)
			if _, err := control.Call(t.Context(), client, control.AddKey,
				control.KeyRequest{Name: "phone"}); err != nil {
				t.Fatal(err)
			}
			if _, err := r.change(t, `{"network": true}`); codeOf(err) != control.CodePortTaken ||
				!strings.HasPrefix(err.Error(), "The endpoint is closed: ") {
				t.Errorf("the switch: %v", err)
			}
			st, err := control.Ask(t.Context(), client, control.GetState)
			if err != nil {
				t.Fatal(err)
			}
			if st.Address != "" {
				t.Errorf(`st.Address = %q, want ""`, st.Address)
			}
			if st.Error == "" {
				t.Error("st.Error is empty")
			}
			if !st.EndpointClosed {
				t.Error("st.EndpointClosed = false, want true")
			}
			if (st.PortTaken != nil) != c.taken {
				t.Errorf("st.PortTaken = %+v, want one: %v", st.PortTaken, c.taken)
			}
			if owner, err := home.Owner(r.home.Dir); err != nil ||
				strings.Contains(owner, "http://") {
				t.Errorf("the lock says %q: %v", owner, err)
			}
			// The state tells the cause of the latest try at this port. A try at another port does
			// not change it.
			again = errors.New("not today")
			if _, err := control.Call(t.Context(), client, control.SetPort,
				control.PortRequest{Port: 0}); codeOf(err) != control.CodePortTaken {
				t.Errorf("SetPort at the same port: %v", err)
			}
			again = errors.New("not there")
			if _, err := control.Call(t.Context(), client, control.SetPort,
				control.PortRequest{Port: port - 1}); codeOf(err) != control.CodePortTaken {
				t.Errorf("SetPort at another port: %v", err)
			}
			if st, err = control.Ask(t.Context(), client, control.GetState); err != nil ||
				!strings.HasSuffix(st.Error, "not today") || !st.EndpointClosed ||
				st.PortTaken != nil {
				t.Errorf("after both tries the state is %+v %v", st, err)
			}
			well = true
			st, err = control.Call(t.Context(), client, control.SetPort, control.PortRequest{Port: 0})
			if err != nil {
				t.Fatal(err)
			}
			if st.Address != r.url {
				t.Errorf("st.Address = %v, want %v", st.Address, r.url)
			}
			if st.Error != "" {
				t.Errorf(`st.Error = %q, want ""`, st.Error)
			}
			if st.EndpointClosed {
				t.Error("st.EndpointClosed = true, want false")
			}
			if st.PortTaken != nil {
				t.Errorf("st.PortTaken = %v, want nil", st.PortTaken)
			}
			if status, err := health(t, port); err != nil {
				t.Errorf("/health: %d %v", status, err)
			}
		})
	}
}

// The switch of the network opens a closed endpoint, or says why it cannot. An endpoint whose
// port another program has stays closed until SetPort.
func TestNetworkSwitchOpensAClosedEndpointUnlessThePortIsTaken(t *testing.T) {
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
			a.endpoint.Listen = func(at endpoint.Binding) ([]net.Listener, error) {
				if opened && why != nil {
					return nil, why
				}
				opened = true
				return listens(at)
			}
			r := serving(t, a, ServeOptions{Endpoint: true})
			if _, err := control.Call(t.Context(), r.client(t), control.AddKey,
				control.KeyRequest{Name: "phone"}); err != nil {
				t.Fatal(err)
			}
			why = c.why
			if _, err := r.change(t, `{"network": true}`); err == nil || r.State().Address != "" {
				t.Fatalf("the endpoint is open after a failed switch: %v", err)
			}
			if c.opens {
				if _, err := r.change(t,
					`{"network": true}`); codeOf(err) != control.CodePortTaken {
					t.Errorf("the switch while the port cannot be opened: %v", err)
				}
			}
			why = nil
			st, err := r.change(t, `{"network": true}`)
			if err != nil || !st.Settings.Network || (r.State().Address != "") != c.opens {
				t.Errorf("after the switch the state is %+v %v, want it open: %t", r.State(), err, c.opens)
			}
			if s, err := control.Call(t.Context(), r.client(t), control.SetPort,
				control.PortRequest{Port: 0}); err != nil || s.Address == "" ||
				!r.endpoint.Binding().Network {
				t.Errorf("after SetPort the state is %+v %v", s, err)
			}
		})
	}
}
