package endpoint

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"syscall"

	"tandem/app/control"
)

// LoopbackPort reads the port of a loopback address, written HOST:PORT.
func LoopbackPort(addr string) (int, error) {
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return 0, fmt.Errorf("address %q: write HOST:PORT, for example 127.0.0.1:%d", addr,
			control.DefaultPort)
	}
	port, err := strconv.Atoi(portText)
	if err != nil || port < 0 || port > 65535 {
		return 0, fmt.Errorf("address %q: the port is a number from 0 to 65535", addr)
	}
	// Both families are opened, whichever is named.
	if !slices.Contains([]string{"127.0.0.1", "localhost", "::1"}, host) {
		return 0, control.Errorf(control.CodeInvalid, "address %q: --addr chooses the port on this machine, 127.0.0.1 and ::1; "+
			"use 127.0.0.1:%d, or leave it out and allow other machines on the network.", addr, port).Advise(control.ToLetIn)
	}
	return port, nil
}

// Listen opens the port of a binding in both address families. Port 0 picks a port that is free in both. Error:
// *TakenError if another program has the port.
func Listen(at Binding) ([]net.Listener, error) {
	if at.Port != 0 {
		return listenPort(at)
	}
	// A port that is free in one family may be taken in the other.
	for range 20 {
		if probe, err := net.Listen("tcp4", "127.0.0.1:0"); err == nil {
			at.Port = probe.Addr().(*net.TCPAddr).Port
			probe.Close()
			if list, err := listenPort(at); err == nil {
				return list, nil
			}
		}
	}
	return nil, errors.New("no port is free in both loopback families")
}

// An address of a listener, as net.Listen takes it. IPv4 comes first.
type address struct{ family, addr string }

// addresses returns where a binding listens: the loopback addresses, or the wildcard ones.
func (b Binding) addresses() [2]address {
	v4, v6 := "127.0.0.1", "::1"
	if b.Network {
		v4, v6 = "0.0.0.0", "::"
	}
	port := strconv.Itoa(b.Port)
	return [2]address{{"tcp4", net.JoinHostPort(v4, port)}, {"tcp6", net.JoinHostPort(v6, port)}}
}

// listenPort opens one port. It probes the addresses that it does not open first. macOS lets a
// program bind the loopback address of a port that another program has on all addresses, and the
// reverse. Clients would reach either.
func listenPort(at Binding) ([]net.Listener, error) {
	taken := func(err error) ([]net.Listener, error) {
		if !errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("port %d cannot be opened: %w", at.Port, err)
		}
		return nil, &TakenError{Port: at.Port, Err: err}
	}
	v6 := hasIPv6()
	for _, a := range (Binding{at.Port, !at.Network}).addresses() {
		if a.family == "tcp6" && !v6 {
			continue
		}
		probe, err := net.Listen(a.family, a.addr)
		if err != nil {
			return taken(err)
		}
		probe.Close()
	}
	var list []net.Listener
	for _, a := range at.addresses() {
		if a.family == "tcp6" && !v6 {
			continue
		}
		l, err := net.Listen(a.family, a.addr)
		if err != nil {
			for _, l := range list {
				l.Close()
			}
			return taken(err)
		}
		list = append(list, l)
	}
	return list, nil
}

// hasIPv6 reports whether the machine has an IPv6 loopback address at all.
func hasIPv6() bool {
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		return false
	}
	l.Close()
	return true
}
