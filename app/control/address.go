package control

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// CheckHost returns an error for a name that no Host header of a program can have.
func CheckHost(name string) error {
	if u, err := url.Parse("http://" + name); err != nil || u.Host != name || !oneHost(u) {
		return errors.New("write one name, such as models.example.org")
	}
	return nil
}

// CheckOrigin returns an error for a text that no Origin header can have.
func CheckOrigin(origin string) error {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme == "" || !oneHost(u) ||
		origin != strings.ToLower(u.Scheme+"://"+u.Host) {
		return errors.New("write it as browsers do: scheme://host[:port] in lower case, without a slash at the end")
	}
	switch u.Scheme + ":" + u.Port() {
	case "http:80", "https:443":
		return fmt.Errorf("write it as browsers do: without :%s, the port of every %s",
			u.Port(), u.Scheme)
	}
	return nil
}

// hostName matches a name in ASCII, as requests have it. It may end with a dot.
var hostName = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?$`)

// oneHost reports whether a URL names one host, with or without a port.
func oneHost(u *url.URL) bool {
	if _, err := strconv.ParseUint(cmp.Or(u.Port(), "80"), 10, 16); err != nil ||
		strings.HasSuffix(u.Host, ":") {
		return false
	}
	if _, err := netip.ParseAddr(u.Hostname()); err == nil {
		return true
	}
	return !strings.HasPrefix(u.Host, "[") && hostName.MatchString(u.Hostname())
}
