// Package bridge lets a Mac measure for a machine that is not a Mac. Both share a git remote and nothing
// else.
//
// A client asks by a manifest: it names one of the [Presets], the preset's parameters and the commit
// to measure. [Repository.Request] puts the manifest on a branch of its own and pushes that. On the
// Mac a [Runner] runs the preset's commands, and a [Publisher] pushes logs, report and summary to the
// same branch. [Repository.Status] fetches them.
//
// What is unusual:
//
//   - A manifest never reaches a shell. A preset is a fixed list of commands, as words. A parameter
//     has a type and bounds and fills one whole word. A word ${ENV:NAME} is a variable of the
//     runner; a preset may read only the few in the table, so no secret gets into a log.
//   - The whole manifest is checked before any of its commands starts. Duplicate keys, unknown fields
//     and other schemas are refused.
//   - The client never touches the work tree. It writes the request's commit with git's plumbing.
//     So the branch stays the one that was there, even if the client is killed.
//   - Commands run in a new folder with the files of the commit that the manifest names. What lies
//     changed or new in the checkout is not there. The summary names the same commit. The folder's
//     path is that of the run before, so Go finds what it compiled. No result of a test is kept.
//   - Results are pushed from a fresh repository to the address that the workflow gives. What a
//     command left in the checkout's .git is not obeyed. The push names the commit that the branch
//     must still have. So results reach the branch of their request alone.
//   - A nonce runs once on a machine. Runs on one machine wait for each other, though not for long,
//     and a run first ends what a killed one left in its group. The client hears why nothing ran.
//   - Commands get few variables of the environment: no token, no password. They run in a process
//     group, which is killed as a whole.
//
// Whom one trusts: the figures come from the commit that was asked for, so from whoever wrote it.
// The gate that judges them is the Mac's own tandem-lab, so its owner's. A commit cannot relax it.
//
// The allow-list guards against manifests, not against code: a preset builds and runs the commit
// that was asked for. Its programs are the same user's as the runner. One that leaves its group can
// outlive the run. It can change its results and those of later runs, and read the token of the
// push from memory. Let only those push to the branches of the bridge who may run programs on that
// Mac and push to the repository.
//
// So far it has run on Linux alone, with the Mac's part played by a second process.
package bridge
