package app

import "tandem/app/server"

// services says which room answers for which of the server's interfaces.
func (a *App) services() server.Services {
	return server.Services{
		Pool:      a,
		Runs:      a,
		Texts:     a,
		Responses: a,

		Status:      a,
		Residents:   a,
		Library:     a,
		Checkpoints: a,
		Chats:       a,
		Settings:    a,
		Keys:        a.keys,
		Connections: a.connect,
		Benches:     a,
		Machine:     a,
		Help:        a,
	}
}
