// Package hub downloads models from the Hugging Face hub, and resolves and removes those in its
// cache.
//
// Files live in the cache that the Python libraries use, in the layout documented at
// https://huggingface.co/docs/huggingface_hub/guides/manage-cache, so that a model is on disk once
// whoever fetched it:
//
//	CACHE/.locks/models--ORG--NAME/ETAG.lock      flock while a blob is written
//	CACHE/models--ORG--NAME/refs/main             commit hash of a branch or tag
//	CACHE/models--ORG--NAME/blobs/ETAG            content, named by its hash
//	CACHE/models--ORG--NAME/blobs/ETAG.incomplete the part that has arrived
//	CACHE/models--ORG--NAME/snapshots/COMMIT/PATH relative link to the blob
//
// The ETag of a large file is its SHA-256, that of a small one its git blob id; [Pull] checks
// either before a file gets its final name. Links and the ref are made when every file is there, so
// that a snapshot made by Pull is whole. What was fetched when a pull ends early stays for the next
// one.
//
// Newer Python versions keep the payload of a blob in a store beside the repositories and make the
// blob a link to it, name their own partial files ETAG.RANDOM.incomplete, and leave a listing in
// trees/COMMIT.json. Blobs are therefore read through links, and a payload in that store is never
// removed or counted as freed.
//
// Only what a model needs is fetched: configuration, tokenizer, templates and safetensors. Pickled
// weights are never.
//
// Only the cache is known here. A model elsewhere, in LM Studio's folder for instance, is a folder
// like any other and is registered by its path: the registry lists what its user asked for, not
// what lies on the disk.
//
// Nothing here reads the environment: which folder, endpoint and token to use is the caller's
// decision ([Options]). All functions may be called from several goroutines and processes at once.
// Errors are [*Error].
//
// Dependencies: golang.org/x/sys, for flock and the free space of a disk.
package hub
