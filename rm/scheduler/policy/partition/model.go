package partition

import (
	"fmt"
	"math"
)

// Model says how strongly Dice responds to waiting times.
type Model uint8

// Models: y = x, y = x² (a slow start), y = √x (a fast start).
const (
	Linear Model = iota
	Square
	Root
)

var models = [...]string{"linear", "square", "root"}

// ParseModel reads a model's name.
func ParseModel(name string) (Model, error) {
	for m, n := range models {
		if n == name {
			return Model(m), nil
		}
	}
	return 0, fmt.Errorf("%q is no model of Dice; use linear, square or root", name)
}

func (m Model) String() string { return models[m] }

// Of returns the response, 0 to 1, to a wait that is so large a part of the longest one.
func (m Model) Of(x float64) float64 {
	switch {
	case !(x > 0):
		return 0
	case x >= 1:
		return 1
	case m == Square:
		return x * x
	case m == Root:
		return math.Sqrt(x)
	}
	return x
}
