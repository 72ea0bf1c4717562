package control

// Removal is the answer of GET /app/removal, which says what removing a model or a
// drafter would do, and of DELETE /app/models/{id}, which did it.
type Removal struct {
	ID       string `json:"id"`
	Deletes  bool   `json:"deletes"`             // its files, for Tandem downloaded them; otherwise they stay
	Bytes    int64  `json:"bytes"`               // that this frees on disk: of files that no other model has
	InMemory bool   `json:"in_memory,omitempty"` // it leaves the memory first
}

// Storage is the answer of GET /app/storage: what Tandem takes of the disk, and of
// what. What lies elsewhere or was put there by others is not counted.
type Storage struct {
	Home string `json:"home"` // folder of all but the models
	Free int64  `json:"free"` // bytes, on the disk of that folder

	Models          []StoredModel `json:"models"`
	Checkpoints     int           `json:"checkpoints"`
	CheckpointBytes int64         `json:"checkpoint_bytes"`
	PinnedBytes     int64         `json:"pinned_bytes"` // of these, of checkpoints that stay
	Runs            int           `json:"runs"`
	HistoryBytes    int64         `json:"history_bytes"` // of the database: runs, chats and all else

	ByModel  []Usage `json:"by_model"`  // the one with the most bytes first
	ByClient []Usage `json:"by_client"` // likewise
	ByDay    []Usage `json:"by_day"`    // of this machine's clock, the latest first
}

// WelcomeRequest is the body of POST /app/welcome.
type WelcomeRequest struct {
	Done bool `json:"done"` // somebody has gone through the first steps, or past them; false shows them again
}

// StoredModel is a model, or a drafter, that lies on the disk.
type StoredModel struct {
	ID      string `json:"id"`
	Path    string `json:"path"`
	Bytes   int64  `json:"bytes"`             // that removing it would free, if it is Ours; otherwise of its weights
	Ours    bool   `json:"ours"`              // Tandem downloaded it
	Drafter bool   `json:"drafter,omitempty"` // it is none of its own
}

// Usage is what runs of one kind left behind.
type Usage struct {
	Name        string `json:"name"`
	Runs        int    `json:"runs"`
	Checkpoints int    `json:"checkpoints"`
	Bytes       int64  `json:"bytes"` // of checkpoints
}
