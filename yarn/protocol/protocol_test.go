package protocol

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"heddle/yarn/ipc"
)

func tsv(t *testing.T, name string) [][]string {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows [][]string
	for in := bufio.NewScanner(f); in.Scan(); {
		rows = append(rows, strings.Split(in.Text(), "\t"))
	}
	return rows
}

// javaMessage gives the name that Hadoop has for a message of ours.
func javaMessage(m proto.Message) string {
	return string(m.ProtoReflect().Descriptor().Name()) + "Proto"
}

// The table must have exactly the methods of Hadoop 3.4.2, with their types, plus Heddle's own.
func TestTableEqualsHadoops(t *testing.T) {
	names := map[string]string{} // service to protocol
	want := map[string]string{}
	for _, r := range tsv(t, "protocols.tsv") {
		switch r[0] {
		case "protocol":
			if r[3] != "1" {
				t.Errorf("%s has version %s", r[2], r[3])
			}
			names[r[4]] = r[2]
		case "service":
			service := r[1][strings.LastIndexByte(r[1], '.')+1:]
			want[names[service]+"."+r[2]] = fmt.Sprintf("%s → %s", r[3][strings.LastIndexByte(r[3], '.')+1:],
				r[4][strings.LastIndexByte(r[4], '.')+1:])
		}
	}
	got := map[string]string{}
	for _, d := range All() {
		if d.Protocol == ContainerControl || d.Protocol == LeaderControl {
			continue
		}
		if d.Protocol.Version != 1 {
			t.Errorf("%s has version %d", d, d.Protocol.Version)
		}
		if _, twice := got[d.String()]; twice {
			t.Errorf("%s is there twice", d)
		}
		got[d.String()] = javaMessage(d.NewRequest()) + " → " + javaMessage(d.NewResponse())
	}
	for _, m := range slices.Sorted(maps.Keys(want)) {
		if got[m] != want[m] {
			t.Errorf("%s: got %q, want %q", m, got[m], want[m])
		}
		delete(got, m)
	}
	for m := range got {
		t.Errorf("%s is not Hadoop's", m)
	}
	if len(want) < 80 {
		t.Errorf("only %d methods were compared", len(want))
	}
}

// The numbers were read from Hadoop's classes with ProtocolSignature.getFingerprint.
func TestFingerprintsEqualHadoops(t *testing.T) {
	n := 0
	for _, r := range tsv(t, "fingerprints.tsv") {
		d, ok := Find(r[0], r[1])
		if !ok {
			t.Errorf("%s.%s is missing", r[0], r[1])
			continue
		}
		n++
		if got := fmt.Sprint(fingerprint(d)); got != r[2] {
			t.Errorf("%s: got %s, want %s", d, got, r[2])
		}
	}
	if n < 80 {
		t.Errorf("only %d fingerprints were compared", n)
	}
}

func TestWhatMayBeRepeated(t *testing.T) {
	for _, c := range []struct {
		m    ipc.Method
		want bool
	}{
		{SubmitApplication.Method, true},
		{Allocate.Method, true},
		{FinishApplicationMaster.Method, true},
		{NodeHeartbeat.Method, true},
		{FailApplicationAttempt.Method, false},
		{SignalToContainer.Method, false},
		{DeleteReservation.Method, false},
		{StartContainers.Method, false},
		{StopContainers.Method, true},
	} {
		if c.m.Repeatable != c.want {
			t.Errorf("%s: got %v, want %v", c.m, c.m.Repeatable, c.want)
		}
	}
}
