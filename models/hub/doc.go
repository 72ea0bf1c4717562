// Package hub downloads models from the Hugging Face hub. It finds and removes the models in its
// cache.
//
// Files are in the cache of the Python libraries, so that programs share one copy of a model. The
// layout is documented at https://huggingface.co/docs/huggingface_hub/guides/manage-cache:
//
//	CACHE/.locks/models--ORG--NAME/ETAG.lock      flock while a blob is written
//	CACHE/models--ORG--NAME/refs/main             commit hash of a branch or tag
//	CACHE/models--ORG--NAME/blobs/ETAG            content, named by its hash
//	CACHE/models--ORG--NAME/blobs/ETAG.incomplete the part that has arrived
//	CACHE/models--ORG--NAME/snapshots/COMMIT/PATH relative link to the blob
//
// The ETag of a large file is its SHA-256, and the ETag of a small one its git blob id. [Pull]
// checks it before a file gets its final name. Links and the ref are made when every file is there,
// so that a snapshot made by Pull is whole. When a pull ends early, the next one continues with
// what has arrived.
//
// Newer Python versions differ in three ways:
//
//   - They keep the payload of a blob in a store beside the repositories, and the blob is a link to
//     it. So blobs are read through links. A payload in the store is never removed or counted as
//     freed.
//   - They name their partial files ETAG.RANDOM.incomplete.
//   - They leave a listing in trees/COMMIT.json.
//
// Only what a model needs is fetched: configuration, tokenizer, templates and safetensors. Pickled
// weights are never fetched.
//
// This package handles only the cache. A model elsewhere, in LM Studio's folder for example, is
// registered by its path. The registry lists what its user asked for, not what is on the disk.
//
// Nothing here reads the environment. The caller decides which folder, endpoint and token to use
// ([Options]). All functions may be called concurrently from several goroutines and processes.
// Errors are [*Error].
//
// Dependencies: golang.org/x/sys, for flock and the free space of a disk.
package hub
