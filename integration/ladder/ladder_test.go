package ladder

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/internal/swapfile"
	"heddle/nm/cgroup"
	"heddle/nm/nmtest"
)

// childArgument has the test's own program be a Child.
const childArgument = "ladder-child"

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == childArgument {
		n, err := strconv.Atoi(os.Args[2])
		random, e := strconv.Atoi(os.Args[3])
		if err = errors.Join(err, e); err == nil {
			err = Child(os.Stdin, os.Stdout, n, random)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// Every row is measured, on whatever groups this machine has, and the contents of memory stay.
func TestRun(t *testing.T) {
	swapfile.On(t, 256<<20)
	nmtest.RealGroups(t)
	o := Options{
		Command: []string{os.Args[0], childArgument}, Kind: cgroup.Auto, Processes: []int{1, 3}, Rounds: 3, Bytes: 96 << 20, Random: 50, Moves: 1, Swap: []string{"own"},
	}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := r.Print(&text); err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != 8 || len(r.Kept) != 1 || r.Kept[0].Of != 96<<20 {
		t.Fatalf("%s", &text)
	}
	for _, row := range r.Rows {
		if row.Count == 0 || row.P50 <= 0 || row.P50 > row.P99 || row.P99 > row.Most || !strings.Contains(text.String(), row.What) {
			t.Errorf("%+v in %s", row, &text)
		}
	}
}

// A gigabyte of random memory goes out to a file, to compressed memory, and to both, and comes back as it was, on whatever groups this machine has.
func TestAGigabyteSurvives(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	nmtest.RealGroups(t)
	o := Options{
		Command: []string{os.Args[0], childArgument}, Kind: cgroup.Auto, Processes: []int{1}, Rounds: 1, Bytes: 1 << 30, Random: 100, Moves: 1, Swap: []string{"file", "zram", "zswap"},
	}
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

func TestPercentile(t *testing.T) {
	var all []time.Duration
	for i := range 200 {
		all = append(all, time.Duration(i+1))
	}
	if a, b, c := Percentile(all, 50), Percentile(all, 99), Percentile(all[:1], 99); a != 100 || b != 198 || c != 1 {
		t.Errorf("p50 %d, p99 %d, p99 of one %d", a, b, c)
	}
}

func TestUnknownSwap(t *testing.T) {
	if _, err := SwapTo("tape", "", 1); err == nil || !strings.Contains(err.Error(), "file, zram, zswap, own") {
		t.Error(err)
	}
}
