package sockets

import (
	"strings"
	"testing"
)

func FuzzParse(f *testing.F) {
	f.Add("   0: 0100000A:1F5F 0B00000A:D431 01\n", 8031)
	f.Add("   0: 00000000000000000000000001000000:1F60 0000000000000000FFFF00000100007F:0000 01 00000000:00000000 00:00000000 00000000 1000 0 1\n", 8032)
	f.Fuzz(func(t *testing.T, text string, port int) {
		all, _ := Parse(strings.NewReader(text), port, Established)
		for _, s := range all {
			if s.Remote.Is4In6() || s.User < -1 {
				t.Errorf("%+v", s)
			}
		}
	})
}
