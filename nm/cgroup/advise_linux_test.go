package cgroup

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestParseMaps(t *testing.T) {
	const maps = `55d0c0000000-55d0c0001000 r--p 00000000 fe:00 123    /bin/x
55d0c0002000-55d0c0003000 rw-p 00001000 fe:00 123    /bin/x
55d0c1000000-55d0c1021000 rw-p 00000000 00:00 0      [heap]
7f0000000000-7f0040000000 rw-p 00000000 00:00 0
7f0040000000-7f0040001000 ---p 00000000 00:00 0
7f0050000000-7f0050001000 rw-s 00000000 00:01 2053    /dev/zero (deleted)
7f0060000000-7f0060001000 r--s 00000000 00:01 2054    /memfd:heap (deleted)
7f0070000000-7f0070001000 rw-s 00000000 00:1a 3       /dev/shm/x
7f0080000000-7f0080001000 rw-s 00000000 fe:00 124    /data/base
`
	private := []area{{0x55d0c1000000, 0x55d0c1021000}, {0x7f0000000000, 0x7f0040000000}}
	got, err := parseMaps(strings.NewReader(maps), false)
	if err != nil || !slices.Equal(got, private) {
		t.Errorf("%x, %v", got, err)
	}
	got, err = parseMaps(strings.NewReader(maps), true)
	if err != nil || !slices.Equal(got, append(private, area{0x7f0050000000, 0x7f0050001000}, area{0x7f0070000000, 0x7f0070001000})) {
		t.Errorf("with what is shared %x, %v", got, err)
	}
	for _, bad := range []string{"x", "1-0 rw-p 0 00:00 0", "5 rw-p 0 00:00 0", "q-r rw-p 0 00:00 0"} {
		if got, err := parseMaps(strings.NewReader(bad), true); err == nil {
			t.Errorf("%q gave %x", bad, got)
		}
	}
}

func FuzzParseMaps(f *testing.F) {
	f.Add("7f0000000000-7f0040000000 rw-p 00000000 00:00 0\n55d0c0000000-55d0c0001000 r--p 00000000 fe:00 123 /bin/x\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseMaps(strings.NewReader(text), true)
		for _, a := range got {
			if err == nil && a.from >= a.to {
				t.Errorf("area %x", a)
			}
		}
	})
}

// Every piece is worked on once, and after the first failure no more than are under way.
func TestInPieces(t *testing.T) {
	areas := []area{{0, 3*advicePiece + 1}, {1 << 40, 1<<40 + 5}}
	var mu sync.Mutex
	seen := map[area]int{}
	if err := inPieces(areas, func(a area) error {
		mu.Lock()
		defer mu.Unlock()
		seen[a]++
		return nil
	}); err != nil {
		t.Error(err)
	}
	want := map[area]int{
		{0, advicePiece}: 1, {advicePiece, 2 * advicePiece}: 1, {2 * advicePiece, 3 * advicePiece}: 1, {3 * advicePiece, 3*advicePiece + 1}: 1, {1 << 40, 1<<40 + 5}: 1,
	}
	if !maps.Equal(seen, want) {
		t.Errorf("%v", seen)
	}
	for failure, is := range map[error]error{errEnough: errEnough, errGone: nil} {
		n := 0
		err := inPieces([]area{{0, 100 * advicePiece}}, func(area) error {
			mu.Lock()
			defer mu.Unlock()
			n++
			return failure
		})
		if !errors.Is(err, is) || n == 0 || n > 4 {
			t.Errorf("%v: %v after %d pieces", failure, err, n)
		}
	}
}

func TestPagesOutWhereItLeftOff(t *testing.T) {
	for _, x := range []struct {
		c    cursor
		pids []int
		want []cursor
	}{
		{cursor{}, nil, nil},
		{cursor{}, []int{7, 8}, []cursor{{7, 0}, {8, 0}}},
		{cursor{8, 5}, []int{7, 8, 9}, []cursor{{8, 5}, {9, 0}, {7, 0}, {8, 0}}},
		{cursor{8, 5}, []int{7, 9}, []cursor{{7, 0}, {9, 0}}}, // it has ended
	} {
		if got := x.c.from(x.pids); !slices.Equal(got, x.want) {
			t.Errorf("%v of %v: %v", x.c, x.pids, got)
		}
	}
	areas := func() []area { return []area{{10, 20}, {30, 40}} }
	for from, want := range map[uint64][]area{0: areas(), 15: {{15, 20}, {30, 40}}, 20: {{30, 40}}, 35: {{35, 40}}, 40: nil} {
		if got := beyond(areas(), from); !slices.Equal(got, want) {
			t.Errorf("from %d on: %v", from, got)
		}
	}
}
