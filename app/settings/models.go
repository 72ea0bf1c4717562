package settings

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"tandem/app/control"
	"tandem/storage"
)

// Models are the settings of each model. They are safe for use by several goroutines.
type Models struct {
	db *storage.DB

	mu   sync.Mutex // held while the database is written, so that both agree
	read map[string]control.ModelSettings
}

// NewModels returns the settings of models in a database.
func NewModels(db *storage.DB) *Models {
	return &Models{db: db, read: map[string]control.ModelSettings{}}
}

// Stored returns the settings of a model, as the database has them.
func (s *Models) Stored(ctx context.Context, id string) (control.ModelSettings, error) {
	set, err := s.db.Models.Settings(ctx, id)
	if storage.IsNotFound(err) {
		return control.ModelSettings{Model: id}, nil
	}
	return control.ModelSettings(set), err
}

// Read reads the settings of a model for Get.
func (s *Models) Read(ctx context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	set, err := s.Stored(ctx, id)
	if err == nil {
		s.read[id] = set
	}
	return err
}

// Get returns the settings of a model for which Read was called, at once.
func (s *Models) Get(id string) control.ModelSettings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read[id]
}

// Set stores the settings of a registered model. Error: CodeInvalid for what the model cannot have.
func (s *Models) Set(ctx context.Context, row storage.Model, set control.ModelSettings) error {
	refuse := func(param, message string) error {
		return &control.Error{Code: control.CodeInvalid, Param: param, Message: message}
	}
	tokens, kv, drafter := set.Context, set.KVBits, set.DrafterBits
	switch {
	case tokens != nil && row.ContextLength > 0 && *tokens > row.ContextLength:
		return refuse("context", "The context of "+row.ID+" can be "+control.Grouped(row.ContextLength)+
			" tokens at most; it was made for no more.")
	case kv != nil && !slices.Contains(control.KVBits, *kv):
		return refuse("kv_bits", fmt.Sprintf("kv_bits must be 8, 4 or 0, not %d.", *kv))
	case drafter != nil && !slices.Contains(control.DrafterBits, *drafter):
		return refuse("drafter_bits", fmt.Sprintf("drafter_bits must be 8, 4 or 0, not %d.", *drafter))
	case kv != nil && *kv > 0 && row.Kind != "":
		return refuse("kv_bits", "kv_bits is for models that answer in text. "+row.ID+
			" makes vectors or scores, and keeps keys and values as they are computed.")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	set.Model = row.ID
	err := s.db.Models.SetSettings(context.WithoutCancel(ctx), storage.ModelSettings(set))
	if err == nil {
		s.read[row.ID] = set
	}
	return err
}

// Forget drops the settings of a model that was removed.
func (s *Models) Forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.read, id)
}
