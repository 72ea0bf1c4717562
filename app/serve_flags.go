package app

import (
	"fmt"

	"github.com/spf13/cobra"

	"tandem/app/control"
	"tandem/app/endpoint"
	"tandem/app/terminal"
)

// ServeFlags are the flags of every program that serves a model: tandem, and the lab's.
type ServeFlags struct {
	Addr, Model, Drafter     string
	Checkpoints, Speculation string
	Context                  int // tokens
	Verbose                  bool

	cmd *cobra.Command
}

// NewServeFlags adds the flags to a verb. model says which models there are, and which is the default.
func NewServeFlags(cmd *cobra.Command, model string) *ServeFlags {
	f := cmd.Flags()
	s := &ServeFlags{cmd: cmd, Checkpoints: "on", Speculation: "auto"}
	f.StringVar(&s.Addr, "addr", "", fmt.Sprintf("`HOST:PORT` to listen at, for this machine alone; port 0 picks one "+
		"(default: 127.0.0.1 and the port of the settings, %d unless changed)", control.DefaultPort))
	f.StringVar(&s.Model, "model", "", "`DIR|FILE.gguf|ID` of the model to serve"+model)
	f.StringVar(&s.Drafter, "drafter", "", "`DIR|FILE.gguf|ID|auto|none`: drafter of that model while this runs; "+
		"ID is an installed model's, or ORG/NAME in the hub's cache (default: what tandem models drafter set)")
	f.IntVar(&s.Context, "context", 0, "context length, `N` tokens (default: the model's)")
	terminal.Choice(cmd, &s.Checkpoints, "checkpoints", "`on|off`: keep what was computed for requests that begin alike "+
		"(default: on)", "on", "off")
	terminal.Choice(cmd, &s.Speculation, "speculation", "`auto|none`, for requests that do not choose for themselves "+
		"(default: auto)", "auto", "none")
	f.BoolVar(&s.Verbose, "verbose", false, "log more")
	return s
}

// Check refuses values that make no sense, as a mistake.
func (s *ServeFlags) Check() error {
	given := s.cmd.Flags().Changed
	switch {
	case given("model") && s.Model == "":
		return terminal.Mistake(s.cmd, NoModel)
	case given("drafter") && s.Drafter == "":
		return terminal.Mistake(s.cmd, "--drafter is empty; give it a folder, a GGUF file, an id, auto or none, or leave it out for what was set")
	case given("addr") && s.Addr == "":
		return terminal.Mistake(s.cmd, fmt.Sprintf("--addr is empty; write HOST:PORT, for example 127.0.0.1:%d, or leave it out",
			control.DefaultPort))
	case s.Context != 0 && s.Context < control.MinContext:
		return terminal.Mistake(s.cmd, fmt.Sprintf("--context must be at least %d tokens; leave it out for the model's own",
			control.MinContext))
	}
	if s.Addr != "" {
		if _, err := endpoint.LoopbackPort(s.Addr); err != nil {
			return terminal.Mistake(s.cmd, err.Error())
		}
	}
	return nil
}

// NoModel refuses an empty --model.
const NoModel = "--model is empty; give it a folder, a GGUF file or an id, or leave it out for the current model"

// Decide writes what the flags say into options, but for the address and the log.
func (s *ServeFlags) Decide(o *Options) {
	o.Model, o.Drafter, o.ContextLength = s.Model, s.Drafter, s.Context
	o.NoCheckpoints, o.Speculation = s.Checkpoints == "off", s.Speculation
}
