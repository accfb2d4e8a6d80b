// Package clone makes a process that executes a program, without waiting until it does so, and without calls of the kernel that Go's runtime is told of. Package syscall waits, and makes
// three such calls for each process.
//
// The package imports nothing, for two reasons. The new process runs a list of calls of the kernel, and no code in Go, which might use a stack, a
// lock or memory that the two processes share. And the program initializes this package before package syscall (by the language, of packages that may
// be initialized the first by name is), which then raises this process's limit of open files: Files is what it was before.
package clone

// Call is a call of the kernel. Addresses in it don't keep memory alive.
type Call struct {
	Trap uintptr
	Args [5]uintptr
	Want uintptr // the result, with Equal
	Must Must
}

// Must is what becomes of a call's result.
type Must uintptr

// Anything else is a fault.
const (
	Ignore  Must = iota // any result will do
	Succeed             // no error
	Equal               // Want
)

// Limit is a resource limit, as the kernel has it.
type Limit struct{ Soft, Hard uint64 }

// Files is the limit of open files with which this program was started; zero: it isn't known.
var Files Limit
