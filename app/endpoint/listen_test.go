package endpoint

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/app/control"
)

// another holds a port in both address families, like another program, until the test ends or close
// is called.
type another struct {
	port int
	list []net.Listener
}

func holdPort(t *testing.T, port int) *another {
	t.Helper()
	list, err := Listen(Binding{Port: port})
	if err != nil {
		t.Fatal(err)
	}
	o := &another{list[0].Addr().(*net.TCPAddr).Port, list}
	t.Cleanup(o.close)
	for _, l := range list { // a program that asks what this is gets an end at once
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

// Only a port in use is reported as taken.
func TestOnlyAPortInUseIsTaken(t *testing.T) {
	port := holdPort(t, 0).port
	for _, network := range []bool{false, true} {
		_, err := listenPort(Binding{port, network})
		e, ok := errors.AsType[*TakenError](err)
		if !ok || e.Port != port || !strings.Contains(e.Error(),
			fmt.Sprintf("port %d is taken", port)) {
			t.Errorf("a port in use: %v", err)
		}
	}
	const none = 70000 // refused before the owner of a port is looked up
	_, err := listenPort(Binding{Port: none})
	if _, ok := errors.AsType[*TakenError](err); err == nil || ok ||
		!strings.Contains(err.Error(), "port 70000 cannot be opened") {
		t.Errorf("a port that cannot be opened: %v", err)
	}
}

func TestOtherMachinesReachItOnlyWhenAsked(t *testing.T) {
	for at, want := range map[Binding][2]address{
		{8263, false}: {{"tcp4", "127.0.0.1:8263"}, {"tcp6", "[::1]:8263"}},
		{9000, true}:  {{"tcp4", "0.0.0.0:9000"}, {"tcp6", "[::]:9000"}},
	} {
		if got := at.addresses(); got != want {
			t.Errorf("%+v: %v, want %v", at, got, want)
		}
	}
}

func TestReachedAddressesAreThoseOthersCanCall(t *testing.T) {
	var own []net.Addr
	for _, cidr := range []string{"127.0.0.1/8", "192.168.7.5/24", "169.254.1.2/16", "::1/128",
		"fe80::1/64", "fd00::5/64"} {
		ip, n, err := net.ParseCIDR(cidr)
		if err != nil {
			t.Fatal(err)
		}
		own = append(own, &net.IPNet{IP: ip, Mask: n.Mask})
	}
	if got, want := urlsOf(own, 8263), []string{"http://192.168.7.5:8263",
		"http://[fd00::5]:8263"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestTakenPortNamesItsOwnerAndAFreePort(t *testing.T) {
	first := holdPort(t, 0)
	e := &TakenError{Port: first.port}
	e.explore(t.Context(), false)
	if e.Next <= e.Port || e.Next > 65535 || !strings.HasSuffix(e.Error(),
		fmt.Sprintf("or use port %d", e.Next)) {
		t.Errorf("%+v: %v", e, e)
	}
	self := filepath.Base(os.Args[0])
	if want := fmt.Sprintf("%s (pid %d)", self[:min(len(self), 15)], os.Getpid()); e.Owner != want {
		t.Errorf("the owner is %q, want %q", e.Owner, want)
	}
	last := &TakenError{Port: 65535}
	if last.explore(t.Context(), false); last.Next != 0 ||
		!strings.HasSuffix(last.Error(), "try again") {
		t.Errorf("after the last port: %v", last)
	}
}

// A port is also taken if another program has it at an address where we do not listen. Some clients
// would reach that program, and some would reach us.
func TestPortTakenAtWildcardIsTaken(t *testing.T) {
	held := 0
	for _, a := range []address{{"tcp4", "127.0.0.2:0"}, {"tcp4", "0.0.0.0:0"},
		{"tcp6", "[::]:0"}} {
		other, err := net.Listen(a.family, a.addr)
		if err != nil {
			continue // there is no such address on this machine
		}
		held++
		port := other.Addr().(*net.TCPAddr).Port
		list, err := listenPort(Binding{Port: port})
		if err == nil {
			t.Errorf("beside %s port %d was opened", a.addr, port)
		}
		for _, l := range list {
			l.Close()
		}
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}
	if held == 0 {
		t.Error("no address could be held")
	}
}

func TestOnlyLoopbackAddressesAreAccepted(t *testing.T) {
	for _, addr := range []string{"127.0.0.2:0", "[::ffff:127.0.0.1]:0", "0.0.0.0:0",
		"192.0.2.1:80", "8263", "127.0.0.1:70000", "127.0.0.1:x", "example.org:80"} {
		if port, err := LoopbackPort(addr); err == nil {
			t.Errorf("%s is port %d", addr, port)
		}
	}
	for addr, lets := range map[string]bool{"0.0.0.0:80": true, "192.0.2.1:80": true, "example.org:80": true, "8263": false} {
		_, err := LoopbackPort(addr)
		if e, ok := errors.AsType[*control.Error](err); (ok && e.Advice == control.ToLetIn) != lets {
			t.Errorf("%s: %v, want advice how to let other machines in: %t", addr, err, lets)
		}
	}
}
