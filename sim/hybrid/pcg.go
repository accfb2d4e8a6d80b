package hybrid

import "math/bits"

// pcg draws the numbers of rand.PCG, and can leave some out without drawing them: a step multiplies the state and adds to it, and so do many steps at once (Brown,
// Random Number Generation with Arbitrary Strides).
type pcg struct{ state wide }

// wide is a number of 128 bits.
type wide struct{ high, low uint64 }

func (a wide) times(b wide) wide {
	high, low := bits.Mul64(a.low, b.low)
	return wide{high + a.high*b.low + a.low*b.high, low}
}

func (a wide) plus(b wide) wide {
	low, carry := bits.Add64(a.low, b.low, 0)
	high, _ := bits.Add64(a.high, b.high, carry)
	return wide{high, low}
}

// stride is what a number of steps multiply the state by, and add to it.
type stride struct{ factor, addend wide }

func (s stride) from(state wide) wide { return state.times(s.factor).plus(s.addend) }

// strides are of 1, 2, 4 and so on steps.
var strides = func() (all [32]stride) {
	all[0] = stride{wide{2549297995355413924, 4865540595714422341}, wide{6364136223846793005, 1442695040888963407}}
	for i := range len(all) - 1 {
		s := all[i]
		all[i+1] = stride{s.factor.times(s.factor), s.from(s.addend)}
	}
	return all
}()

// Uint64 draws a number.
func (p *pcg) Uint64() uint64 {
	p.state = strides[0].from(p.state)
	x := p.state.high
	x ^= x >> 32
	x *= 0xda942042e4dd58b5
	x ^= x >> 48
	return x * (p.state.low | 1)
}

// skip leaves out n numbers.
func (p *pcg) skip(n uint32) {
	for ; n != 0; n &= n - 1 {
		p.state = strides[bits.TrailingZeros32(n)].from(p.state)
	}
}
