// Package bridge runs benchmarks on a Mac for a machine that is not a Mac. The two machines share
// only a git remote.
//
// A client's request is a manifest: it names one of the [Presets], the preset's parameters and the
// commit to measure. [Repository.Request] puts the manifest on a new branch and pushes it. On the
// Mac a [Runner] runs the preset's commands, and a [Publisher] pushes logs, report and summary to
// the same branch. [Repository.Status] fetches them.
//
// What is unusual:
//
//   - A manifest never reaches a shell. A preset is a fixed list of commands, as words. A parameter
//     has a type and bounds and fills one whole word. A word ${ENV:NAME} is a variable of the
//     runner; a preset may read only the few in the table, so no secret gets into a log.
//   - The whole manifest is checked before any of its commands starts. Duplicate keys, unknown fields
//     and other schemas are refused.
//   - The client never touches the work tree. It writes the request's commit with git's plumbing.
//     So the branch does not change, even if the client is killed.
//   - Commands run in a new folder with the files of the commit that the manifest names. It has no
//     uncommitted files. The summary names the same commit. The folder's path is the same in each
//     run, so Go finds what it compiled. Test results are not cached.
//   - Results are pushed from a fresh repository to the address that the workflow gives. What a
//     command left in the checkout's .git has no effect. The push names the commit that the branch
//     must still have. So results reach only the branch of their request.
//   - A nonce runs once on a machine. Runs on one machine wait for each other, though not for long,
//     and a run first ends what a killed one left in its group. The client learns why nothing ran.
//   - Commands get few variables of the environment: no token, no password. They run in a process
//     group, which is killed as a whole.
//
// Trust: the figures come from the requested commit, so from its author. The gate that checks them
// is the Mac's own tandem-lab. A commit cannot relax it.
//
// The allow-list guards against manifests, not against code: a preset builds and runs the requested
// commit. Its programs run as the runner's user. One that leaves its group can outlive the run. It
// can change its results and those of later runs, and read the token of the push from memory. Only
// people who may run programs on that Mac and push to the repository should be able to push to the
// bridge's branches.
//
// So far it has run only on Linux, with a second process in place of the Mac.
package bridge
