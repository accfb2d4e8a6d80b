package cgroup

import (
	"slices"
	"strings"
	"testing"
)

func TestParseMaps(t *testing.T) {
	const maps = `55d0c0000000-55d0c0001000 r--p 00000000 fe:00 123    /bin/x
55d0c0002000-55d0c0003000 rw-p 00001000 fe:00 123    /bin/x
55d0c1000000-55d0c1021000 rw-p 00000000 00:00 0      [heap]
7f0000000000-7f0040000000 rw-p 00000000 00:00 0
7f0040000000-7f0040001000 ---p 00000000 00:00 0
`
	got, err := parseMaps(strings.NewReader(maps))
	if err != nil || !slices.Equal(got, []area{{0x55d0c1000000, 0x55d0c1021000}, {0x7f0000000000, 0x7f0040000000}}) {
		t.Errorf("%x, %v", got, err)
	}
	for _, bad := range []string{"x", "1-0 rw-p 0 00:00 0", "5 rw-p 0 00:00 0", "q-r rw-p 0 00:00 0"} {
		if got, err := parseMaps(strings.NewReader(bad)); err == nil {
			t.Errorf("%q gave %x", bad, got)
		}
	}
}

func FuzzParseMaps(f *testing.F) {
	f.Add("7f0000000000-7f0040000000 rw-p 00000000 00:00 0\n55d0c0000000-55d0c0001000 r--p 00000000 fe:00 123 /bin/x\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseMaps(strings.NewReader(text))
		for _, a := range got {
			if err == nil && a.from >= a.to {
				t.Errorf("area %x", a)
			}
		}
	})
}
