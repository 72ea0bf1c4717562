package drafters

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"tandem/storage"
)

// kinds are the kinds of drafters by their names at the hub, the best first.
var kinds = []struct {
	suffix string
	blocks bool // guesses a whole block in one forward
	alone  bool // the name is a drafter's alone; the others are those of whole models too
}{
	{"-dflash2", true, true}, {"-dflash", true, true}, {"-dspark", true, false},
	{"-mtp", false, false}, {"-assistant", false, false},
}

// cutName returns the NAME in the name of a drafter at the hub, in lower case, and its kind.
func cutName(id string) (name string, kind int, ok bool) {
	for kind, k := range kinds {
		name, more, ok := strings.Cut(lastName(id), k.suffix)
		if ok && name != "" && (more == "" || more[0] == '-') {
			return name, kind, true
		}
	}
	return "", 0, false
}

// lastName returns what follows the publisher in an id of the hub, in lower case.
func lastName(id string) string {
	name := strings.ToLower(id[strings.LastIndexByte(id, '/')+1:])
	if size, ok := strings.CutPrefix(name, "gemma4-"); ok {
		return "gemma-4-" + size
	}
	return name
}

// drafterNames returns the ids of the hub that name a drafter for a model, the best first:
// NAME-DFlash2 or NAME-DFlash2-MORE, by any publisher, for a model NAME or NAME-MORE, and so for other
// kinds of drafters. A better kind comes first, and then the longest NAME. gemma-4 is also spelt
// gemma4: one of its published drafters is.
func drafterNames(model string, ids []string) []string {
	model = lastName(model)
	type named struct {
		id     string
		kind   int
		length int
	}
	var list []named
	for _, id := range ids {
		name, kind, ok := cutName(id)
		if ok && (model == name || strings.HasPrefix(model, name+"-")) && lastName(id) != model {
			list = append(list, named{id, kind, len(name)})
		}
	}
	slices.SortFunc(list, func(a, b named) int {
		return cmp.Or(a.kind-b.kind, b.length-a.length, strings.Compare(a.id, b.id))
	})
	var names []string
	for _, n := range list {
		names = append(names, n.id)
	}
	return names
}

// pairs reports whether auto would take a drafter at the hub for a model at the hub, by their names.
func pairs(drafter, model string) bool {
	return len(drafterNames(model, []string{drafter})) > 0
}

// PairedModels returns the folders of the registered models that auto would take a drafter at the hub
// for, by its name.
func PairedModels(ctx context.Context, db *storage.DB, drafter string) (folders []string, err error) {
	rows, err := db.Models.List(ctx)
	for _, row := range rows {
		if row.Path != "" && pairs(drafter, hubName(row)) {
			folders = append(folders, row.Path)
		}
	}
	return folders, err
}
