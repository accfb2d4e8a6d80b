package hadooplab

import (
	"fmt"
	"os"
	"testing"
)

// Full tells whether all of Hadoop's jobs are wanted, as `make integration-full` asks by $HEDDLE_TEST_FULL; else only those that show much
// in little time.
func Full() bool { return os.Getenv("HEDDLE_TEST_FULL") != "" }

// OnHeddle tells whether tests are to run on Heddle's ResourceManager and NodeManager; with $HEDDLE_TEST_STOCK set they run on Hadoop's.
func OnHeddle() bool { return os.Getenv("HEDDLE_TEST_STOCK") == "" }

// SkipUnlessFull is for tests that show little that others don't, take long, or fetch much.
func SkipUnlessFull(t testing.TB) {
	t.Helper()
	if !Full() {
		t.Skip("make integration-full runs it, with HEDDLE_TEST_FULL=1")
	}
}

// Main runs the tests of a package, for TestMain, which exits with the result. If they are to run on Heddle it is built, and put into
// the options. *lab becomes the lab that they share.
func Main(m *testing.M, o *Options, lab **Shared) int {
	if OnHeddle() {
		path, remove, err := BuildHeddle()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer remove()
		o.Heddle = path
	}
	*lab = NewShared(*o)
	return (*lab).Run(m)
}
