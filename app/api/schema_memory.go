package api

import (
	"context"
	"hash/maphash"
	"sync"

	"tandem/app/dialect"
	"tandem/app/jsonschema"
	"tandem/app/wire"
)

// maxRemembered bounds the schemas that are remembered.
const maxRemembered = 4096

// A schemaMemory checks the schemas of tools. It remembers the valid ones, because agents send them again with each
// request and checking fifty takes several milliseconds. It may be used concurrently.
type schemaMemory struct {
	mu    sync.Mutex
	seed  maphash.Seed
	known map[uint64]bool
}

func newSchemaMemory() *schemaMemory {
	return &schemaMemory{seed: maphash.MakeSeed(), known: map[uint64]bool{}}
}

// check returns an error if no arguments fit the schema of a tool, so that it can never be called. param is
// the field with the tools.
func (m *schemaMemory) check(ctx context.Context, param string, tools []dialect.Tool) error {
	for _, t := range tools {
		key := maphash.Bytes(m.seed, t.Parameters)
		if m.knows(key) {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := jsonschema.CheckObject(t.Parameters); err != nil {
			return wire.Invalid(param, "No arguments fit the schema of the tool %q%s: %s.", wire.Clip(t.Name),
				err.Place(), err.Message)
		}
		m.remember(key)
	}
	return nil
}

func (m *schemaMemory) knows(key uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known[key]
}

func (m *schemaMemory) remember(key uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.known) == maxRemembered {
		clear(m.known)
	}
	m.known[key] = true
}
