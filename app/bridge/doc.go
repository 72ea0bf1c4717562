// Package bridge lets a Mac measure for a machine that is none. Both share a git remote and nothing
// else.
//
// A client asks by a manifest: it names one of the [Presets], the preset's parameters and the commit
// to measure. [Repository.Request] puts the manifest on a branch of its own and pushes that. On the
// Mac a [Runner] runs the preset's commands, and [Repository.Publish] pushes logs, report and
// summary to the same branch. [Repository.Status] fetches them.
//
// What is unusual:
//
//   - A manifest never reaches a shell. A preset is a fixed list of commands, as words. A parameter
//     has a type and bounds and fills one whole word. A word ${ENV:NAME} is a variable of the
//     runner; a preset may read only the few in the table, so no secret gets into a log.
//   - The whole manifest is checked before any process starts. Duplicate keys, unknown fields and
//     other schemas are refused.
//   - The client never touches the work tree. It writes the request's commit with git's plumbing.
//     So the branch stays the one that was there, even if the client is killed.
//   - A push names the commit that the branch must still have, and git checks both at once. So
//     results reach the branch of their request alone.
//   - A nonce runs once on a machine. Runs on one machine wait for each other.
//   - Commands get few variables of the environment: no token, no password. They run in a process
//     group, which is killed as a whole.
//
// The allow-list guards against manifests, not against code: a preset builds and runs the commit
// that was asked for. Let only those push to the branches of the bridge who may run programs on
// that Mac.
//
// So far it has run on Linux alone, with the Mac's part played by a second process.
package bridge
