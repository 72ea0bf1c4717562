package control

// A Machine is the answer of GET /app/machine: what this computer is, as far as the system tells.
type Machine struct {
	Chip      string `json:"chip,omitempty"` // its name, as the maker writes it
	Cores     int    `json:"cores"`
	FastCores int    `json:"fast_cores,omitempty"` // the ones that do not save power
	Memory    int64  `json:"memory"`               // bytes; 0 = not known
	Room      int64  `json:"room"`                 // bytes of it for models; 0 = not known
	System    string `json:"system"`               // macOS 26.1
	Kind      string `json:"kind"`                 // darwin/arm64
	Engine    string `json:"engine"`               // MLX's version and what it computes on
}
