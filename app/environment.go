package app

import (
	"cmp"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tandem/app/control"
	"tandem/app/library"
	"tandem/storage/disk"
)

// KVBitsVariable decides the setting kv_bits, unless a flag does.
const KVBitsVariable = "TANDEM_KV_BITS"

// maxToken bounds the file of the hub's token, in bytes.
const maxToken = 64 << 10

// FromEnvironment returns the options that the environment decides. The names are those of the Hugging
// Face libraries, because the cache is shared with them.
func FromEnvironment(getenv func(string) string) Options {
	o := Options{
		Home: control.Home(getenv), UserHome: control.UserHome(getenv), Path: getenv("PATH"),
		Settings: control.DefaultSettings(), Overrides: map[string]control.Given{},
	}
	byEnv := func(name string, variables ...string) {
		for _, v := range variables {
			if getenv(v) != "" {
				o.Overrides[name] = control.Given{Source: control.FromEnvironment, By: v}
				return
			}
		}
	}
	byEnv("hub_cache", "HF_HUB_CACHE", "HF_HOME")
	byEnv("hub_endpoint", "HF_ENDPOINT")
	byEnv(control.SettingHubToken, "HF_TOKEN")
	byEnv("kv_bits", KVBitsVariable)
	if _, ok := o.Overrides["kv_bits"]; ok {
		bits, err := strconv.Atoi(getenv(KVBitsVariable))
		if err != nil {
			bits = -1 // which Open refuses
		}
		o.Settings.KVBits = bits
	}
	byEnv("hub_proxy", proxyVariables...)
	if by, ok := o.Overrides["hub_proxy"]; ok {
		o.Settings.HubProxy = withoutPassword(getenv(by.By))
	}
	caches := cmp.Or(getenv("XDG_CACHE_HOME"), filepath.Join(o.UserHome, ".cache"))
	base := cmp.Or(getenv("HF_HOME"), filepath.Join(caches, "huggingface"))
	o.Hub.CacheDir = cmp.Or(getenv("HF_HUB_CACHE"), filepath.Join(base, "hub"))
	o.Hub.Endpoint = strings.TrimRight(getenv("HF_ENDPOINT"), "/")
	o.Hub.Offline = slices.Contains([]string{"1", "ON", "YES", "TRUE"},
		strings.ToUpper(getenv("HF_HUB_OFFLINE")))
	o.Hub.Token = getenv("HF_TOKEN")
	if o.Hub.Token == "" {
		if b, err := disk.ReadFile(filepath.Join(base, "token"), maxToken); err == nil {
			o.Hub.Token = strings.TrimSpace(string(b))
		}
	}
	for _, dir := range []string{".lmstudio/models", ".cache/lm-studio/models"} {
		o.ModelFolders = append(o.ModelFolders,
			library.ModelFolder{Path: filepath.Join(o.UserHome, dir),
				Place: control.PlaceLMStudio})
	}
	store := cmp.Or(getenv("OLLAMA_MODELS"), filepath.Join(o.UserHome, ".ollama/models"))
	o.ModelFolders = append(o.ModelFolders,
		library.ModelFolder{Path: store, Place: control.PlaceOllama})
	return o
}

// proxyVariables are the variables by which net/http finds the way to the hub.
var proxyVariables = []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"}

// withoutPassword returns a proxy's address as it may be shown.
func withoutPassword(proxy string) string {
	u, err := url.Parse(proxy)
	if err != nil || u.Host == "" {
		u, err = url.Parse("http://" + proxy) // as net/http reads it
	}
	if err != nil {
		return ""
	}
	u.User = nil
	return u.String()
}
