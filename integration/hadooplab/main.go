package hadooplab

import (
	"fmt"
	"os"
	"testing"
)

// Full reports whether to run all of Hadoop's jobs, which `make integration-full` requests by $HEDDLE_TEST_FULL.
// Otherwise tests run only those that show much in little time.
func Full() bool { return os.Getenv("HEDDLE_TEST_FULL") != "" }

// OnHeddle reports whether tests run on Heddle's ResourceManager and NodeManager. With $HEDDLE_TEST_STOCK set they run
// on Hadoop's.
func OnHeddle() bool { return os.Getenv("HEDDLE_TEST_STOCK") == "" }

// SkipUnlessFull skips tests that show little beyond others, take long, or download much.
func SkipUnlessFull(t testing.TB) {
	t.Helper()
	if !Full() {
		t.Skip("make integration-full runs it, with HEDDLE_TEST_FULL=1")
	}
}

// Main runs the tests of a package. TestMain exits with the result. To run on Heddle, Main builds it and adds it to the
// options. *lab becomes the lab that the tests share.
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
