package control

import "testing"

func TestOnlyHostNamesAndOriginsAreAllowed(t *testing.T) {
	for name, want := range map[string]bool{
		"models.example.org": true, "mac:8263": true, "[fd00::1]": true,
		"": false, ":80": false, "http://x": false, "a/b": false, "a b": false,
		"*.example.org": false, "user@x": false,
		"a.example,b.example": false, "x:": false, "[fd00::1]:": false, "x:443": true,
		".": false, "..": false, ".:80": false, ".example.org": false, "a..b": false, "[]": false,
		"[x]": false, "[::1": false, "x:99999": false, " ": false, "x\n": false, "ex\u00e4mple.org": false,
		"mac.": true, "my_mac": true, "fd00::1": false, "[fd00::1]:8263": true, "-": true,
		"?": false, "#": false, "x?": false, "%41": false, "192.168.7.5": true,
	} {
		if err := CheckHost(name); (err == nil) != want {
			t.Errorf("host %q: %v", name, err)
		}
	}
	for origin, want := range map[string]bool{
		"https://x.example": true, "http://localhost:3000": true, "app://obsidian.md": true,
		"vscode-webview://abc": true,
		"":                     false, "*": false, "null": false, "x.example": false, "https://x.example/": false,
		"https://X.example": false, "https://*.example": false,
		"https://a.example,https://b.example": false, "https://a.example,b.example": false,
		"https://x.example:":  false,
		"http://x.example:80": false, "https://x.example:443": false, "http://[::1]:80": false,
		"https://.": false, "https://a..b": false, "https://": false, "app://.": false, "file://": false,
		"https://u@x.example": false, "https://x.example?": false, "//x.example": false,
		"https://x.example:99999": false, "http://[::1]:3000": true, "chrome-extension://abcdef": true,
		"http://x.example:443": true, "https://x.example:80": true, "app://x:80": true,
	} {
		if err := CheckOrigin(origin); (err == nil) != want {
			t.Errorf("origin %q: %v", origin, err)
		}
	}
}
