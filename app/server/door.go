package server

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/wire"
)

// Rules decide whom the endpoint answers. The zero value admits this machine alone.
type Rules struct {
	// AllowedHosts are names that a client may use for the endpoint. The loopback names, the names
	// by which containers call their host, and the address that the client reached are always
	// allowed.
	AllowedHosts []string

	// AllowedOrigins are pages and apps that may call the standard routes from a browser, such as
	// app://obsidian.md. The control routes are never open to them.
	AllowedOrigins []string

	// Network lets other machines call the standard routes with a key.
	Network bool

	// RequireKey asks programs on this machine for a key as well.
	RequireKey bool
}

// maxPreflight limits the names of headers that a preflight may ask for, in bytes.
const maxPreflight = 1000

// A door decides who may use the endpoint over TCP. It keeps web pages out. The Host header shows
// pages of other names that resolve to this machine. Origin and Sec-Fetch-Site show pages that call
// across sites.
type door struct {
	Rules
	hosts []string // lower case, without port
	cross *http.CrossOriginProtection
}

// SetRules changes the rules for later requests.
func (s *Server) SetRules(r Rules) {
	d := &door{Rules: r, cross: http.NewCrossOriginProtection()}
	for _, h := range r.AllowedHosts {
		if name := hostname(h); name != "" {
			d.hosts = append(d.hosts, name)
		}
	}
	s.door.Store(d)
}

// check refuses a request with an error, or lets it in. done reports that check answered the
// request itself, as the preflight of an allowed origin.
func (d *door) check(w http.ResponseWriter, r *http.Request) (done bool, err error) {
	if !isLocal(r) {
		if !d.Network {
			return false, control.Errorf(control.CodeForbidden,
				"This endpoint answers only its own machine; Network access in Tandem's "+
					"settings changes that.")
		}
		if !isShared(r.URL.Path) {
			return false, noRoute(r.URL.Path)
		}
	}
	if !d.knowsHost(r) {
		return false, control.Errorf(control.CodeForbidden,
			"The name %q is not one of this endpoint's. Call it by http://127.0.0.1 and its port, "+
				"or add the name in Tandem's settings or with --allow-host when it is started.",
			wire.Clip(r.Host))
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 1 && slices.Contains(d.AllowedOrigins, origins[0]) &&
		!isControl(r.URL.Path) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", origins[0])
		h.Set("Access-Control-Expose-Headers",
			"X-Request-Id, Request-Id, Retry-After, "+api.RunHeader)
		h.Add("Vary", "Origin")
		if r.Method == http.MethodOptions {
			h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, DELETE")
			if asked := r.Header.Get("Access-Control-Request-Headers"); len(asked) <= maxPreflight {
				h.Set("Access-Control-Allow-Headers", asked)
			}
			h.Set("Access-Control-Max-Age", "600")
			w.WriteHeader(http.StatusNoContent)
			return true, nil
		}
		return false, nil
	}
	w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
	for _, o := range origins {
		if !sameOrigin(o, r) || d.namesHost(r) {
			return false, control.Errorf(control.CodeForbidden,
				"The origin %q may not call this endpoint; open /v1 to it in Tandem's settings or "+
					"with --allow-origin when it is started.", wire.Clip(o))
		}
	}
	if !d.sameSite(r) {
		return false, control.Errorf(control.CodeForbidden,
			"Pages of other sites may not call this endpoint.")
	}
	return false, nil
}

// knowsHost reports whether the Host header is a name that only this machine has. DNS cannot give
// such a name to another site.
func (d *door) knowsHost(r *http.Request) bool {
	host := hostname(r.Host)
	if host == "localhost" || strings.HasSuffix(host, ".localhost") && isName(host) ||
		d.namesHost(r) ||
		slices.Contains(d.hosts, host) {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	if ip.IsLoopback() {
		return true
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	own, err := netip.ParseAddrPort(local.String())
	return err == nil && own.Addr().Unmap().WithZone("") == ip.Unmap().WithZone("")
}

// namesHost reports whether a request calls by a name such as host.docker.internal, by which
// containers call their host, and which is not on the list. No registry delegates names below
// internal, but a company's own DNS may have some. So programs may call by such a name, and pages
// may not.
func (d *door) namesHost(r *http.Request) bool {
	host := hostname(r.Host)
	return strings.HasSuffix(host, ".internal") && isName(host) && !slices.Contains(d.hosts, host)
}

// isName reports whether host, in lower case, is a well-formed name: labels of letters, digits,
// dashes and underscores, with dots between them.
func isName(host string) bool {
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || strings.HasPrefix(label, "-") ||
			strings.HasSuffix(label, "-") ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return len(host) <= 253
}

// hostname is host in lower case, without port, brackets and final dot.
func hostname(host string) string {
	if h, port, err := net.SplitHostPort(host); err == nil &&
		strings.Trim(port, "0123456789") == "" {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// sameOrigin reports whether the origin is the page we serve ourselves.
func sameOrigin(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Scheme == "http" && strings.EqualFold(u.Host, r.Host)
}

// sameSite reports whether a request is no page's, or our own page's. A link from elsewhere may open
// our page. Pages of this machine's other ports may read, as their browser keeps the answer from
// them, and may not write.
func (d *door) sameSite(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site":
		return opensPage(r)
	case "same-origin":
		return !d.namesHost(r)
	case "same-site":
		return d.cross.Check(r) == nil
	}
	return true
}

// opensPage reports whether a request from another site is a navigation to our page.
func opensPage(r *http.Request) bool {
	return r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// isLocal reports whether a request comes from this machine.
func isLocal(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && peer.Addr().Unmap().IsLoopback()
}

// isShared reports whether the path can be open to other machines at all.
func isShared(path string) bool {
	return isStandard(path) || path == "/health" || path == "/metrics"
}

// isStandard reports whether programs call the path by a vendor's protocol, or read about the
// protocols there.
func isStandard(path string) bool {
	return strings.HasPrefix(path, "/v1/") || strings.HasPrefix(path, "/api/") ||
		slices.Contains(bareRoutes, path)
}

// bareRoutes are outside of the vendors' folders: llama.cpp's, Cohere's, and the description of the
// routes.
var bareRoutes = []string{"/props", "/tokenize", "/detokenize", "/completion", "/infill",
	"/v2/rerank", openAPIPath}

func isControl(path string) bool { return path == "/app" || strings.HasPrefix(path, "/app/") }

// checkControl guards the control routes over TCP.
func (s *Server) checkControl(r *http.Request) error {
	if err := s.door.Load().cross.Check(r); err != nil {
		return control.Errorf(control.CodeForbidden,
			"Pages of other sites may not call this endpoint.")
	}
	if r.URL.Path == "/app/session" {
		return nil // it takes a code instead
	}
	token, ok := bearer(r.Header.Get("Authorization"))
	if !ok || !s.sessions.valid(token) {
		return control.Errorf(control.CodeUnauthorized,
			"This needs a session, which a link of Tandem's begins.").Advise(control.ToOpen)
	}
	return nil
}
