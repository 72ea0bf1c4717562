package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tandem/app"
	"tandem/app/control"
	"tandem/app/home"
	"tandem/app/library"
	"tandem/app/terminal"
	"tandem/models/starter"
	"tandem/storage/disk"
)

// home returns the folder that holds everything Tandem keeps.
func (m *Main) home() string { return control.Home(m.Getenv) }

func (m *Main) userHome() string { return control.UserHome(m.Getenv) }

// maxToken bounds the file of the hub's token, in bytes.
const maxToken = 64 << 10

// options returns what the environment says. The names are those of the Hugging Face libraries,
// because the cache is shared with them.
func (m *Main) options(log *slog.Logger) app.Options {
	o := app.Options{
		Home: m.home(), UserHome: m.userHome(), Program: terminal.Executable(), Path: m.Getenv("PATH"),
		Starter:    starter.Beside(terminal.Executable()),
		UpdateFeed: updateFeed, Version: m.Version, Logger: log,
		Settings: control.DefaultSettings(), Given: map[string]control.Given{},
	}
	byEnv := func(name string, variables ...string) {
		for _, v := range variables {
			if m.Getenv(v) != "" {
				o.Given[name] = control.Given{Source: control.FromEnvironment, By: v}
				return
			}
		}
	}
	byEnv("hub_cache", "HF_HUB_CACHE", "HF_HOME")
	byEnv("hub_endpoint", "HF_ENDPOINT")
	byEnv(control.SettingHubToken, "HF_TOKEN")
	byEnv("kv_bits", kvBitsVariable)
	if _, ok := o.Given["kv_bits"]; ok {
		bits, err := strconv.Atoi(m.Getenv(kvBitsVariable))
		if err != nil {
			bits = -1 // which app.Open refuses
		}
		o.Settings.KVBits = bits
	}
	byEnv("hub_proxy", proxyVariables...)
	if by, ok := o.Given["hub_proxy"]; ok {
		o.Settings.HubProxy = withoutPassword(m.Getenv(by.By))
	}
	base := m.Getenv("HF_HOME")
	if base == "" {
		cache := m.Getenv("XDG_CACHE_HOME")
		if cache == "" {
			cache = filepath.Join(m.userHome(), ".cache")
		}
		base = filepath.Join(cache, "huggingface")
	}
	o.Hub.CacheDir = m.Getenv("HF_HUB_CACHE")
	if o.Hub.CacheDir == "" {
		o.Hub.CacheDir = filepath.Join(base, "hub")
	}
	o.Hub.Endpoint = strings.TrimRight(m.Getenv("HF_ENDPOINT"), "/")
	o.Hub.Offline = slices.Contains([]string{"1", "ON", "YES", "TRUE"},
		strings.ToUpper(m.Getenv("HF_HUB_OFFLINE")))
	o.Hub.Logger = log
	o.Hub.Token = m.Getenv("HF_TOKEN")
	if o.Hub.Token == "" {
		if b, err := disk.ReadFile(filepath.Join(base, "token"), maxToken); err == nil {
			o.Hub.Token = strings.TrimSpace(string(b))
		}
	}
	for _, dir := range []string{".lmstudio/models", ".cache/lm-studio/models"} {
		o.ModelFolders = append(o.ModelFolders,
			library.ModelFolder{Path: filepath.Join(m.userHome(), dir),
				Place: control.PlaceLMStudio})
	}
	store := m.Getenv("OLLAMA_MODELS")
	if store == "" {
		store = filepath.Join(m.userHome(), ".ollama/models")
	}
	o.ModelFolders = append(o.ModelFolders,
		library.ModelFolder{Path: store, Place: control.PlaceOllama})
	return o
}

// updateFeed is the address that tells of newer versions. A build sets it with -X
// main.updateFeed=URL. Without it no address is asked.
var updateFeed string

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

// startLimit is how long a process that holds the lock may take to answer.
const startLimit = 5 * time.Second

// withServer calls fn with a client of the process that serves the home folder. If there is none,
// this process serves the socket until fn returns.
func (m *Main) withServer(ctx context.Context, fn func(*control.Client) error) error {
	return m.withServerOf(ctx, kvBitsFlag{}, "", fn)
}

// withServerOf is withServer where the models of this process have the bits of a flag. Where another
// process serves, it fails if the model has other bits there.
func (m *Main) withServerOf(ctx context.Context, bits kvBitsFlag, model string,
	fn func(*control.Client) error) error {
	client := control.Dial(m.home())
	defer client.Close()
	deadline := time.Now().Add(startLimit)
	for {
		state, err := client.State(ctx)
		if err == nil && state.Phase != control.PhaseDraining {
			if bits.given {
				id, err := idOf(ctx, client, model)
				if err == nil {
					err = bits.check(ctx, client, state, id)
				}
				if err != nil {
					return err
				}
			}
			return fn(client)
		}
		if e, ok := errors.AsType[*control.Error](err); err != nil &&
			(!ok || e.Code != control.CodeUnavailable) {
			return err
		}
		o := m.options(m.Logger(false))
		bits.decide(&o)
		a, err := app.Open(ctx, o)
		if err == nil {
			return m.serveWhile(ctx, a, func() error { return fn(client) })
		}
		// Another process may have taken the lock a moment ago and not answer yet.
		if _, ok := errors.AsType[*home.LockedError](err); !ok || time.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// serveWhile serves the socket of a while fn runs. It then waits for the requests that other
// programs have in flight here, and closes a.
func (m *Main) serveWhile(ctx context.Context, a *app.App, fn func() error) error {
	stop := make(chan struct{})
	ready := make(chan struct{})
	served := make(chan error, 1)
	go func() {
		served <- a.Serve(ctx, app.ServeOptions{Stop: stop,
			Ready: func(string, string) { close(ready) }})
	}()
	var err error
	select {
	case <-ready:
		err = fn()
		close(stop)
		patience := time.AfterFunc(watchAfter, func() {
			if ctx.Err() != nil {
				return // requests are being ended; one may be fn's own
			}
			fmt.Fprintln(m.Stderr,
				"tandem: done, but other programs have requests in flight here; waiting for them. Ctrl-C ends them")
		})
		err = errors.Join(err, <-served)
		patience.Stop()
	case err = <-served:
	}
	return errors.Join(err, a.Close())
}
