package app

import "tandem/app/server"

// services says which room answers for which of the server's interfaces.
func (a *App) services() server.Services {
	return server.Services{
		Pool:      a.pool,
		Runs:      a.history,
		Texts:     a.history,
		Thoughts:  a.history,
		Responses: a.history,

		Status:      a,
		Residents:   a.pool,
		Library:     a.library,
		Checkpoints: a.history,
		Chats:       a.chats,
		Settings:    a,
		Keys:        a.keys,
		Connections: a.connect,
		Benches:     a,
		Machine:     a,
		Help:        a,
	}
}
