package main

import "fmt"

// The functions that mutated code calls. Each mutated package declares them. on reports whether the mutant with a
// number is switched on. It is called only where that makes a difference.
const functions = `package %s

import (
	"os"
	"strconv"
	%s
)

%s

type mutate_integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

type mutate_number interface {
	mutate_integer | ~float32 | ~float64
}

func mutate_always(id int32, v bool) bool { return v || mutate_on(id) }
func mutate_never(id int32, v bool) bool  { return v && !mutate_on(id) }
func mutate_cond(id int32, v bool) bool   { return v && !mutate_on(id+1) || !v && mutate_on(id) }
func mutate_not(id int32, v bool) bool    { return mutate_on(id) != v }

func mutate_zero[T any](id int32, v T) T {
	if mutate_on(id) {
		var zero T
		return zero
	}
	return v
}

func mutate_more[T mutate_number](id int32, v T) T {
	if mutate_on(id) {
		return v + 1
	}
	return v
}

func mutate_less[T mutate_number](id int32, v T) T {
	if mutate_on(id) {
		return v - 1
	}
	return v
}

func mutate_minus[T mutate_number](id int32, v T) T {
	if mutate_on(id) {
		return v
	}
	return -v
}

func mutate_LSS[T mutate_number | ~string](id int32, x, y T) bool {
	return x < y || mutate_on(id) && x == y
}

func mutate_LEQ[T mutate_number | ~string](id int32, x, y T) bool {
	return x < y || !mutate_on(id) && x == y
}

func mutate_GTR[T mutate_number | ~string](id int32, x, y T) bool {
	return x > y || mutate_on(id) && x == y
}

func mutate_GEQ[T mutate_number | ~string](id int32, x, y T) bool {
	return x > y || !mutate_on(id) && x == y
}

func mutate_ADD[T mutate_number](id int32, x, y T) T {
	if mutate_on(id) {
		return x - y
	}
	return x + y
}

func mutate_SUB[T mutate_number](id int32, x, y T) T {
	if mutate_on(id) {
		return x + y
	}
	return x - y
}

func mutate_MUL[T mutate_number](id int32, x, y T) T {
	if mutate_on(id) {
		return x / y
	}
	return x * y
}

func mutate_QUO[T mutate_number](id int32, x, y T) T {
	if mutate_on(id) {
		return x * y
	}
	return x / y
}

func mutate_REM[T mutate_integer](id int32, x, y T) T {
	if mutate_on(id) {
		return x / y
	}
	return x %% y
}

func mutate_AND[T mutate_integer](id int32, x, y T) T {
	if mutate_on(id) {
		return x | y
	}
	return x & y
}

func mutate_OR[T mutate_integer](id int32, x, y T) T {
	if mutate_on(id) {
		return x & y
	}
	return x | y
}

func mutate_XOR[T mutate_integer](id int32, x, y T) T {
	if mutate_on(id) {
		return x | y
	}
	return x ^ y
}

func mutate_NOT[T mutate_integer](id int32, x, y T) T {
	if mutate_on(id) {
		return x & y
	}
	return x &^ y
}

func mutate_SHL[T, U mutate_integer](id int32, x T, y U) T {
	if mutate_on(id) {
		return x >> y
	}
	return x << y
}

func mutate_SHR[T, U mutate_integer](id int32, x T, y U) T {
	if mutate_on(id) {
		return x << y
	}
	return x >> y
}
`

// The environment variables that control a test binary.
const (
	mutantVariable = "MUTATE_MUTANT"  // the number of the mutant to switch on
	reachVariable  = "MUTATE_REACHED" // the file to which the numbers of reached mutants are written
)

// switched switches on the one mutant that the environment names.
const switched = `var mutate_now = func() int32 {
	n, _ := strconv.Atoi(os.Getenv("` + mutantVariable + `"))
	return int32(n)
}()

func mutate_on(id int32) bool { return mutate_now == id }`

// traced switches on none, and records which ones a test reaches.
const traced = `var mutate_seen [%d]atomic.Bool

var mutate_file = func() *os.File {
	f, err := os.OpenFile(os.Getenv("` + reachVariable + `"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return nil
	}
	return f
}()

func mutate_on(id int32) bool {
	if mutate_file != nil && !mutate_seen[id].Swap(true) {
		mutate_file.WriteString(strconv.Itoa(int(id)) + "\n")
	}
	return false
}`

// switchFile returns the file to add to a package with the name. With trace it is for mutants numbered below n.
func switchFile(name string, trace bool, n int) string {
	if trace {
		return fmt.Sprintf(functions, name, `"sync/atomic"`, fmt.Sprintf(traced, n))
	}
	return fmt.Sprintf(functions, name, "", switched)
}
