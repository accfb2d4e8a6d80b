package hadooplab

import (
	"os"
	"testing"
)

// Full tells whether all of Hadoop's jobs are wanted, as `make integration-full` asks by $HEDDLE_TEST_FULL; else only those that show much
// in little time.
func Full() bool { return os.Getenv("HEDDLE_TEST_FULL") != "" }

// SkipUnlessFull is for tests that show little that others don't, take long, or fetch much.
func SkipUnlessFull(t testing.TB) {
	t.Helper()
	if !Full() {
		t.Skip("make integration-full runs it, with HEDDLE_TEST_FULL=1")
	}
}
