package control

// A KeptThought is what a model thought before an earlier answer, field for field that of package
// storage.
type KeptThought struct {
	Owner   int64  // id of the key of the request; 0 = none
	Model   string // that thought it
	History string // hash of the conversation up to the answer, with it
	Run     int64  // it is deleted with its run
	Tokens  int    // of the thought
	Sealed  []byte // only who knows the conversation can open it
}
