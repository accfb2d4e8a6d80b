package tfile

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

type record struct{ key, value string }

// encode writes records, each value in pieces of the given size.
func encode(t interface {
	Helper()
	Fatal(args ...any)
}, compression string, piece int, records ...record,
) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, compression)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		v, err := w.Begin([]byte(r.key))
		if err != nil {
			t.Fatal(err)
		}
		for rest := r.value; rest != ""; {
			n := min(piece, len(rest))
			if _, err := io.WriteString(v, rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := w.End(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func decode(b []byte) ([]record, error) {
	r, err := NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	var rs []record
	s := r.Scan()
	for s.Next() {
		v, err := io.ReadAll(s.Value())
		if err != nil {
			return rs, err
		}
		rs = append(rs, record{string(s.Key()), string(v)})
	}
	return rs, s.Err()
}

// A file that a stock NodeManager wrote, read and written again.
func TestGolden(t *testing.T) {
	want, err := os.ReadFile("testdata/aggregated-log.tfile")
	if err != nil {
		t.Fatal(err)
	}
	rs, err := decode(want)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, r := range rs {
		keys = append(keys, r.key)
	}
	wantKeys := []string{"\x00\x07VERSION", "\x00\x0fAPPLICATION_ACL", "\x00\x11APPLICATION_OWNER", "\x00\x26container_1795253712789_0009_01_000001"}
	if strings.Join(keys, "|") != strings.Join(wantKeys, "|") {
		t.Errorf("keys %q", keys)
	}
	if rs[0].value != "\x00\x00\x00\x01" || rs[1].value != "" || rs[2].value != "\x00\x04root" || !strings.Contains(rs[3].value, "launch_container.sh") {
		t.Errorf("values %q", rs)
	}
	if got := encode(t, None, 65535, rs...); !bytes.Equal(got, want) {
		t.Errorf("written again it has %d bytes, the original %d:\n%x\n%x", len(got), len(want), got, want)
	}
}

func TestVLong(t *testing.T) {
	for n, want := range map[int64]string{ // by Hadoop's Utils.writeVLong
		0: "00", 127: "7f", -32: "e0", 128: "cc80", -33: "cbdf", 255: "ccff", 5119: "dfff", -5120: "b800", 5120: "a81400", -5121: "a7ebff",
		1<<20 - 1: "b7ffff", -1 << 20: "980000", 1 << 20: "90100000", 1<<27 - 1: "97ffffff", -1 << 27: "88000000",
		1 << 27: "8308000000", math.MaxInt32: "837fffffff", math.MinInt32: "8380000000", 1 << 31: "840080000000", -1<<31 - 1: "84ff7fffffff",
		1 << 39: "85008000000000", 1 << 47: "8600800000000000", 1 << 55: "870080000000000000", math.MaxInt64: "877fffffffffffffff", math.MinInt64: "878000000000000000",
	} {
		b := appendVLong(nil, n)
		if got := hex.EncodeToString(b); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64().Draw(t, "n") >> rapid.IntRange(0, 63).Draw(t, "shift")
		b := appendVLong(nil, n)
		in := bytes.NewReader(b)
		if got, err := readVLong(in); got != n || err != nil || in.Len() != 0 {
			t.Errorf("%d is %x is %d, %v, with %d left", n, b, got, err, in.Len())
		}
	})
	for _, bad := range []string{"cc", "a814", "80", "81", "82ffffff", "87ffffffffffff"} {
		b, _ := hex.DecodeString(bad)
		if n, err := readVLong(bytes.NewReader(b)); err == nil {
			t.Errorf("%s was read as %d", bad, n)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		compression := rapid.SampledFrom([]string{None, GZ}).Draw(t, "compression")
		var rs []record
		for i := range rapid.IntRange(0, 3).Draw(t, "records") {
			size := rapid.SampledFrom([]int{0, 1, 100, 70000, MinBlock, chunkSize - 1, chunkSize, chunkSize + 1}).Draw(t, "size")
			rs = append(rs, record{fmt.Sprintf("key %d", i), strings.Repeat(string(rune('a'+i)), size)})
		}
		piece := rapid.SampledFrom([]int{10000, 65535, 2 << 20}).Draw(t, "piece")
		got, err := decode(encode(t, compression, piece, rs...))
		if err != nil || len(got) != len(rs) {
			t.Fatalf("got %d records of %d, %v", len(got), len(rs), err)
		}
		for i := range rs {
			if got[i] != rs[i] {
				t.Errorf("record %d: key %q, %d bytes", i, got[i].key, len(got[i].value))
			}
		}
	})
}

func TestSkipping(t *testing.T) {
	b := encode(t, GZ, 65535, record{"a", strings.Repeat("a", 3<<20)}, record{"b", "value"})
	r, err := NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	s := r.Scan()
	if !s.Next() {
		t.Fatal(s.Err())
	}
	if _, err := io.ReadFull(s.Value(), make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	if !s.Next() || string(s.Key()) != "b" {
		t.Fatalf("at %q, %v", s.Key(), s.Err())
	}
	if v, err := io.ReadAll(s.Value()); string(v) != "value" || err != nil {
		t.Errorf("%q, %v", v, err)
	}
	if s.Next() || s.Err() != nil {
		t.Errorf("after the end: %v", s.Err())
	}
}

func TestMisuse(t *testing.T) {
	if _, err := NewWriter(io.Discard, "lzo"); err == nil {
		t.Error("lzo was taken")
	}
	w, err := NewWriter(io.Discard, None)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.End(); err == nil {
		t.Error("a record ended that hadn't begun")
	}
	v, err := w.Begin([]byte("k"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Begin([]byte("k")); err == nil {
		t.Error("two records at a time")
	}
	if err := w.Close(); err == nil {
		t.Error("closed with a record open")
	}
	if err := w.End(); err != nil {
		t.Error(err)
	}
	if _, err := v.Write([]byte("late")); err == nil {
		t.Error("written to a record that had ended")
	}
	if _, err := w.Begin(make([]byte, maxKey+1)); err == nil {
		t.Error("an endless key was taken")
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if _, err := w.Begin(nil); err == nil {
		t.Error("a record began in a closed file")
	}
}

// failing fails after so many bytes.
type failing struct{ left int }

var errFull = errors.New("quota exceeded")

func (f *failing) Write(p []byte) (int, error) {
	if f.left < len(p) {
		return 0, errFull
	}
	f.left -= len(p)
	return len(p), nil
}

func TestWriteErrors(t *testing.T) {
	for left := range 400 {
		err := func() error {
			w, err := NewWriter(&failing{left}, GZ)
			if err != nil {
				return err
			}
			v, err := w.Begin([]byte("key"))
			if err != nil {
				return err
			}
			if _, err := io.WriteString(v, "value"); err != nil {
				return err
			}
			if err := w.End(); err != nil {
				return err
			}
			return w.Close()
		}()
		if err == nil {
			if left < 150 {
				t.Errorf("a file of %d bytes is complete", left)
			}
			return
		}
		if !errors.Is(err, errFull) {
			t.Errorf("after %d bytes: %v", left, err)
		}
	}
	t.Error("400 bytes are not enough")
}

// Every file that was cut off or has a wrong byte gives an error or the right records, but never a panic.
func TestDamage(t *testing.T) {
	for _, compression := range []string{None, GZ} {
		good := encode(t, compression, 100, record{"first", strings.Repeat("x", 300)}, record{"second", ""})
		for n := range good {
			if _, err := decode(good[:n]); err == nil {
				t.Errorf("%s: the first %d of %d bytes are a file", compression, n, len(good))
			}
			bad := bytes.Clone(good)
			bad[n] ^= 0xff
			_, _ = decode(bad)
		}
	}
}

func FuzzReader(f *testing.F) {
	// Head and tail stay right: what is mutated there is no TFile. Samples are small: an input of some thousand bytes takes a minute to be
	// minimized, in which nothing else is tried.
	for _, sample := range [][]byte{
		encode(f, GZ, 100, record{"a", "value"}, record{"b", strings.Repeat("x", 1000)}), encode(f, None, 100, record{"a", "value"}), encode(f, None, 100),
	} {
		tail := len(sample) - tailSize
		f.Add(sample[len(magic):tail], binary.BigEndian.Uint64(sample[tail:]))
	}
	f.Fuzz(func(t *testing.T, body []byte, index uint64) {
		data := append(slices.Clone(magic), body...)
		data = binary.BigEndian.AppendUint64(data, index)
		data = append(append(data, 0, versionMajor, 0, 0), magic...)
		r, err := NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		s := r.Scan()
		for total := int64(0); s.Next() && total < 64<<10; {
			n, _ := io.CopyN(io.Discard, s.Value(), 1<<10)
			total += n + 1
		}
	})
}

func BenchmarkWriter(b *testing.B) {
	line := bytes.Repeat([]byte("2026-01-01 00:00:00,000 INFO [main] org.example.Main: a line of a log\n"), 900)
	for _, compression := range []string{None, GZ} {
		b.Run(compression, func(b *testing.B) {
			w, err := NewWriter(io.Discard, compression)
			if err != nil {
				b.Fatal(err)
			}
			v, err := w.Begin([]byte("key"))
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := v.Write(line); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
