package measure

import "math"

// Sample is a figure of the same thing with different seeds, in the order of the seeds.
type Sample []float64

func (s Sample) Mean() float64 {
	sum := 0.
	for _, x := range s {
		sum += x
	}
	return sum / float64(len(s))
}

func (s Sample) Deviation() float64 {
	m, sum := s.Mean(), 0.
	for _, x := range s {
		sum += (x - m) * (x - m)
	}
	return math.Sqrt(sum / float64(max(1, len(s)-1)))
}

// Error returns the standard error of the mean.
func (s Sample) Error() float64 { return s.Deviation() / math.Sqrt(float64(len(s))) }

// Cell returns the mean with its standard error.
func (s Sample) Cell(digits int) Cell {
	return Cell{Mean: s.Mean(), Error: s.Error(), Seeds: len(s), Digits: digits}
}

// With applies a function to the figures of the same seed of two samples: both had the same workload, so their difference has a smaller error than either.
func (s Sample) With(other Sample, f func(a, b float64) float64) Sample {
	out := make(Sample, len(s))
	for i := range s {
		out[i] = f(s[i], other[i])
	}
	return out
}

// Minus returns the difference from another Sample, seed by seed.
func (s Sample) Minus(other Sample) Sample {
	return s.With(other, func(a, b float64) float64 { return a - b })
}

// Change is by how many percent a Sample is above the mean of another one; the differences are taken seed by seed.
func (s Sample) Change(base Sample) Cell {
	m := base.Mean()
	c := s.With(base, func(a, b float64) float64 { return a - b }).Cell(1)
	c.Mean, c.Error, c.Percent = 100*c.Mean/m, 100*c.Error/math.Abs(m), true
	if len(s) > 1 { // the error of the base's mean counts, too: that of a ratio estimate
		r := s.Mean() / m
		d := s.With(base, func(a, b float64) float64 { return a - r*b })
		c.Error = 100 * d.Error() / math.Abs(m)
	}
	return c
}

// String is mean and standard error.
func (s Sample) String() string { return s.Cell(0).String() }
