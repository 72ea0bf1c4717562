package mlx

// #include "mlx/c/mlx.h"
import "C"

// Add returns a + b, broadcast (mlx_add).
func (s *Scope) Add(a, b *Array) *Array {
	if !s.ready(a, b) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_add(&r.c, a.c, b.c, s.stream))
}

// Sub returns a - b, broadcast (mlx_subtract).
func (s *Scope) Sub(a, b *Array) *Array {
	if !s.ready(a, b) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_subtract(&r.c, a.c, b.c, s.stream))
}

// Mul returns a * b, broadcast (mlx_multiply).
func (s *Scope) Mul(a, b *Array) *Array {
	if !s.ready(a, b) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_multiply(&r.c, a.c, b.c, s.stream))
}

// Div returns a / b, broadcast (mlx_divide).
func (s *Scope) Div(a, b *Array) *Array {
	if !s.ready(a, b) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_divide(&r.c, a.c, b.c, s.stream))
}

// Minimum returns the smaller of a and b, broadcast (mlx_minimum).
func (s *Scope) Minimum(a, b *Array) *Array {
	if !s.ready(a, b) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_minimum(&r.c, a.c, b.c, s.stream))
}

// Maximum returns the larger of a and b, broadcast (mlx_maximum).
func (s *Scope) Maximum(a, b *Array) *Array {
	if !s.ready(a, b) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_maximum(&r.c, a.c, b.c, s.stream))
}

// Less returns a < b (mlx_less).
func (s *Scope) Less(a, b *Array) *Array {
	if !s.ready(a, b) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_less(&r.c, a.c, b.c, s.stream))
}

// LessEqual returns a <= b (mlx_less_equal).
func (s *Scope) LessEqual(a, b *Array) *Array {
	if !s.ready(a, b) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_less_equal(&r.c, a.c, b.c, s.stream))
}

// And returns a && b (mlx_logical_and).
func (s *Scope) And(a, b *Array) *Array {
	if !s.ready(a, b) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_logical_and(&r.c, a.c, b.c, s.stream))
}

// Or returns a || b (mlx_logical_or).
func (s *Scope) Or(a, b *Array) *Array {
	if !s.ready(a, b) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_logical_or(&r.c, a.c, b.c, s.stream))
}

// BitAnd returns a & b of whole numbers (mlx_bitwise_and).
func (s *Scope) BitAnd(a, b *Array) *Array {
	if !s.ready(a, b) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_bitwise_and(&r.c, a.c, b.c, s.stream))
}

// ShiftRight returns a >> b of whole numbers (mlx_right_shift).
func (s *Scope) ShiftRight(a, b *Array) *Array {
	if !s.ready(a, b) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_right_shift(&r.c, a.c, b.c, s.stream))
}

// Equal returns a == b elementwise (mlx_equal).
func (s *Scope) Equal(a, b *Array) *Array {
	if !s.ready(a, b) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_equal(&r.c, a.c, b.c, s.stream))
}

// Where returns x where cond is true and y elsewhere (mlx_where).
func (s *Scope) Where(cond, x, y *Array) *Array {
	if !s.ready(cond, x, y) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_where(&r.c, cond.c, x.c, y.c, s.stream))
}

// Clip bounds a to [lo, hi] (mlx_clip).
func (s *Scope) Clip(a, lo, hi *Array) *Array {
	if !s.ready(a, lo, hi) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_clip(&r.c, a.c, lo.c, hi.c, s.stream))
}

// Exp returns e^a (mlx_exp).
func (s *Scope) Exp(a *Array) *Array {
	if !s.ready(a) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_exp(&r.c, a.c, s.stream))
}

// LogAddExp returns log(e^a + e^b), broadcast (mlx_logaddexp).
func (s *Scope) LogAddExp(a, b *Array) *Array {
	if !s.ready(a, b) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_logaddexp(&r.c, a.c, b.c, s.stream))
}

// Power returns a^b (mlx_power).
func (s *Scope) Power(a, b *Array) *Array {
	if !s.ready(a, b) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_power(&r.c, a.c, b.c, s.stream))
}

// Log is the natural logarithm (mlx_log).
func (s *Scope) Log(a *Array) *Array {
	if !s.ready(a) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_log(&r.c, a.c, s.stream))
}

// Tanh returns tanh(a) (mlx_tanh).
func (s *Scope) Tanh(a *Array) *Array {
	if !s.ready(a) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_tanh(&r.c, a.c, s.stream))
}

// Cos returns cos(a), a in radians (mlx_cos).
func (s *Scope) Cos(a *Array) *Array {
	if !s.ready(a) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_cos(&r.c, a.c, s.stream))
}

// Sin returns sin(a), a in radians (mlx_sin).
func (s *Scope) Sin(a *Array) *Array {
	if !s.ready(a) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_sin(&r.c, a.c, s.stream))
}

// Sigmoid returns 1 / (1 + e^-a) (mlx_sigmoid).
func (s *Scope) Sigmoid(a *Array) *Array {
	if !s.ready(a) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_sigmoid(&r.c, a.c, s.stream))
}

// Neg returns -a (mlx_negative).
func (s *Scope) Neg(a *Array) *Array {
	if !s.ready(a) {
		return s.failed
	}
	r := s.new()
	return s.done(r, C.mlx_negative(&r.c, a.c, s.stream))
}

// AsType converts the elements (mlx_astype). Where the type already fits, it returns a itself.
func (s *Scope) AsType(a *Array, d Dtype) *Array {
	if !s.ready(a) {
		return s.failed
	}
	if a.Dtype() == d {
		return a
	}
	r := s.new()
	return s.done(r, C.mlx_astype(&r.c, a.c, C.mlx_dtype(d), s.stream))
}
