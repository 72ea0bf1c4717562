package models

import (
	"slices"
	"strings"

	"tandem/models/nn"
)

// A Footprint is the memory that a model takes, estimated from its files before it is loaded.
type Footprint struct {
	Quantized     int64 // bytes of integer weights, quantized ones included, as stored
	Floats        int64 // bytes of floating weights, unless they are float32 in memory
	Elements      int64 // elements of floating weights
	ContextLength int   // positions that the model was made for; 0 if config.json is silent

	layers      []nn.CacheSpec
	quantizable nn.Quantizable
	packed      int64   // bytes that quantized matrices take more where the model computes in float32, see nn.Computed
	head        headRow // of a model
	cut         nn.Cut  // of a drafter
	stacks      int64   // bytes that plain experts take more in float32
	bounds      *bounds // of layers; nil = none is bounded
	full        bool    // layers with a window keep every row
	bits        int     // of an element in the rows of layers that attend all positions; 0 = not quantized
	copies      int     // of the dequantized rows of one such layer, while it attends
	gpu         bool    // that computes it
	float32KV   bool    // stored so that keys and values are float32 whatever type is chosen
	gguf        bool    // of a GGUF file
}

// Sizes of buffers in engine/cache.
const (
	chunk     = 512       // tokens of a prompt that one forward reads
	ringSlack = chunk - 1 // rows that a sliding layer has beyond its window
	rowStep   = 256       // the rows of other layers are a multiple of this
)

// A sanitize is the method of that name of [nn.Architecture].
type sanitize func(name string) (to string, keep bool)

// addWeights adds the tensors that the model uses.
func (f *Footprint) addWeights(h *headers, names sanitize) {
	f.gguf = h.half
	for _, name := range h.Names() {
		to, keep := names(name)
		if !keep {
			continue
		}
		info, _ := h.Info(name)
		if isFloat(info.Dtype) {
			f.Elements += info.Size()
			if h.half {
				f.Floats += info.Size() * halfBytes(name)
				continue
			}
			f.Floats += info.Bytes
			f.float32KV = f.float32KV || info.Dtype == "F32" && makesFloat32KV(to)
		} else {
			f.Quantized += info.Bytes
		}
	}
}

// addComputed adds the arrays that a load computes beside the stored tensors.
func (f *Footprint) addComputed(h *headers, m nn.Computed) {
	f.Quantized += m.Quantized
	f.Floats += m.Floats
	f.Elements += m.Elements
	f.stacks += h.float32Growth(m.Stacks)
	f.Floats += h.float32Growth(m.Convs)
	f.quantizable, f.cut, f.packed = m.Quantizable, m.Cut, m.Packed
	if h.half {
		f.quantizable.Bytes = 2 * m.Quantizable.Elements
	}
}

// A headRow is the memory of a row of a model's head.
type headRow struct {
	quantized, floats, elements int64 // see Footprint
}

// addHeadRow adds the memory of a row of the head, which a drafter may copy.
func (f *Footprint) addHeadRow(h *headers, names sanitize) {
	for _, path := range []string{"lm_head.", "model.embed_tokens."} {
		for _, name := range h.Names() {
			to, keep := names(name)
			info, _ := h.Info(name)
			if !keep || !strings.HasPrefix(to, path) || len(info.Shape) != 2 || info.Shape[0] == 0 {
				continue
			}
			rows := int64(info.Shape[0])
			switch {
			case !isFloat(info.Dtype):
				f.head.quantized += info.Bytes / rows
			case h.half:
				f.head.floats += info.Size() / rows * halfBytes(name)
			default:
				f.head.floats += info.Bytes / rows
			}
			if isFloat(info.Dtype) {
				f.head.elements += info.Size() / rows
			}
		}
		if f.head != (headRow{}) {
			return
		}
	}
}

// CutFrom returns the footprint of a drafter with the rows that it copies of its target's LM head.
// float32: the target computes in float32.
func (f Footprint) CutFrom(target Footprint, float32 bool) Footprint {
	row, wide := target.head, float32 && !target.gpu
	if wide || row == (headRow{}) { // copied in float32, or not known
		row = headRow{floats: 4 * f.cut.Width, elements: f.cut.Width}
	}
	if bytes := nn.QuantizedRowBytes(int(f.cut.Width)); wide && bytes > 0 {
		row = headRow{quantized: bytes}
	}
	f.Quantized += f.cut.Rows * row.quantized
	f.Floats += f.cut.Rows * row.floats
	f.Elements += f.cut.Rows * row.elements
	f.cut = nn.Cut{}
	return f
}

// QuantizedTo returns the footprint of a drafter whose weights are loaded with Options.Bits.
func (f Footprint) QuantizedTo(bits int) Footprint {
	p := f.quantizable
	if bits == 0 || p.Elements == 0 {
		return f
	}
	f.Quantized += p.Elements * int64(bits) / 8
	f.Elements += 2*p.Scales - p.Elements
	f.Floats += 2*p.Scales*(p.Bytes/p.Elements) - p.Bytes
	f.quantizable = nn.Quantizable{}
	return f
}

// float32Growth returns the bytes that matrices take more in float32 than as the checkpoint holds them.
func (h *headers) float32Growth(p nn.Plain) int64 {
	if h.half {
		return 2 * p.Elements
	}
	return 4*p.Elements - p.Bytes
}

// halfBytes returns the bytes of an element of a float tensor where the checkpoint is cast to bfloat16: 2, or
// 4 for scales and for what nn.Weights.StoredVector reads, which are not cast.
func halfBytes(name string) int64 {
	for _, end := range []string{".scales", ".biases", ".expert_bias", ".e_score_correction_bias",
		".A_log", ".dt_bias"} {
		if strings.HasSuffix(name, end) {
			return 4
		}
	}
	return 2
}

// isFloat reports whether a dtype is a float type that is not quantized.
func isFloat(dtype string) bool {
	return dtype == "F16" || dtype == "BF16" || dtype == "F32"
}

// makesFloat32KV reports whether keys and values are float32 if the tensor of a sanitized name is. Such a
// tensor embeds, or lies on the way to keys and values. Other tensors are float32 in many checkpoints
// of 16 bits.
func makesFloat32KV(name string) bool {
	if strings.HasSuffix(name, "scale") || strings.HasSuffix(name, "scale_2") {
		return false // of a quantized matrix, whose product has the type of its rows
	}
	parts := []string{
		"embed_tokens.", "layernorm.", "operator_norm.", ".k_norm.", ".k_proj.", ".v_proj.",
		".qkv_proj.", ".kv_a_proj_with_mqa.",
	}
	if _, in, ok := strings.Cut(name, ".layers."); ok {
		if _, module, _ := strings.Cut(in, "."); module == "norm.weight" {
			return true // the one norm of a layer
		}
	}
	return slices.ContainsFunc(parts,
		func(part string) bool { return strings.Contains(name, part) })
}

// Drafter returns the memory of the drafter that the files are. All its tensors count. With an error, which
// says why the drafter cannot be used, it still returns the weights.
func (f *Files) Drafter() (Footprint, error) {
	size, err := f.measured.get(f.measureDrafter)
	return size, f.withName(err)
}

func (f *Files) measureDrafter() (size Footprint, err error) {
	h, err := f.readWeights()
	if err != nil {
		return size, err
	}
	size.addWeights(h, func(name string) (string, bool) { return name, true })
	cfg, err := f.readConfig()
	if err != nil {
		return size, err
	}
	if n := cfg.network(); n != nil {
		return size, size.addNetwork(n, h, cfg)
	}
	arch, err := cfg.architecture()
	if err != nil {
		return size, err
	}
	w := nn.NewDryRunWeights(h, cfg.Quantization)
	size.layers = cacheSpecs(arch)
	w.Sanitize(arch.Sanitize)
	arch.New(w)
	size.addComputed(h, w.Computed())
	return size, nil
}

// addNetwork adds what the drafter of a config.json keeps of a text, and what loading it computes.
func (f *Footprint) addNetwork(n *network, h *headers, cfg *config) (err error) {
	w := nn.NewDryRunWeights(h, cfg.Quantization)
	if f.layers, err = n.kept(cfg.text); err == nil {
		err = n.measure(w, cfg.text)
	}
	f.addComputed(h, w.Computed())
	return err
}

// Head is Drafter for the head that the files of a model bring. Error: CodeNotFound if they bring none,
// another code if the head cannot be used.
func (f *Files) Head() (Footprint, error) {
	head, _ := f.builtInHead.get(func() (h builtInHead, _ error) {
		h.size, h.err = f.measureHead()
		return h, nil
	})
	return head.size, f.withName(head.err)
}

// An builtInHead is the memory of a model's head, or why it cannot be used.
type builtInHead struct {
	size Footprint
	err  error
}

func (f *Files) measureHead() (size Footprint, err error) {
	cfg, err := f.readConfig()
	if err != nil {
		return size, err
	}
	h, err := f.readHead(cfg)
	if err != nil {
		return size, err
	}
	if h == nil {
		return size, errorf(CodeNotFound, "has no head for multi-token prediction")
	}
	size.addWeights(h, func(name string) (string, bool) { return name, true })
	return size, size.addNetwork(heads, h, cfg)
}

// Weights returns the bytes of the weights in memory. float32: floating weights are float32 there.
func (f Footprint) Weights(float32 bool) int64 {
	if float32 {
		return f.Quantized + 4*f.Elements + f.packed
	}
	return f.Quantized + f.Floats
}

// OnCPU returns the footprint of the model on the CPU. Experts that are not quantized are float32 there,
// whatever type the model computes in.
func (f Footprint) OnCPU() Footprint {
	f.Floats += f.stacks
	f.stacks = 0
	return f
}

// IsGGUF reports whether the weights are in a GGUF file. Its float types are not used to compute in: that is
// bfloat16 on a GPU and float32 on the CPU.
func (f Footprint) IsGGUF() bool { return f.gguf }

// QuantizedKV returns the footprint of the model with a KV cache of the given bits. It returns an error if the
// rows of a cache cannot be quantized.
func (f Footprint) QuantizedKV(bits int) (Footprint, error) {
	for _, l := range f.layers {
		if err := l.CheckBits(bits); err != nil {
			return f, err
		}
	}
	f.bits = bits
	return f, nil
}

// Full returns the footprint of the model with caches that keep every row, in sliding-window layers too.
func (f Footprint) Full() Footprint {
	f.full = true
	return f
}

// Copies of rows that lie in memory while a layer attends them.
const (
	// Quantized rows are dequantized before attention reads them, layer by layer, unless it computes in
	// float32 on the CPU. Measured on the CPU for 16 bits; on a GPU it is a bound that no Mac has
	// confirmed yet.
	copiesOnCPU = 5
	copiesOnGPU = 2

	// Latent attention dequantizes them in float32 on the CPU too, keys and then values.
	copiesOfLatent = 2

	// A chunk of a prompt attends own and restored rows of a bounded layer in one copy, see
	// cache.Divided. The next layer may begin before that is freed: measured on the CPU, where a chunk
	// has a limit of memory.
	copiesOfBounded = 2

	// A mask of one byte for each query and row, in Go's memory and in MLX's.
	copiesOfMask = 2

	// A GPU has no such limit. It runs ahead by about ten command buffers of 50 MB, and a layer whose
	// copy is larger fills three of them. This is an estimate that no Mac has confirmed yet.
	copiesOfBoundedOnGPU = 4
	copiesAheadOnGPU     = 10
	aheadOnGPU           = copiesAheadOnGPU * 50 << 20 // bytes of small copies
)

// DequantizingKV returns the footprint of a model that computes on a GPU or in 16 bits. Its attention reads
// quantized rows dequantized.
func (f Footprint) DequantizingKV(gpu bool) Footprint {
	f.gpu = gpu
	if f.copies = copiesOnCPU; gpu {
		f.copies = copiesOnGPU
	}
	return f
}

// boundedCopies returns the temporary memory of a prefill chunk in bounded layers: a copy of their own and
// restored rows, and masks.
func (f Footprint) boundedCopies(layers []nn.CacheSpec, tokens, element int) (copied, masks int64) {
	var largest int64
	seen := map[int]bool{} // by window, as masks are shared
	for _, l := range layers {
		rows := int64(f.bounds.Bounds(l.Window).JoinedRows(tokens, f.ringOf(l), f.gpu))
		largest = max(largest, rows*int64(l.Row*element))
		if !seen[l.Window] {
			seen[l.Window] = true
			masks += copiesOfMask * rows * int64(min(tokens, chunk))
		}
	}
	if !f.gpu {
		return copiesOfBounded * largest, masks
	}
	ahead := max(copiesOfBoundedOnGPU*largest, min(copiesAheadOnGPU*largest, aheadOnGPU))
	return min(ahead, int64(len(layers))*largest), masks
}

// ringOf returns the rows of a layer's ring; 0 = it keeps every row.
func (f Footprint) ringOf(l nn.CacheSpec) int {
	if l.Window == 0 || f.full {
		return 0
	}
	return l.Window + ringSlack
}

// SequenceBytes returns the bytes that a sequence of the given length takes: its caches and the copies that attention
// makes. float32: the model computes in float32, else in the type that it is stored in.
func (f Footprint) SequenceBytes(tokens int, float32 bool) int64 {
	held, copied := f.sequenceBytes(tokens, float32)
	return held + copied
}

// sequenceBytes returns the bytes of the caches, and those of copies that attention makes of them.
func (f Footprint) sequenceBytes(tokens int, float32 bool) (held, copied int64) {
	element := 2
	if float32 || f.float32KV {
		element = 4
	}
	var bounded []nn.CacheSpec
	caches := 0
	for _, l := range f.layers {
		if !l.Keeps() {
			continue
		}
		rows := (tokens + rowStep - 1) / rowStep * rowStep
		if ring := f.ringOf(l); ring > 0 {
			rows = min(rows, ring)
		}
		row := int64(l.RowBytes(element, f.bits))
		if f.bounds.bounds(caches, l) {
			bounded = append(bounded, l)
			b := f.bounds.Bounds(l.Window)
			row = int64(l.Row * element)
			rows += b.WindowRows() + b.Front()
		} else if f.bits > 0 && l.Quantizes() {
			copied = max(copied, f.copiesOf(l)*int64(tokens)*int64(l.RowBytes(element, 0)))
		}
		held += int64(rows)*row + 4*int64(l.State)
		caches++
	}
	joined, masks := f.boundedCopies(bounded, tokens, element)
	return held, max(copied, joined) + masks
}

// copiesOf returns how many copies of the dequantized rows of a layer attention takes.
func (f Footprint) copiesOf(l nn.CacheSpec) int64 {
	if l.Latent {
		return int64(max(f.copies, copiesOfLatent))
	}
	return int64(f.copies)
}
