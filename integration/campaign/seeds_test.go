package campaign

import (
	"os"
	"testing"

	"heddle/integration/hadooplab"
)

// seeds are episodes that have failed: from which fault on, and why they did.
var seeds = []struct {
	seed uint64
	from int
	why  string
}{
	{7, 10, "a job gave up when one of two nodes had a full disk: eight workers in a row didn't start there"},
	{7, 80, "the same in a job whose ApplicationMaster had been started anew"},
}

// Episodes that have failed once don't fail again.
func TestSeedsThatFailed(t *testing.T) {
	hadooplab.SkipUnlessFull(t) // it plays whole episodes, half a minute each
	if os.Geteuid() != 0 {
		t.Skip("it takes root")
	}
	binary, remove, err := hadooplab.BuildHeddle()
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	for _, s := range seeds {
		r, err := run(t.Context(), options{faults: perEpisode, from: s.from, seed: s.seed, binary: binary, keep: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Failures {
			t.Errorf("seed %d, from fault %d (once: %s): %s", s.seed, s.from, s.why, f.Error)
		}
	}
}
