package control

import "testing"

func TestOnlyHostNamesAndOriginsAreAllowed(t *testing.T) {
	for name, want := range map[string]bool{
		"models.example.org": true, "mac:8263": true, "[fd00::1]": true,
		"": false, ":80": false, "http://x": false, "a/b": false, "a b": false,
		"*.example.org": false, "user@x": false,
		"a.example,b.example": false, "x:": false, "[fd00::1]:": false, "x:443": true,
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
		"http://x.example:443": true, "https://x.example:80": true, "app://x:80": true,
	} {
		if err := CheckOrigin(origin); (err == nil) != want {
			t.Errorf("origin %q: %v", origin, err)
		}
	}
}
