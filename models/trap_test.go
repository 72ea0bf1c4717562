package models_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tandem/engine/enginetest"
	"tandem/models"
	"tandem/storage/disk"
)

// What stands in the place of a file of a model and is none is refused by name. Nothing waits for
// the other end of a named pipe.
func TestOnlyRegularFilesOfAModelAreRead(t *testing.T) {
	th := enginetest.NewThread(t)
	target, err := models.OpenPocket().Load(t.Context(), th, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	traps := map[string]func(path string) error{
		"a named pipe": func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a folder":     func(path string) error { return os.Mkdir(path, 0o700) },
		"a device":     func(path string) error { return os.Symlink("/dev/zero", path) },
		"a socket": func(path string) error {
			t.Chdir(filepath.Dir(path)) // the address of a socket is short
			l, err := net.Listen("unix", filepath.Base(path))
			if err == nil {
				t.Cleanup(func() { l.Close() })
			}
			return err
		},
		"too many": func(path string) error { return os.Symlink(filepath.Base(path), path) },
	}
	for _, name := range []string{"config.json", "model.safetensors", "model.safetensors.index.json",
		"tokenizer.json", "tokenizer_config.json", "generation_config.json", "modules.json",
		"chat_template.jinja", "chat_template.json", "additional_chat_templates/tool_use.jinja"} {
		for kind, trap := range traps {
			dir := enginetest.TinyModel(t, "qwen3")
			path := filepath.Join(dir, name)
			os.Remove(path)
			os.Mkdir(filepath.Dir(path), 0o700)
			if name == "model.safetensors.index.json" {
				os.Remove(filepath.Join(dir, "model.safetensors"))
			}
			if err := trap(path); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			_, ofInspect := models.Inspect(dir)
			b, ofLoad := models.Load(t.Context(), th, dir, models.Options{})
			d, ofDrafter := models.LoadDrafter(t.Context(), target, dir, models.DrafterSettings{},
				models.Options{})
			_, ofTemplate := loadChatTemplate(dir)
			isDrafter(dir)
			measureDrafter(dir)
			loadTokenizer(dir)
			readDefaultsOf(dir)
			if d := time.Since(start); d > 2*time.Second {
				t.Errorf("%s as %s took %v", kind, name, d)
			}
			if strings.Contains(name, "chat_template") { // the model takes plain prompts
				if ofLoad != nil || b.Chat.Err() == nil ||
					!strings.Contains(fmt.Sprint(ofTemplate), kind) {
					t.Errorf("%s as %s gives %v, %v", kind, name, ofLoad, ofTemplate)
				}
				if b != nil {
					b.Close()
				}
				continue
			}
			for how, err := range map[string]error{"inspecting": ofInspect, "loading": ofLoad} {
				e, ok := errors.AsType[*models.Error](err)
				if !ok || !strings.Contains(e.Message, name) || !strings.Contains(e.Message, kind) {
					t.Errorf("%s %s as %s gives %v", how, kind, name, err)
				}
			}
			if ofDrafter == nil {
				d.Close()
				t.Errorf("%s as %s is a drafter", kind, name)
			}
		}
	}
}

func TestSilentFolderIsRefusedInTime(t *testing.T) {
	dir := enginetest.SilentFolder(t)
	th := enginetest.NewThread(t)
	start := time.Now()
	_, ofInspect := models.Inspect(dir)
	_, ofLoad := models.Load(t.Context(), th, dir, models.Options{})
	_, ofTokenizer := loadTokenizer(dir)
	_, ofDefaults := readDefaultsOf(dir)
	_, ofDrafter := measureDrafter(dir)
	for _, err := range []error{ofInspect, ofLoad, ofTokenizer, ofDefaults, ofDrafter} {
		if err == nil || !strings.Contains(err.Error(), "does not answer") {
			t.Errorf("it gives %v", err)
		}
	}
	if d := time.Since(start); d > 2*disk.Patience {
		t.Errorf("all of it took %v", d)
	}
}
