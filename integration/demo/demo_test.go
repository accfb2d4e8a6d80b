package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
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

// The commonest words were x and X, of hexadecimal numbers, and the job's mapper has to agree with what is counted here.
func TestNumbersAreNoWords(t *testing.T) {
	text := "0x1F 0XFF x86 utf8 a_b x := i + 1e9 // the word, the\tend.don't"
	c := counts{}
	c.add([]byte(text))
	cmd := exec.Command("sh", "-c", mapper)
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Fields(string(out)), strings.Fields("the word the end don"); !slices.Equal(got, want) || c["the"] != 2 || c.total() != len(want) {
		t.Errorf("the mapper finds %q, and counted are %v", got, c)
	}
}
