package server

import (
	"tandem/app/roomtest"
)

// services returns Services in which every field is the fake, except for the Pool and the Thoughts
// of its To. A test that fakes another service differently replaces that field.
func services(f *roomtest.Backend) Services {
	return Services{
		Pool: f.To.Pool, Runs: f, Texts: f, Thoughts: f.To.Thoughts, Responses: f,
		Status: f, Residents: f, Library: f, Checkpoints: f, Chats: f, Settings: f,
		Keys: f, Connections: f, Benches: f, Machine: f, Help: f,
	}
}
