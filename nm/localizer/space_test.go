package localizer

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

func TestChooseDir(t *testing.T) {
	free := map[string]uint64{"a": 100 << 20, "b": 300 << 20, "c": 10 << 20}
	space := func(d string) (Space, error) {
		f, ok := free[d]
		if !ok {
			return Space{}, os.ErrPermission
		}
		return Space{Free: f}, nil
	}
	r := rand.New(rand.NewPCG(1, 2))
	dirs := []string{"a", "b", "c", "sick"}
	chosen := map[string]int{}
	const rounds = 10000
	for range rounds {
		d, err := chooseDir(dirs, 20<<20, 1<<20, space, r.Uint64N)
		if err != nil {
			t.Fatal(err)
		}
		chosen[d]++
	}
	if share := float64(chosen["b"]) / rounds; math.Abs(share-0.75) > 0.03 || chosen["a"]+chosen["b"] != rounds {
		t.Errorf("chosen: %v; want 3 of 4 on b, none on c or the sick one", chosen)
	}
	if _, err := chooseDir(dirs, 400<<20, 1<<20, space, r.Uint64N); err == nil ||
		!strings.Contains(err.Error(), "no local directory has room for 419430400 bytes, the largest has 314572800") || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("too large: %v", err)
	}
	if _, err := chooseDir(dirs, -1, 1<<30, space, r.Uint64N); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("all below the reserve: %v", err)
	}
	if _, err := chooseDir([]string{"sick"}, 1, 0, space, r.Uint64N); !errors.Is(err, os.ErrPermission) {
		t.Errorf("sick: %v", err)
	}
	if _, err := chooseDir(nil, 1, 0, space, r.Uint64N); !errors.Is(err, ErrNoDirectory) {
		t.Errorf("none: %v", err)
	}
	if d, err := chooseDir([]string{"a"}, math.MaxInt64, 0, func(string) (Space, error) { return Space{Free: math.MaxUint64}, nil }, r.Uint64N); d != "a" || err != nil {
		t.Errorf("an endless disk: %v, %v", d, err)
	}
}

// Nothing could be localized on a disk of 1 GB of which 200 MB were free, and the node was healthy.
func TestDownloadsLeaveATenthOfASmallDisk(t *testing.T) {
	for _, c := range []struct {
		total, free uint64
		room        bool
	}{
		{1 << 30, 200 << 20, true},
		{1 << 30, 100 << 20, false},
		{1 << 40, 300 << 20, true},
		{1 << 40, 200 << 20, false}, // of a large disk 256 MiB
	} {
		space := func(string) (Space, error) { return Space{Total: c.total, Free: c.free}, nil }
		_, err := chooseDir([]string{"a"}, -1, 256<<20, space, rand.Uint64N)
		m := &meter{ctx: t.Context(), dir: "a", reserve: 256 << 20, space: space}
		if checked := m.check(); (err == nil) != c.room || (checked == nil) != c.room {
			t.Errorf("%d of %d bytes are free: %v, %v", c.free, c.total, err, checked)
		}
	}
}

func TestSubdirPath(t *testing.T) {
	for n, want := range map[int]string{0: "", 1: "0", 10: "9", 11: "a", 36: "z", 37: "0/0", 38: "0/1", 72: "0/z", 73: "1/0", 1296: "y/z", 1297: "0/0/0"} {
		if got := subdirPath(n); got != want {
			t.Errorf("directory %d: %q, want %q", n, got, want)
		}
	}
	for _, p := range []string{"A", "10", "0/", "/0", "z/0", "0/0/0/0", "-", "é", ".."} {
		if n, err := subdirNumber(p); err == nil {
			t.Errorf("%q was taken as %d", p, n)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40000).Draw(t, "n")
		if got, err := subdirNumber(subdirPath(n)); got != n || err != nil {
			t.Errorf("%d is %q is %d, %v", n, subdirPath(n), got, err)
		}
	})
}

// No directory ever gets more than its limit, and a lower one with room is used before a new one is made.
func TestSubdirsLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		s := newSubdirs(limit + fanOut)
		counts := map[int]int{}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			if rapid.IntRange(0, 2).Draw(t, "op") == 0 {
				for n := range counts {
					if counts[n] > 0 {
						n := rapid.SampledFrom(keys(counts)).Draw(t, "n")
						s.give(n)
						if counts[n]--; counts[n] == 0 {
							delete(counts, n)
						}
						break
					}
				}
				continue
			}
			used := len(s.counts)
			vacant := false
			for n := range used {
				vacant = vacant || counts[n] < limit
			}
			n := s.take()
			if counts[n]++; counts[n] > limit {
				t.Fatalf("directory %d has %d slots of %d", n, counts[n], limit)
			}
			if n >= used && vacant {
				t.Fatalf("directory %d was made though an older one had room: %v", n, counts)
			}
		}
	})
}

func keys(m map[int]int) (ks []int) {
	for k, v := range m {
		if v > 0 {
			ks = append(ks, k)
		}
	}
	return ks
}
