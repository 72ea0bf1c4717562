package control

import "fmt"

// What to do about an error in a terminal, each one sentence with a command: the Advice of an Error.
// Programs that call the endpoint and the command line show it after the error's message. The window
// leaves it out: remedies.ts has what it offers instead, by the error's code. No other text that the
// window may show names a command.
const (
	ToInstall = "`tandem list` shows the installed models; `tandem models found` shows others on this machine, " +
		"which `tandem models add` adds, and `tandem pull ORG/NAME` downloads one. " +
		"A program that asks for \"tandem\" gets the current model."
	ToPull         = "`tandem pull ORG/NAME` downloads a model."
	ToChangeModels = "`tandem pull ORG/NAME` downloads a model, `tandem models add` adds one of this machine, " +
		"and `tandem rm NAME` removes one."
	ToServe           = "Start it with `tandem serve`."
	ToLetIn           = "`tandem settings set network=true` does so, and `tandem keys add NAME` makes the key that they need."
	ToOpen            = "Run `tandem open`, or open the link that `tandem serve` printed."
	ToListRuns        = "`tandem runs` lists the latest."
	ToListCheckpoints = "`tandem checkpoints` lists those that exist."
	ToRunRaw          = "`tandem run --raw` does so."
)

// NotInstalled returns the error of a model that the registry does not have.
func NotInstalled(name string) *Error {
	return Errorf(CodeModelNotFound, "The model %q is not installed.", name).Advise(ToInstall)
}

// NoEndpoint says why the process that serves the home folder has no endpoint. It is here because it names
// a command.
func (s State) NoEndpoint() error {
	if s.Error == "" {
		return fmt.Errorf("a command such as `tandem chat` runs (pid %d), and no server; end it, then start `tandem serve`", s.PID)
	}
	return fmt.Errorf("the Tandem that runs (pid %d) has no endpoint: %s", s.PID, s.Error)
}
