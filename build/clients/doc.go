// Package clients runs programs that others wrote against a server of ours: client libraries,
// editors, agents and lm-eval. It also runs schemathesis on our own description of the routes.
//
// Each client has a home folder of its own and no other environment. It has no key of any worth,
// and no address but the server's. The folder also holds the clients' programs, their pins, and the
// scripted engine's answers to them.
package clients
