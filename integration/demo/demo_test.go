package main

import (
	"os"
	"testing"

	"heddle/integration/hadooplab"
)

// What the README promises of `make demo` is checked by the demo itself: it fails if the job does, or if its counts are wrong.
func TestDemo(t *testing.T) {
	heddle, remove, err := hadooplab.BuildHeddle()
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	if err := run(t.Context(), options{heddle: heddle}); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(tmp)
	if err != nil || len(left) != 0 {
		t.Errorf("the demo left something behind: %v %v", left, err)
	}
}

func TestCommonest(t *testing.T) {
	c := counts{}
	c.add([]byte("to be, or not to be: be-ing\xffto"))
	got := c.commonest(3)
	if len(got) != 3 || got[0] != "be" || got[1] != "to" || c["be"] != 3 || c["to"] != 3 || c.total() != 9 {
		t.Errorf("%v of %v", got, c)
	}
}
