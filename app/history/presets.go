package history

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"tandem/app/control"
	"tandem/storage"
)

// settingPresets holds the presets, as JSON.
const settingPresets = "presets"

const maxPresets = 100

// Presets returns the named system prompts, in the order of their names.
func (cs *Chats) Presets(ctx context.Context) (p control.Presets, err error) {
	text, err := cs.db.Setting(ctx, settingPresets)
	if text != "" {
		err = json.Unmarshal([]byte(text), &p)
	}
	return p, err
}

// SetPreset keeps a system prompt under its name. Error: CodeInvalid for a name that is blank or
// long, for a long prompt, and beyond 100 presets.
func (cs *Chats) SetPreset(ctx context.Context, one control.Preset) error {
	switch {
	case strings.TrimSpace(one.Name) == "":
		return control.Errorf(control.CodeInvalid, "A preset needs a name.")
	case utf8.RuneCountInString(one.Name) > storage.MaxTitleRunes:
		return control.Errorf(control.CodeInvalid, "The name of a preset has %d letters at most.",
			storage.MaxTitleRunes)
	case len(one.System) > storage.MaxSystemBytes:
		return control.Errorf(control.CodeInvalid, "The text of a preset has %d KiB at most.",
			storage.MaxSystemBytes>>10)
	}
	_, err := cs.changePresets(ctx, one.Name, &one)
	return err
}

// DeletePreset deletes the system prompt of a name, and returns the others. Error: CodeInvalid if
// there is none.
func (cs *Chats) DeletePreset(ctx context.Context, name string) (control.Presets, error) {
	return cs.changePresets(ctx, name, nil)
}

// changePresets puts a preset in the place of that with a name, or deletes that for nil.
func (cs *Chats) changePresets(ctx context.Context, name string,
	one *control.Preset) (control.Presets, error) {
	cs.presets.Lock()
	defer cs.presets.Unlock()
	p, err := cs.Presets(ctx)
	if err != nil {
		return p, err
	}
	before := len(p.Presets)
	p.Presets = slices.DeleteFunc(p.Presets,
		func(p control.Preset) bool { return p.Name == name })
	if one == nil && len(p.Presets) == before {
		return p, control.Errorf(control.CodeInvalid, "There is no preset of that name.")
	}
	if one != nil {
		p.Presets = append(p.Presets, *one)
	}
	if len(p.Presets) > maxPresets {
		return p, control.Errorf(control.CodeInvalid,
			"There are %d presets, and no more are kept: delete some first.", maxPresets)
	}
	slices.SortFunc(p.Presets,
		func(a, b control.Preset) int { return strings.Compare(a.Name, b.Name) })
	text, err := json.Marshal(p)
	if err != nil {
		return p, err
	}
	return p, cs.db.SetSetting(context.WithoutCancel(ctx), settingPresets, string(text))
}
