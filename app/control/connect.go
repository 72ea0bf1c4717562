package control

// Connect is the answer of GET /app/connect: what clients need to use the endpoint.
type Connect struct {
	BaseURL      string        `json:"base_url"`      // http://127.0.0.1:8263/v1
	ContainerURL string        `json:"container_url"` // the same for programs in a container on this machine
	Model        string        `json:"model"`         // the id that the name "tandem" stands for
	Context      int           `json:"context"`       // of that model, in tokens; 0 = unknown
	NeedsKey     bool          `json:"needs_key"`     // any key will do otherwise
	Longer       []LongerModel `json:"longer"`        // installed models that generate text with a longer context, but for the demo model; the longest first
	Connections  []Connection  `json:"connections"`
	Seen         []SeenClient  `json:"seen"` // who asked, the latest first
}

// A LongerModel is a model that has a longer context than the chosen one.
type LongerModel struct {
	ID      string `json:"id"`
	Context int    `json:"context"` // tokens
}

// A Connection is what one client needs.
type Connection struct {
	ID       string  `json:"id"`
	Name     string  `json:"name"`
	Where    string  `json:"where"`          // where the text goes, and what to do then
	Text     string  `json:"text"`           // to copy
	Context  int     `json:"context"`        // tokens that the client needs; 0 = it takes what there is
	File     string  `json:"file,omitempty"` // the text is written there on request; empty if the client reads no file
	Use      string  `json:"use,omitempty"`  // command that uses the file
	Written  Written `json:"written"`
	Endpoint string  `json:"endpoint,omitempty"` // the one that the file names, if it is stale and names one
}

// Written says whether a connection's file is up to date.
type Written string

const (
	WrittenNot     Written = ""
	WrittenCurrent Written = "current" // it is what would be written now
	// it is something else: for another port or model, or a person changed it
	WrittenStale Written = "stale"
)
