package ladder

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
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
	if len(os.Args) >= 3 && os.Args[1] == runArgument {
		o := Options{Command: []string{os.Args[0], childArgument}, Kind: cgroup.Auto, Processes: []int{2}, Rounds: math.MaxInt, Bytes: 1 << 20, Dir: os.Args[2]}
		if swap := os.Args[3:]; len(swap) > 0 {
			o.Rounds, o.Bytes, o.Moves, o.Swap = 1, 80<<20, math.MaxInt, swap
		}
		_, err := Run(context.Background(), o)
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// runArgument has the test's own program measure without end, in a folder, and with a kind of swap if one is named.
const runArgument = "ladder-run"

// Nothing is left of a measurement that is killed: no process, frozen or not, no group, no folder.
func TestKilledMeasurement(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	nmtest.RealGroups(t)
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], runArgument, dir)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	children := func() []string {
		found, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", cmd.Process.Pid)) // the pattern is valid
		var all []string
		for _, f := range found {
			b, err := os.ReadFile(f)
			if err == nil {
				all = append(all, strings.Fields(string(b))...)
			}
		}
		return all
	}
	pids := await.Value(t, "the watchdog and two children", func() ([]string, bool) {
		found := children()
		return found, len(found) >= 3
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	for _, pid := range pids {
		await.Until(t, "process "+pid+" has ended", func() bool {
			_, err := os.Stat("/proc/" + pid)
			return err != nil
		})
	}
	left, err := os.ReadDir(dir)
	groups, _ := filepath.Glob("/sys/fs/cgroup/*/heddle-heddle-bench-*/nm-bench-" + fmt.Sprint(cmd.Process.Pid)) // the pattern is valid
	if err != nil || len(left) > 0 || len(groups) > 0 {
		t.Errorf("%v, folders %v, groups %v", err, left, groups)
	}
}

// The same where it swaps to a device of compressed memory: the machine has neither the swap nor the device afterwards.
func TestKilledMeasurementOfZram(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	nmtest.RealGroups(t)
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], runArgument, dir, "zram")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	device := await.Value(t, "the machine swaps to a device", func() (string, bool) {
		notes, _ := filepath.Glob(filepath.Join(dir, "*", "zram-*")) // the pattern is valid
		if len(notes) == 0 {
			return "", false
		}
		name := "zram" + strings.TrimPrefix(filepath.Base(notes[0]), "zram-")
		b, err := os.ReadFile("/proc/swaps")
		return name, err == nil && strings.Contains(string(b), "/dev/"+name+" ")
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	await.Slowly(t, device+" is gone", func() bool { _, err := os.Stat("/sys/block/" + device); return os.IsNotExist(err) })
	await.Slowly(t, "its folder is gone", func() bool { left, err := os.ReadDir(dir); return err == nil && len(left) == 0 })
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
