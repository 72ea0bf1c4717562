package engine

import (
	"log/slog"

	"tandem/engine/cache"
	"tandem/engine/checkpoint"
	"tandem/engine/draft"
)

// Limits of one engine.
const (
	MaxQueue  = 512 // requests waiting; one more is refused with CodeQueueFull
	MaxOthers = 64  // requests waiting beyond those, of clients that have fewer than MaxQueue/MaxOthers in the queue
	MaxActive = 8   // requests that share the model; one more waits until one of them ends
	MaxShort  = 2   // short requests (Options.Short) that share it beside those
)

// Options of an Engine. The zero value is what serving wants.
type Options struct {
	ContextLength int          // positions; zero or more than the model's means the model's
	Chunk         int          // prompt rows per forward; zero means cache.MaxChunk, more is cut to it
	Layout        cache.Layout // of sliding-window layers
	KVBits        int          // of the model's caches, see cache.Options.Bits; those of drafters have none
	Queue         int          // zero means MaxQueue
	Active        int          // zero means MaxActive

	// SequenceBytes returns the bytes that a sequence of that many positions takes. Room bounds the bytes that all
	// in flight may come to take, however long their answers become. A request for which there is
	// no room waits, and those after it. A request that is alone always has room. A nil SequenceBytes bounds
	// nothing. SetRoom changes Room.
	SequenceBytes func(positions int) int64
	Room          int64

	// Short is the length, in positions, of texts that have memory of their own: beside a text that
	// takes a whole context, as far as Room is larger than that. Requests that cannot become
	// longer, such as an editor's completions, go there ahead of requests that wait. They also have
	// MaxShort places of their own. Zero reserves neither.
	Short int

	Logger *slog.Logger // nil discards

	// Checkpoints bounds the bytes of states kept for requests that begin alike; 0 keeps none.
	// SetCheckpoints changes it.
	Checkpoints int64

	// PromptOnly keeps no checkpoints inside answers, only at their ends. It is there to measure
	// what those inside are good for.
	PromptOnly bool

	// Store keeps checkpoints on disk too and brings them back; nil does not. It belongs to the
	// caller and must outlive the engine.
	Store *checkpoint.Store

	// Drafters propose for the model, the preferred one first. They belong to the caller and must
	// outlive the engine.
	Drafters []draft.Drafter

	// NoDrafter says why a drafter that belongs to the model is not among Drafters; empty if none
	// is missing.
	NoDrafter string

	// Without says why drafters of these names are not among Drafters, for requests that name one.
	Without map[string]string

	// Policies keeps what is learned of drafters from launch to launch, under the model's Name. Nil
	// keeps it as long as the engine lives.
	Policies draft.Store
	Name     string

	// ThreadShare is shared by the engines of one thread; nil if there is no other.
	ThreadShare *ThreadShare
}

// withDefaults returns the options with every limit set. most is the model's context in positions.
func (o Options) withDefaults(maxContext int) Options {
	if o.ContextLength <= 0 || o.ContextLength > maxContext {
		o.ContextLength = maxContext
	}
	if o.Chunk <= 0 || o.Chunk > cache.MaxChunk {
		o.Chunk = cache.MaxChunk
	}
	if o.Queue <= 0 {
		o.Queue = MaxQueue
	}
	if o.Active <= 0 {
		o.Active = MaxActive
	}
	if o.SequenceBytes == nil {
		o.SequenceBytes = func(int) int64 { return 0 }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}
